// A row times a matrix of integers of up to 4 bits, in integers.
//
// Numbers of the row that share a scale become integers of 24 bits with a common unit, a power of two. An
// integer is three digits of 8 bits, (first * 256 + second) * 256 + third, each within [-128, 127]. Products
// of digits and codes are products of bytes with exact sums, which are converted to float for each block. The
// error is half a unit for each number: 2^-23 of the largest in its block.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/narrow_numbers.hpp"

namespace tenon::TENON_ABI::kernels::narrow_detail {

inline constexpr int digit_count = 3;
/// Numbers that share a scale, at most, so that sums of 24 bits times 4 bits, without their first digit, fit
/// into 32.
inline constexpr int64_t longest_digit_block = 4096;

/// Per block: its unit, and the sums of its first digits and of 256 times the second digits plus the third
/// digits, multiplied by the zero point if that is the same everywhere.
struct DigitBlock {
  float unit = 1;
  int32_t first = 0, rest = 0;
};

/// Rows in digits. Lanes of 32 bits hold the digits of the four numbers that meet a word's codes at one place
/// of its bytes: per word, place by place, third, second and first digits.
struct DigitRows {
  int32_t* digits = nullptr;
  DigitBlock* blocks = nullptr;
  int64_t digits_row = 0, blocks_row = 0;
};

/// Writes the digits of k numbers x, `step` apart, and one extra word; blocks of them share scales, for codes
/// of `bits` bits with zero point `zero`, or 1 if zero points are looked up. Returns false for NaN,
/// infinities and units that are not normal numbers.
template <class Arch, int bits>
bool to_digits(const float* x, int64_t step, int64_t k, int64_t block, int32_t zero, int32_t* digits,
               DigitBlock* blocks) {
  using I = batch<int32_t, Arch>;
  using V = batch<float, Arch>;
  constexpr int L = lanes<float, Arch>, places = 8 / bits, depth = 4 * places;
  constexpr int32_t greatest = 0x7f7f7f;
  Scratch scratch;
  const int64_t padded = (std::min(block, k) + depth - 1) / depth * depth + L;
  float* numbers = scratch.take<float>(padded);
  auto* whole = scratch.take<int32_t>(padded);
  for (int64_t begin = 0; begin < k; begin += block, ++blocks) {
    const int64_t size = std::min(block, k - begin), words = (size + depth - 1) / depth;
    const int64_t written = (size + L - 1) / L * L;
    for (int64_t i = 0; i < size; ++i) numbers[i] = x[(begin + i) * step];
    std::fill(numbers + size, numbers + padded, 0.0f);
    I most(0);
    for (int64_t i = 0; i < size; i += L)
      most = simd::max(most, I(simd::bits_as<int32_t>(simd::loadu<Arch>(numbers + i)) & I(0x7fffffff)));
    int32_t top = 0;
    alignas(64) int32_t lane[L];
    simd::storeu(lane, most);
    for (const int32_t bound : lane) top = std::max(top, bound);
    constexpr int32_t infinity = 0x7f800000, small = (127 - 100) << 23;
    if (top >= infinity || (top != 0 && top < small)) return false;
    // The largest number is 2^22 to 2^23 units, or half of that if it would exceed the digits' range.
    int exponent = top == 0 ? 127 : (top >> 23) - 22;
    if (std::bit_cast<float>(top) > greatest * std::bit_cast<float>(exponent << 23)) ++exponent;
    blocks->unit = std::bit_cast<float>(exponent << 23);
    const V each(std::bit_cast<float>((254 - exponent) << 23));
    const I middle(0x808080);
    I first(0), rest(0);
    for (int64_t i = 0; i < size; i += L) {
      const I shifted = simd::nearbyint_as_int(V(simd::loadu<Arch>(numbers + i) * each)) + middle;
      first = first + (shifted >> 16), rest = rest + (shifted & I(0xffff));
      simd::storeu(whole + i, I(shifted ^ middle));
    }
    const auto total = [&](const I& of, int32_t nothing) {
      simd::storeu(lane, of);
      uint32_t sum = 0;
      for (const int32_t part : lane)
        sum += static_cast<uint32_t>(part - nothing * static_cast<int32_t>(written / L));
      return static_cast<int32_t>(sum) * zero;
    };
    blocks->first = total(first, 0x80), blocks->rest = total(rest, 0x8080);
    std::fill_n(whole + written, std::max<int64_t>(words * depth - written, 0), 0);
    for (int64_t w = 0; w < words; ++w)
      for (int place = 0; place < places; ++place) {
        const int32_t* of = whole + w * depth + place;
        // The fourth word is zero; the next words overwrite it.
        simd::transpose_bytes<Arch>(of[0], of[places], of[2 * places], of[3 * places], digits);
        digits += digit_count;
      }
  }
  return true;
}

/// Words whose sums of products, up to 2^bits - 1 times 128, fit into 16 bits.
template <int bits>
inline constexpr int words_together = std::min(32767 / (2 * 128 * ((1 << bits) - 1) * (8 / bits)), 4);

/// The product of R rows in digits and a matrix of `bits` bits, with panels `apart` from each other: sums[(r
/// * NV + v) * L]. `dot`: dot_bytes is available; `equal`: each block has words_together words.
template <int bits, class Arch, int R, int NV, bool dot, bool equal>
TENON_NOINLINE void multiply_digits(const NarrowMatrix& b, const Layout<Integers<bits, Arch>, Arch>& layout,
                                    const DigitRows& x, int64_t panel, int64_t apart, float* sums) {
  using N = Integers<bits, Arch>;
  using I = batch<int32_t, Arch>;
  using V = batch<float, Arch>;
  constexpr int L = lanes<float, Arch>, places = 8 / bits, ahead = 2048;
  constexpr int together = words_together<bits>;
  const I mask = simd::in_register(I(0x01010101 * ((1 << bits) - 1)));
  const std::byte* at = b.data + layout.at(panel, 0);
  const int64_t step = apart * layout.panel_bytes;
  V total[R][NV];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) total[r][v] = V(0.0f);
  const int32_t* digits = x.digits;
  for (int64_t block = 0; block < layout.blocks; ++block) {
    [[maybe_unused]] int64_t words =
        (std::min(layout.block, b.k - block * layout.block) + N::depth - 1) / N::depth;
    // Sums of first digits, and of 256 times the second digits plus the third.
    I first[R][NV], rest[R][NV];
    const auto add_words = [&]<int count, bool begins>(std::integral_constant<int, count>,
                                                       std::bool_constant<begins>) {
      I part[R][NV][digit_count];
#pragma GCC unroll 4
      for (int w = 0; w < count; ++w) {
        I codes[NV][places];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
          const std::byte* from = at + v * step + w * N::bytes;
          if (w % (64 / N::bytes) == 0) TENON_PREFETCH(from + ahead, 0, 3);
          const I word = simd::loadu<Arch>(reinterpret_cast<const int32_t*>(from));
#pragma GCC unroll 4
          for (int place = 0; place < places; ++place)
            codes[v][place] = (place == 0 ? word : I(word >> (bits * place))) & mask;
        }
#pragma GCC unroll 4
        for (int place = 0; place < places; ++place)
#pragma GCC unroll 4
          for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
            for (int d = 0; d < digit_count; ++d) {
              const I digit(digits[r * x.digits_row + (w * places + place) * digit_count + d]);
#pragma GCC unroll 4
              for (int v = 0; v < NV; ++v) {
                I& to = part[r][v][d];
                const I before = w == 0 && place == 0 ? I(0) : to;
                if constexpr (dot) to = simd::dot_low_bytes(codes[v][place], digit, before);
                else to = simd::in_register(simd::mul_add_bytes(codes[v][place], digit, before));
              }
            }
      }
      const I ones(0x10001), second(0x1000100);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
          const I(&of)[digit_count] = part[r][v];
          const I before_first = begins ? I(0) : first[r][v], before_rest = begins ? I(0) : rest[r][v];
          if constexpr (dot) {
            first[r][v] = before_first + of[2], rest[r][v] = before_rest + (of[1] << 8) + of[0];
          } else {
            first[r][v] = simd::mul_add_pairs(of[2], ones, before_first);
            rest[r][v] = simd::mul_add_pairs(of[1], second, simd::mul_add_pairs(of[0], ones, before_rest));
          }
        }
      at += count * N::bytes, digits += count * places * digit_count, words -= count;
    };
    constexpr std::integral_constant<int, together> many;
    constexpr std::integral_constant<int, 1> one;
    if (equal || words >= together) add_words(many, std::true_type{});
    else add_words(one, std::true_type{});
    if constexpr (!equal) {
      while (words >= together) add_words(many, std::false_type{});
      while (words > 0) add_words(one, std::false_type{});
    }
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      const V scale = simd::loadu<Arch>(reinterpret_cast<const float*>(at + v * step));
      I zero;
      if (b.zeros != nullptr) zero = simd::load_bytes<Arch>(b.zeros + layout.zeros(panel + v * apart, block));
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const DigitBlock& of = x.blocks[r * x.blocks_row + block];
        I low(of.first), lower(of.rest);
        if (b.zeros != nullptr) low = low * zero, lower = lower * zero;
        const V y = simd::mul_add(simd::to_float(I(first[r][v] - low)), V(65536.0f),
                                  simd::to_float(I(rest[r][v] - lower)));
        total[r][v] = simd::mul_add(y * V(of.unit), scale, total[r][v]);
      }
    }
    at += layout.scale_bytes;
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) simd::storeu(sums + (r * NV + v) * L, total[r][v]);
}

}  // namespace tenon::TENON_ABI::kernels::narrow_detail
