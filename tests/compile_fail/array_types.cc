// Tensors of two element types.
// expect: Mul: input B is
// expect: tensor(int64), but T is
#include "tenon/array/arithmetic.hpp"

using namespace tenon;

auto f(const Tensor<float>& x, const Tensor<int64_t>& i) { return exp(x * i) + x; }
