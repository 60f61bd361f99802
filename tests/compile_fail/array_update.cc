// A sum of more elements than its left side holds.
// expect: the result has other extents than the tensor
#include "tenon/array/arithmetic.hpp"

using namespace tenon;

void f(Tensor<float, Shape<3>>& x, const Tensor<float, Shape<2, 3>>& y) { x += y; }
