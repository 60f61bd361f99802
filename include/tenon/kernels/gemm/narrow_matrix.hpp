// The right side of a product in fewer bits than a float, before and after packing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/base/dtype.hpp"

namespace tenon::TENON_ABI::kernels {

/// B (K,N) before packing: halves, or integers that stand for (code - zero) * scale.
struct NarrowSource {
  DType type = DType::undefined;  ///< int2, uint2, int4, uint4, int8, uint8, float16, bfloat16
  int64_t k = 0, n = 0;
  const void* codes = nullptr;  ///< (K,N), or (N,K) if `transposed`; at any address
  bool transposed = false;
  int64_t block = 0;             ///< of integers: neighbours along K that share a scale
  const float* scale = nullptr;  ///< of block i, column j: scale[i * scale_row + j * scale_col]
  int64_t scale_row = 0, scale_col = 0;
  const void* zero = nullptr;  ///< of `type`, indexed like the scales; or nullptr: zero
};

/// A packed B. Each panel holds as many adjacent columns as a register has numbers; panels are stored
/// consecutively.
struct NarrowMatrix {
  DType type = DType::undefined;    ///< as the source's; undefined: there is no matrix
  int64_t k = 0, n = 0, block = 0;  ///< as the source's
  const std::byte* data = nullptr;  ///< per panel and block: the codes, then the scales
  const uint8_t* zeros = nullptr;   ///< one for each block and column, panel after panel
  /// Whether products may round their rows to bytes with a scale per block (narrow_rounded.hpp).
  bool round_activations = false;
};

/// Bytes that narrow_pack writes: the matrix, and zero points if they differ.
struct NarrowSize {
  int64_t data = 0, zeros = 0;
};

/// The number of integers in 32 bits; 1 for other types.
constexpr int64_t narrow_depth(DType type) {
  switch (type) {
    case DType::int2:
    case DType::uint2: return 16;
    case DType::int4:
    case DType::uint4: return 8;
    case DType::int8:
    case DType::uint8: return 4;
    default: return 1;
  }
}

/// Whether a product can read the matrix: blocks are whole multiples of narrow_depth, or one is all of K.
constexpr bool narrow_fits(const NarrowSource& s) {
  return s.block >= s.k || (s.block > 0 && s.block % narrow_depth(s.type) == 0);
}

}  // namespace tenon::TENON_ABI::kernels
