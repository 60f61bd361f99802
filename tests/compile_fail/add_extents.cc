// Extents that do not broadcast.
// expect: Add: extents (2,3) and
// expect: (2,4) do not broadcast
#include "tenon/op/math/add.hpp"

using namespace tenon;

auto f(TensorView<const float, Shape<2, 3>> a, TensorView<const float, Shape<2, 4>> b) {
  return op::Add{}(a, b);
}
