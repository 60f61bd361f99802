// Extents that only run time knows do not become a type's silently: `.as<Shape<2, 2>>()` does that.
// expect: AnyShape

// expect: Shape<2, 2>
#include "tenon/tensor/tensor.hpp"

using namespace tenon;

Tensor<float, Shape<2, 2>> f(Tensor<float> t) { return t; }
