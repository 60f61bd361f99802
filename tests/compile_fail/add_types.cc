// Operands of two element types.
// expect: Add: input B is
// expect: tensor(int64), but T is
#include "tenon/op/math/add.hpp"

using namespace tenon;

auto f(const Tensor<float>& a, const Tensor<int64_t>& b) { return op::Add{}(a, b); }
