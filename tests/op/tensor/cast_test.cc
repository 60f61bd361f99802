#include "tenon/op/tensor/cast.hpp"

#include "tenon/base/thread_pool.hpp"
#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

template <class T>
const op::Cast to{.to = dtype<T>};

TEST_CASE("Cast: cases") {
  using S = std::string;
  const Value f = t<float>({2, 2}, {-1.5, 0, 2.75, 300});
  struct Row {
    op::Cast op;
    Value in, out;
  } rows[] = {
      {to<double>, f, t<double>({2, 2}, {-1.5, 0, 2.75, 300})},
      {to<float>, f, f},
      {to<float16>, f, cast<float16>({2, 2}, {-1.5, 0, 2.75, 300})},
      {to<int8_t>, f, t<int8_t>({2, 2}, {-1, 0, 2, 44})},
      {to<uint64_t>, t<float>({2}, {2.75, 0x1p63f}), t<uint64_t>({2}, {2, uint64_t{1} << 63})},
      {to<bool>, f, t<bool>({2, 2}, {true, false, true, true})},
      {to<S>, f, t<S>({2, 2}, {"-1.5", "0.0", "2.75", "300.0"})},
      {to<int4>, f, cast<int4>({2, 2}, {-1, 0, 2, -4})},
      {to<uint2>, t<int64_t>({5}, {0, 1, 2, 3, 4}), cast<uint2>({5}, {0, 1, 2, 3, 0})},
      {to<int32_t>, cast<int2>({3}, {-2, 1, 0}), t<int32_t>({3}, {-2, 1, 0})},
      {to<int64_t>, t<uint64_t>({1}, {UINT64_MAX}), t<int64_t>({1}, {-1})},
      {to<float>, t<bool>({2}, {true, false}), t<float>({2}, {1, 0})},
      {to<double>, t<S>({4}, {"1e3", " -inf", "NaN", "+2.5"}), t<double>({4}, {1000, -INFINITY, NAN, 2.5})},
      {to<int32_t>, t<S>({2}, {"-12", "3.9"}), t<int32_t>({2}, {-12, 3})},
      {to<bfloat16>, t<float>({1}, {1.00390625f}), cast<bfloat16>({1}, {1})},
      {to<float8e4m3fn>, t<float>({2}, {1e6, 3}), cast<float8e4m3fn>({2}, {448, 3})},
      {{.saturate = 0, .to = dtype<float8e4m3fn>}, t<float>({1}, {1e6}), cast<float8e4m3fn>({1}, {NAN})},
      {{.saturate = 0, .to = dtype<float8e5m2>},
       t<float>({1}, {1e6}),
       t<float8e5m2>({1}, {float8e5m2::from_bits(0x7c)})},
      {to<float8e8m0>, t<float>({2}, {3, 4}), cast<float8e8m0>({2}, {4, 4})},
      {{.round_mode = "down", .to = dtype<float8e8m0>}, t<float>({1}, {3.5}), cast<float8e8m0>({1}, {2})},
      {{.round_mode = "nearest", .to = dtype<float8e8m0>}, t<float>({1}, {2.75}), cast<float8e8m0>({1}, {2})},
      {to<float4e2m1>, t<float>({3}, {0.6, -7, 2}), cast<float4e2m1>({3}, {0.5, -6, 2})},
      {to<float>, t<float>({}, {5}), t<float>({}, {5})},
      {to<int4>, t<float>({0, 3}, {}), cast<int4>({0, 3}, {})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out}, 0, 0);
  check_in_place(to<float>, {f}, 0);
  check_in_place(to<S>, {t<S>({2}, {"a", "a string too long to lie within its object"})}, 0);
}

TEST_CASE("Cast: chunks of packed elements and strings") {
  const int64_t n = 3 * 16384 + 5;
  Tensor<int64_t> x(Extents{n});
  for (int64_t k = 0; k < n; ++k) x[k] = k % 16 - 8;
  ThreadPool pool(3);
  const ScopedPool scope(pool);
  for (const op::Cast& there : {to<int4>, to<int2>, to<std::string>, to<float8e5m2>}) {
    const Value y = run(there, {x})[0];
    const Value back = run(to<int64_t>, {y})[0];
    const int64_t* values = back.tensor().view().as<int64_t>().data();
    const int64_t mask = y.type().element == DType::int2 ? 3 : 15;
    int64_t wrong = 0;
    for (int64_t k = 0; k < n; ++k) wrong += (values[k] & mask) != (x[k] & mask);
    CHECK(wrong == 0);
  }
  Tensor<std::string> texts(Extents{5000});
  texts[4000] = "x";
  for (int64_t k = 0; k < 4000; ++k) texts[k] = "1";
  check_fails(to<float>, {Value(texts)}, "'x' is no float");
}

