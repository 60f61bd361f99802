#include "tenon/op/com.microsoft/embed_layer_normalization.hpp"

#include "tenon/op/com.microsoft/q_embed_layer_normalization.hpp"

#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.EmbedLayerNormalization: results of ONNX Runtime") {
  check_recorded("com.microsoft/embed_layer_normalization.txt",
                 {&operator_class<op::com_microsoft::EmbedLayerNormalization>,
                  &operator_class<op::com_microsoft::QEmbedLayerNormalization>});
}
}  // namespace tenon
