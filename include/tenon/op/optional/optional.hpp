// Optional: a value, or the lack of one, as an optional.   onnx.ai/onnx/operators/onnx__Optional.html
#pragma once

#include "tenon/op/families/control_flow.hpp"

namespace tenon::TENON_ABI::op {

/// Holds the input, or without one is an empty optional of `type`, tensor(…) or seq(…).
/// op::Optional{}(x) gives an optional that holds x.
struct Optional {
  Type type{};

  static constexpr Spec spec{
      .name = "Optional",
      .since = {15},
      .inputs = {{"input", "V", Arity::optional}},
      .outputs = {{"output", "O"}},
      .types = {{"V", types::all | seq(types::all)}, {"O", optional_of(types::all | seq(types::all))}}};
  static constexpr Attributes attributes{attr("type", &Optional::type)};

  constexpr void infer(Infer& i) const {
    const Type element = i.has(0) ? i.in(0).type : type;
    if (!element) return i.fail("has neither an input nor the attribute 'type'");
    if (element.kind == Kind::unknown) return;
    if (!spec.types[0].any().contains(element))
      return i.fail_type("attribute 'type' is neither a tensor nor a sequence");
    i.out(0).type =
        Type(element.kind == Kind::sequence ? Kind::optional_sequence : Kind::optional, element.element);
    i.out(0, i.dims(0));
  }
  Value compute(Context& c, const Value& input) const {
    if (!input) return OptionalValue{.element = type, .value = nullptr};
    return OptionalValue{.element = input.type(), .value = std::make_shared<const Value>(kept(input, c))};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Optional)
