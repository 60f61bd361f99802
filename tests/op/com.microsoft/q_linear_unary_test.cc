#include "tenon/op/com.microsoft/q_linear_sigmoid.hpp"

#include "tenon/op/com.microsoft/dequantize_linear.hpp"
#include "tenon/op/com.microsoft/nhwc_max_pool.hpp"
#include "tenon/op/com.microsoft/q_linear_average_pool.hpp"
#include "tenon/op/com.microsoft/q_linear_softmax.hpp"
#include "tenon/op/com.microsoft/quantize_linear.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.QLinearSigmoid, QLinearSoftmax, pools, QuantizeLinear: results of ONNX Runtime") {
  check_recorded(
      "com.microsoft/q_linear_unary.txt",
      {&operator_class<op::com_microsoft::QLinearSigmoid>,
       &operator_class<op::com_microsoft::QLinearLeakyRelu>,
       &operator_class<op::com_microsoft::QLinearSoftmax>,
       &operator_class<op::com_microsoft::QLinearAveragePool>,
       &operator_class<op::com_microsoft::QLinearGlobalAveragePool>,
       &operator_class<op::com_microsoft::NhwcMaxPool>, &operator_class<op::com_microsoft::QuantizeLinear>,
       &operator_class<op::com_microsoft::DequantizeLinear>});
}

TEST_CASE("com.microsoft.NhwcMaxPool: dilations with auto_pad") {
  op::com_microsoft::NhwcMaxPool op{
      .auto_pad = "SAME_UPPER", .dilations = {1, 2}, .kernel_shape = {2, 1}, .strides = {1, 1}};
  const Value x = t<uint8_t>({1, 2, 2, 1}, {1, 4, 3, 2});
  check(op, {x}, {t<uint8_t>({1, 2, 2, 1}, {3, 4, 3, 2})});
  op.kernel_shape = {1, 2};
  check_fails(op, {x}, "auto_pad SAME_UPPER with dilations is not supported: state pads");
}
}  // namespace tenon
