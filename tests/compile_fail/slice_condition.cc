// A slice as a condition, which would not be its element.
// expect: deleted
#include "tenon/array/slice.hpp"

using namespace tenon;

bool f(const Tensor<bool, Shape<2>>& x) {
  if (slice(x, 1)) return true;
  return false;
}
