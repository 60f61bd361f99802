// LayerNormalization before ONNX had it: ONNX Runtime's optimiser writes it into files of opsets below 17.
// github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/graph/contrib_ops/contrib_defs.cc
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/families/normalization.hpp"
#include "tenon/op/nn/layer_normalization.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// The operator of ONNX's own domain at opsets below 17. X may be of another type than Scale, B and Y; the
/// rest is as from opset 17 on. op::com_microsoft::LayerNormalization{}(x, scale) of (2,3) and (3) gives
/// (2,3).
struct LayerNormalization {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  int64_t stash_type = 1;

  static constexpr Spec spec{.name = "LayerNormalization",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"Scale", "V"}, {"B", "V", optional}},
                             .outputs = {{"Y", "V"}, {"Mean", "U", optional}, {"InvStdDev", "U", optional}},
                             .types = {{"V", types::floats_bf16},
                                       {"T", types::floats_bf16},
                                       {"U", types::float32 | types::bfloat16}},
                             .until = 16};
  static constexpr Attributes attributes{attr("axis", &LayerNormalization::axis),
                                         attr("epsilon", &LayerNormalization::epsilon),
                                         attr("stash_type", &LayerNormalization::stash_type),
                                         // So misspelt in files; ONNX Runtime ignores it.
                                         ignored<float>("epsion")};

  constexpr void infer(Infer& i) const {
    if (!i.expect_type("stash_type", stash_type, {dtype<float>, dtype<bfloat16>})) return;
    const Dims& x = i.dims(0);
    Dims rows = x;
    if (x.ranked()) {
      const int a = i.axis(axis, x.rank());
      if (i.failed()) return;
      for (int k = a; k < x.rank(); ++k) rows[k] = 1;
      expect_stretches(i, 1);
      expect_stretches(i, 2);
    }
    i.out(0, x);
    i.out(1, dtype_from_onnx(stash_type), rows);
    i.out(2, dtype_from_onnx(stash_type), rows);
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    const DType x = to.in(0).type.element, v = to.in(1).type.element;
    const DType wide = x == v                                       ? v
                       : x == DType::float64 || v == DType::float64 ? DType::float64
                                                                    : DType::float32;
    const auto operand = [&](int k, DType from) {
      return to.input(k) < 0 ? -1 : function_body::converted(to, to.input(k), from, wide);
    };
    const op::LayerNormalization norm{axis, epsilon, stash_type};
    const int32_t a = operand(0, x), scale = operand(1, v), b = operand(2, v);
    const std::vector<int32_t> all = to.add(norm, {a, scale, b}, 3);
    return {function_body::converted(to, to.add(norm, {a, scale, b}), wide, v), all[1], all[2]};
  }
  template <class L>
  void loops(L& l) const {
    l.each_axis(0, l.dims(0).ranked() ? resolve_axis(axis, l.dims(0).rank()) : 0);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::LayerNormalization)
