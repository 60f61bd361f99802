#include "tenon/op/com.microsoft/q_gemm.hpp"

#include "tenon/op/com.microsoft/dynamic_quantize_mat_mul.hpp"
#include "tenon/op/com.microsoft/mat_mul_integer_to_float.hpp"
#include "tenon/op/com.microsoft/q_linear_conv.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.QGemm, QLinearConv, products of integers: results of ONNX Runtime") {
  check_recorded(
      "com.microsoft/q_linear_product.txt",
      {&operator_class<op::com_microsoft::QGemm>, &operator_class<op::com_microsoft::DynamicQuantizeMatMul>,
       &operator_class<op::com_microsoft::MatMulIntegerToFloat>,
       &operator_class<op::com_microsoft::QLinearConv>});
}
}  // namespace tenon
