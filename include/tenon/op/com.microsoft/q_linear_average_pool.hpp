// QLinearAveragePool, QLinearGlobalAveragePool: means of a quantised tensor.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QLinearAveragePool
#pragma once

#include "tenon/op/families/channel_loops.hpp"
#include "tenon/op/families/channels_last.hpp"
#include "tenon/op/families/quantized_body.hpp"
#include "tenon/op/nn/average_pool.hpp"
#include "tenon/op/nn/global_average_pool.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = quantised(AveragePool(X)), of the numbers that the quantised X stands for: (N, C, spatial...), or with
/// channels_last (N, spatial..., C). op::com_microsoft::QLinearAveragePool{.kernel_shape = {2, 2}}(x, 0.5f,
/// uint8_t{0}, 0.5f, uint8_t{0}) of (1,3,8,8) gives (1,3,7,7).
struct QLinearAveragePool {
  Str auto_pad = "NOTSET";
  int64_t ceil_mode = 0;
  int64_t channels_last = 0;
  int64_t count_include_pad = 0;
  Ints kernel_shape{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{.name = "QLinearAveragePool",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"},
                                        {"x_scale", "tensor(float)"},
                                        {"x_zero_point", "T", optional},
                                        {"y_scale", "tensor(float)"},
                                        {"y_zero_point", "T", optional}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", signed_or_not_bytes}}};
  static constexpr Attributes attributes{
      attr("auto_pad", &QLinearAveragePool::auto_pad),
      attr("ceil_mode", &QLinearAveragePool::ceil_mode).flag(),
      attr("channels_last", &QLinearAveragePool::channels_last).flag(),
      attr("count_include_pad", &QLinearAveragePool::count_include_pad).flag(),
      attr("kernel_shape", &QLinearAveragePool::kernel_shape).required(),
      attr("pads", &QLinearAveragePool::pads),
      attr("strides", &QLinearAveragePool::strides)};

  constexpr void infer(Infer& i) const {
    if (!expect_ones(i, {1, 2, 3, 4})) return;
    infer_pool_of_order(i, {auto_pad, {}, kernel_shape, pads, strides, ceil_mode != 0}, channels_last != 0);
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    const int rank = to.dims(0).rank();
    const bool last = channels_last != 0;
    if (!to.dims(0).ranked()) return -1;
    const AveragePool pool{.auto_pad = auto_pad,
                           .ceil_mode = ceil_mode,
                           .count_include_pad = count_include_pad,
                           .kernel_shape = kernel_shape,
                           .pads = pads,
                           .strides = strides};
    const int32_t y = to.add(rounded_up(pool), {channels_first(to, dequantized(to, 0, 1, 2), rank, last)});
    return quantized(to, channels_back(to, y, rank, last), 3, 4, to.in(0).type.element);
  }
  template <class L>
  void loops(L& l) const {
    if (const int last = l.dims(0).rank() - 1; last > 0) add_channel_loops(l, channels_last != 0 ? last : 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Y = quantised(GlobalAveragePool(X)), likewise.
/// op::com_microsoft::QLinearGlobalAveragePool{}(x, 0.5f, uint8_t{0}, 0.5f, uint8_t{0}) of (1,3,8,8) gives
/// (1,3,1,1).
struct QLinearGlobalAveragePool {
  int64_t channels_last = 0;

  static constexpr Spec spec{.name = "QLinearGlobalAveragePool",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"},
                                        {"x_scale", "tensor(float)"},
                                        {"x_zero_point", "T"},
                                        {"y_scale", "tensor(float)"},
                                        {"y_zero_point", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", signed_or_not_bytes}}};
  static constexpr Attributes attributes{
      attr("channels_last", &QLinearGlobalAveragePool::channels_last).flag()};

  constexpr void infer(Infer& i) const {
    Dims y = i.dims(0);
    if (!expect_ones(i, {1, 2, 3, 4}) || !y.ranked() || !i.expect_rank_at_least(0, 3)) return;
    const int first = channels_last != 0 ? 1 : 2;
    for (int k = first; k < first + y.rank() - 2; ++k) y[k] = 1;
    i.out(0, y);
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    const int rank = to.dims(0).rank();
    const bool last = channels_last != 0;
    if (!to.dims(0).ranked()) return -1;
    const int32_t y = to.add(GlobalAveragePool{}, {channels_first(to, dequantized(to, 0, 1, 2), rank, last)});
    return quantized(to, channels_back(to, y, rank, last), 3, 4, to.in(0).type.element);
  }
  template <class L>
  void loops(L& l) const {
    if (const int last = l.dims(0).rank() - 1; last > 0) add_channel_loops(l, channels_last != 0 ? last : 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QLinearAveragePool,
                tenon::op::com_microsoft::QLinearGlobalAveragePool)
