// A vector as an operand, which view_of makes a view.
// expect: an operand is a tensor, a view, a slice, an expression, a number of an element type
#include "tenon/op/tensor/reshape.hpp"

using namespace tenon;

auto f(const Tensor<float, Shape<2, 3>>& x, const std::vector<int64_t>& to) { return op::Reshape{}(x, to); }
