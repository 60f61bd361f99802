// Pad: a border on each axis, or elements cut away.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.Pad
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/tensor/pad.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// ONNX's operator as it was proposed for ONNX: pads are (2 rank) or (1, 2 rank), and there are no axes.
/// op::com_microsoft::Pad{}(x, constant<int64_t, 0, 1, 0, 2>) of (2,3) gives (2,6).
struct Pad {
  Str mode = "constant";  ///< constant, reflect, edge, wrap

  static constexpr Spec spec{.name = "Pad",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"data", "T"}, {"pads", "tensor(int64)"}, {"value", "T", optional}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats}}};
  static constexpr Attributes attributes{attr("mode", &Pad::mode)};

  constexpr void infer(Infer& i) const {
    const Dims& pads = i.dims(1);
    if (pads.ranked() && pads.rank() != 1 && (pads.rank() != 2 || pads[0].differs(1)))
      return i.fail("pads: ", pads, ", expected one list");
    pad_detail::infer_padded(i, mode);
  }
  template <class L>
  int32_t lower(L& to) const {
    const Dims& extents = to.dims(1);
    const bool list = extents.ranked() && extents.rank() == 1;
    return to.add(
        op::Pad{.mode = mode},
        {to.input(0), list ? to.input(1) : function_body::reshaped(to, to.input(1), {-1}), to.input(2)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::Pad)
