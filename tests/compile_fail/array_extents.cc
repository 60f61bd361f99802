// A chain whose extents do not broadcast.
// expect: Add: extents (2,3) and
// expect: (2,4) do not broadcast
#include "tenon/array/arithmetic.hpp"

using namespace tenon;

auto f(const Tensor<float, Shape<2, 3>>& x, const Tensor<float, Shape<2, 4>>& b) { return (2 * x + b) * x; }
