// Range: numbers from a start to a limit.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.Range
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/generator/range.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// start + k * delta, as long as limit is not reached; delta is 1 unless it is given.
/// op::com_microsoft::Range{}(3, 9, 3) gives (3,6).
struct Range {
  static constexpr Spec spec{
      .name = "Range",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"start", "T"}, {"limit", "T"}, {"delta", "T", optional}},
      .outputs = {{"Y", "T"}},
      .types = {{"T", types::float32 | types::float64 | types::int16 | types::int32 | types::int64}}};
  static constexpr Attributes<> attributes{};

  constexpr void infer(Infer& i) const { op::Range{}.infer(i); }
  template <class L>
  int32_t lower(L& to) const {
    const int32_t delta = to.input(2) < 0 ? function_body::number(to, to.in(0).type.element, 1) : to.input(2);
    return to.add(op::Range{}, {to.input(0), to.input(1), delta});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::Range)
