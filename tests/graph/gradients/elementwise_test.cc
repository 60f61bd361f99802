#include "tests/graph/gradients/check.hpp"

namespace tenon::test {

template <class... Op>
void check_unary(double low, double high, const Op&... op) {
  ((check_op(op, {reals({2, 5}, low, high)}), check_op(op, {reals({}, low, high)}),
    check_op(op, {reals({0, 2})})),
   ...);
}

TEST_CASE("Functions of one element") {
  check_unary(-2, 2, op::Identity{}, op::Neg{}, op::Exp{}, op::Abs{}, op::Sin{}, op::Cos{}, op::Atan{},
              op::Sinh{}, op::Cosh{}, op::Tanh{}, op::Asinh{}, op::Erf{}, op::Sigmoid{}, op::Softplus{},
              op::Softsign{}, op::Relu{}, op::LeakyRelu{}, op::LeakyRelu{.alpha = 0.3f},
              op::ThresholdedRelu{}, op::ThresholdedRelu{.alpha = 0.7f}, op::Elu{}, op::Elu{.alpha = 1.5f},
              op::Celu{}, op::Celu{.alpha = 0.6f}, op::Selu{}, op::Selu{.alpha = 1.2f, .gamma = 0.8f},
              op::HardSigmoid{}, op::HardSigmoid{.alpha = 0.4f, .beta = 0.1f}, op::Gelu{},
              op::Gelu{.approximate = "tanh"}, op::Mish{}, op::Swish{}, op::Swish{.alpha = 1.5f},
              op::Shrink{}, op::Shrink{.bias = 0.3f, .lambd = -0.2f}, op::Ceil{}, op::Floor{}, op::Round{},
              op::Sign{});
  check_unary(-5, 5, op::HardSwish{});
  check_unary(-0.9, 0.9, op::Asin{}, op::Acos{}, op::Atanh{}, op::Tan{});
  check_unary(0.3, 3, op::Log{}, op::Sqrt{}, op::Reciprocal{});
  check_unary(1.1, 3, op::Acosh{});
  check_op(op::Cast{.to = static_cast<int64_t>(DType::float64)}, {reals({3})});
}

TEST_CASE("Functions of several elements, which are stretched") {
  const auto each = [](const auto&... op) {
    for (const auto& [a, b] :
         std::vector<std::pair<Given, Given>>{{reals({2, 3}, 0.5, 2), reals({2, 3}, 0.5, 2)},
                                              {reals({2, 1, 3}, 0.5, 2), reals({4, 1}, 0.5, 2)},
                                              {reals({}, 0.5, 2), reals({2, 1}, 0.5, 2)},
                                              {reals({1, 2}, 0.5, 2), reals({}, 0.5, 2)},
                                              {reals({0, 1}), reals({2})}})
      (check_op(op, {a, b}), ...);
  };
  each(op::Add{}, op::Sub{}, op::Mul{}, op::Div{}, op::Pow{}, op::Max{}, op::Min{}, op::Sum{}, op::Mean{},
       op::Mod{.fmod = 1});
  check_op(op::Max{}, {reals({2, 3}), reals({3}), reals({2, 1}), reals({})});
  check_op(op::Min{}, {reals({2, 3}), reals({3}), reals({2, 1}), reals({})});
  check_op(op::Mod{.fmod = 1}, {reals({3, 4}, -5, 5), reals({4}, -2, -1)});
  check_op(op::PRelu{}, {reals({2, 3, 4}), reals({3, 1})});
  check_op(op::PRelu{}, {reals({2, 3}), reals({})});
  check_op(op::Clip{}, {reals({4, 5}), reals({}, -1, -0.5), reals({}, 0.5, 1)});
  check_op(op::Clip{}, {reals({4, 5}), none(), reals({}, 0.5, 1)});
  check_op(op::Clip{}, {reals({4, 5}), reals({}, 0.5, 1), reals({}, -1, -0.5)});
  check_op(op::Clip{}, {reals({}), reals({1}, -1, -0.5), reals({1}, 0.5, 1)});
  check_op(op::SwiGLU{.alpha = 1.5f}, {reals({2, 3}), reals({2, 3})});
  check_op(op::Where{}, {bools({3, 1}, {true, false, true}), reals({3, 2}), reals({2})});
  check_op(op::Pow{}, {reals({2, 4}, 0.5, 2), ints({4}, {-1, 0, 1, 3})});
}

TEST_CASE("Functions of elements, as old versions state them") {
  check_operator(old("Clip", 6, {{"min", -0.5f}, {"max", 0.5f}}), {reals({4, 5})});
  check_operator(old("Clip", 6), {reals({2})});
  for (const char* name : {"Affine", "ScaledTanh", "ParametricSoftplus"})
    check_operator(old(name, 1, {{"alpha", 1.5f}, {"beta", 0.5f}}), {reals({2, 3})});
  check_operator(old("Scale", 1, {{"scale", 2.5f}}), {reals({2, 3})});
}

TEST_CASE("Slopes where functions bend") {
  const auto at = [](std::initializer_list<double> x) {
    return Tensor<double>(Extents{static_cast<int64_t>(x.size())}, x);
  };
  using Slopes = std::vector<double>;
  const Value a = at({1, 3, 2}), b = at({2, 3, 1});
  CHECK(slopes(any(op::Max{}), {a, b}) == Slopes{0, 2, 3, 1, 0, 0});  // the first of equals takes all
  CHECK(slopes(any(op::Min{}), {a, b}) == Slopes{1, 2, 0, 0, 0, 3});
  CHECK(slopes(any(op::Relu{}), {at({-1, 0, 1})}) == Slopes{0, 0, 3});
  CHECK(slopes(any(op::Abs{}), {at({-1, 0, 1})}) == Slopes{-1, 0, 3});
  // 0.9 / 0.1 rounds to 9, but 0.9 is less than 9 times the number nearest to 0.1.
  CHECK(slopes(any(op::Mod{.fmod = 1}), {at({0.9}), at({0.1})}) == Slopes{1, -8});
  CHECK(slopes(any(op::Pow{}), {at({0, 0, 0}), at({0, 1, 2})}) == Slopes{0, 2, 0, 0, 0, 0});
}

TEST_CASE("Second derivatives of functions of elements") {
  const auto each = [](const auto&... op) { (check_twice(op, {reals({2, 3}, 0.2, 0.8)}), ...); };
  each(op::Exp{}, op::Log{}, op::Sqrt{}, op::Reciprocal{}, op::Sin{}, op::Cos{}, op::Tan{}, op::Asin{},
       op::Acos{}, op::Atan{}, op::Sinh{}, op::Cosh{}, op::Tanh{}, op::Asinh{}, op::Atanh{}, op::Erf{},
       op::Sigmoid{}, op::Softplus{}, op::Softsign{}, op::Relu{}, op::Elu{}, op::Celu{}, op::Selu{},
       op::Gelu{}, op::Mish{}, op::Swish{}, op::HardSwish{}, op::Identity{});
  check_twice(op::Pow{}, {reals({2, 3}, 0.5, 2), reals({3}, 1.5, 3)});
  check_twice(op::Pow{}, {reals({4}, 0, 0), ints({4}, {0, 1, 2, 3})});
  check_twice(op::Div{}, {reals({2, 3}, 0.5, 2), reals({3}, 0.5, 2)});
  check_twice(op::Mul{}, {reals({2, 3}), reals({2, 1})});
}

}  // namespace tenon::test
