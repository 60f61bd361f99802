// Integers of few bits in rows of whole bytes, in blocks that share a scale.
#pragma once

#include "tenon/op/framework/infer.hpp"

namespace tenon::TENON_ABI::op {

/// Attribute block_size is a power of two from 16 on.
constexpr bool expect_block_size(Infer& i, int64_t size) {
  if (size < 16 || (size & (size - 1)) != 0)
    i.fail("block_size: ", size, ", expected a power of two from 16 on");
  return !i.failed();
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
