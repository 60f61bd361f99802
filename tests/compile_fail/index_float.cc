// A number that is not whole as an index.
// expect: an index is an integer
#include "tenon/tensor/tensor.hpp"

using namespace tenon;

float f(const Tensor<float, Shape<2, 3>>& x) { return x(0.5, 1); }
