// An array of other length than the view's extents need.
// expect: as many elements as the extents need
#include "tenon/tensor/view.hpp"

using namespace tenon;

const float five[5] = {};
TensorView<const float, Shape<2, 3>> v(five);
