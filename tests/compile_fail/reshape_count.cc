// Extents that the elements do not fill.
// expect: Reshape: (2,3) cannot
// expect: become (4,2)
#include "tenon/op/tensor/reshape.hpp"

using namespace tenon;

auto f(const Tensor<float, Shape<2, 3>>& x) { return apply<op::Reshape{}>(x, constant<int64_t, 4, 2>); }
