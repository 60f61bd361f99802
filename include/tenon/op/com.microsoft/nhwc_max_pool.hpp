// NhwcMaxPool: the greatest element of each window, channels last.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.NhwcMaxPool
#pragma once

#include "tenon/op/families/channel_loops.hpp"
#include "tenon/op/families/channels_last.hpp"
#include "tenon/op/nn/max_pool.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y (N, out..., C) from x (N, in..., C): MaxPool with the channels as the last axis.
/// op::com_microsoft::NhwcMaxPool{.kernel_shape = {2, 2}}(x) of (1,8,8,3) gives (1,7,7,3).
struct NhwcMaxPool {
  Str auto_pad = "NOTSET";
  int64_t ceil_mode = 0;
  Ints dilations{};
  Ints kernel_shape{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{.name = "NhwcMaxPool",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"x", "T"}},
                             .outputs = {{"y", "T"}},
                             .types = {{"T", types::int8 | types::uint8}}};
  static constexpr Attributes attributes{
      attr("auto_pad", &NhwcMaxPool::auto_pad),   attr("ceil_mode", &NhwcMaxPool::ceil_mode).flag(),
      attr("dilations", &NhwcMaxPool::dilations), attr("kernel_shape", &NhwcMaxPool::kernel_shape).required(),
      attr("pads", &NhwcMaxPool::pads),           attr("strides", &NhwcMaxPool::strides)};

  constexpr void infer(Infer& i) const {
    const WindowAttributes window{auto_pad, dilations, kernel_shape, pads, strides, ceil_mode != 0};
    infer_pool_of_order(i, window, true);
    if (i.failed() || !window.same()) return;
    for (int k = 0; k < kernel_shape.size(); ++k)
      if (window.reach(k, kernel_shape[k]) > kernel_shape[k])
        return i.fail("auto_pad ", auto_pad, " with dilations is not supported: state pads");
  }
  template <class L>
  int32_t lower(L& to) const {
    const int rank = to.dims(0).rank();
    if (!to.dims(0).ranked()) return -1;
    const MaxPool pool{.auto_pad = auto_pad,
                       .ceil_mode = ceil_mode,
                       .dilations = dilations,
                       .kernel_shape = kernel_shape,
                       .pads = pads,
                       .strides = strides};
    return channels_back(to, to.add(rounded_up(pool), {channels_first(to, to.input(0), rank, true)}), rank,
                         true);
  }
  template <class L>
  void loops(L& l) const {
    if (const int last = l.dims(0).rank() - 1; last > 0) add_channel_loops(l, last);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::NhwcMaxPool)
