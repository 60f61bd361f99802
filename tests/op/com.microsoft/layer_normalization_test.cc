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

TEST_CASE("com.microsoft.LayerNormalization and its kind: what they refuse") {
  using namespace op::com_microsoft;
  const Value x = t<float>({1, 2, 2}, {1, 2, 3, 4}), two = t<float>({2}, {1, 1}),
              three = t<float>({3}, {1, 1, 1});
  check_fails(op::com_microsoft::LayerNormalization{}, {x, three}, "does not stretch over (1,2,2)");
  check_fails(op::com_microsoft::LayerNormalization{.axis = 3}, {x, two}, "axis 3 outside of [-3, 2]");
  check_fails(SimplifiedLayerNormalization{.stash_type = 2}, {x, two}, "stash_type");
  check_fails(SkipLayerNormalization{}, {x, two, two}, "skip (2) does not fit (1,2,2)");
  check_fails(SkipLayerNormalization{}, {x, x, three}, "gamma: (3), expected (2)");
  check_fails(SkipLayerNormalization{}, {x, x, two, two, three}, "bias: (3), expected (2)");
  check_fails(SkipSimplifiedLayerNormalization{}, {two, two, two}, "input: rank 1, expected 2 or 3");
  const Dims open{Dim::symbol(1), Dim::symbol(2), 4};
  const auto y =
      infer(SkipLayerNormalization{},
            {info(DType::float32, open), info(DType::float32, open), info(DType::float32, {4})}, 4);
  CHECK(y[0].dims == open);
  CHECK(y[1].dims == Dims{Dim::symbol(1), Dim::symbol(2), 1});
  CHECK(y[3].dims == open);
}

TEST_CASE("com.microsoft.LayerNormalization and its kind: versions") {
  CHECK(op::com_microsoft::LayerNormalization::spec.domain.empty());
  CHECK(op::com_microsoft::SimplifiedLayerNormalization::spec.domain.empty());
  Registry r;
  r.add<op::LayerNormalization>();
  r.add<op::com_microsoft::LayerNormalization>();
  CHECK(r.find("", "LayerNormalization", 16).version == 1);
  CHECK(r.find("", "LayerNormalization", 17).version == 17);
}
}  // namespace tenon
