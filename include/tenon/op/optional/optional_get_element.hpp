// OptionalGetElement: the value in an optional.   onnx.ai/onnx/operators/onnx__OptionalGetElement.html
#pragma once

#include "tenon/op/families/control_flow.hpp"

namespace tenon::TENON_ABI::op {

/// The value in an optional; Error{invalid_argument} for an empty one. Since version 18 the input may be a
/// tensor or a sequence, which is the result itself. op::OptionalGetElement{}(op::Optional{}(x)) gives x.
struct OptionalGetElement {
  static constexpr TypeSet values = types::all | seq(types::all);
  static constexpr Spec spec{
      .name = "OptionalGetElement",
      .since = {15, 18},
      .inputs = {{"input", "O"}},
      .outputs = {{"output", "V"}},
      .types = {{"O", {{15, optional_of(values)}, {18, values | optional_of(values)}}}, {"V", values}}};

  constexpr void infer(Infer& i) const {
    const Type t = i.in(0).type;
    if (t.kind == Kind::optional) i.out(0).type = t.element;
    else if (t.kind == Kind::optional_sequence) i.out(0).type = Type(Kind::sequence, t.element);
    else i.out(0).type = t;
    i.out(0, i.dims(0));
  }
  Value compute(Context& c, const Value& input) const {
    if (!input.is_optional()) return kept(input, c);
    if (!input.optional().value) raise(ErrorCode::invalid_argument, spec.name, "the optional is empty");
    return *input.optional().value;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::OptionalGetElement)
