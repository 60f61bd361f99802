// ScatterElements: elements replaced at indices along an axis, or combined.
// onnx.ai/onnx/operators/onnx__ScatterElements.html
#pragma once

#include "tenon/op/families/scatter_elements.hpp"

namespace tenon::TENON_ABI::op {

/// Each update goes to data's element at the same coordinates, except on `axis`, where indices give it,
/// counted from the end if negative. Of two updates to one place the second replaces the first, or is reduced
/// after it. op::ScatterElements{.axis = 1}(x, indices, updates) of (2,3), (2,1) and (2,1) gives (2,3).
struct ScatterElements {
  int64_t axis = 0;
  Str reduction = "none";  ///< none, add, mul; since 18 max, min

  static constexpr Spec spec{
      .name = "ScatterElements",
      .since = {11, 13, 16, 18},
      .inputs = {{"data", "T"}, {.name = "indices", .type = "Tind", .looks_up = 0}, {"updates", "T"}},
      .outputs = {{"output", "T"}},
      .types = {all_tensors_ir4, {"Tind", types::indices}}};
  static constexpr Attributes attributes{attr("axis", &ScatterElements::axis),
                                         attr("reduction", &ScatterElements::reduction).since(16)};

  constexpr void infer(Infer& i) const {
    if (check_reduction(i, reduction)) infer_scatter_elements(i, axis);
  }
  /// Error{out_of_range} for an index outside of [-extent, extent).
  void compute(AnyView data, AnyView indices, AnyView updates, AnyOut output) const {
    scatter_elements(spec.name, scatter_op(reduction), axis, data, indices, updates, output);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ScatterElements)
