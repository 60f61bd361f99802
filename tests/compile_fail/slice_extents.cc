// A column that is given elements of a row.
// expect: a part is given elements of other extents
#include "tenon/array/slice.hpp"

using namespace tenon;

void f(Tensor<float, Shape<2, 3>>& x) { x(all, 0) = x(0, all); }
