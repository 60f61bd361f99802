// Upsample: axes made longer; Resize since 10.   onnx.ai/onnx/operators/onnx__Upsample.html
#pragma once

#include "tenon/op/families/resize.hpp"

namespace tenon::TENON_ABI::op {

/// Each extent times its scale, which is at least 1, rounded down; element j of an axis is the one at j /
/// scale, with mode nearest the lower neighbour. op::Upsample{}(x, scales) of (1,1,2,2) and (1,1,2,3) gives
/// (1,1,4,6).
struct Upsample {
  Str mode = "nearest";  ///< nearest, linear

  static constexpr Spec spec{.name = "Upsample",
                             .since = {9, 10},
                             .inputs = {{"X", "T"}, {"scales", "tensor(float)"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::all}},
                             .until = 9};
  static constexpr Attributes attributes{attr("mode", &Upsample::mode)};

  constexpr Elements elements() const { return resized_elements(mode); }
  constexpr void infer(Infer& i) const {
    if (!check_resize_mode(i, mode, {"nearest", "linear"}) || !i.expect_rank(1, 1)) return;
    infer_scaled(i, i.data<float>(1), i.dims(1).count(), 1);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const float> scales, TensorView<T> y) const {
    resize_scaled(x, scales.data(), y, resize_mode(mode), NearestMode::floor);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// The scales are an attribute.
struct Upsample_7 {
  Str mode = "nearest";
  std::vector<float> scales{};

  static constexpr Spec spec{.name = "Upsample",
                             .since = {7},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::all}}};
  static constexpr Attributes attributes{attr("mode", &Upsample_7::mode),
                                         attr("scales", &Upsample_7::scales).required()};

  constexpr Elements elements() const { return resized_elements(mode); }
  constexpr void infer(Infer& i) const {
    if (check_resize_mode(i, mode, {"nearest", "linear"}))
      infer_scaled(i, scales.data(), static_cast<int64_t>(scales.size()), 1);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    resize_scaled(x, scales.data(), y, resize_mode(mode), NearestMode::floor);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// (N, C, H, W) with scales of the last two axes.
struct Upsample_1 {
  Opt<float> height_scale{};
  Str mode = "nearest";  ///< nearest, bilinear
  Opt<float> width_scale{};

  static constexpr Spec spec{.name = "Upsample",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats | types::int32 | types::int64 | types::boolean}}};
  static constexpr Attributes attributes{attr("height_scale", &Upsample_1::height_scale).required(),
                                         attr("mode", &Upsample_1::mode),
                                         attr("width_scale", &Upsample_1::width_scale).required()};

  constexpr Elements elements() const { return resized_elements(mode); }

 private:
  constexpr std::array<float, 4> scales() const {
    return {1, 1, height_scale.value_or(0), width_scale.value_or(0)};
  }

 public:
  constexpr void infer(Infer& i) const {
    if (!check_resize_mode(i, mode, {"nearest", "bilinear"}) || !i.expect_rank(0, 4)) return;
    if (!i.ranked(0)) return i.out(0, Dims::of_rank(4));
    infer_scaled(i, scales().data(), 4, 1);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    resize_scaled(x, scales().data(), y, resize_mode(mode), NearestMode::floor);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Upsample, tenon::op::Upsample_7, tenon::op::Upsample_1)
