#include "tenon/op/com.microsoft/attention.hpp"

#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.Attention: results of ONNX Runtime") {
  check_recorded("com.microsoft/attention.txt", {&operator_class<op::com_microsoft::Attention>});
}
}  // namespace tenon
