// Convolutions of 8-bit integers: entries. Bodies: quant_conv_impl.hpp.
#pragma once

#include <cstdint>

#include "tenon/kernels/quant_conv/args.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch>
void quant_conv_impl(const QuantConvArgs& args);
template <class Arch>
int64_t quant_conv_packed_weight_size_impl(const QuantConvArgs& args);
template <class Arch>
void quant_conv_pack_weights_impl(const QuantConvArgs& args, int32_t* packed);

/// Computes the integer convolution. See QuantConvArgs.
inline void quant_conv(const QuantConvArgs& args) {
  simd::dispatch([&]<class Arch>(Arch) { quant_conv_impl<Arch>(args); });
}

/// Elements of int32_t that quant_conv_pack_weights writes. Reads the weights, and rank, groups, channels and
/// kernel of the geometry; depends on the level in force.
inline int64_t quant_conv_packed_weight_size(const QuantConvArgs& args) {
  return simd::dispatch([&]<class Arch>(Arch) { return quant_conv_packed_weight_size_impl<Arch>(args); });
}

/// Writes the weights of `args` and their zero points in the order in which quant_conv reads them. The packed
/// form serves any input extents, strides, dilations and pads.
inline void quant_conv_pack_weights(const QuantConvArgs& args, int32_t* packed) {
  simd::dispatch([&]<class Arch>(Arch) { quant_conv_pack_weights_impl<Arch>(args, packed); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/quant_conv/quant_conv_impl.hpp"
#endif
