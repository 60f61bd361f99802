// Convolutions over tensors of (N, C, H, W) whose channels lie in blocks of a vector: (N, C / block, H, W,
// block). Neighbouring channels are lanes, so a kernel loads vectors whatever the width of an image, needs no
// border tests inside of them and no gathered matrix. Lanes past the last channel are computed and mean
// nothing; no kernel lets them meet others. Arguments and entries; bodies: blocked_impl.hpp,
// depthwise_impl.hpp, winograd_impl.hpp.
#pragma once

#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"

namespace tenon::kernels {

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
  int winograd = 0;       ///< the weights were packed for tiles of so many outputs on a side; or 0
  const T* x = nullptr;   ///< (N, Cin / block, H, W, block)
  int64_t x_plane = 0;    ///< cells from one block of x to the next, where N is 1; 0: H W
  const T* packed_w = nullptr;  ///< what blocked_conv_pack_weights wrote
  const T* bias = nullptr;      ///< (Cout), zeros up to whole blocks; or nullptr
  const T* add = nullptr;       ///< a residual like y, or nullptr; may be y itself
  T* y = nullptr;               ///< (N, Cout / block, H, W, block); must not overlap x
  int64_t y_plane = 0;          ///< the same of y and add
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

/// The channels of a group, as many in as out, where groups share a block of so many channels: one in
/// depthwise convolutions; else 0. Reads groups and channels. Always inlined, so that compiled models of one
/// group hold no depthwise code.
[[gnu::always_inline]] inline int64_t narrow_group(const ConvGeometry& g, int64_t block) {
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

/// Whether blocked_conv gives a y that is not in blocks, where there is no `add`. Reads groups and channels.
template <class T>
inline bool gives_planes(const ConvGeometry& g, int winograd) {
  return winograd == 0 && narrow_group(g, channel_block<T>()) == 0;
}

/// Whether winograd works from a plain x to a plain y, where there is no `add`: groups are so many that
/// threads share them. Reads groups.
inline bool keeps_planes(const ConvGeometry& g, int winograd) { return winograd != 0 && g.groups >= 8; }

/// Whether the convolution is one of 3 x 3 cells side by side, which winograd computes with a quarter of the
/// products in tiles of 4 x 4 outputs, and four ninths in tiles of 2 x 2. Asks no more of groups than
/// blockable_conv. Reads groups, channels, kernel, strides and dilations.
inline bool fits_winograd(const ConvGeometry& g) {
  return g.in_channels / g.groups >= 16 && g.out_channels / g.groups >= 16 && g.kernel[0] == 3 &&
         g.kernel[1] == 3 && g.strides[0] == 1 && g.strides[1] == 1 && g.dilations[0] == 1 &&
         g.dilations[1] == 1;
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

}  // namespace tenon::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/conv/blocked_impl.hpp"
#include "tenon/kernels/conv/depthwise_impl.hpp"
#include "tenon/kernels/conv/winograd_impl.hpp"
#endif
