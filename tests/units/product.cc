// exp(x x) of numbers. The build makes a unit of it for each set of flags, with UNIT as the name of its
// function.
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/mat_mul.hpp"

float UNIT() {
  tenon::Tensor<float, tenon::Shape<tenon::dyn, tenon::dyn>> x({16, 16});
  for (int64_t i = 0; i < x.size(); ++i) x.data()[i] = 0.01f * static_cast<float>(i % 7);
  return tenon::op::Exp{}(tenon::op::MatMul{}(x, x))(0, 0);
}
