// Binarizer: whether elements exceed a threshold.   onnx.ai/onnx/operators/onnx_aionnxml_Binarizer.html
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// Y = 1 where X > threshold, else 0, also for a NaN. op::Binarizer{.threshold = 2}(x) of (1,2,3) gives
/// (0,0,1).
struct Binarizer {
  float threshold = 0;

  static constexpr Spec spec{.name = "Binarizer",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", feature_types}},
                             .elements = Elements::function};
  static constexpr Attributes attributes{attr("threshold", &Binarizer::threshold)};

  constexpr void infer(Infer& i) const { i.out(0, i.dims(0)); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    T bound = 0;
    if constexpr (std::is_floating_point_v<T>) {
      bound = static_cast<T>(threshold);
    } else {
      // An integer exceeds the threshold where it exceeds the greatest integer that does not.
      const double whole = std::floor(static_cast<double>(threshold)),
                   limit = std::ldexp(1.0, 8 * sizeof(T) - 1);
      if (!(whole < limit)) return fill(y, T{0});  // NaN too
      if (whole < -limit) return fill(y, T{1});
      bound = static_cast<T>(whole);
    }
    parallel_for(x.size(), task_work::cheap, [=, from = x.data(), to = y.data()](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) to[k] = from[k] > bound ? T{1} : T{0};
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  template <class T>
  static void fill(TensorView<T> y, T value) {
    std::fill(y.begin(), y.end(), value);
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Binarizer)
