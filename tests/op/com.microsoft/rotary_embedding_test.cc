#include "tenon/op/com.microsoft/rotary_embedding.hpp"

#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.RotaryEmbedding: results of ONNX Runtime") {
  check_recorded("com.microsoft/rotary_embedding.txt", {&operator_class<op::com_microsoft::RotaryEmbedding>});
}
}  // namespace tenon
