// An operand is left out that has to be there.
// expect: MatMul: input B is
// expect: missing
#include "tenon/op/math/mat_mul.hpp"

using namespace tenon;

auto f(const Tensor<float, Shape<2, 3>>& a) { return op::MatMul{}(a); }
