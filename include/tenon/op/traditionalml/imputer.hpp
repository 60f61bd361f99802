// Imputer: one value replaced by others.   onnx.ai/onnx/operators/onnx_aionnxml_Imputer.html
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X, with each element equal to the replaced value replaced by its column's imputed value, or the only
/// one. Floats take the attributes for floats, integers the ones for integers. A NaN equals a NaN.
/// op::Imputer{.imputed_value_floats = {7}, .replaced_value_float = NAN}(x) of (1,NaN) gives (1,7).
struct Imputer {
  std::vector<float> imputed_value_floats{};
  std::vector<int64_t> imputed_value_int64s{};
  float replaced_value_float = 0;
  int64_t replaced_value_int64 = 0;

  static constexpr Spec spec{.name = "Imputer",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", feature_types}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("imputed_value_floats", &Imputer::imputed_value_floats),
                                         attr("imputed_value_int64s", &Imputer::imputed_value_int64s),
                                         attr("replaced_value_float", &Imputer::replaced_value_float),
                                         attr("replaced_value_int64", &Imputer::replaced_value_int64)};

  void infer(Infer& i) const {
    i.out(0, i.dims(0));
    const bool floats = is_float(i.dtype(0));
    const auto count =
        static_cast<int64_t>(floats ? imputed_value_floats.size() : imputed_value_int64s.size());
    if (count == 0 || !(floats ? imputed_value_int64s.empty() : imputed_value_floats.empty()))
      return i.fail(floats ? "floats" : "integers", " take imputed_value_", floats ? "floats" : "int64s",
                    " and no others");
    if (!i.expect_rank_at_least(0, 1)) return;
    if (count != 1 && feature_count(i.dims(0)).differs(count))
      return i.fail(count, " imputed values for ", feature_count(i.dims(0)), " features");
    if (i.dtype(0) == DType::int32)
      for (const int64_t v : imputed_value_int64s)
        if (v != static_cast<int32_t>(v)) return i.fail("imputed value ", v, " is no int32");
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (x.empty()) return;
    if constexpr (std::is_floating_point_v<T>) replace(x, y, replaced_value_float, imputed_value_floats);
    else replace(x, y, replaced_value_int64, imputed_value_int64s);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  template <class T, class V>
  static void replace(TensorView<const T> x, TensorView<T> y, V replaced, const std::vector<V>& imputed) {
    const int64_t width = x.extent(-1);
    Scratch scratch;
    T* values = scratch.take<T>(width);
    for (int64_t k = 0; k < width; ++k)
      values[k] = static_cast<T>(imputed[imputed.size() == 1 ? 0 : static_cast<std::size_t>(k)]);
    const bool nan = replaced != replaced;
    const int64_t grain = std::max<int64_t>(task_work::cheap / width, 1);
    parallel_for(x.size() / width, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* from = x.data() + r * width;
        T* to = y.data() + r * width;
        if (nan)
          for (int64_t k = 0; k < width; ++k) to[k] = from[k] != from[k] ? values[k] : from[k];
        else
          for (int64_t k = 0; k < width; ++k) to[k] = from[k] == replaced ? values[k] : from[k];
      }
    });
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Imputer)
