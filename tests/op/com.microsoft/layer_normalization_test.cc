#include "tenon/op/com.microsoft/layer_normalization.hpp"

#include "tenon/op/com.microsoft/simplified_layer_normalization.hpp"
#include "tenon/op/com.microsoft/skip_layer_normalization.hpp"
#include "tenon/op/com.microsoft/skip_simplified_layer_normalization.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.LayerNormalization and its kind: results of ONNX Runtime") {
  check_recorded("com.microsoft/layer_normalization.txt",
                 {&operator_class<op::com_microsoft::LayerNormalization>,
                  &operator_class<op::com_microsoft::SimplifiedLayerNormalization>,
                  &operator_class<op::com_microsoft::SkipLayerNormalization>,
                  &operator_class<op::com_microsoft::SkipSimplifiedLayerNormalization>});
}
}  // namespace tenon
