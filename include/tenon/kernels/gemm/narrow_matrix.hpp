// The right side of a product in fewer bits than a float has, before and after it is packed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/base/dtype.hpp"

namespace tenon::TENON_ABI::kernels {

/// B (K,N) before it is packed: halves, or integers whose numbers are (code - zero) * scale.
struct NarrowSource {
  DType type = DType::undefined;  ///< int2, uint2, int4, uint4, int8, uint8, float16, bfloat16
  int64_t k = 0, n = 0;
  const void* codes = nullptr;  ///< (K,N), or (N,K) if `transposed`; at any address
  bool transposed = false;
  int64_t block = 0;             ///< of integers: neighbours along K that share a scale
  const float* scale = nullptr;  ///< of block i, column j: scale[i * scale_row + j * scale_col]
  int64_t scale_row = 0, scale_col = 0;
  const void* zero = nullptr;  ///< of `type`, where the scales are; or nullptr: zero
};

/// A packed B. Its numbers are those of columns beside each other, as many as a register has, one panel of
/// such columns after another.
struct NarrowMatrix {
  DType type = DType::undefined;    ///< as the source's; undefined: there is no matrix
  int64_t k = 0, n = 0, block = 0;  ///< as the source's
  const std::byte* data = nullptr;  ///< of each panel, the codes of a block and then its scales
  const uint8_t* zeros = nullptr;   ///< one for each block and column, panel after panel
};

/// Bytes that narrow_pack writes: the matrix, and zero points if they differ.
struct NarrowSize {
  int64_t data = 0, zeros = 0;
};

/// Integers of which 32 bits hold so many; 1 of other types.
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
