// ImageScaler: output = scale input + bias of the channel; experimental, withdrawn with opset 10.
// github.com/onnx/onnx/blob/v1.4.1/docs/Operators.md#experimental-imagescaler
#pragma once

#include <vector>

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = scale input + bias[c] for channel c of images (N, C, H, W); no `bias` adds nothing.
/// op::ImageScaler{.bias = {1, 2}, .scale = 0.5f}(x) of (1,2,4,4) gives (1,2,4,4).
struct ImageScaler {
  std::vector<float> bias{};
  float scale = 1;

  static constexpr Spec spec{.name = "ImageScaler",
                             .since = {1},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats}},
                             .memory = Memory::elementwise,
                             .until = 9};
  static constexpr Attributes attributes{attr("bias", &ImageScaler::bias),
                                         attr("scale", &ImageScaler::scale)};

  void infer(Infer& i) const {
    if (!i.expect_rank(0, 4)) return;
    if (i.ranked(0) && !bias.empty())
      i.unify(i.dims(0)[1], static_cast<int64_t>(bias.size()), "numbers of channels and of biases");
    i.out(0, i.dims(0));
  }
  template <class T>
  void compute(TensorView<const T> input, TensorView<T> output) const {
    if (input.empty()) return;
    const int64_t channels = input.extent(1), area = input.extent(2) * input.extent(3);
    for (int64_t k = 0; k < input.extent(0) * channels; ++k) {
      const double added = bias.empty() ? 0 : bias[static_cast<std::size_t>(k % channels)];
      kernels::unary<kernels::UnaryOp::linear>(input.data() + k * area, output.data() + k * area, area,
                                               {.alpha = scale, .beta = added});
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ImageScaler)
