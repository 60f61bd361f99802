// A part of a tensor that is gone.
// expect: deleted
#include "tenon/array/slice.hpp"

using namespace tenon;

auto f() { return slice(Tensor<float, Shape<2, 3>>(), 0); }
