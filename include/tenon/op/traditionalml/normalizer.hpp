// Normalizer: rows divided by a norm.   onnx.ai/onnx/operators/onnx_aionnxml_Normalizer.html
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// Each row of X (N,C), or X (C), divided by its greatest element ("MAX"), the sum of magnitudes ("L1"), or
/// the root of the sum of squares ("L2"); unchanged if that is 0. Signs stay.
/// op::Normalizer{.norm = "L1"}(x) of (1,3) gives (0.25,0.75).
struct Normalizer {
  Str norm = "MAX";

  static constexpr Spec spec{.name = "Normalizer",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "tensor(float)"}},
                             .types = {{"T", feature_types}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("norm", &Normalizer::norm)};

  constexpr void infer(Infer& i) const {
    i.out(0, i.dims(0));
    if (i.expect_choice("norm", norm, {"MAX", "L1", "L2"})) expect_rows(i);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<float> y) const {
    if (x.empty()) return;
    const int64_t width = x.extent(-1);
    const auto kind = norm == "MAX" ? 0 : norm == "L1" ? 1 : 2;
    const int64_t grain = std::max<int64_t>(task_work::moderate / width, 1);
    parallel_for(row_count(x), grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* from = x.data() + r * width;
        float* to = y.data() + r * width;
        const auto at = [=](int64_t k) { return static_cast<double>(from[k]); };
        const auto join = [&](double start, auto f) {
          for (int64_t k = 0; k < width; ++k) start = f(start, at(k));
          return start;
        };
        const auto greater = [](double a, double b) { return b > a || b != b ? b : a; };
        double scale = 1, divisor = 0;
        if (kind == 0) {
          divisor = join(at(0), greater);
        } else {
          // Magnitudes of doubles are summed relative to the greatest one, so that the sum does not overflow.
          if constexpr (std::is_same_v<T, double>)
            scale = join(0, [&](double a, double b) { return greater(a, std::abs(b)); });
          if (kind == 1) divisor = join(0, [&](double a, double b) { return a + std::abs(b) / scale; });
          else divisor = std::sqrt(join(0, [&](double a, double b) { return a + b / scale * (b / scale); }));
          if (scale == 0) divisor = 0;
        }
        if (divisor == 0) convert_n(to, from, width);
        else
          for (int64_t k = 0; k < width; ++k) to[k] = static_cast<float>(at(k) / scale / divisor);
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Normalizer)
