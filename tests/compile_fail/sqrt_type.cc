// An element type that ONNX does not permit.
// expect: Sqrt: input X cannot be
// expect: tensor(int32)
#include "tenon/op/math/sqrt.hpp"

using namespace tenon;

auto f(const Tensor<int32_t, Shape<3>>& x) { return op::Sqrt{}(x); }
