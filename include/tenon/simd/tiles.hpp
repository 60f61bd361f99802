// Tile registers: eight registers of up to 16 rows of 64 bytes, and the product of two of them (AMX).
//
// A kernel is a template on the unit: Tiles of the level where the processor has_tiles (features.hpp), and
// PlainTiles, which computes the same anywhere, for tests.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "tenon/simd/features.hpp"

namespace tenon::TENON_ABI::simd {

inline constexpr int tile_rows = 16, tile_bytes = 64;

/// The use of the registers: 0 to 3 hold sums, two by two; 4 and 5 hold rows of the left operand, `rows` in
/// all; 6 and 7 columns of the right one, 16 each.
struct TileShape {
  int rows;  ///< 1 to 32
  int rows_of(int tile) const {
    const int high = rows > tile_rows ? rows - tile_rows : tile_rows,
              low = rows < tile_rows ? rows : tile_rows;
    return tile >= 6 ? tile_rows : tile == 2 || tile == 3 || tile == 5 ? high : low;
  }
};

/// The registers in plain memory.
class PlainTiles {
 public:
  explicit PlainTiles(TileShape shape) {
    for (int t = 0; t < 8; ++t) rows_[t] = shape.rows_of(t);
  }
  /// Loads rows of 64 bytes, `stride` bytes apart.
  template <int tile>
  void load(const void* from, int64_t stride) {
    for (int r = 0; r < rows_[tile]; ++r)
      std::memcpy(tile_[tile] + r * tile_bytes, static_cast<const uint8_t*>(from) + r * stride, tile_bytes);
  }
  template <int tile>
  void store(void* to, int64_t stride) const {
    for (int r = 0; r < rows_[tile]; ++r)
      std::memcpy(static_cast<uint8_t*>(to) + r * stride, tile_[tile] + r * tile_bytes, tile_bytes);
  }
  template <int tile>
  void zero() {
    std::memset(tile_[tile], 0, sizeof tile_[tile]);
  }
  /// sums (r, c) of int32 += a (r, 4 p + e) * b (p, 4 c + e) over p < 16, e < 4, wrapping; bytes of a are
  /// unsigned, bytes of b signed.
  template <int sums, int a, int b>
  void add_products() {
    for (int r = 0; r < rows_[sums]; ++r)
      for (int c = 0; c < tile_rows; ++c) {
        uint32_t sum;
        std::memcpy(&sum, tile_[sums] + r * tile_bytes + 4 * c, 4);
        for (int p = 0; p < tile_rows; ++p)
          for (int e = 0; e < 4; ++e)
            sum += static_cast<uint32_t>(tile_[a][r * tile_bytes + 4 * p + e] *
                                         static_cast<int8_t>(tile_[b][p * tile_bytes + 4 * c + e]));
        std::memcpy(tile_[sums] + r * tile_bytes + 4 * c, &sum, 4);
      }
  }
  /// The same for sums of float, with two bfloat16 instead of four bytes; denormal numbers count as zero.
  template <int sums, int a, int b>
  void add_bfloat16_products() {
    const auto number = [](const uint8_t* p) {
      uint16_t high;
      std::memcpy(&high, p, 2);
      return std::bit_cast<float>(static_cast<uint32_t>(high) << 16);
    };
    for (int r = 0; r < rows_[sums]; ++r)
      for (int c = 0; c < tile_rows; ++c) {
        float sum;
        std::memcpy(&sum, tile_[sums] + r * tile_bytes + 4 * c, 4);
        for (int p = 0; p < tile_rows; ++p)
          for (int e = 0; e < 4; e += 2)
            sum +=
                number(tile_[a] + r * tile_bytes + 4 * p + e) * number(tile_[b] + p * tile_bytes + 4 * c + e);
        std::memcpy(tile_[sums] + r * tile_bytes + 4 * c, &sum, 4);
      }
  }

 private:
  uint8_t tile_[8][tile_rows * tile_bytes] = {};
  int rows_[8];
};

namespace detail {
template <class Arch>
struct TilesOf {
  using type = PlainTiles;
};
}  // namespace detail

/// The registers that kernels of a level use where has_tiles.
template <class Arch>
using Tiles = typename detail::TilesOf<Arch>::type;

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/x86/tiles.hpp"
