// Scaler: an offset subtracted, then a factor applied.   onnx.ai/onnx/operators/onnx_aionnxml_Scaler.html
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// Y = (X - offset) * scale; either holds one number for all features, or one for each feature of X (…, C),
/// or is left out. op::Scaler{.offset = {1}, .scale = {2}}(x) of (1,2) gives (0,2).
struct Scaler {
  std::vector<float> offset{};
  std::vector<float> scale{};

  static constexpr Spec spec{.name = "Scaler",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "tensor(float)"}},
                             .types = {{"T", feature_types}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("offset", &Scaler::offset), attr("scale", &Scaler::scale)};

  void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    i.out(0, x);
    if (!offset.empty() && !scale.empty() && offset.size() != scale.size())
      return i.fail("offset has ", offset.size(), " entries, scale has ", scale.size());
    const auto count = static_cast<int64_t>(std::max(offset.size(), scale.size()));
    if (count > 1 && i.expect_rank_at_least(0, 1) && feature_count(x).differs(count))
      i.fail(count, " offsets or scales for ", feature_count(x), " features");
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<float> y) const {
    using C = model_t<T>;
    if (x.empty()) return;
    const int64_t width = x.rank() == 0 ? 1 : x.extent(-1);
    Scratch scratch;
    const auto spread = [&](const std::vector<float>& list, float otherwise) {
      C* each = scratch.take<C>(width);
      for (int64_t k = 0; k < width; ++k)
        each[k] = static_cast<C>(list.empty() ? otherwise
                                              : list[list.size() == 1 ? 0 : static_cast<std::size_t>(k)]);
      return each;
    };
    const C *minus = spread(offset, 0), *times = spread(scale, 1);
    const int64_t grain = std::max<int64_t>(task_work::cheap / width, 1);
    parallel_for(x.size() / width, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* from = x.data() + r * width;
        float* to = y.data() + r * width;
        for (int64_t k = 0; k < width; ++k)
          to[k] = static_cast<float>((static_cast<C>(from[k]) - minus[k]) * times[k]);
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Scaler)
