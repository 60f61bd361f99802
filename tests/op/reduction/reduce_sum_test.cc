#include "tenon/op/reduction/reduce_sum.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReduceSum: cases") {
  const Value x = t<float>({3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Value none_ = Value(), empty = t<int64_t>({0}, {});
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    op::ReduceSum op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({3, 1, 2}, {4, 6, 12, 14, 20, 22})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {1})}, t<float>({3, 2}, {4, 6, 12, 14, 20, 22})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {-2})}, t<float>({3, 2}, {4, 6, 12, 14, 20, 22})},
      {{.keepdims = 0}, {x, t<int64_t>({2}, {2, 0})}, t<float>({2}, {33, 45})},
      {{}, {x}, t<float>({1, 1, 1}, {78})},
      {{}, {x, none_}, t<float>({1, 1, 1}, {78})},
      {{.keepdims = 0}, {x, empty}, t<float>({}, {78})},
      {{.noop_with_empty_axes = 1}, {x, empty}, x},
      {{.noop_with_empty_axes = 1}, {x}, x},
      {{.noop_with_empty_axes = 1}, {x, t<int64_t>({3}, {0, 1, 2})}, t<float>({1, 1, 1}, {78})},
      {{}, {t<float>({}, {3})}, t<float>({}, {3})},
      {{}, {t<float>({2, 0}, {}), t<int64_t>({1}, {1})}, t<float>({2, 1}, {0, 0})},
      {{}, {t<float>({2, 0}, {}), t<int64_t>({1}, {0})}, t<float>({1, 0}, {})},
      {{.keepdims = 0}, {t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {})}, t<float>({}, {0})},
      {{}, {t<float>({3}, {nan, inf, 1})}, t<float>({1}, {nan})},
      {{}, {t<float>({2}, {inf, -inf})}, t<float>({1}, {nan})},
      {{}, {t<int32_t>({2}, {INT32_MAX, 1})}, t<int32_t>({1}, {INT32_MIN})},
      {{}, {t<uint32_t>({2}, {UINT32_MAX, 2})}, t<uint32_t>({1}, {1})},
      {{}, {t<int64_t>({2}, {INT64_MAX, -1})}, t<int64_t>({1}, {INT64_MAX - 1})},
      {{}, {t<uint64_t>({2}, {UINT64_MAX, 2})}, t<uint64_t>({1}, {1})},
      {{}, {t<double>({3}, {1e15, 0.5, 1})}, t<double>({1}, {1e15 + 1.5})},
      {{}, {cast<float16>({3}, {2048, 1, 1})}, cast<float16>({1}, {2050})},
      {{}, {cast<bfloat16>({3}, {256, 1, 1})}, cast<bfloat16>({1}, {258})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
}

TEST_CASE("ReduceSum: long sums stay exact") {
  Tensor<float> x(Extents{2, 1 << 17});
  for (float& v : x) v = 0.1f;
  const auto y = op::ReduceSum{.keepdims = 0}(x, constant<int64_t, 1>);
  CHECK(y[0] == doctest::Approx(13107.2).epsilon(1e-6));
}

TEST_CASE("ReduceSum: versions 1 and 11 have the axes as an attribute") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  for (int version : {1, 11}) {
    CAPTURE(version);
    const auto sum = [&](const Attributes& a) { return stated<op::ReduceSum>(version, a); };
    check(sum({{"axes", ints{1}}}), {x}, {t<float>({2, 1}, {3, 7})});
    check(sum({{"axes", ints{-1}}, {"keepdims", int64_t{0}}}), {x}, {t<float>({2}, {3, 7})}, 0, 0);
    check(sum({{"axes", ints{1, 0}}, {"keepdims", int64_t{0}}}), {x}, {t<float>({}, {10})}, 0, 0);
    check(sum({{"axes", ints{}}}), {x}, {t<float>({1, 1}, {10})});
    check(sum({}), {x}, {t<float>({1, 1}, {10})});
    check_fails(sum({{"axes", ints{2}}}), {x}, "axis 2 outside of [-2, 1]");
    check_fails(sum({}), {cast<bfloat16>({1}, {1})}, "input data cannot be tensor(bfloat16)");
    check_fails(sum({}), {x, t<int64_t>({1}, {0})}, "has no input axes at version");
    check_refused<op::ReduceSum>(version, {{"noop_with_empty_axes", int64_t{1}}},
                                 "has no attribute 'noop_with_empty_axes'");
  }
  check(stated<op::ReduceSum>(13, {{"noop_with_empty_axes", int64_t{1}}}), {x}, {x});
  check(stated<op::ReduceSum>(13), {x, t<int64_t>({1}, {1})}, {t<float>({2, 1}, {3, 7})});
  check_refused<op::ReduceSum>(13, {{"axes", ints{1}}}, "version 13 has no attribute 'axes'");
}

TEST_CASE("ReduceSum: what is refused") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check_fails(op::ReduceSum{}, {x, t<int64_t>({1}, {2})}, "axis 2 outside of [-2, 1]");
  check_fails(op::ReduceSum{}, {x, t<int64_t>({1}, {-3})}, "axis -3 outside of");
  check_fails(op::ReduceSum{}, {x, t<int64_t>({2}, {1, -1})}, "named twice");
  check_fails(op::ReduceSum{}, {x, t<int64_t>({2}, {INT64_MIN, 0})}, "input 1 holds a number out of range");
  check_fails(op::ReduceSum{}, {x, t<int64_t>({}, {1})}, "axes: rank 0, expected 1");
  check_fails(op::ReduceSum{}, {t<float>({}, {1}), t<int64_t>({1}, {0})}, "axis 0 outside of");
  check_fails(op::ReduceSum{}, {t<bool>({1}, {true})}, "input data cannot be tensor(bool)");
}

TEST_CASE("ReduceSum: extents that are not known yet, and shape arithmetic") {
  const auto n = Dim::symbol(1);
  const auto x = info(DType::float32, {n, 3, 4});
  const auto axes = [](const Dims& d, const op::PropagatedData& v = {}) { return info(DType::int64, d, v); };
  CHECK(infer(op::ReduceSum{}, {x, axes({1}, {1})})[0].dims == Dims{n, 1, 4});
  CHECK(infer(op::ReduceSum{.keepdims = 0}, {x, axes({1}, {-1})})[0].dims == Dims{n, 3});
  CHECK(infer(op::ReduceSum{}, {x, axes({1})})[0].dims == Dims::of_rank(3));
  CHECK(infer(op::ReduceSum{.keepdims = 0}, {x, axes({2})})[0].dims == Dims::of_rank(1));
  CHECK(infer(op::ReduceSum{.keepdims = 0}, {x, axes({Dim()})})[0].dims == Dims());
  CHECK_FALSE(infer(op::ReduceSum{}, {info(DType::float32, Dims()), axes({1}, {1})})[0].dims.ranked());
  const auto sum = infer(op::ReduceSum{.keepdims = 0}, {info(DType::int64, {3}, {2, 3, 4})});
  CHECK(sum[0].dims == Dims::of_rank(0));
  CHECK(sum[0].propagated[0].is(9));
  CHECK_FALSE(infer(op::ReduceSum{}, {info(DType::int64, {2}, {2, n})})[0].propagated[0].known());
}

TEST_CASE("ReduceSum: typed") {
  Tensor<float, Shape<2, 2>> x{{1, 2}, {3, 4}};
  const auto y = apply<op::ReduceSum{.keepdims = 0}>(x, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y(1) == 6);
}
}  // namespace tenon
