#include "tenon/op/com.microsoft/fused_mat_mul.hpp"

#include "tenon/op/com.microsoft/fused_conv.hpp"
#include "tenon/op/com.microsoft/fused_gemm.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.FusedMatMul, FusedConv, FusedGemm: results of ONNX Runtime") {
  check_recorded(
      "com.microsoft/fused.txt",
      {&operator_class<op::com_microsoft::FusedMatMul>, &operator_class<op::com_microsoft::TransposeMatMul>,
       &operator_class<op::com_microsoft::FusedConv>, &operator_class<op::com_microsoft::FusedGemm>});
}
}  // namespace tenon
