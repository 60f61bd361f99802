// FeatureVectorizer: features side by side.   onnx.ai/onnx/operators/onnx_aionnxml_FeatureVectorizer.html
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N, sum of widths) holds the rows of all inputs (N,C) side by side as floats; (C) is one row. The row of
/// an input (N,C,…) is all that has the same first index, as in ONNX Runtime; ONNX does not say. Where
/// `inputdimensions` states the width of each input, longer rows are cut and shorter ones are followed by
/// zeros. op::FeatureVectorizer{}(a, b) of (2,3) and (2,1) gives (2,4).
struct FeatureVectorizer {
  std::vector<int64_t> inputdimensions{};

  static constexpr Spec spec{.name = "FeatureVectorizer",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T1", variadic}},
                             .outputs = {{"Y", "tensor(float)"}},
                             .types = {{"T1", feature_types}}};
  static constexpr Attributes attributes{attr("inputdimensions", &FeatureVectorizer::inputdimensions)};

  void infer(Infer& i) const {
    if (!inputdimensions.empty() && !i.expect_entries("inputdimensions", inputdimensions.size(), i.inputs()))
      return;
    Dim rows, width = 0;
    for (int k = 0; k < i.inputs(); ++k) {
      const Dims& x = i.dims(k);
      if (x.ranked() && x.rank() == 0) return i.fail("input ", k, ": rank 0, expected at least 1");
      Dim own = feature_count(x);
      for (int axis = x.ranked() ? x.rank() - 2 : 0; axis > 0; --axis) own = own * x[axis];
      if (!inputdimensions.empty()) {
        own = inputdimensions[static_cast<std::size_t>(k)];
        if (!i.expect_at_least("inputdimensions", own, 0)) return;
      }
      width = width + own;
      rows = i.unify(rows, row_count(x), "rows of inputs");
      if (i.failed()) return;
    }
    i.out(0, {rows, width});
  }
  template <class T>
  void compute(std::span<const TensorView<const T>> inputs, TensorView<float> y) const {
    if (y.empty()) return;
    const int64_t rows = y.extent(0), width = y.extent(1);
    parallel_for(rows, std::max<int64_t>(task_work::moderate / width, 1), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        float* to = y.data() + r * width;
        for (std::size_t k = 0; k < inputs.size(); ++k) {
          const int64_t given = inputs[k].size() / rows,
                        own = inputdimensions.empty() ? given : inputdimensions[k];
          const int64_t kept = std::min(given, own);
          convert_n(to, inputs[k].data() + r * given, kept);
          std::fill(to + kept, to + own, 0.0f);
          to += own;
        }
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::FeatureVectorizer)
