// ExpandDims: an axis of extent 1 inserted.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.ExpandDims
#pragma once

#include "tenon/op/families/function_body.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// `axis` numbers the result's axes. op::com_microsoft::ExpandDims{}(x, constant<int32_t, -1>) of (3) gives
/// (3,1).
struct ExpandDims {
  static constexpr Spec spec{.name = "ExpandDims",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"axis", "tensor(int32)"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::all}},
                             .elements = Elements::order};
  static constexpr Attributes<> attributes{};

  constexpr void infer(Infer& i) const {
    propagate(i);
    const Dims& x = i.dims(0);
    if (!i.expect_one(1) || !x.ranked()) return;
    Dims y = i.of_rank(x.rank() + 1);
    if (i.failed()) return;
    if (const Opt<int64_t> axis = int_at(i, 1, 0)) {
      const int at = i.axis(*axis, y.rank());
      if (i.failed()) return;
      for (int d = 0, from = 0; d < y.rank(); ++d) y[d] = d == at ? Dim(1) : x[from++];
    }
    i.out(0, y);
  }
  template <class L>
  int32_t lower(L& to) const {
    const int32_t axes = function_body::reshaped(to, to.input(1), {-1});
    return to.add(Unsqueeze{}, {to.input(0), function_body::converted(to, axes, DType::int32, DType::int64)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::ExpandDims)
