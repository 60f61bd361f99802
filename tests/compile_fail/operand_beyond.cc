// More operands than the operator takes.
// expect: Relu: takes at most 1
// expect: inputs, not 2
#include "tenon/op/math/relu.hpp"

using namespace tenon;

auto f(const Tensor<float, Shape<2>>& a) { return op::Relu{}(a, a); }
