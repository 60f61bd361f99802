// The inner extents of a product differ.
// expect: MatMul: inner extents
// expect: differ: 4 and 3
#include "tenon/op/math/mat_mul.hpp"

using namespace tenon;

auto f(const Tensor<float, Shape<2, 4>>& a, const Tensor<float, Shape<3, 5>>& b) {
  return op::MatMul{}(a, b);
}
