// Products of 8-bit integers: their packed cells, of 32 bits.
//
// Numbers are mapped to the unsigned range: signed ones and their zero points are raised by 128.
//   Pair  two numbers less their zero points (9 bits), in 16 bits each: exact for any numbers at any level
//   Quad  four bytes, of one operand unsigned, of the other lowered by 128 to signed ones. Zero points
//         are applied to the sums afterwards: sum (u - z)(s - t) = sum u s - z (sum s - K t) - t sum u.
//         A level with products of signed bytes alone multiplies u - 128 (`lowers`), which lowers z and sum
//         u as well.
//   TileQuad  the same for tile registers (byte_tiles.hpp), which take 16 cells of K at a time
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "tenon/base/parallel.hpp"
#include "tenon/kernels/gemm/byte_excess.hpp"
#include "tenon/kernels/gemm/pack.hpp"
#include "tenon/kernels/gemm/tile.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/tiles.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

/// A packed cell is four neighbours along K, the first in the low byte. `a_signed` tells which operand is the
/// signed one. Without `any`, no two products of neighbours may overflow 16 bits together: see
/// byte_excess.hpp.
template <bool a_signed, bool any>
struct Quad {
  using Cell = int32_t;
  using Out = int32_t;
  static constexpr int per_cell = 4;
  static constexpr bool rare = false, fused = any;

  template <class V>
  static V add_product(const V& a, const V& b, const V& sum) {
    const V &u = a_signed ? b : a, &s = a_signed ? a : b;
    if constexpr (any) return simd::dot_bytes(u, s, sum);
    else return simd::dot_bytes_16(u, s, sum);
  }
  template <int lane, class V>
  static V add_lane_product(const V& a, const V& b, const V& sum) {
    if constexpr (a_signed) return simd::dot_bytes_by_lane<lane>(b, a, sum);
    else return simd::dot_bytes_lane<lane>(a, b, sum);
  }
  /// Products of two rows and two columns of eight bytes.
  template <class V>
  static V add_block_product(const V& a, const V& b, const V& sum) {
    if constexpr (a_signed) return simd::dot_blocks(b, a, sum);
    else return simd::dot_blocks(a, b, sum);
  }
  /// The rows of two such blocks.
  template <class V>
  static void split_blocks(const V& x, const V& y, V& row, V& next_row) {
    if constexpr (a_signed) {
      simd::split_pairs(x, y, row, next_row);
    } else {
      decltype(simd::bits_as<int64_t>(x)) first, second;
      simd::join_pairs(simd::bits_as<int64_t>(x), simd::bits_as<int64_t>(y), first, second);
      row = simd::bits_as<int32_t>(first), next_row = simd::bits_as<int32_t>(second);
    }
  }
};

template <bool a_signed>
inline constexpr bool may_exceed<Quad<a_signed, false>> = true;

/// The number that products by Ops subtract from the bytes of Quad's unsigned operand.
template <class Ops, class Arch>
inline constexpr int32_t lowers = 0;
template <bool a_signed, class Arch>
inline constexpr int32_t lowers<Quad<a_signed, true>, Arch> = simd::dot_bytes_lowers<Arch>;

/// Quad for registers of `Unit`. A is the unsigned operand.
template <class U>
struct TileQuad {
  using Unit = U;
  using Cell = int32_t;
  using Out = int32_t;
  static constexpr int per_cell = 4;
};

/// Cells of K in a packed operand: `k` numbers, and with TileQuad zeros up to whole registers.
template <class Ops>
constexpr int64_t depth_of(int64_t k) {
  constexpr int64_t numbers = requires { typename Ops::Unit; } ? simd::tile_bytes : Ops::per_cell;
  return (k + numbers - 1) / numbers * (numbers / Ops::per_cell);
}

/// How numbers are packed: as Pair, Quad of bytes without excess, Quad of any bytes, or TileQuad.
enum class ByteForm : int32_t { pairs, quads_16, quads, tiles };

/// f(Ops) with the operations of a form other than tiles.
template <class Arch, bool a_signed, class F>
void with_form(ByteForm form, F f) {
  if (form == ByteForm::pairs) return f(Pair{});
  if constexpr (simd::has_dot_bytes_16<Arch>) {
    if (form == ByteForm::quads) return f(Quad<a_signed, true>{});
    f(Quad<a_signed, false>{});
  }
}

/// One operand: the rows of A or the columns of B. Element p of row i is at data + i * step + p * k_step.
struct ByteRows {
  const uint8_t* data = nullptr;
  int64_t step = 0, k_step = 1, count = 0, k = 0;
  bool is_signed = false;
  const uint8_t* zero = nullptr;  ///< nullptr: zero
  int64_t zero_step = 0;

