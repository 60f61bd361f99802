// The numbers of a NarrowMatrix: their layout, and how they are widened in registers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/types.hpp"
#include "tenon/kernels/gemm/narrow_matrix.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels::narrow_detail {

using simd::batch;
using simd::lanes;

/// Integers of `bits` bits, raised by `middle`: a lane of 32 bits holds `depth` neighbours along K, the first
/// in the lowest bits.
template <int width, class Arch>
struct Integers {
  using V = batch<float, Arch>;
  using Word = batch<uint32_t, Arch>;
  static constexpr bool scaled = true;
  /// Panels that are read side by side: one where widening takes longer than reading.
  static constexpr int together = width == 8 ? 4 : 1;
  static constexpr int bits = width, middle = 1 << (bits - 1);
  static constexpr int depth = 32 / bits;
  static constexpr int64_t bytes = Arch::register_bytes;
  // A word has one integer at each of its places, which begin at multiples of `step`. They lie within the
  // lower 16 bits, which are part of a mantissa; the exponent bits are ones.
  static constexpr int step = bits == 2 ? 8 : bits, places = 16 / step, words = depth / places;

  Integers() {
#pragma GCC unroll 4
    for (int i = 0; i < places; ++i) {
      const int at = i * step;
      mask[i] = simd::in_register(Word(static_cast<uint32_t>(150 - at) << 23 | ((1u << bits) - 1) << at));
    }
    set_zeros(V(0.0f));
  }
  /// The index among the neighbours of the integer at a place of a word.
  static constexpr int index(int w, int place) {
    constexpr int each = step / bits;
    return w / each * (16 / bits) + w % each + place * each;
  }
  static Word load(const std::byte* p) { return simd::loadu<Arch>(reinterpret_cast<const uint32_t*>(p)); }
  /// Sets the zero points of the numbers read from now on.
  void set_zeros(const V& zero) {
#pragma GCC unroll 4
    for (int i = 0; i < places; ++i)
      nothing[i] = zero + V(static_cast<float>((1 << (23 - i * step)) + middle));
  }
  Word word(const std::byte* p, int w) const {
    const Word codes = load(p);
    return simd::in_register(Word((w == 0 ? codes : codes >> (index(w, 0) * bits)) | exponent));
  }
  V number(const Word& word, int place) const {
    return simd::bits_as<float>(Word(word & mask[place])) - nothing[place];
  }

 private:
  // For each place, the bits of an integer and of the exponent with which the float equals a power of two
  // plus the integer; and the float to subtract for zero. Once they are in registers, GCC keeps them there.
  Word mask[places], exponent = simd::in_register(Word(0x7f800000u));
  V nothing[places];
};

/// Integers without zero points, few enough that a register holds all their values.
template <int width, class Arch>
struct Listed : Integers<width, Arch> {
  using Base = Integers<width, Arch>;
  using typename Base::V, typename Base::Word;
  static constexpr int places = 1, words = Base::depth;
  struct Numbers {
    alignas(64) float of[16];
    constexpr Numbers() : of{} {
      for (int i = 0; i < 16; ++i) of[i] = static_cast<float>(i % (1 << width) - Base::middle);
    }
  };
  static constexpr Numbers numbers{};

  static constexpr int index(int w, int) { return w; }
  static Word word(const std::byte* p, int w) {
    const Word codes = Base::load(p);
    return w == 0 ? codes : codes >> (w * width);
  }
  void set_zeros(const V&) {}
  static V number(const Word& word, int) { return simd::look_up<16>(numbers.of, word); }
};

/// Integers where several rows or panels leave few registers for masks.
template <int width, class Arch, bool has_zeros>
struct Shifted : Integers<width, Arch> {
  using Base = Integers<width, Arch>;
  using typename Base::V, typename Base::Word;
  static constexpr int together = 4, places = 1, words = Base::depth;

  static constexpr int index(int w, int) { return w; }
  /// The integer is in the upper bits.
  static Word word(const std::byte* p, int w) {
    const Word codes = Base::load(p) ^ Word(Base::middle * (~0u / ((1u << width) - 1)));
    return w + 1 == words ? codes : codes << (32 - width * (w + 1));
  }
  void set_zeros(const V& zero) { zero_ = zero; }
  V number(const Word& word, int) const {
    const V y = simd::to_float(simd::bits_as<int32_t>(word) >> (32 - width));
    if constexpr (has_zeros) return y - zero_;
    else return y;
  }

 private:
  V zero_;
};

/// float16 or bfloat16.
template <class T, class Arch>
struct Halves {
  using V = batch<float, Arch>;
  static constexpr bool scaled = false;
  static constexpr int together = 4;  // memory is fastest with four streams
  static constexpr int depth = 4, places = 1, words = depth;
  static constexpr int64_t bytes = depth * Arch::register_bytes / 2;

  static constexpr int index(int w, int) { return w; }
  static V word(const std::byte* p, int w) {
    return simd::load_wide<Arch>(reinterpret_cast<const T*>(p) + w * lanes<float, Arch>);
  }
  void set_zeros(const V&) {}
  static V number(const V& word, int) { return word; }
};

/// The layout of a packed matrix.
template <class N, class Arch>
struct Layout {
  static constexpr int L = lanes<float, Arch>;
  static constexpr int64_t scale_bytes = N::scaled ? Arch::register_bytes : 0;
  int64_t block, blocks, block_bytes, panel_bytes;

  template <class Matrix>
  explicit Layout(const Matrix& m)
      : block(N::scaled ? std::min(m.block, m.k) : m.k),
        blocks((m.k + block - 1) / block),
        block_bytes((block + N::depth - 1) / N::depth * N::bytes + scale_bytes),
        panel_bytes((m.k + N::depth - 1) / N::depth * N::bytes + blocks * scale_bytes) {}

  static int64_t panels(int64_t n) { return (n + L - 1) / L; }
  /// Bytes before the codes of `panel` that begin at k.
  int64_t at(int64_t panel, int64_t k) const {
    return panel * panel_bytes + k / block * block_bytes + k % block / N::depth * N::bytes;
  }
  /// Bytes before a block's scales.
  int64_t scales(int64_t panel, int64_t b) const {
    return panel * panel_bytes + (b + 1 < blocks ? (b + 1) * block_bytes : panel_bytes) - scale_bytes;
  }
  /// The position of a block's zero points.
  int64_t zeros(int64_t panel, int64_t b) const { return (panel * blocks + b) * L; }
};

/// Prepares for the numbers of a block.
template <class N, class Arch>
void set_block(N& numbers, const NarrowMatrix& b, const Layout<N, Arch>& layout, int64_t panel,
               int64_t block) {
  if constexpr (N::scaled)
    if (b.zeros != nullptr)
      numbers.set_zeros(simd::to_float(simd::load_bytes<Arch>(b.zeros + layout.zeros(panel, block))) -
                        batch<float, Arch>(N::middle));
}

}  // namespace tenon::TENON_ABI::kernels::narrow_detail
