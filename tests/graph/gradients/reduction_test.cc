#include "tests/graph/gradients/check.hpp"

namespace tenon::test {

/// The operator with keepdims and without.
template <class Op>
void check_reduction() {
  for (int64_t keepdims : {0, 1}) {
    const Op op{.keepdims = keepdims}, noop{.keepdims = keepdims, .noop_with_empty_axes = 1};
    for (const Given& axes : {ints({1}), ints({-1, 0}), late(ints({-2})), ints({})})
      check_op(op, {reals({2, 3, 2}, 0.5, 2), axes});
    check_op(op, {reals({2, 3}, 0.5, 2)});
    check_op(op, {reals({}, 0.5, 2)});
    check_op(op, {reals({0, 3}), ints({1})});
    check_op(noop, {reals({2, 3}, 0.5, 2)});
    check_op(noop, {reals({2, 3}, 0.5, 2), late(ints({}))});
    check_operator(old(Op::spec.name, 11, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", keepdims}}),
                   {reals({2, 3}, 0.5, 2)});
  }
}

TEST_CASE("Reductions") {
  check_reduction<op::ReduceSum>();
  check_reduction<op::ReduceMean>();
  check_reduction<op::ReduceMax>();
  check_reduction<op::ReduceMin>();
  check_reduction<op::ReduceProd>();
  check_reduction<op::ReduceL1>();
  check_reduction<op::ReduceL2>();
  check_reduction<op::ReduceSumSquare>();
  check_reduction<op::ReduceLogSum>();
  check_reduction<op::ReduceLogSumExp>();
  check_op(op::ReduceSum{}, {reals({0, 3}), ints({0})});
  check_op(op::ReduceMean{}, {reals({0, 3}), ints({0})});
  check_op(op::ReduceMean{}, {reals({0})});
}

TEST_CASE("Slopes of reductions: equals, zeros, and more elements than a half can count") {
  using Slopes = std::vector<double>;
  const auto at = [](std::initializer_list<double> x) {
    return Value(Tensor<double>(Extents{static_cast<int64_t>(x.size())}, x));
  };
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(slopes(any(op::ReduceMax{}), {at({3, 1, 3})}) == Slopes{0.5, 0, 0.5});
  CHECK(slopes(any(op::ReduceMin{}), {at({-infinity, 1, 3})}) == Slopes{1, 0, 0});
  CHECK(slopes(any(op::ReduceProd{}), {at({2, 0, 3})}) == Slopes{0, 6, 0});
  CHECK(slopes(any(op::ReduceProd{}), {at({0, 0, 3})}) == Slopes{0, 0, 0});
  CHECK(slopes(any(op::ReduceL2{}), {at({0, 0})}) == Slopes{0, 0});
  CHECK(slopes(any(op::ReduceLogSumExp{}), {at({-infinity, -infinity})}) == Slopes{0, 0});
  CHECK(slopes(any(op::ReduceLogSumExp{}), {at({-infinity, 1})}) == Slopes{0, 1});
  Tensor<float16> many(Extents{100'000});
  for (float16& x : many) x = float16(1.0f);
  CHECK(slopes(any(op::ReduceMean{}), {Value(many)}, DType::float16)[99'999] ==
        doctest::Approx(1e-5).epsilon(0.01));
}

TEST_CASE("Second derivatives of reductions") {
  const auto each = [](const auto&... op) { (check_twice(op, {reals({2, 3}, 0.2, 0.8)}), ...); };
  each(op::ReduceMean{}, op::ReduceMax{}, op::ReduceL2{}, op::ReduceProd{}, op::ReduceLogSumExp{},
       op::ReduceLogSum{}, op::ReduceSumSquare{});
  // Rows with no zero, one, two and three.
  const Given zeros = reals({4, 3}, {1.5, -0.5, 2, 1.5, 0, 2, 0, -0.5, 0, 0, 0, 0});
  for (int64_t keepdims : {0, 1}) {
    check_op(op::ReduceProd{.keepdims = keepdims}, {zeros, ints({1})});
    check_twice(op::ReduceProd{.keepdims = keepdims}, {zeros, ints({1})});
  }
  check_twice(op::ReduceProd{}, {reals({2, 2}, {0, 3, 2, 0})});
}

}  // namespace tenon::test
