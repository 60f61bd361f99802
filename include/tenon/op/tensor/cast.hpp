// Cast: the elements as another type.   onnx.ai/onnx/operators/onnx__Cast.html
#pragma once

#include "tenon/op/cast.hpp"

namespace tenon::op {

/// output = input in elements of type `to`, one of ONNX's numbers: op::Cast{.to = dtype<float16>}.
/// base/convert.hpp states the rules. Error{invalid_argument} for a string that says no such element.
struct Cast {
  Str round_mode = "up";  ///< how float8e8m0 rounds: up, down, nearest
  int64_t saturate = 1;   ///< whether a float8 beyond the range is the greatest one, rather than Inf or NaN
  Opt<int64_t> to{};

  static constexpr Spec spec{.name = "Cast",
                             .since = {6, 9, 13, 19, 21, 23, 24, 25},
                             .inputs = {{"input", "T1"}},
                             .outputs = {{"output", "T2"}},
                             .types = {cast_types("T1"), cast_types("T2")},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("round_mode", &Cast::round_mode).since(24),
                                         attr("saturate", &Cast::saturate).since(19),
                                         attr("to", &Cast::to).required()};

  constexpr void infer(Infer& i) const {
    check_round_mode(i, round_mode);
    if (!to) return i.fail("attribute 'to' is missing");
    const DType type = i.element_type("to", *to);
    if (!i.failed()) infer_cast(i, type);
  }
  void compute(AnyView input, AnyOut output) const {
    cast(input, output, cast_options(saturate, round_mode));
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// The type is named: "FLOAT", "INT64", …
struct Cast_1 {
  Opt<Str> to{};

  static constexpr Spec spec{
      .name = "Cast",
      .since = {1},
      .inputs = {{"input", "T1"}},
      .outputs = {{"output", "T2"}},
      .types = {{"T1", types::numeric | types::boolean}, {"T2", types::numeric | types::boolean}},
      .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("to", &Cast_1::to).required()};

  constexpr void infer(Infer& i) const {
    if (!to) return i.fail("attribute 'to' is missing");
    // Upper case is all that parts these names from those in tensor(…).
    char lower[32]{};
    const std::string_view text = *to;
    for (std::size_t k = 0; k < text.size(); ++k)
      if (text[k] >= 'A' && text[k] <= 'Z') lower[k] = static_cast<char>(text[k] - 'A' + 'a');
      else lower[k] = text[k] >= '0' && text[k] <= '9' ? text[k] : '?';
    const DType d = dtype_from_name({lower, text.size()});
    if (!spec.types[1].any().contains(d))
      return i.fail("attribute 'to' is '", *to, "', which is no type here");
    infer_cast(i, d);
  }
  void compute(AnyView input, AnyOut output) const { cast(input, output, {}); }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
