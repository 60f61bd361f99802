// As many indices as there are axes.
// expect: one index for each axis
#include "tenon/tensor/tensor.hpp"

using namespace tenon;

float f(const Tensor<float, Shape<2, 2>>& t) { return t(1); }
