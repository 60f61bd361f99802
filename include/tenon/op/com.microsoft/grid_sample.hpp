// GridSample: an image at points.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GridSample
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/tensor/grid_sample.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// ONNX's operator under the name that PyTorch's exporter gave it before ONNX had it, for images of two axes.
/// op::com_microsoft::GridSample{}(x, grid) of (1,3,8,8) and (1,4,5,2) gives (1,3,4,5).
struct GridSample {
  int64_t align_corners = 0;
  Str mode = "bilinear";       ///< bilinear, nearest, bicubic
  Str padding_mode = "zeros";  ///< what lies outside: zeros, border, reflection

  static constexpr Spec spec{.name = "GridSample",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"Grid", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  static constexpr Attributes attributes{attr("align_corners", &GridSample::align_corners).flag(),
                                         attr("mode", &GridSample::mode),
                                         attr("padding_mode", &GridSample::padding_mode)};

  constexpr void infer(Infer& i) const {
    op::GridSample{.align_corners = align_corners, .mode = mode, .padding_mode = padding_mode}.infer(i);
  }
  template <class L>
  int32_t lower(L& to) const {
    return to.add(op::GridSample{.align_corners = align_corners,
                                 .mode = mode == "nearest"   ? "nearest"
                                         : mode == "bicubic" ? "cubic"
                                                             : "linear",
                                 .padding_mode = padding_mode},
                  {to.input(0), to.input(1)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::GridSample)
