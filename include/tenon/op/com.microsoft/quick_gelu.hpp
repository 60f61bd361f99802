// QuickGelu: Gelu by a sigmoid.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QuickGelu
#pragma once

#include "tenon/op/families/unary.hpp"
#include "tenon/op/framework/registry.hpp"
#include "tenon/op/math/swish.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = X / (1 + exp(-alpha X)). op::com_microsoft::QuickGelu{}(1.0f) gives 0.845796.
struct QuickGelu {
  float alpha = 1.702f;

  static constexpr Spec spec{.name = "QuickGelu",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats_bf16}},
                             .elements = Elements::function};
  static constexpr Attributes attributes{attr("alpha", &QuickGelu::alpha)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class L>
  int32_t lower(L& to) const {
    return to.add(Swish{.alpha = alpha}, {to.input(0)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QuickGelu)
