// SimplifiedLayerNormalization: root mean square 1 over the last axes. ONNX Runtime's optimiser writes it
// into ONNX's own domain.
// github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/graph/contrib_ops/contrib_defs.cc
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/families/normalization.hpp"
#include "tenon/op/families/root_mean_square.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = X * InvStdVar * scale with InvStdVar = 1 / sqrt(mean(X^2) + epsilon), where the mean is over the axes
/// of X from `axis` on, along which scale stretches. Y has scale's type.
/// op::com_microsoft::SimplifiedLayerNormalization{}(x, scale) of (2,3) and (3) gives (2,3).
struct SimplifiedLayerNormalization {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  int64_t stash_type = 1;

  static constexpr Spec spec{
      .name = "SimplifiedLayerNormalization",
      .since = {1},
      .inputs = {{"X", "T"}, {"scale", "V"}},
      .outputs = {{"Y", "V"}, {"inv_std_var", "U", optional}},
      .types = {
          {"V", types::floats_bf16}, {"T", types::floats_bf16}, {"U", types::float32 | types::bfloat16}}};
  static constexpr Attributes attributes{attr("axis", &SimplifiedLayerNormalization::axis),
                                         attr("epsilon", &SimplifiedLayerNormalization::epsilon),
                                         attr("stash_type", &SimplifiedLayerNormalization::stash_type)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_type("stash_type", stash_type, {dtype<float>, dtype<bfloat16>})) return;
    const Dims& x = i.dims(0);
    Dims rows = x;
    if (x.ranked()) {
      const int a = i.axis(axis, x.rank());
      if (i.failed()) return;
      for (int k = a; k < x.rank(); ++k) rows[k] = 1;
      expect_stretches(i, 1);
    }
    i.out(0, x);
    i.out(1, dtype_from_onnx(stash_type), rows);
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    const int rank = to.dims(0).rank();
    if (!to.dims(0).ranked()) return {};
    const int32_t x = to.input(0);
    return {to.add(RMSNormalization{axis, epsilon}, {x, to.input(1)}),
            inverse_root_mean_square(to, x, to.in(0).type.element, resolve_axis(axis, rank), rank, epsilon,
                                     dtype_from_onnx(stash_type))};
  }
  template <class L>
  void loops(L& l) const {
    l.each_axis(0, l.dims(0).ranked() ? resolve_axis(axis, l.dims(0).rank()) : 0);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::SimplifiedLayerNormalization)
