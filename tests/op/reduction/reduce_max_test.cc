#include "tenon/op/reduction/reduce_max.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReduceMax: cases") {
  const Value x = t<float>({2, 3}, {1, 5, 2, -3, -4, -1});
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    op::ReduceMax op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({2, 1}, {5, -1})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {0})}, t<float>({3}, {1, 5, 2})},
      {{.keepdims = 0}, {x}, t<float>({}, {5})},
      {{.noop_with_empty_axes = 1}, {x}, x},
      {{}, {t<float>({}, {3})}, t<float>({}, {3})},
      {{}, {t<float>({3}, {1, nan, inf})}, t<float>({1}, {nan})},
      {{}, {t<float>({0}, {})}, t<float>({1}, {-inf})},
      {{}, {t<int32_t>({0}, {})}, t<int32_t>({1}, {INT32_MIN})},
      {{}, {t<uint8_t>({0}, {})}, t<uint8_t>({1}, {0})},
      {{}, {t<int64_t>({2}, {INT64_MIN, INT64_MAX})}, t<int64_t>({1}, {INT64_MAX})},
      {{}, {t<uint64_t>({2}, {UINT64_MAX, 1})}, t<uint64_t>({1}, {UINT64_MAX})},
      {{}, {t<uint32_t>({2}, {UINT32_MAX, 1})}, t<uint32_t>({1}, {UINT32_MAX})},
      {{}, {t<int8_t>({3}, {-128, -5, -7})}, t<int8_t>({1}, {-5})},
      {{}, {t<uint8_t>({3}, {128, 5, 7})}, t<uint8_t>({1}, {128})},
      {{}, {t<double>({2}, {1, -2})}, t<double>({1}, {1})},
      {{}, {cast<float16>({2}, {1, -2})}, cast<float16>({1}, {1})},
      {{}, {cast<bfloat16>({2}, {1, -2})}, cast<bfloat16>({1}, {1})},
      {{},
       {t<bool>({2, 2}, {false, true, false, false}), t<int64_t>({1}, {1})},
       t<bool>({2, 1}, {true, false})},
      {{}, {t<bool>({0}, {})}, t<bool>({1}, {false})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
}

TEST_CASE("ReduceMax: versions differ in types, and up to 13 in where the axes come from") {
  const Value f = t<float>({2}, {1, 2}), i8 = t<int8_t>({2}, {1, 2}), b16 = cast<bfloat16>({2}, {1, 2}),
              b = t<bool>({1}, {true});
  const Value m = t<float>({2, 2}, {1, 4, 3, 2});
  for (int version : {1, 11, 12, 13}) {
    CAPTURE(version);
    const auto max = [&](const Attributes& a) { return stated<op::ReduceMax>(version, a); };
    check(max({{"axes", ints{0}}}), {f}, {t<float>({1}, {2})}, 0, 0);
    check(max({{"axes", ints{-1}}, {"keepdims", int64_t{0}}}), {m}, {t<float>({2}, {4, 3})}, 0, 0);
    check(max({{"axes", ints{}}}), {m}, {t<float>({1, 1}, {4})}, 0, 0);
    check(max({}), {m}, {t<float>({1, 1}, {4})}, 0, 0);
    check(max({{"keepdims", int64_t{0}}}), {m}, {t<float>({}, {4})}, 0, 0);
    check_fails(max({{"axes", ints{0, -1}}}), {f}, "named twice");
    check_fails(max({}), {f, t<int64_t>({1}, {0})}, "has no input axes at version");
    check_refused<op::ReduceMax>(version, {{"noop_with_empty_axes", int64_t{1}}},
                                 "has no attribute 'noop_with_empty_axes'");
  }
  for (int version : {18, 20}) {
    check(stated<op::ReduceMax>(version), {f, t<int64_t>({1}, {0})}, {t<float>({1}, {2})}, 0, 0);
    check(stated<op::ReduceMax>(version, {{"noop_with_empty_axes", int64_t{1}}}), {f}, {f}, 0, 0);
    check_refused<op::ReduceMax>(version, {{"axes", ints{0}}}, "has no attribute 'axes'");
  }
  check(stated<op::ReduceMax>(12, {{"keepdims", int64_t{0}}}), {i8}, {t<int8_t>({}, {2})}, 0, 0);
  check(stated<op::ReduceMax>(13), {b16}, {cast<bfloat16>({1}, {2})});
  check(op::ReduceMax{}, {f}, {t<float>({1}, {2})}, 0, 0, 18);
  check_fails(op::ReduceMax{}, {i8}, "input data cannot be tensor(int8)", 1, 11);
  check_fails(op::ReduceMax{}, {b16}, "input data cannot be tensor(bfloat16)", 1, 12);
  check_fails(op::ReduceMax{}, {b}, "input data cannot be tensor(bool)", 1, 18);
  check_fails(op::ReduceMax{}, {t<int16_t>({1}, {1})}, "input data cannot be tensor(int16)");
}

TEST_CASE("ReduceMax: typed") {
  Tensor<uint8_t, Shape<2, 2>> x{{1, 2}, {3, 4}};
  const auto y = apply<op::ReduceMax{.keepdims = 0}>(x);
  static_assert(std::is_same_v<decltype(y), const Tensor<uint8_t, Shape<>>>);
  CHECK(y.item() == 4);
}
}  // namespace tenon
