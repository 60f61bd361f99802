// Trilu: the upper or lower triangle of the last two axes.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.Trilu
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/tensor/trilu.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// ONNX's operator under the name that PyTorch's exporter gave it before ONNX had it.
/// op::com_microsoft::Trilu{.upper = 0}(x) of ((1,2),(3,4)) gives ((1,0),(3,4)).
struct Trilu {
  int64_t upper = 1;

  static constexpr Spec spec{.name = "Trilu",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"k", "tensor(int64)", optional}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::numeric_bf16 | types::boolean}}};
  static constexpr Attributes attributes{attr("upper", &Trilu::upper).flag()};

  constexpr void infer(Infer& i) const { op::Trilu{.upper = upper}.infer(i); }
  template <class L>
  int32_t lower(L& to) const {
    return to.add(op::Trilu{.upper = upper}, {to.input(0), to.input(1)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::Trilu)
