// A tensor of three axes where a matrix is due.
// expect: Gemm: A (2,3,4) and B
// expect: (4,5) are not matrices
#include "tenon/op/math/gemm.hpp"

using namespace tenon;

auto f(const Tensor<float, Shape<2, 3, 4>>& a, const Tensor<float, Shape<4, 5>>& b) {
  return apply<op::Gemm{}>(a, b);
}
