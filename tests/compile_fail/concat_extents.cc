// Tensors whose other extents differ.
// expect: Concat: extents off the
#include "tenon/array/join.hpp"

using namespace tenon;

auto f(TensorView<const float, Shape<2, 3>> a, TensorView<const float, Shape<2, 4>> b) {
  return concat<0>(a, b);
}
