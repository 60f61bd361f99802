// LpPool: the p-norm of each window.   onnx.ai/onnx/operators/onnx__LpPool.html
#pragma once

#include "tenon/kernels/conv/pool.hpp"
#include "tenon/op/families/channel_loops.hpp"
#include "tenon/op/families/lp_norm.hpp"

namespace tenon::TENON_ABI::op {

namespace lp_pool_detail {

template <class T>
void lp_pool(TensorView<const T> x, const WindowAttributes& window, double p, TensorView<T> y) {
  if (y.empty()) return;
  using C = compute_t<T>;
  WindowLayout layout(window, x.extents(), y.extents(), window.kernel_shape);
  layout.drop_flat_axes();
  auto args = layout.pool<kernels::PoolArgs<C>>(x.extent(0) * x.extent(1));
  Scratch scratch;
  args.x = powers_of_magnitudes(scratch, widen(scratch, x.data(), x.size()), x.size(), p);
  args.y = wide_result(scratch, y.data(), y.size());
  kernels::sum_pool(args);
  to_power(args.y, y.size(), 1 / p);
  narrow(args.y, y.data(), y.size());
}

}  // namespace lp_pool_detail

/// Y (N, C, out...) from X (N, C, in...): the sum of |X|^p over each window to the power of 1/p; padding
/// counts as zeros. op::LpPool{.kernel_shape = {2, 2}}(x) of (1,3,8,8) gives (1,3,7,7).
struct LpPool {
  Str auto_pad = "NOTSET";
  int64_t ceil_mode = 0;
  Ints dilations{};
  Ints kernel_shape{};
  int64_t p = 2;
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{.name = "LpPool",
                             .since = {2, 11, 18, 22},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}}};
  static constexpr Attributes attributes{attr("auto_pad", &LpPool::auto_pad),
                                         attr("ceil_mode", &LpPool::ceil_mode).flag().since(18),
                                         attr("dilations", &LpPool::dilations).since(18),
                                         attr("kernel_shape", &LpPool::kernel_shape).required(),
                                         attr("p", &LpPool::p),
                                         attr("pads", &LpPool::pads),
                                         attr("strides", &LpPool::strides)};

  constexpr WindowAttributes window() const {
    return {auto_pad, dilations, kernel_shape, pads, strides, ceil_mode != 0};
  }
  constexpr void infer(Infer& i) const {
    if (i.expect_at_least("p", p, 1)) i.out(0, infer_pool(i, window()));
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    lp_pool_detail::lp_pool(x, window(), static_cast<double>(p), y);
  }
  template <class L>
  void loops(L& l) const {
    add_channel_loops(l);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// In version 1, p need not be an integer.
struct LpPool_1 {
  Str auto_pad = "NOTSET";
  Ints kernel_shape{};
  float p = 2;
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{.name = "LpPool",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  static constexpr Attributes attributes{
      attr("auto_pad", &LpPool_1::auto_pad), attr("kernel_shape", &LpPool_1::kernel_shape),
      attr("p", &LpPool_1::p), attr("pads", &LpPool_1::pads), attr("strides", &LpPool_1::strides)};

  constexpr WindowAttributes window() const { return {auto_pad, {}, kernel_shape, pads, strides}; }
  constexpr void infer(Infer& i) const {
    if (expect_norm(i, p)) i.out(0, infer_pool(i, window()));
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    lp_pool_detail::lp_pool(x, window(), p, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LpPool, tenon::op::LpPool_1)
