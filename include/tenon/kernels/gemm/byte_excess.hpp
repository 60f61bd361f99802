// Products of 8-bit integers without dot_bytes: pairs of neighbouring signed numbers whose products with
// unsigned numbers may overflow 16 bits.
//
// Quad's fast products need s0 u0 + s1 u1 to fit into 16 bits for any bytes u. Few neighbouring weights are
// both that large. Packing subtracts their excess, which is stored after the panels in separate cells. A
// tile's sums add it last, multiplied by the other operand's cells of the same places in K.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

/// Whether the signed operand of products by Ops may have lists of excess.
template <class Ops>
inline constexpr bool may_exceed = false;

/// The excess of two neighbours: once it is subtracted from either, s0 u0 + s1 u1 fits into 16 bits for any
/// bytes u. With different signs, each product alone is the worst case.
constexpr int32_t excess_of(int32_t s0, int32_t s1) {
  const int32_t sum = s0 + s1;
  return sum > 128 ? sum - 128 : sum < -128 ? sum + 128 : 0;
}

/// The sign bit: whether one of `width` cells of signed bytes has an excess.
template <int width, class Word>
int32_t excess_sign(const Word* cells) {
  int32_t out = 0;
  for (int e = 0; e < width; ++e) {
    const auto cell = static_cast<uint32_t>(cells[e]);
    const auto byte = [cell](int at) { return static_cast<int32_t>(cell << (24 - 8 * at)) >> 24; };
    const int32_t low = byte(0) + byte(1), high = byte(2) + byte(3);
    out |= (128 - low) | (128 + low) | (128 - high) | (128 + high);
  }
  return out;
}

/// The places, of `count`, where one of `width` cells has an excess.
template <int width, class Word>
int64_t count_excess(const Word* cells, int64_t count) {
  int32_t places = 0;
  for (int64_t p = 0; p < count; ++p) places -= excess_sign<width>(cells + p * width) >> 31;
  return places;
}

/// Subtracts and returns the excess of a cell of signed bytes: for each two neighbours, from the first.
inline int32_t take_excess(int32_t& cell) {
  uint32_t rest = static_cast<uint32_t>(cell), excess = 0;
  for (int at = 0; at < 32; at += 16) {
    const auto byte = [&](int i) { return static_cast<int32_t>(rest << (24 - at - i)) >> 24; };
    const int32_t first = byte(0), over = excess_of(first, byte(8));
    excess |= (static_cast<uint32_t>(over) & 255) << at;
    rest = (rest & ~(255u << at)) | (static_cast<uint32_t>(first - over) & 255) << at;
  }
  cell = static_cast<int32_t>(rest);
  return static_cast<int32_t>(excess);
}

/// Cells of excess, in lists. In memory: where each list begins and the last one ends; each cell's place
/// within its list; the cells, `width` at each place. Without lists there is no excess. They are built in
/// three steps: all lists are counted, counts are summed up, the excess is taken.
struct ExcessLists {
  int32_t* begin = nullptr;
  int64_t lists = 0;

  /// The size in int32_t.
  static constexpr int64_t size(int64_t lists, int64_t places, int64_t width) {
    return lists + 1 + places * (1 + width);
  }
  int32_t* places() const { return begin + lists + 1; }
  int32_t* cells() const { return places() + begin[lists]; }

  template <int width, class Word>
  void count(int64_t list, const Word* from, int64_t count) const {
    begin[list + 1] = static_cast<int32_t>(count_excess<width>(from, count));
  }
  void sum_up() const {
    begin[0] = 0;
    for (int64_t i = 0; i < lists; ++i) begin[i + 1] += begin[i];
  }
  template <int width>
  void take(int64_t list, int32_t* from) const {
    int64_t at = begin[list];
    for (int64_t p = 0; at < begin[list + 1]; ++p) {
      if (excess_sign<width>(from + p * width) >= 0) continue;
      places()[at] = static_cast<int32_t>(p);
      for (int e = 0; e < width; ++e) cells()[at * width + e] = take_excess(from[p * width + e]);
      ++at;
    }
  }
};

/// Number of places with excess, of `lists` of `depth` places, up to which products are faster than products
/// of Pairs, which take a third longer. A place with excess takes two and a half times as long as others, and
/// each list as long as some places.
constexpr int64_t most_excesses(int64_t lists, int64_t depth) {
  return lists * std::max<int64_t>(depth / 6 - 1, 0);
}

/// The excess of one tile: `count` places in a block, and the packed operand's cells there.
struct Excess {
  int64_t count = 0;
  const int32_t* places = nullptr;
  const int32_t* cells = nullptr;

  Excess() = default;
  Excess(const ExcessLists& from, int64_t list, int64_t width) {
    if (from.lists == 0) return;
    const int32_t at = from.begin[list];
    count = from.begin[list + 1] - at;
    places = from.places() + at;
    cells = from.cells() + at * width;
  }
  /// Copies the other operand's cells of these places side by side.
  template <int width>
  void gather(const int32_t* from, int32_t* to) const {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * width, from + places[i] * width, width * sizeof(int32_t));
  }
};

}  // namespace tenon::TENON_ABI::kernels::gemm_detail
