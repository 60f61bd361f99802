#include "tenon/op/reduction/reduce_sum.hpp"

#include "tests/op/reduction.hpp"

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

TEST_CASE("ReduceSum: long sums stay exact") { check_long<op::ReduceSum>(0.1f, 300000 * double{0.1f}); }

TEST_CASE("ReduceSum: versions") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check_axes<op::ReduceSum>(x, t<float>({2, 1}, {3, 7}), t<float>({2}, {4, 6}), t<float>({1, 1}, {10}), x);
  check_refused_types<op::ReduceSum>();
  check_unknown_axes<op::ReduceSum>();
}

TEST_CASE("ReduceSum: errors") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check_fails(op::ReduceSum{}, {x, t<int64_t>({2}, {1, -1})}, "named twice");
  check_fails(op::ReduceSum{}, {x, t<int64_t>({2}, {INT64_MIN, 0})}, "input 1 holds a number out of range");
  check_fails(op::ReduceSum{}, {t<float>({}, {1}), t<int64_t>({1}, {0})}, "axis 0 outside of");
}

TEST_CASE("ReduceSum: extents that are not known yet, and shape arithmetic") {
  const auto n = Dim::symbol(1);
  const auto x = info(DType::float32, {n, 3, 4});
  const auto axes = [](const Dims& d, const op::PropagatedData& v = {}) { return info(DType::int64, d, v); };
  CHECK(infer(op::ReduceSum{.keepdims = 0}, {x, axes({1}, {-1})})[0].dims == Dims{n, 3});
  CHECK(infer(op::ReduceSum{.keepdims = 0}, {x, axes({2})})[0].dims == Dims::of_rank(1));
  CHECK(infer(op::ReduceSum{.keepdims = 0}, {x, axes({Dim()})})[0].dims == Dims());
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
