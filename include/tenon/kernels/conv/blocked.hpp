// Convolutions over tensors of (N, C, H, W) whose channels are grouped into blocks of one vector: (N, C /
// block, H, W, block). Neighbouring channels are lanes, so a kernel loads vectors whatever the width of an
// image, without border tests inside them or a gathered matrix. Lanes past the last channel are computed but
// meaningless; no kernel mixes them with others. Arguments and entries; bodies: blocked_impl.hpp,
// depthwise_impl.hpp, winograd_impl.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/simd/features.hpp"

namespace tenon::TENON_ABI::kernels {

/// Channels in a block at a level: the lanes of a vector.
template <class Arch, class T>
int64_t channel_block_impl();
template <class T>
inline int64_t channel_block() {
  return simd::dispatch([]<class Arch>(Arch) { return channel_block_impl<Arch, T>(); });
}

/// y = activation(clamp(conv(x, w) + bias + add, lo, hi)) in blocks of channels. T: float.
template <class T>
struct BlockedConvArgs {
  ConvGeometry geometry;  ///< of rank 2; see blockable_conv
  bool plain_x = false;   ///< x is (N, Cin, H, W) and not in blocks: up to 4 channels, or see keeps_planes
  bool plain_y = false;   ///< y is (N, Cout, H, W) and not in blocks; see gives_planes and keeps_planes
  int winograd = 0;       ///< the weights were packed for tiles with this many outputs on a side; or 0
  const T* x = nullptr;   ///< (N, Cin / block, H, W, block)
  int64_t x_plane = 0;    ///< cells from one block of x to the next, if N is 1; 0: H W
  const T* packed_w = nullptr;  ///< what blocked_conv_pack_weights wrote
  const T* bias = nullptr;      ///< (Cout), zeros up to whole blocks; or nullptr
  const T* add = nullptr;       ///< a residual like y, or nullptr; may be y itself
  T* y = nullptr;               ///< (N, Cout / block, H, W, block); must not overlap x
  int64_t y_plane = 0;          ///< likewise for y and add
  T lo = no_lower_bound<T>;     ///< fused activation: Relu is lo = 0, Clip is both; a NaN stays NaN
  T hi = no_upper_bound<T>;
  Activation<T> activation{};  ///< one that bounds cannot express
};

/// Constant weights (Cout, Cin / groups, kernel): `data`, at any address, times the output channel's factor.
template <class T>
struct ConvWeights {
  const T* data;
  const double* factors = nullptr;  ///< (Cout), or nullptr: 1
  const double* factors_of(int64_t first) const { return factors == nullptr ? nullptr : factors + first; }
};

/// The channels of a group, equal for input and output, if several groups share a block of `block` channels:
/// one in depthwise convolutions; else 0. Reads groups and channels. Always inlined, so that compiled models
/// of one group contain no depthwise code.
TENON_ALWAYS_INLINE inline int64_t narrow_group(const ConvGeometry& g, int64_t block) {
  const int64_t width = g.in_channels / g.groups;
  const bool shares = g.groups > 1 && width > 0 && width < block && block % width == 0;
  return shares && g.in_channels == g.out_channels ? width : 0;
}

/// Whether blocked_conv takes groups of these channels. Reads groups and channels.
template <class T>
inline bool blockable_conv(const ConvGeometry& g) {
  const int64_t block = channel_block<T>();
  return g.groups == 1 || narrow_group(g, block) > 0 ||
         (g.in_channels / g.groups % block == 0 && g.out_channels / g.groups % block == 0);
}

/// Whether blocked_conv can write a y that is not in blocks, without `add`. Reads groups and channels.
template <class T>
inline bool gives_planes(const ConvGeometry& g, int winograd) {
  return winograd == 0 && narrow_group(g, channel_block<T>()) == 0;
}

/// Whether winograd reads a plain x and writes a plain y, without `add`: there are enough groups for threads
/// to share them. Reads groups.
inline bool keeps_planes(const ConvGeometry& g, int winograd) { return winograd != 0 && g.groups >= 8; }

/// Cells on a side of the kernel that sees one phase of x: the cells with equal remainders modulo the stride
/// on each axis. Reads kernel and strides.
inline int64_t phase_kernel(const ConvGeometry& g) {
  const auto side = [&](int d) { return (g.kernel[d] - 1) / g.strides[d] + 1; };
  return std::max(side(0), side(1));
}
/// Channels of the phases of a group's x. Reads groups, channels and strides.
inline int64_t phase_channels(const ConvGeometry& g) {
  return g.in_channels / g.groups * g.strides[0] * g.strides[1];
}

/// The cells that each weight must serve so that loading it from memory takes no longer than multiplying it.
template <class Arch>
int64_t cells_for_weight() {
  return Arch::register_bytes == 64 && !simd::halves_registers() ? 32 : 8;
}

/// The outputs on a side of winograd's tiles for a convolution, or 0 where direct computation is better.
/// Requires no more of groups than blockable_conv. Reads everything but the extents of x and the pads; `out`
/// is nullptr if unknown.
///   3 x 3 cells    4 x 4 outputs with 36 products instead of 144, or 2 x 2 with 16 instead of 36
///   4 x 4          3 x 3, 36 instead of 144
///   5 x 5          2 x 2, 36 instead of 100
/// With a stride, the kernel is the one that sees a phase of x, and x is plain.
inline int winograd_outputs(const ConvGeometry& g, bool plain_x) {
  const int64_t stride = g.strides[0], kernel = phase_kernel(g), outputs = 7 - kernel, places = 36;
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups;
  if (kernel < 3 || kernel > 5 || out < 16 || g.strides[1] != stride) return 0;
  if (g.dilations[0] != 1 || g.dilations[1] != 1) return 0;
  constexpr int64_t transforms = 6;  // they take as long as the products of this many channels
  if (stride > 1) {
    if (!plain_x || (stride != 2 && stride != 4)) return 0;
    const int64_t direct = outputs * outputs * in * g.kernel[0] * g.kernel[1];
    const bool pays = 2 * direct >= 3 * places * (phase_channels(g) + transforms);
    return pays ? static_cast<int>(outputs) : 0;
  }
  if (in < 16 || g.kernel[0] != g.kernel[1]) return 0;
  if (g.out == nullptr) return static_cast<int>(outputs);
  // For one output channel, in products, which may exceed the range of integers for some extents. The weights
  // of small images come from memory.
  const int64_t least = simd::dispatch([]<class Arch>(Arch) { return cells_for_weight<Arch>(); });
  const auto time = [&](int64_t side, int64_t weights, int64_t channels) {
    const auto along = [&](int d) { return static_cast<double>((g.out[d] - 1) / side + 1); };
    const double tiles = static_cast<double>(g.batch) * along(0) * along(1);
    return std::max(tiles, static_cast<double>(least)) * static_cast<double>(weights * channels);
  };
  const double direct = time(1, kernel * kernel, in), large = time(outputs, places, in + transforms),
               small = kernel == 3 ? time(2, 16, in + transforms) : direct;
  constexpr double worth_its_code = 1 << 20;
  if (direct <= std::min(large, small) || direct * static_cast<double>(out) < worth_its_code) return 0;
  return large <= small ? static_cast<int>(outputs) : 2;
}

template <class Arch, class T>
void blocked_conv_impl(const BlockedConvArgs<T>& args);
template <class Arch, class T>
void depthwise_conv_impl(const BlockedConvArgs<T>& args);
template <class Arch, class T>
void winograd_conv_impl(const BlockedConvArgs<T>& args);
template <class Arch, class T>
int64_t blocked_weight_size_impl(const ConvGeometry& geometry, int winograd);
template <class Arch, class T>
void blocked_pack_weights_impl(const ConvGeometry& geometry, const ConvWeights<T>& w, T* packed);
template <class Arch, class T>
void winograd_pack_weights_impl(const ConvGeometry& geometry, int outputs, const ConvWeights<T>& w,
                                T* packed);
template <class Arch, class T>
void to_blocks_impl(int64_t batch, int64_t channels, int64_t cells, const T* x, T* y);
template <class Arch, class T>
void from_blocks_impl(int64_t batch, int64_t channels, int64_t cells, const T* x, T* y);

/// Computes the convolution. See BlockedConvArgs.
template <class T>
inline void blocked_conv(const BlockedConvArgs<T>& args) {
  simd::dispatch([&]<class Arch>(Arch) {
    if (args.winograd != 0) winograd_conv_impl<Arch, T>(args);
    else blocked_conv_impl<Arch, T>(args);
  });
}

/// Elements of T that blocked_conv_pack_weights writes. Reads groups, channels and kernel.
template <class T>
inline int64_t blocked_conv_weight_size(const ConvGeometry& geometry, int winograd) {
  return simd::dispatch(
      [&]<class Arch>(Arch) { return blocked_weight_size_impl<Arch, T>(geometry, winograd); });
}

/// Writes constant weights in the order in which blocked_conv reads them: for any extents, strides, dilations
/// and pads, or for winograd.
template <class T>
inline void blocked_conv_pack_weights(const ConvGeometry& geometry, int winograd, const ConvWeights<T>& w,
                                      T* packed) {
  simd::dispatch([&]<class Arch>(Arch) {
    if (winograd != 0) winograd_pack_weights_impl<Arch, T>(geometry, winograd, w, packed);
    else blocked_pack_weights_impl<Arch, T>(geometry, w, packed);
  });
}

/// y (N, C / block, cells, block) of x (N, C, cells); lanes past the last channel are zero.
template <class T>
inline void to_blocks(int64_t batch, int64_t channels, int64_t cells, const T* x, T* y) {
  simd::dispatch([&]<class Arch>(Arch) { to_blocks_impl<Arch, T>(batch, channels, cells, x, y); });
}

/// y (N, C, cells) of x (N, C / block, cells, block).
template <class T>
inline void from_blocks(int64_t batch, int64_t channels, int64_t cells, const T* x, T* y) {
  simd::dispatch([&]<class Arch>(Arch) { from_blocks_impl<Arch, T>(batch, channels, cells, x, y); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/conv/blocked_impl.hpp"
#include "tenon/kernels/conv/depthwise_impl.hpp"
#include "tenon/kernels/conv/winograd_impl.hpp"
#endif
