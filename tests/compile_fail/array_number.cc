// A fraction combined with integers.
// expect: a tensor of integers combines with an integer
#include "tenon/array/arithmetic.hpp"

using namespace tenon;

auto f(const Tensor<int32_t>& i) { return i * 0.5; }
