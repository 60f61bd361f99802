// LinearAttentionGate: the decay and the rate of LinearAttention from their projections.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.LinearAttentionGate
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/math/softplus.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// decay = decay_scale * Softplus(a + dt_bias), computed in float32, and beta = Sigmoid(b). Projections a and
/// b are (batch, steps, heads), dt_bias and decay_scale (heads).
/// op::com_microsoft::LinearAttentionGate{}(a, bias, scale) of (1,3,2), (2) and (2) gives (1,3,2).
struct LinearAttentionGate {
  static constexpr Spec spec{
      .name = "LinearAttentionGate",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"a", "T"}, {"dt_bias", "TF"}, {"decay_scale", "TF"}, {"b", "T", optional}},
      .outputs = {{"decay", "T"}, {"beta", "T", optional}},
      .types = {{"T", types::float32 | types::float16 | types::bfloat16}, {"TF", types::float32}}};

  constexpr void infer(Infer& i) const {
    if (i.outputs() > 1 && !i.has(3)) return i.fail("beta needs b");
    if (!i.expect_rank_at_least(0, 1) || !i.expect_rank(1, 1) || !i.expect_rank(2, 1)) return;
    const Dims a = i.has(3) ? i.unify(i.dims(0), i.dims(3), "extents of a and b") : i.dims(0);
    if (i.failed()) return;
    if (a.ranked())
      for (int k : {1, 2})
        if (!i.expect_extents(k, {a[a.rank() - 1]})) return;
    i.out(0, a);
    i.out(1, a);
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    using namespace function_body;
    const DType type = to.in(0).type.element;
    const int32_t a = converted(to, to.input(0), type, DType::float32),
                  step = to.add(Softplus{}, {to.add(Add{}, {a, to.input(1)})});
    std::vector<int32_t> results{converted(to, to.add(Mul{}, {to.input(2), step}), DType::float32, type)};
    if (to.input(3) >= 0) results.push_back(to.add(Sigmoid{}, {to.input(3)}));
    return results;
  }
  template <class L>
  void loops(L& l) const {
    l.each_axis(0, l.dims(0).ranked() ? l.dims(0).rank() : 0);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::LinearAttentionGate)
