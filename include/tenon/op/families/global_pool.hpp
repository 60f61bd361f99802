// The global pools are reductions over the spatial axes of (N, C, spatial...).
#pragma once

#include "tenon/op/families/channel_loops.hpp"
#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// The extents of the results: the spatial ones become 1.
constexpr void infer_global_pool(Infer& i) {
  Dims y = i.dims(0);
  if (!y.ranked() || !i.expect_rank_at_least(0, 2)) return;
  for (int k = 2; k < y.rank(); ++k) y[k] = 1;
  i.out(0, y);
}

/// A bit for each spatial axis.
constexpr uint32_t spatial_axes(int rank) { return reduced_axes({}, rank) & ~3u; }

/// Y (N, C, 1...) = F of each channel of X (N, C, in...).
template <Str Name, kernels::ReduceOp F>
struct GlobalPool {
  static constexpr Spec spec{.name = Name,
                             .since = {1, 22},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}}};

  constexpr void infer(Infer& i) const { infer_global_pool(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    reduce<F>(x, spatial_axes(x.rank()), y);
  }
  template <class L>
  void loops(L& l) const {
    add_channel_loops(l);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op
