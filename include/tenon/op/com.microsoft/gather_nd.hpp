// GatherND: slices by their first coordinates.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GatherND
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/tensor/gather_nd.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// indices (…, k) name slices of data by their first k coordinates, of which those below 0 count from the
/// end. op::com_microsoft::GatherND{}(x, indices) of (2,3,4) and (5,2) gives (5,4).
struct GatherND {
  static constexpr Spec spec{.name = "GatherND",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"data", "T"}, {.name = "indices", .type = "Tind", .looks_up = 0}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::all}, {"Tind", types::indices}},
                             .elements = Elements::choice};
  static constexpr Attributes<> attributes{};

  constexpr void infer(Infer& i) const { op::GatherND{}.infer(i); }
  template <class L>
  int32_t lower(L& to) const {
    return to.add(op::GatherND{}, {to.input(0), function_body::converted(
                                                    to, to.input(1), to.in(1).type.element, DType::int64)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::GatherND)
