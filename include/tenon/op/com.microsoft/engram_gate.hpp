// EngramGate: a value times a gate, by how alike a key and a query are.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.EngramGate
#pragma once

#include <cmath>

#include "tenon/op/families/root_mean_square.hpp"
#include "tenon/op/math/abs.hpp"
#include "tenon/op/math/max.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/math/sign.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = Sigmoid(sign(d) * sqrt(max(|d|, 1e-6))) * value, where d is the product of key and query, both
/// normalised by their root mean squares and scaled, by sqrt(size). Key and query are (batch, steps,
/// connections, size), their scales (connections, size); the value (batch, steps, size) is the same for all
/// connections. Narrow floats compute in float32.
/// op::com_microsoft::EngramGate{}(k, q, v, ks, qs) of (1,3,2,4), (1,3,2,4), (1,3,4), (2,4) and (2,4) gives
/// (1,3,2,4).
struct EngramGate {
  float epsilon = 1e-5f;

  static constexpr Spec spec{.name = "EngramGate",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"key", "T"},
                                        {"query", "T"},
                                        {"value", "T"},
                                        {"key_norm_scale", "T"},
                                        {"query_norm_scale", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::float32 | types::float16 | types::bfloat16}}};
  static constexpr Attributes attributes{attr("epsilon", &EngramGate::epsilon)};

  constexpr void infer(Infer& i) const {
    for (int k : {0, 1})
      if (!i.expect_rank(k, 4)) return;
    if (!i.expect_rank(2, 3)) return;
    Dims x = i.unify(i.dims(0), i.dims(1), "extents of key and query");
    if (i.failed()) return;
    if (!x.ranked()) x = Dims::of_rank(4);
    if (!i.expect_extents(2, {x[0], x[1], x[3]}) || !i.expect_extents(3, {x[2], x[3]}) ||
        !i.expect_extents(4, {x[2], x[3]}))
      return;
    i.out(0, x);
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    Dim size;
    for (int k = 0; k < 5; ++k)
      if (const Dims& d = to.dims(k); d.ranked() && d[d.rank() - 1].known()) size = d[d.rank() - 1];
    if (!size.known()) return -1;
    const DType type = to.in(0).type.element, wide = DType::float32;
    const auto operand = [&](int k) { return converted(to, to.input(k), type, wide); };
    const auto normalised = [&](int k) {
      const int32_t x = operand(k);
      const int32_t y = to.add(Mul{}, {x, inverse_root_mean_square(to, x, wide, 3, 4, epsilon, wide)});
      return to.add(Mul{}, {y, operand(k + 3)});
    };
    const int32_t products = to.add(Mul{}, {normalised(0), normalised(1)}),
                  sum = to.add(ReduceSum{}, {products, ints(to, {3})}),
                  share = number(to, wide, 1 / std::sqrt(static_cast<double>(size.value()))),
                  d = to.add(Mul{}, {sum, share}),
                  size_of_d = to.add(Max{}, {to.add(Abs{}, {d}), number(to, wide, 1e-6)}),
                  gate = to.add(Mul{}, {to.add(Sign{}, {d}), to.add(Sqrt{}, {size_of_d})}),
                  y = to.add(Mul{}, {to.add(Sigmoid{}, {gate}), unsqueezed(to, operand(2), {2})});
    return converted(to, y, wide, type);
  }
  template <class L>
  void loops(L& l) const {
    for (const int axis : {0, 1}) l.over({{0, axis}, {1, axis}, {2, axis}}, {{0, axis}});
    l.over({{0, 2}, {1, 2}, {3, 0}, {4, 0}}, {{0, 2}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::EngramGate)
