#include "tenon/op/com.microsoft/dynamic_quantize_lstm.hpp"

#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.DynamicQuantizeLSTM: results of ONNX Runtime") {
  check_recorded("com.microsoft/dynamic_quantize_lstm.txt",
                 {&operator_class<op::com_microsoft::DynamicQuantizeLSTM>});
}
}  // namespace tenon
