// Convolutions and means over blocks of channels, and the two ends of a blocked region.
#pragma once

#include <array>

#include "tenon/base/storage.hpp"
#include "tenon/graph/fused/bounds.hpp"
#include "tenon/kernels/conv/blocked.hpp"
#include "tenon/op/families/reduction.hpp"
#include "tenon/op/nn/conv.hpp"

namespace tenon::TENON_ABI::passes {

/// Y (N, channels / block, spatial..., block) from X (N, channels, spatial...); lanes past the last channel
/// are zero.
struct ToBlocks {
  int64_t block = 0;
  int64_t channels = 0;

  static constexpr op::Attributes fields{op::attr("block", &ToBlocks::block),
                                         op::attr("channels", &ToBlocks::channels)};
  static constexpr op::Spec spec =
      op::own_spec("ToBlocks", {{"X", "T"}}, {{"Y", "T"}}, {{"T", types::float32}});

  constexpr void infer(op::Infer& i) const {
    if (!i.expect_ranked(0) || !i.expect_rank_at_least(0, 3)) return;
    Dims y = i.dims(0);
    if (y[1].differs(channels)) return i.fail("X has ", y[1], " channels, not ", channels);
    y[1] = (channels + (block - 1)) / block;
    y.push_back(block);
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (y.empty()) return;
    kernels::to_blocks(x.extent(0), x.extent(1), x.size() / (x.extent(0) * x.extent(1)), x.data(), y.data());
  }
};

/// Y (N, channels, spatial...) from X (N, channels / block, spatial..., block).
struct FromBlocks {
  int64_t channels = 0;

  static constexpr op::Attributes fields{op::attr("channels", &FromBlocks::channels)};
  static constexpr op::Spec spec =
      op::own_spec("FromBlocks", {{"X", "T"}}, {{"Y", "T"}}, {{"T", types::float32}});

  constexpr void infer(op::Infer& i) const {
    if (!i.expect_ranked(0) || !i.expect_rank_at_least(0, 4)) return;
    const Dims& x = i.dims(0);
    Dims y{x[0], channels};
    for (int k = 2; k + 1 < x.rank(); ++k) y.push_back(x[k]);
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (y.empty()) return;
    kernels::from_blocks(y.extent(0), channels, y.size() / (y.extent(0) * channels), x.data(), y.data());
  }
};

/// FusedConv over blocks of channels. X is in blocks unless plain_x, Y unless plain_y, Z always.
struct BlockedConv {
  op::Conv conv{};
  Bounds bounds{};
  int64_t block = 0;
  Extents extents{};  ///< of the weights: (M, C/group, kernel...), with one or two spatial axes
  bool plain_x = false, plain_y = false;
  int winograd = 0;                         ///< outputs on a side of Winograd's tiles, or 0
  Storage weights{};                        ///< as blocked_conv_pack_weights writes them
  Storage bias{};                           ///< (M), zero-padded to whole blocks; or empty
  kernels::Activation<float> activation{};  ///< after the bounds

  static constexpr op::Attributes fields{
      op::attr("conv", &BlockedConv::conv),         op::attr("bounds", &BlockedConv::bounds),
      op::attr("block", &BlockedConv::block),       op::attr("extents", &BlockedConv::extents),
      op::attr("plain_x", &BlockedConv::plain_x),   op::attr("plain_y", &BlockedConv::plain_y),
      op::attr("winograd", &BlockedConv::winograd), op::attr("weights", &BlockedConv::weights),
      op::attr("bias", &BlockedConv::bias),         op::attr("activation", &BlockedConv::activation)};
  static constexpr op::Spec spec = op::own_spec("BlockedConv", {{"X", "T"}, {"Z", "T", op::optional}},
                                                {{"Y", "T"}}, {{"T", types::float32}});

  constexpr void infer(op::Infer& i) const {
    if (!i.expect_ranked(0) || !i.expect_rank(0, extents.size() + (plain_x ? 0 : 1))) return;
    const Dims y = result(i, i.dims(0));
    if (y.ranked() && (plain_y || i.expect_extents(1, y))) i.out(0, y);
  }
  /// The extents of Y for the extents of X; unranked if the windows do not fit.
  constexpr Dims result(op::Infer& i, const Dims& of_x) const {
    Dims x{of_x[0], plain_x ? of_x[1] : Dim(extents[1] * conv.group)};
    for (int k = 2; k < extents.size(); ++k) x.push_back(of_x[k]);
    op::infer_conv(i, conv.window(), conv.group, x, Dims(extents));
    Dims y = i.failed() ? Dims() : i.out(0).dims;
    if (plain_y || !y.ranked()) return y;
    y[1] = (extents[0] + block - 1) / block;
    y.push_back(block);
    return y;
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> z, TensorView<T> y) const {
    if (y.empty()) return;
    op::WindowLayout l(conv.window(), x.extents(), y.extents(), std::span(extents).subspan(2));
    if (winograd == 0) l.drop_flat_axes();
    // A single spatial axis is the second of two.
    constexpr int64_t ones[2] = {1, 1}, zeros[2] = {0, 0};
    const bool line = l.rank == 1;
    const auto pair = [&](const int64_t* of, const int64_t* other) {
      return line ? std::array{other[0], of[0]} : std::array{of[0], of[1]};
    };
    const auto in = pair(l.in, ones), out = pair(l.out, ones), kernel = pair(l.kernel, ones);
    const auto strides = pair(l.strides, ones), dilations = pair(l.dilations, ones),
               pads = pair(l.pads_begin, zeros);
    auto args = arguments<T>({2, x.extent(0), conv.group, extents[1] * conv.group, extents[0], in.data(),
                              out.data(), kernel.data(), strides.data(), dilations.data(), pads.data()});
    args.x = x.data();
    args.add = z.data();
    args.y = y.data();
    kernels::blocked_conv(args);
  }
  /// The kernel's arguments, except a run's data.
  template <class T>
  kernels::BlockedConvArgs<T> arguments(const kernels::ConvGeometry& geometry) const {
    kernels::BlockedConvArgs<T> args;
    args.geometry = geometry;
    args.plain_x = plain_x;
    args.plain_y = plain_y;
    args.winograd = winograd;
    args.packed_w = static_cast<const T*>(weights.data());
    args.bias = bias ? static_cast<const T*>(bias.data()) : nullptr;
    args.lo = static_cast<T>(bounds.lo);
    args.hi = static_cast<T>(bounds.hi);
    args.activation = activation;
    return args;
  }
};

/// GlobalAveragePool over blocks of channels.
struct BlockedMean {
  static constexpr op::Attributes<> fields{};
  static constexpr op::Spec spec =
      op::own_spec("BlockedMean", {{"X", "T"}}, {{"Y", "T"}}, {{"T", types::float32}});

  constexpr void infer(op::Infer& i) const {
    if (!i.expect_ranked(0) || !i.expect_rank_at_least(0, 4)) return;
    Dims y = i.dims(0);
    for (int k = 2; k + 1 < y.rank(); ++k) y[k] = 1;
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    op::reduce<kernels::ReduceOp::mean>(x, ((1u << (x.rank() - 1)) - 1) & ~3u, y);
  }
};

}  // namespace tenon::TENON_ABI::passes
