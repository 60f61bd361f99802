// GatedRMSNorm: normalisation by the root mean square, times the Swish of a gate.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GatedRMSNorm
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/swish.hpp"
#include "tenon/op/nn/rms_normalization.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = X / sqrt(mean(X^2) + epsilon) * scale * Swish(gate), where the mean is of C neighbours along the last
/// axis, which scale (C) divides into heads. gate has X's extents. Narrow floats compute in float32.
/// op::com_microsoft::GatedRMSNorm{}(x, scale, gate) of (2,3,8), (4) and (2,3,8) gives (2,3,8).
struct GatedRMSNorm {
  float epsilon = 1e-5f;

  static constexpr Spec spec{.name = "GatedRMSNorm",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"scale", "T"}, {"gate", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::float32 | types::float16 | types::bfloat16}}};
  static constexpr Attributes attributes{attr("epsilon", &GatedRMSNorm::epsilon)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank_at_least(0, 1) || !i.expect_rank(1, 1)) return;
    const Dims x = i.unify(i.dims(0), i.dims(2), "extents of X and gate");
    if (i.failed()) return;
    i.out(0, x);
    if (!i.ranked(1)) return;
    const Dim size = i.dims(1)[0];
    if (!i.expect_at_least("scale's extent", size, 1) || !x.ranked()) return;
    const Dim last = x[x.rank() - 1];
    if ((last % size).differs(0)) i.fail("X: ", last, " numbers do not make heads of ", size);
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    const Dims &x = to.dims(0), &scale = to.dims(1);
    if (!x.ranked() || !scale.ranked() || !scale[0].known()) return -1;
    const Dim last = x[x.rank() - 1];
    if (!last.known()) return -1;
    const DType type = to.in(0).type.element;
    const auto wide = [&](int k) { return converted(to, to.input(k), type, DType::float32); };
    Ints whole, apart;
    for (int k = 0; k + 1 < x.rank(); ++k) whole.push_back(0), apart.push_back(0);
    whole.push_back(last.value());
    apart.push_back((last / scale[0]).value());
    apart.push_back(scale[0].value());
    const bool heads = !last.same(scale[0]);
    int32_t y = heads ? reshaped(to, wide(0), apart) : wide(0);
    y = to.add(RMSNormalization{.epsilon = epsilon}, {y, wide(1)});
    if (heads) y = reshaped(to, y, whole);
    return converted(to, to.add(Mul{}, {y, to.add(Swish{}, {wide(2)})}), DType::float32, type);
  }
  template <class L>
  void loops(L& l) const {
    const Dims &x = l.dims(0), &scale = l.dims(1);
    if (!x.ranked() || !scale.ranked()) return;
    const int last = x.rank() - 1;
    l.over({{0, last}, {2, last}}, {{0, last}}, x[last] / scale[0]);
    l.each_axis(0, last);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::GatedRMSNorm)
