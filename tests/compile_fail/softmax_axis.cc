// An attribute that does not fit the rank.
// expect: Softmax: axis 2 outside
// expect: of [-2, 1]
#include "tenon/op/math/softmax.hpp"

using namespace tenon;

auto f(const Tensor<float, Shape<2, 3>>& x) { return apply<op::Softmax{.axis = 2}>(x); }
