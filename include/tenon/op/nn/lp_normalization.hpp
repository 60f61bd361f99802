// LpNormalization: lines divided by their norms.   onnx.ai/onnx/operators/onnx__LpNormalization.html
#pragma once

#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/reduce/reduce.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// output = input / its norm of order `p`, 1 or 2, along `axis`; 0 if the norm is 0.
/// op::LpNormalization{.axis = 0}(x) of (3,4) gives (0.6,0.8).
struct LpNormalization {
  int64_t axis = -1;
  int64_t p = 2;

  static constexpr Spec spec{.name = "LpNormalization",
                             .since = {1, 22},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &LpNormalization::axis),
                                         attr("p", &LpNormalization::p)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    i.expect_choice("p", p, {1, 2});
    if (x.ranked()) i.axis(axis, x.rank());
    i.out(0, x);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (x.empty()) return;
    using C = compute_t<T>;
    const auto [outer, extent, inner] = split_at(x.extents(), resolve_axis(axis, x.rank()));
    const int64_t lines[] = {outer, extent, inner}, norms[] = {outer, 1, inner};
    const kernels::ReducePlan plan = kernels::reduce_plan(lines, 1u << 1);
    Scratch scratch;
    C* norm = scratch.take<C>(plan.kept);
    const C* from = widen(scratch, x.data(), x.size());
    C* to = wide_result(scratch, y.data(), y.size());
    if (p == 1) kernels::reduce<kernels::ReduceOp::l1>(from, norm, plan);
    else kernels::reduce<kernels::ReduceOp::l2>(from, norm, plan);
    std::replace(norm, norm + plan.kept, C(0), C(1));
    kernels::binary<kernels::BinaryOp::div>(from, static_cast<const C*>(norm), to,
                                            kernels::broadcast_plan(lines, norms));
    narrow(to, y.data(), y.size());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LpNormalization)