  /// A row's zero point, in the unsigned range.
  int32_t zero_of(int64_t i) const {
    const int32_t z = zero == nullptr ? 0 : zero[i * zero_step];
    return is_signed ? z ^ 128 : z;
  }
  bool one_zero() const {
    for (int64_t i = 1; i < count && zero_step != 0 && zero != nullptr; ++i)
      if (zero[i * zero_step] != zero[0]) return false;
    return true;
  }
};

/// Loads words for elements [0, k) of `count` rows: to[p * width + i] has elements 4 p to 4 p + 3 of row i,
/// in the unsigned range; zero past the last element.
template <class Arch, int width>
void load_quads(const ByteRows& x, const uint8_t* from, int64_t count, int64_t k, uint32_t* to) {
  const int64_t whole = k / 4;
  int64_t i = 0;
  if (x.step == 1) {
    for (; i + 16 <= count; i += 16)
      for (int64_t p = 0; p < whole; ++p) {
        const uint8_t* r = from + i + 4 * p * x.k_step;
        simd::interleave_bytes<Arch>(r, r + x.k_step, r + 2 * x.k_step, r + 3 * x.k_step, to + p * width + i);
      }
  } else if (x.k_step == 1) {
    for (; i + 4 <= count; i += 4) {
      const uint8_t* r = from + i * x.step;
      int64_t p = 0;
      for (; p + 4 <= whole; p += 4)
        simd::transpose_words<Arch>(r + 4 * p, x.step, to + p * width + i, width);
      for (; p < whole; ++p)
        for (int e = 0; e < 4; ++e) std::memcpy(to + p * width + i + e, r + e * x.step + 4 * p, 4);
    }
  }
  const auto word = [&](int64_t row, int64_t p, int64_t n) {
    uint32_t w = 0;
    for (int64_t e = 0; e < n; ++e) w |= uint32_t{from[row * x.step + (4 * p + e) * x.k_step]} << (8 * e);
    return w;
  };
  for (; i < count; ++i)
    for (int64_t p = 0; p < whole; ++p) to[p * width + i] = word(i, p, 4);
  for (int64_t p = 0; p < whole; ++p) std::fill(to + p * width + count, to + (p + 1) * width, 0);
  if (k % 4 != 0) {
    for (int64_t e = 0; e < count; ++e) to[whole * width + e] = word(e, whole, k % 4);
    std::fill(to + whole * width + count, to + (whole + 1) * width, 0);
  }
  if (!x.is_signed) return;
  for (int64_t e = 0; e < whole * width; ++e) to[e] ^= 0x80808080u;
  const uint32_t last = 0x80808080u >> (32 - 8 * (k % 4)) % 32;
  for (int64_t e = whole * width; k % 4 != 0 && e < (whole + 1) * width; ++e) to[e] ^= last;
}

/// Pairs of the words' bytes minus zero: the low bytes of each word to `low`, the high bytes to `high`.
template <class Arch>
void split_quads(const uint32_t* __restrict words, const int32_t* __restrict zero, int64_t count,
                 int32_t* __restrict low, int32_t* __restrict high) {
  const auto pair = [](uint32_t w, uint32_t z) {
    return static_cast<int32_t>((((w & 255) - z) & 0xffff) | ((w >> 8 & 255) - z) << 16);
  };
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t z = static_cast<uint32_t>(zero[i]);
    low[i] = pair(words[i], z);
    high[i] = pair(words[i] >> 16, z);
  }
}

/// Zeroes rows of words past `count` words, and each row past n bytes.
template <int width, class Word>
void clear_padding(Word* words, int64_t count, int64_t n) {
  const int64_t rows = (n + 3) / 4;
  for (int64_t r = 0; r < rows && count < width; ++r)
    std::fill(words + r * width + count, words + (r + 1) * width, Word{0});
  for (int64_t e = 0; e < width && n % 4 != 0; ++e)
    words[(rows - 1) * width + e] &= static_cast<Word>((1u << 8 * (n % 4)) - 1);
}

