// A tensor is not copied in silence: that takes `.clone()`.
// expect: deleted
#include "tenon/tensor/tensor.hpp"

using namespace tenon;

void f(const Tensor<float>& t) { Tensor<float> copy = t; }
