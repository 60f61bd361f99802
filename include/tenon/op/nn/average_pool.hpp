// AveragePool: the mean of each window.   onnx.ai/onnx/operators/onnx__AveragePool.html
#pragma once

#include "tenon/kernels/conv/pool.hpp"
#include "tenon/op/families/channel_loops.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N, C, out...) from X (N, C, in...). The padding of a window counts as zeros with count_include_pad,
/// else not at all; cells that ceil_mode adds past the padding never count.
/// op::AveragePool{.kernel_shape = {2, 2}}(x) of (1,3,8,8) gives (1,3,7,7).
struct AveragePool {
  Str auto_pad = "NOTSET";
  int64_t ceil_mode = 0;
  int64_t count_include_pad = 0;
  Ints dilations{};
  Ints kernel_shape{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{.name = "AveragePool",
                             .since = {1, 7, 10, 11, 19, 22},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}}};
  static constexpr Attributes attributes{
      attr("auto_pad", &AveragePool::auto_pad),
      attr("ceil_mode", &AveragePool::ceil_mode).flag().since(10),
      attr("count_include_pad", &AveragePool::count_include_pad).flag().since(7),
      attr("dilations", &AveragePool::dilations).since(19),
      attr("kernel_shape", &AveragePool::kernel_shape).required(),
      attr("pads", &AveragePool::pads),
      attr("strides", &AveragePool::strides)};

  constexpr WindowAttributes window() const {
    return {auto_pad, dilations, kernel_shape, pads, strides, ceil_mode != 0};
  }
  constexpr void infer(Infer& i) const { i.out(0, infer_pool(i, window())); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (y.empty()) return;
    WindowLayout layout(window(), x.extents(), y.extents(), kernel_shape);
    layout.drop_flat_axes();
    auto args = layout.pool<kernels::PoolArgs<compute_t<T>>>(x.extent(0) * x.extent(1));
    Scratch scratch;
    args.x = widen(scratch, x.data(), x.size());
    args.y = wide_result(scratch, y.data(), y.size());
    args.count_include_pad = count_include_pad != 0;
    kernels::average_pool(args);
    narrow(args.y, y.data(), y.size());
  }
  template <class L>
  void loops(L& l) const {
    add_channel_loops(l);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::AveragePool)
