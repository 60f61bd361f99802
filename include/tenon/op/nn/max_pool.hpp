// MaxPool: the greatest element of each window.   onnx.ai/onnx/operators/onnx__MaxPool.html
#pragma once

#include "tenon/kernels/conv/pool.hpp"
#include "tenon/op/families/channel_loops.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op {

/// Y, and on request Indices, (N, C, out...) from X (N, C, in...). Padding is never the greatest. Indices
/// count elements of X as one flat tensor; with storage_order 1 the first spatial axis of a plane counts
/// fastest. op::MaxPool{.kernel_shape = {2, 2}, .strides = {2, 2}}(x) of (1,3,8,8) gives (1,3,4,4).
struct MaxPool {
  Str auto_pad = "NOTSET";
  int64_t ceil_mode = 0;
  Ints dilations{};
  Ints kernel_shape{};
  Ints pads{};
  int64_t storage_order = 0;
  Ints strides{};

  static constexpr Spec spec{
      .name = "MaxPool",
      .since = {1, 8, 10, 11, 12, 22},
      .inputs = {{"X", "T"}},
      .outputs = {{"Y", "T"}, {.name = "Indices", .type = "I", .arity = optional, .since = 8}},
      .types = {{"T",
                 {{1, types::floats},
                  {12, types::floats | types::int8 | types::uint8},
                  {22, types::floats_bf16 | types::int8 | types::uint8}}},
                {"I", {{8, types::int64}}}},
      .elements = Elements::choice};
  static constexpr Attributes attributes{attr("auto_pad", &MaxPool::auto_pad),
                                         attr("ceil_mode", &MaxPool::ceil_mode).flag().since(10),
                                         attr("dilations", &MaxPool::dilations).since(10),
                                         attr("kernel_shape", &MaxPool::kernel_shape).required(),
                                         attr("pads", &MaxPool::pads),
                                         attr("storage_order", &MaxPool::storage_order).flag().since(8),
                                         attr("strides", &MaxPool::strides)};

  constexpr WindowAttributes window() const {
    return {auto_pad, dilations, kernel_shape, pads, strides, ceil_mode != 0};
  }
  constexpr void infer(Infer& i) const {
    const Dims y = infer_pool(i, window());
    i.out(0, y);
    i.out(1, y);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y, TensorView<int64_t> indices) const {
    if (y.empty()) return;
    const WindowLayout layout(window(), x.extents(), y.extents(), kernel_shape);
    auto args = layout.pool<kernels::PoolArgs<compute_t<T>>>(x.extent(0) * x.extent(1));
    Scratch scratch;
    args.x = widen(scratch, x.data(), x.size());
    args.y = wide_result(scratch, y.data(), y.size());
    args.indices = indices.data();
    args.column_major = storage_order != 0;
    kernels::max_pool(args);
    narrow(args.y, y.data(), y.size());
  }
  template <class L>
  void loops(L& l) const {
    // Indices count the elements of the whole.
    if (l.outputs() == 1) add_channel_loops(l);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::MaxPool)
