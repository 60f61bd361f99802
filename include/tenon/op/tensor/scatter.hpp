// Scatter: elements replaced at indices along an axis; ScatterElements since 11.
// onnx.ai/onnx/operators/onnx__Scatter.html
#pragma once

#include "tenon/op/families/scatter_elements.hpp"

namespace tenon::TENON_ABI::op {

/// ScatterElements before it had that name. op::Scatter{.axis = 1}(x, indices, updates) of (2,3), (2,1) and
/// (2,1) gives (2,3).
struct Scatter {
  int64_t axis = 0;

  static constexpr Spec spec{
      .name = "Scatter",
      .since = {9, 11},
      .inputs = {{"data", "T"}, {.name = "indices", .type = "Tind", .looks_up = 0}, {"updates", "T"}},
      .outputs = {{"output", "T"}},
      .types = {{"T", types::all}, {"Tind", types::indices}},
      .until = 10};
  static constexpr Attributes attributes{attr("axis", &Scatter::axis)};

  constexpr void infer(Infer& i) const { infer_scatter_elements(i, axis); }
  /// Error{out_of_range} for an index outside of [-extent, extent).
  void compute(AnyView data, AnyView indices, AnyView updates, AnyOut output) const {
    scatter_elements(spec.name, kernels::ScatterOp::none, axis, data, indices, updates, output);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Scatter)
