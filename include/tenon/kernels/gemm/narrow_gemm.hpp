// Products whose right side is stored in fewer bits than a float and widened in registers: entries. Bodies:
// narrow_gemm_impl.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/kernels/gemm/args.hpp"
#include "tenon/kernels/gemm/narrow_matrix.hpp"
#include "tenon/simd/arch.hpp"
#include "tenon/simd/properties.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch>
NarrowSize narrow_size_impl(const NarrowSource& source);
template <class Arch>
NarrowMatrix narrow_pack_impl(const NarrowSource& source, std::byte* data, uint8_t* zeros);
template <class Arch>
void narrow_gemm_impl(const GemmArgs<float>& args, const NarrowMatrix& b);

/// Numbers of a row that share a scale when they are rounded to bytes, at most: their sums fit into 23 bits.
inline constexpr int64_t longest_rounded_block = 32768;

/// Whether products with b round their rows at a level. Levels without products of bytes gain nothing by it.
template <class Arch>
constexpr bool narrow_rounds(const NarrowMatrix& b) {
  const int64_t depth = narrow_depth(b.type), block = b.block < b.k ? b.block : b.k;
  return b.round_activations && simd::has_dot_bytes_16<Arch> && (depth == 4 || depth == 8) &&
         block <= longest_rounded_block;
}

/// The size of a packed matrix at the level in force.
inline NarrowSize narrow_size(const NarrowSource& source) {
  return simd::dispatch([&]<class Arch>(Arch) { return narrow_size_impl<Arch>(source); });
}

/// Packs a matrix that fits to memory of narrow_size, aligned to 64 bytes.
inline NarrowMatrix narrow_pack(const NarrowSource& source, std::byte* data, uint8_t* zeros) {
  return simd::dispatch([&]<class Arch>(Arch) { return narrow_pack_impl<Arch>(source, data, zeros); });
}

/// The product described by `args`, with `b` as B; there is no batch. Sums are floats, or, for one or two
/// rows with integers of up to 4 bits, exact sums of rows that lose no accuracy to floats
/// (narrow_digits.hpp). Only if narrow_rounds(b) are rows rounded to bytes (narrow_rounded.hpp).
inline void narrow_gemm(const GemmArgs<float>& args, const NarrowMatrix& b) {
  simd::dispatch([&]<class Arch>(Arch) { narrow_gemm_impl<Arch>(args, b); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/gemm/narrow_gemm_impl.hpp"
#endif
