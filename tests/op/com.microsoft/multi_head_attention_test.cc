#include "tenon/op/com.microsoft/multi_head_attention.hpp"

#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.MultiHeadAttention: results of ONNX Runtime") {
  check_recorded("com.microsoft/multi_head_attention.txt",
                 {&operator_class<op::com_microsoft::MultiHeadAttention>});
}
}  // namespace tenon
