// GlobalLpPool: the p-norm of each channel.   onnx.ai/onnx/operators/onnx__GlobalLpPool.html
#pragma once

#include "tenon/op/families/channel_loops.hpp"
#include "tenon/op/families/global_pool.hpp"
#include "tenon/op/families/lp_norm.hpp"

namespace tenon::TENON_ABI::op {

namespace global_lp_pool_detail {

template <class T>
void global_lp_pool(TensorView<const T> x, double p, TensorView<T> y) {
  const uint32_t spatial = spatial_axes(x.rank());
  if (p == 1) return reduce<kernels::ReduceOp::l1>(x, spatial, y);
  if (p == 2) return reduce<kernels::ReduceOp::l2>(x, spatial, y);
  using C = compute_t<T>;
  Scratch scratch;
  const C* powers = powers_of_magnitudes(scratch, widen(scratch, x.data(), x.size()), x.size(), p);
  C* sums = wide_result(scratch, y.data(), y.size());
  reduce<kernels::ReduceOp::sum>(TensorView<const C>(powers, x.extents()), spatial,
                                 TensorView<C>(sums, y.extents()));
  to_power(sums, y.size(), 1 / p);
  narrow(sums, y.data(), y.size());
}

}  // namespace global_lp_pool_detail

/// Y (N, C, 1...) from X (N, C, in...): the sum of |X|^p to the power of 1/p.
/// op::GlobalLpPool{}(x) of (1,3,8,8) gives (1,3,1,1).
struct GlobalLpPool {
  int64_t p = 2;

  static constexpr Spec spec{.name = "GlobalLpPool",
                             .since = {2, 22},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}}};
  static constexpr Attributes attributes{attr("p", &GlobalLpPool::p)};

  constexpr void infer(Infer& i) const {
    if (i.expect_at_least("p", p, 1)) infer_global_pool(i);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    global_lp_pool_detail::global_lp_pool(x, static_cast<double>(p), y);
  }
  template <class L>
  void loops(L& l) const {
    add_channel_loops(l);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// In version 1, p need not be an integer.
struct GlobalLpPool_1 {
  float p = 2;

  static constexpr Spec spec{.name = "GlobalLpPool",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  static constexpr Attributes attributes{attr("p", &GlobalLpPool_1::p)};

  constexpr void infer(Infer& i) const {
    if (expect_norm(i, p)) infer_global_pool(i);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    global_lp_pool_detail::global_lp_pool(x, p, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::GlobalLpPool, tenon::op::GlobalLpPool_1)
