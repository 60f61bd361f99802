// Cast: the elements as another type.   onnx.ai/onnx/operators/onnx__Cast.html
#pragma once

#include "tenon/op/families/cast.hpp"

namespace tenon::TENON_ABI::op {

/// output = input in elements of type `to`, one of ONNX's numbers. base/convert.hpp states the rules.
/// Error{invalid_argument} for a string that is not a valid element. op::Cast{.to = dtype<int32_t>}(2.7f)
/// gives 2.
struct Cast {
  Str round_mode = "up";  ///< how float8e8m0 rounds: up, down, nearest
  int64_t saturate = 1;   ///< whether a float8 beyond the range is the greatest one, rather than Inf or NaN
  Opt<int64_t> to{};

 private:
  /// Version 1 names the type: "FLOAT", "INT64". These names differ only in case from the ones in tensor(…).
  static void read_type_name(Cast& op, const Str& name) {
    std::string lower{std::string_view(name)};
    for (char& c : lower)
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c >= 'a' && c <= 'z' ? '?' : c;
    const DType type = dtype_from_name(lower);
    if (type == DType::undefined)
      raise(ErrorCode::invalid_model, spec.name, "attribute 'to' is '", name, "', which is no type");
    op.to = static_cast<int64_t>(type);
  }

 public:
  static constexpr Spec spec{.name = "Cast",
                             .since = {1, 6, 9, 13, 19, 21, 23, 24, 25},
                             .inputs = {{"input", "T1"}},
                             .outputs = {{"output", "T2"}},
                             .types = {cast_types("T1"), cast_types("T2")},
                             .elements = Elements::function};
  static constexpr Attributes attributes{
      attr("round_mode", &Cast::round_mode).since(24), attr("saturate", &Cast::saturate).flag().since(19),
      attr_read("to", read_type_name).required().until(5), attr("to", &Cast::to).required().since(6)};

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

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Cast)