/// Packs the panel of rows [i, i + width) for all of K. With Quad, adds the sums of the rows' numbers to
/// `sums`, which must be zero. `lowered`: the operand is Quad's signed one.
template <class Ops, class Arch, int width>
void pack_bytes(const ByteRows& x, bool lowered, int64_t i, int32_t* packed, int32_t* sums) {
  constexpr int64_t chunk = 16, numbers = 4 * chunk;  // rows of words at a time
  constexpr int64_t block = Tile<Ops, Arch>::depth;
  static_assert(block * Ops::per_cell % numbers == 0);
  const int64_t count = std::min<int64_t>(width, x.count - i), depth = depth_of<Ops>(x.k);
  alignas(64) uint32_t words[chunk * width];
  alignas(64) int32_t zero[width] = {}, spare[width];
  // Sums of words, of which a row has `width`, in whole vectors.
  using V = simd::batch<int32_t, Arch>;
  constexpr int lanes = simd::lanes<int32_t, Arch>, together = std::lcm(width, lanes);
  static_assert(chunk * width % together == 0);
  V sum[together / lanes];
  for (V& part : sum) part = V(0);
  for (int64_t e = 0; e < count; ++e) zero[e] = x.zero_of(i + e);
  for (int64_t k = 0; k < x.k; k += numbers) {
    const int64_t n = std::min(numbers, x.k - k), rows = (n + 3) / 4;
    load_quads<Arch, width>(x, x.data + i * x.step + k * x.k_step, count, n, words);
    const int64_t cell = k / Ops::per_cell, p = cell / block * block, d = std::min(block, depth - p);
    int32_t* to = packed + packed_size(x.count, width, p) + i * d + (cell - p) * width;
    if constexpr (Ops::per_cell == 2) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t left = n - 4 * r;
        split_quads<Arch>(words + r * width, zero, width, to + 2 * r * width,
                          left > 2 ? to + (2 * r + 1) * width : spare);
        // A number without a partner.
        int32_t* last = left == 1 ? to + 2 * r * width : left == 3 ? to + (2 * r + 1) * width : spare;
        for (int e = 0; left < 4 && e < width; ++e) last[e] &= left % 2 != 0 ? 0xffff : -1;
      }
    } else {
      const uint32_t flip = lowered ? 0x80808080u : 0;
      for (int64_t e = 0; e < rows * width; ++e) to[e] = static_cast<int32_t>(words[e] ^ flip);
      std::fill(words + rows * width, words + chunk * width, 0);
      for (int64_t e = 0; e < chunk * width; e += together)
        for (int v = 0; v < together / lanes; ++v)
          sum[v] = simd::sum_bytes(simd::bits_as<int32_t>(simd::loadu<Arch>(words + e + v * lanes)), sum[v]);
      if (lowered) clear_padding<width>(to, count, n);
      std::fill(to + rows * width, to + std::min(chunk, depth - cell) * width, 0);
    }
  }
  if (Ops::per_cell == 2) return;
  alignas(64) int32_t part[together];
  for (int v = 0; v < together / lanes; ++v) simd::storeu(part + v * lanes, sum[v]);
  for (int64_t e = 0; e < count; ++e) {
    uint32_t total = lowered ? -128 * static_cast<uint32_t>(x.k) : 0;
    for (int64_t at = e; at < together; at += width) total += static_cast<uint32_t>(part[at]);
    sums[i + e] = static_cast<int32_t>(total);
  }
}

/// The form for a constant operand, and the places of its excess.
struct ConstantForm {
  ByteForm form;
  int64_t places = 0;
};

/// The form for a constant operand; places(most) counts places with excess, of `lists` of `depth`, stopping
/// past `most`.
template <class Arch, class Places>
ConstantForm constant_form(int64_t lists, int64_t depth, const Places& places) {
  if (simd::has_dot_bytes<Arch>()) return {ByteForm::quads};
  if constexpr (simd::has_dot_bytes_16<Arch>) {
    const int64_t most = most_excesses(lists, depth), count = places(most);
    if (count <= most) return {ByteForm::quads_16, count};
  }
  return {ByteForm::pairs};
}

/// The places where cells of rows [i, i + width) have an excess.
template <class Arch, int width>
int64_t excess_of_panel(const ByteRows& x, int64_t i) {
  constexpr int64_t chunk = 16, numbers = 4 * chunk;
  alignas(64) uint32_t words[chunk * width];
  const int64_t count = std::min<int64_t>(width, x.count - i);
  int64_t places = 0;
  for (int64_t k = 0; k < x.k; k += numbers) {
    const int64_t n = std::min(numbers, x.k - k);
    load_quads<Arch, width>(x, x.data + i * x.step + k * x.k_step, count, n, words);
    for (uint32_t& w : words) w ^= 0x80808080u;
    clear_padding<width>(words, count, n);
    places += count_excess<width>(words, (n + 3) / 4);
  }
  return places;
}

/// Counts the places where `width` rows' cells together have an excess, stopping past `most`.
template <class Arch, int width>
int64_t excess_places(const ByteRows& x, int64_t most) {
  std::atomic<int64_t> places{0};
  parallel_for((x.count + width - 1) / width, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end && places.load(std::memory_order_relaxed) <= most; ++panel)
      places.fetch_add(excess_of_panel<Arch, width>(x, panel * width), std::memory_order_relaxed);
  });
  return places.load();
}

/// x * y, x + y and x - y, wrapping.
constexpr int32_t wrap_mul(int32_t x, int32_t y) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
}
constexpr int32_t wrap_add(int32_t x, int32_t y) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
}
constexpr int32_t wrap_sub(int32_t x, int32_t y) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) - static_cast<uint32_t>(y));
}

}  // namespace tenon::TENON_ABI::kernels::gemm_detail
