// Extents that only run time knows do not become extents of the type silently: that takes `.as<Shape<2,
// 2>>()`. expect: AnyShape expect: Shape<2, 2>
#include "tenon/tensor/tensor.hpp"

using namespace tenon;

Tensor<float, Shape<2, 2>> f(Tensor<float> t) { return t; }
