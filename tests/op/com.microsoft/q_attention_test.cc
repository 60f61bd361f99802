#include "tenon/op/com.microsoft/q_attention.hpp"

#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.QAttention: results of ONNX Runtime") {
  check_recorded("com.microsoft/q_attention.txt", {&operator_class<op::com_microsoft::QAttention>});
}
}  // namespace tenon
