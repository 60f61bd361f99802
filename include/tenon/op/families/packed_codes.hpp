// Integers of few bits in rows of whole bytes, in blocks that share a scale.
#pragma once

#include <cstring>

#include "tenon/op/framework/infer.hpp"

namespace tenon::TENON_ABI::op {

/// Attribute block_size is a power of two from 16 on.
constexpr bool expect_block_size(Infer& i, int64_t size) {
  if (size < 16 || (size & (size - 1)) != 0)
    i.fail("block_size: ", size, ", expected a power of two from 16 on");
  return !i.failed();
}

/// The unsigned type of integers of 2, 4 or 8 bits.
constexpr DType unsigned_of(int64_t bits) {
  return bits == 2 ? DType::uint2 : bits == 4 ? DType::uint4 : DType::uint8;
}

/// A byte of integers of `bits` bits that are all 2^(bits - 1).
constexpr int middle_codes(int64_t bits) { return bits == 2 ? 0xaa : bits == 4 ? 0x88 : 0x80; }

/// The first `columns` integers of `bits` bits in each of `rows` rows of `row_bytes` bytes, lowest bits
/// first, without the space between rows.
inline void pack_codes(const uint8_t* from, int64_t row_bytes, int64_t rows, int64_t columns, int64_t bits,
                       uint8_t* to) {
  const int64_t each = 8 / bits;
  if (row_bytes * each == columns) {
    std::memcpy(to, from, static_cast<std::size_t>(rows * row_bytes));
    return;
  }
  std::memset(to, 0, static_cast<std::size_t>((rows * columns + each - 1) / each));
  const int mask = (1 << bits) - 1;
  for (int64_t r = 0, at = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c, ++at) {
      const int code = from[r * row_bytes + c / each] >> (c % each * bits) & mask;
      to[at / each] = static_cast<uint8_t>(to[at / each] | code << (at % each * bits));
    }
}

/// Unsigned integers of 2, 4 or 8 bits, the first of a byte in its lowest bits; each row begins a byte.
struct PackedCodes {
  const uint8_t* bytes;
  int64_t bits;

  /// The integer in row `row`, column `column`, where rows have `columns` of them.
  int of(int64_t row, int64_t columns, int64_t column) const {
    const int64_t each = 8 / bits;
    return bytes[row * ((columns - 1) / each + 1) + column / each] >> (column % each * bits) &
           ((1 << bits) - 1);
  }
};

}  // namespace tenon::TENON_ABI::op
