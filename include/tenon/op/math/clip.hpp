// Clip: elements held between two bounds.   onnx.ai/onnx/operators/onnx__Clip.html
#pragma once

#include <limits>

#include "tenon/op/unary.hpp"

namespace tenon::op {

/// output = min(max(input, min), max): all max where max is below min; NaN stays. Each bound is one element,
/// or is left out.
struct Clip {
  static constexpr Spec spec{
      .name = "Clip",
      .since = {11, 12, 13},
      .inputs = {{"input", "T"}, {"min", "T", optional}, {"max", "T", optional}},
      .outputs = {{"output", "T"}},
      .types = {{"T", {{11, types::floats}, {12, types::numeric}, {13, types::numeric_bf16}}}},
      .memory = Memory::elementwise};
  static constexpr Attributes attributes{};

  constexpr void infer(Infer& i) const {
    for (int k = 1; k <= 2; ++k)
      if (i.has(k) && i.dims(k).count().differs(1))
        return i.fail(k == 1 ? "min" : "max", " has extents ", i.dims(k), ", not one element");
    infer_unary(i);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> min, TensorView<const T> max,
               TensorView<T> y) const {
    using Limits = std::numeric_limits<T>;
    T low = Limits::lowest(), high = Limits::max();
    if constexpr (Limits::has_infinity) {
      constexpr float infinity = std::numeric_limits<float>::infinity();
      low = T(-infinity), high = T(infinity);
    }
    kernels::clip(x.data(), y.data(), x.size(), min ? min[0] : low, max ? max[0] : high);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// The bounds are attributes, by default the finite range of float.
struct Clip_6 {
  float max = std::numeric_limits<float>::max();
  float min = std::numeric_limits<float>::lowest();

  static constexpr Spec spec{.name = "Clip",
                             .since = {6},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("max", &Clip_6::max), attr("min", &Clip_6::min)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::clip>(x, y, {.alpha = min, .beta = max});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// The bounds are attributes; one that is left out does not bound.
struct Clip_1 {
  Ints consumed_inputs{};  ///< a memory hint that has no meaning today
  Opt<float> max{};
  Opt<float> min{};

  static constexpr Spec spec{.name = "Clip",
                             .since = {1},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("consumed_inputs", &Clip_1::consumed_inputs),
                                         attr("max", &Clip_1::max), attr("min", &Clip_1::min)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    Clip_6{.max = max.value_or(infinity), .min = min.value_or(-infinity)}.compute(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
