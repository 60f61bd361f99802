// Gelu: the Gaussian error linear unit.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.Gelu
#pragma once

#include "tenon/op/families/unary.hpp"
#include "tenon/op/framework/registry.hpp"
#include "tenon/op/math/gelu.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = X / 2 (1 + erf(X / sqrt(2))). op::com_microsoft::Gelu{}(1.0f) gives 0.841345.
struct Gelu {
  static constexpr Spec spec{.name = "Gelu",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats_bf16}},
                             .elements = Elements::function};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class L>
  int32_t lower(L& to) const {
    return to.add(op::Gelu{}, {to.input(0)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::Gelu)