TEST_CASE("Cast: version 1 names the type") {
  const Value f = t<float>({2}, {1.5, 0});
  const auto cast_1 = [](const char* name) { return stated<op::Cast>(1, {{"to", std::string(name)}}); };
  check(cast_1("INT64"), {f}, {t<int64_t>({2}, {1, 0})});
  check(cast_1("BOOL"), {f}, {t<bool>({2}, {true, false})});
  check(cast_1("DOUBLE"), {f}, {t<double>({2}, {1.5, 0})});
  check(cast_1("FLOAT16"), {f}, {cast<float16>({2}, {1.5, 0})});
  check(cast_1("FLOAT"), {f}, {f});
  check(cast_1("UINT8"), {f}, {t<uint8_t>({2}, {1, 0})});
  CHECK(infer(cast_1("INT8"), {info(DType::float32, {Dim::unknown(), 3})}).type == Type(DType::int8));
  check_refused<op::Cast>(1, {}, "attribute 'to' is required");
  check_refused<op::Cast>(1, {{"to", int64_t{1}}}, "attribute 'to' takes STRING");
  for (const char* name : {"", "float", "UNDEFINED", "Float", "INT64 ", "A NAME THAT IS AS LONG AS CAN B"})
    check_throws([&] { return cast_1(name); }, str_cat("attribute 'to' is '", name, "', which is no type"));
  check_throws([&] { return cast_1("A NAME THAT IS LONGER THAN CAN BE"); }, "is longer than any known value");
  // Types that later versions have are none of version 1.
  check_fails(cast_1("STRING"), {f}, "output output cannot be tensor(string)");
  check_fails(cast_1("BFLOAT16"), {f}, "output output cannot be tensor(bfloat16)");
  check_fails(cast_1("FLOAT"), {t<std::string>({1}, {"1"})}, "input input cannot be tensor(string)");

  for (int version : {6, 9, 13, 19, 21, 23, 24, 25}) {
    CAPTURE(version);
    check(stated<op::Cast>(version, {{"to", int64_t{7}}}), {f}, {t<int64_t>({2}, {1, 0})});
    check_refused<op::Cast>(version, {}, "attribute 'to' is required");
    check_refused<op::Cast>(version, {{"to", std::string("INT64")}}, "attribute 'to' takes INT");
  }
  check_refused<op::Cast>(13, {{"saturate", int64_t{0}}}, "version 13 has no attribute 'saturate'");
  check_refused<op::Cast>(23, {{"round_mode", std::string("up")}},
                          "version 23 has no attribute 'round_mode'");
}

TEST_CASE("Cast: errors") {
  const Value f = t<float>({2}, {1.5, 0});
  check_fails(op::Cast{}, {f}, "attribute 'to' is missing");
  check_fails(op::Cast{.to = 0}, {f}, "attribute 'to' is 0, which is no type");
  check_fails(op::Cast{.to = 27}, {f}, "attribute 'to' is 27, which is no type");
  check_fails(op::Cast{.to = -1}, {f}, "attribute 'to' is -1, which is no type");
  check_fails(to<complex64>, {f}, "output output cannot be tensor(complex64)");
  check_fails(to<std::string>, {f}, "output output cannot be tensor(string)", 1, 6);
  check_fails(to<int2>, {f}, "output output cannot be tensor(int2)", 1, 24);
  check(to<std::string>, {t<float>({1}, {1})}, {t<std::string>({1}, {"1.0"})}, 0, 0, 9);
  check_fails(op::Cast{.round_mode = "even", .to = 1}, {f},
              "round_mode: 'even', expected up, down or nearest");
  check_fails(to<float>, {t<complex64>({1}, {1})}, "cannot be tensor(complex64)");
  check_fails(to<float>, {cast<uint4>({1}, {1})}, "cannot be tensor(uint4)", 1, 19);
  check_fails(to<int32_t>, {t<std::string>({1}, {"1x"})}, "'1x' is no int32");
}

TEST_CASE("Cast: shape arithmetic and typed calls") {
  const auto n = Dim::symbol(1);
  const op::Info x = info(DType::int64, {4}, {n, 0, 7, int64_t{1} << 32});
  const auto ints = infer(to<int32_t>, {x})[0].propagated;
  CHECK(ints[0].same(n));
  CHECK(ints[2].is(7));
  CHECK(ints[3].is(0));
  const auto bools = infer(to<bool>, {x})[0].propagated;
  CHECK_FALSE(bools[0].known());
  CHECK(bools[1].is(0));
  CHECK(bools[2].is(1));
  CHECK_FALSE(infer(to<float>, {x})[0].propagated.known());
  CHECK(infer(to<float>, {info(DType::int64, {n, 2})})[0].dims == Dims{n, 2});

  const Tensor<float, Shape<2>> f{1.5, 3};
  const auto half = apply<op::Cast{.to = dtype<float16>}>(f);
  static_assert(std::is_same_v<decltype(half), const Tensor<float16, Shape<2>>>);
  CHECK(static_cast<float>(half[0]) == 1.5f);
  const auto nibbles = apply<op::Cast{.to = dtype<int4>}>(f);
  CHECK(int4(nibbles[1]).value() == 3);
  const Value any = op::Cast{.to = dtype<int64_t>}(f);
  CHECK(any.view<int64_t>()[1] == 3);
}
}  // namespace tenon
