// Functions of products of integers whose sums become floats.
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul_integer.hpp"
#include "tenon/op/math/mul.hpp"

namespace tenon::TENON_ABI::op::function_body {

/// Values: the factors and their zero points, the factors' scales, and an addend; -1 for one left out.
struct IntegerProduct {
  int32_t a = -1, b = -1, a_zero = -1, b_zero = -1, a_scale = -1, b_scale = -1, bias = -1;
};

/// (a - a_zero) (b - b_zero) * (a_scale * b_scale) + bias in float32.
template <class L>
int32_t scaled_product(L& to, const IntegerProduct& p) {
  const int32_t sums = to.add(MatMulInteger{}, {p.a, p.b, p.a_zero, p.b_zero});
  const int32_t scale = to.add(Mul{}, {p.a_scale, p.b_scale});
  const int32_t y = to.add(Mul{}, {to.add(Cast{.to = tenon::dtype<float>}, {sums}), scale});
  return p.bias < 0 ? y : to.add(Add{}, {y, p.bias});
}

/// Refuses an addend of y that is not one number for each column: (N), or as ONNX Runtime's optimiser takes
/// it from an Add, (1, …, N).
constexpr void check_column_bias(Infer& i, int input, const Dims& y) {
  const Dims& b = i.dims(input);
  if (!i.has(input) || !b.ranked() || !y.ranked()) return;
  if (b.rank() < 1) return void(i.expect_rank(input, 1));
  if (b.rank() > y.rank()) return i.fail(i.name(input), ": ", b, " has more axes than ", y);
  Dims expected = Dims::of_rank(b.rank(), 1);
  expected[b.rank() - 1] = y[y.rank() - 1];
  i.expect_extents(input, expected);
}

}  // namespace tenon::TENON_ABI::op::function_body
