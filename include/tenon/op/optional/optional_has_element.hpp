// OptionalHasElement: whether there is a value.   onnx.ai/onnx/operators/onnx__OptionalHasElement.html
#pragma once

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// True for an optional that holds a value. Since version 18 the input may be a tensor or a sequence, which
/// counts as a value, or be left out, which gives false. op::OptionalHasElement{}(op::Optional{}(x)) gives
/// true.
struct OptionalHasElement {
  static constexpr TypeSet values = types::all | seq(types::all);
  static constexpr Spec spec{.name = "OptionalHasElement",
                             .since = {15, 18},
                             .inputs = {{"input", "O", optional}},
                             .outputs = {{"output", "B"}},
                             .types = {{"O", {{15, optional_of(values)}, {18, values | optional_of(values)}}},
                                       {"B", types::boolean}},
                             .old_inputs = {{17, 0, {"input", "O"}}}};

  constexpr void infer(Infer& i) const { i.out(0, Dims::of_rank(0)); }
  Value compute(const Value& input) const {
    const bool has = input && (!input.is_optional() || input.optional().value != nullptr);
    return Tensor<bool>(Extents{}, {has});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::OptionalHasElement)
