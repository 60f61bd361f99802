// An expression that becomes a tensor of other extents.
// expect: a tensor is given other extents than its type states
#include "tenon/array/arithmetic.hpp"

using namespace tenon;

void f(Tensor<float, Shape<3>>& x, const Tensor<float, Shape<4>>& y) { x = 2 * y; }
