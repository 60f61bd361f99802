// Products whose right side is stored in fewer bits than a float: bodies.
//
// A product of few rows is bound by memory: numbers are widened in registers, or the rows become integers too
// (narrow_digits.hpp). A product of more rows widens panels of B into the second-level cache, from which
// tiles read them. Products whose rows may be rounded to bytes stay in integers for any number of rows
// (narrow_rounded.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/narrow_digits.hpp"
#include "tenon/kernels/gemm/narrow_gemm.hpp"
#include "tenon/kernels/gemm/narrow_numbers.hpp"
#include "tenon/kernels/gemm/narrow_rounded.hpp"
#include "tenon/kernels/gemm/pack.hpp"
#include "tenon/kernels/gemm/split_gemm.hpp"
#include "tenon/kernels/gemm/tile.hpp"

namespace tenon::TENON_ABI::kernels::narrow_detail {

using gemm_detail::Finish;
using gemm_detail::Single;
using gemm_detail::Tile;
// --------------------------------------------------------------------------------------------- few rows

/// Sums of R rows x, x_step apart and each of K rounded up to N::depth, and NV panels `apart` from each
/// other: sums[(r * NV + v) * L].
/// Not inlined, because GCC would leave it fewer registers.
template <class N, class Arch, int R, int NV>
TENON_NOINLINE void few_rows(const NarrowMatrix& b, const float* x, int64_t x_step, int64_t panel,
                             int64_t apart, float* sums) {
  using V = batch<float, Arch>;
  constexpr int L = lanes<float, Arch>;
  constexpr int chains = std::max(4 / (R * NV), 1);  // independent parts of a sum
  const Layout<N, Arch> layout(b);
  const int64_t step = apart * layout.panel_bytes;
  const std::byte* at = b.data + layout.at(panel, 0);
  N numbers[NV];
  V total[R][NV];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) total[r][v] = V(0.0f);
  for (int64_t block = 0; block < layout.blocks; ++block) {
    const int64_t size = std::min(layout.block, b.k - block * layout.block);
    V sum[R][NV][chains];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      set_block(numbers[v], b, layout, panel + v * apart, block);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < chains; ++c) sum[r][v][c] = V(0.0f);
    }
    int64_t k = 0;
    do {
      if constexpr (N::together == 1) TENON_PREFETCH(at + 2048, 0, 3);
#pragma GCC unroll 16
      for (int w = 0; w < N::words; ++w)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
          const auto word = numbers[v].word(at + v * step, w);
#pragma GCC unroll 4
          for (int p = 0; p < N::places; ++p) {
            const V y = numbers[v].number(word, p);
            const int c = (w * N::places + p) % chains;
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r)
              sum[r][v][c] = simd::mul_add(V(x[r * x_step + k + N::index(w, p)]), y, sum[r][v][c]);
          }
        }
      k += N::depth, at += N::bytes;
    } while (k < size);
    x += size;
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        V(&parts)[chains] = sum[r][v];
#pragma GCC unroll 4
        for (int half = chains / 2; half > 0; half /= 2)
#pragma GCC unroll 4
          for (int c = 0; c < half; ++c) parts[c] = parts[c] + parts[c + half];
        if constexpr (N::scaled)
          total[r][v] = simd::mul_add(
              parts[0], simd::loadu<Arch>(reinterpret_cast<const float*>(at + v * step)), total[r][v]);
        else total[r][v] = parts[0];
      }
    at += layout.scale_bytes;
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) simd::storeu(sums + (r * NV + v) * L, total[r][v]);
}

/// N, or its shifting form if `shifted`.
template <class N, class Arch, bool shifted, bool has_zeros>
struct FormOf {
  using type = N;
};
template <class N, class Arch, bool has_zeros>
struct FormOf<N, Arch, true, has_zeros> {
  using type = Shifted<N::bits, Arch, has_zeros>;
};

/// Panels that are read side by side from distant places, without which memory would deliver less.
inline constexpr int64_t panel_streams = 4;

/// Writes the sums that few_rows or multiply_digits computed for R rows from row i on and NV panels.
template <class Arch, int R, int NV>
void finish_panels(const float* sums, int64_t i, int64_t panel, int64_t apart, const GemmArgs<float>& g,
                   const Finish<float>& finish) {
  constexpr int L = lanes<float, Arch>;
  for (int v = 0; v < NV; ++v) {
    const int64_t j = (panel + v * apart) * L;
    gemm_detail::finish_sums<Arch>(sums + v * L, NV * L, R, std::min<int64_t>(L, g.n - j), i, j, finish, true,
                                   true, g.c, g.c_row);
  }
}

/// The product for rows in groups of four, with each group of panels while it is in a cache.
template <class N, class Arch>
void multiply_few(const GemmArgs<float>& g, const NarrowMatrix& b, const Finish<float>& finish) {
  const Layout<N, Arch> layout(b);
  const int64_t depth = (b.k + N::depth - 1) / N::depth * N::depth;
  Scratch scratch;
  const float* x = g.a;
  int64_t x_step = g.a_row;
  if (g.a_col != 1 || depth != b.k) {
    x_step = depth;
    float* copy = scratch.take<float>(g.m * depth);
    for (int64_t r = 0; r < g.m; ++r)
      for (int64_t k = 0; k < depth; ++k)
        copy[r * depth + k] = k < b.k ? g.a[r * g.a_row + k * g.a_col] : 0.0f;
    x = copy;
  }
  // Computes rows [i, i + R) with `count` panels `apart` from each other.
  const auto multiply = [&]<int R>(std::integral_constant<int, R>, int64_t i, int64_t p, int64_t count,
                                   int64_t apart) {
    // R x together sums stay in registers.
    constexpr bool shifted = N::scaled && R * N::together > 1 && Arch::registers < 32;
    constexpr int wanted = shifted ? 4 : N::scaled && R > 1 ? 1 : N::together;
    constexpr int together = Arch::registers == 32 || R <= 2 ? wanted : std::min(wanted, 2);
    alignas(64) float sums[R * together * lanes<float, Arch>];
    const auto panels = [&]<int NV>(std::integral_constant<int, NV>) {
      using WithZeros = typename FormOf<N, Arch, shifted, true>::type;
      using Without = typename FormOf<N, Arch, shifted, false>::type;
      if (b.zeros != nullptr) few_rows<WithZeros, Arch, R, NV>(b, x + i * x_step, x_step, p, apart, sums);
      else few_rows<Without, Arch, R, NV>(b, x + i * x_step, x_step, p, apart, sums);
      finish_panels<Arch, R, NV>(sums, i, p, apart, g, finish);
      p += NV * apart, count -= NV;
    };
    while (count > 0)
      if (count >= together) panels(std::integral_constant<int, together>{});
      else panels(std::integral_constant<int, 1>{});
  };
  const auto rows = [&](int64_t p, int64_t count, int64_t apart) {
    for (int64_t i = 0; i < g.m; i += 4) switch (g.m - i) {
        case 1: multiply(std::integral_constant<int, 1>{}, i, p, count, apart); break;
        case 2: multiply(std::integral_constant<int, 2>{}, i, p, count, apart); break;
        case 3: multiply(std::integral_constant<int, 3>{}, i, p, count, apart); break;
        default: multiply(std::integral_constant<int, 4>{}, i, p, count, apart); break;
      }
  };
  const int64_t panels = layout.panels(g.n);
  const int64_t share = gemm_detail::share_of<Arch>(panels, g.m * g.n * b.k, panel_streams, panel_streams);
  parallel_for(panels, share, [&](int64_t begin, int64_t end) {
    const int64_t apart = (end - begin) / panel_streams, rest = begin + apart * panel_streams;
    for (int64_t p = begin; p < begin + apart; ++p) rows(p, panel_streams, apart);
    if (rest < end) rows(rest, end - rest, 1);
  });
}

/// The product of R rows in digits; false if their numbers cannot be expressed in digits.
template <int bits, class Arch, bool dot, int R>
bool multiply_in_digits(const GemmArgs<float>& g, const NarrowMatrix& b, const Finish<float>& finish) {
  using N = Integers<bits, Arch>;
  const Layout<N, Arch> layout(b);
  const int64_t words = layout.blocks * ((layout.block + N::depth - 1) / N::depth);
  Scratch scratch;
  DigitRows x{nullptr, nullptr, words * (8 / bits) * digit_count, layout.blocks};
  // Or enough for the copy in multiply_few, so that numbers do not decide how much memory is taken.
  const int64_t copy = R * ((b.k + N::depth - 1) / N::depth * N::depth);
  auto* digits = scratch.take<int32_t>(std::max(R * x.digits_row + 1, copy));
  auto* blocks = scratch.take<DigitBlock>(R * x.blocks_row);
  for (int r = 0; r < R; ++r)
    if (!to_digits<Arch, bits>(g.a + r * g.a_row, g.a_col, g.k, layout.block,
                               b.zeros == nullptr ? N::middle : 1, digits + r * x.digits_row,
                               blocks + r * x.blocks_row))
      return false;
  x.digits = digits, x.blocks = blocks;
  const bool equal = layout.block == words_together<bits> * N::depth && b.k % layout.block == 0;
  const auto multiply = [&]<int NV>(std::integral_constant<int, NV>, int64_t panel, int64_t apart) {
    alignas(64) float sums[R * NV * lanes<float, Arch>];
    if (NV > 1 && equal) multiply_digits<bits, Arch, R, NV, dot, (NV > 1)>(b, layout, x, panel, apart, sums);
    else multiply_digits<bits, Arch, R, NV, dot, false>(b, layout, x, panel, apart, sums);
    finish_panels<Arch, R, NV>(sums, 0, panel, apart, g, finish);
  };
  const int64_t panels = layout.panels(g.n);
  const int64_t share = gemm_detail::share_of<Arch>(panels, R * g.n * b.k, panel_streams, panel_streams);
  parallel_for(panels, share, [&](int64_t begin, int64_t end) {
    const int64_t half = (end - begin) / 2;  // two streams leave enough registers
    for (int64_t p = begin; p < begin + half; ++p) multiply(std::integral_constant<int, 2>{}, p, half);
    if (begin + 2 * half < end) multiply(std::integral_constant<int, 1>{}, end - 1, 0);
  });
  return true;
}

// -------------------------------------------------------------------------------------------- more rows

/// Widens columns [j, j + cols), cells p to p + depth of K, in the order in which tiles read them.
template <class N, class Arch>
void widen_panel(const NarrowMatrix& b, const Layout<N, Arch>& layout, int64_t j, int64_t cols, int64_t p,
                 int64_t depth, float* to) {
  using V = batch<float, Arch>;
  constexpr int L = lanes<float, Arch>, step = Tile<Single<float>, Arch>::cols;
  N numbers;
  for (int64_t v = 0; v < layout.panels(cols); ++v)
    for (int64_t k = p; k < p + depth;) {
      const int64_t panel = j / L + v, block = k / layout.block;
      const int64_t end = std::min((block + 1) * layout.block, p + depth);
      const std::byte* at = b.data + layout.at(panel, k);
      set_block(numbers, b, layout, panel, block);
      V scale(1.0f);
      if constexpr (N::scaled)
        scale = simd::loadu<Arch>(reinterpret_cast<const float*>(b.data + layout.scales(panel, block)));
      for (; k < end; k += N::depth, at += N::bytes)
#pragma GCC unroll 16
        for (int w = 0; w < N::words; ++w) {
          const auto word = numbers.word(at, w);
#pragma GCC unroll 4
          for (int i = 0; i < N::places; ++i) {
            const int64_t row = k + N::index(w, i);
            V y = numbers.number(word, i);
            if constexpr (N::scaled) y = y * scale;
            if (row < end) simd::storeu(to + (row - p) * step + v * L, y);
          }
        }
      k = end;
    }
}

template <class N, class Arch>
void multiply(const GemmArgs<float>& g, const NarrowMatrix& b) {
  using Ops = Single<float>;
  using S = Tile<Ops, Arch>;
  if (g.m <= 0 || g.n <= 0) return;
  const Finish<float> finish{
      g.alpha, g.beta, g.beta == 0 ? nullptr : g.d, g.d_row, g.d_col, g.row_bias, g.col_bias, g.lo, g.hi};
  if constexpr (N::scaled && simd::has_dot_bytes_16<Arch>)
    if constexpr (N::bits >= 4)
      if (narrow_rounds<Arch>(b) && g.alpha != 0)
        return simd::has_dot_bytes<Arch>() ? multiply_rounding<N::bits, Arch, true>(g, b, finish)
                                           : multiply_rounding<N::bits, Arch, false>(g, b, finish);
  constexpr int64_t few = 12;  // rows up to which tiles gain less than writing their panels costs
  if (g.m <= few && g.alpha != 0) {
    if constexpr (N::scaled && simd::has_dot_bytes_16<Arch>)
      if constexpr (N::bits <= 4) {
        const auto in_digits = [&]<bool dot>(std::bool_constant<dot>) {
          return g.m == 1 ? multiply_in_digits<N::bits, Arch, dot, 1>(g, b, finish)
                          : multiply_in_digits<N::bits, Arch, dot, 2>(g, b, finish);
        };
        if (g.m <= 2 && std::min(b.block, b.k) <= longest_digit_block && g.n >= 64)
          if (simd::has_dot_bytes<Arch>() ? in_digits(std::true_type{}) : in_digits(std::false_type{}))
            return;
      }
    if constexpr (N::scaled && simd::has_tables_of_16<Arch>)
      if constexpr (N::bits <= 4)
        if (b.zeros == nullptr) return multiply_few<Listed<N::bits, Arch>, Arch>(g, b, finish);
    return multiply_few<N, Arch>(g, b, finish);
  }
  const Layout<N, Arch> layout(b);
  const auto pack_a = [&](int64_t i, int64_t rows, int64_t p, int64_t depth, float* to) {
    gemm_detail::pack_panel<Arch, S::rows>(g.a + i * g.a_row + p * g.a_col, g.a_row, g.a_col, rows, depth,
                                           to);
  };
  const auto pack_b = [&](int64_t j, int64_t cols, int64_t p, int64_t depth, float* to) {
    widen_panel<N, Arch>(b, layout, j, cols, p, depth, to);
  };
  const gemm_detail::Product<Ops, decltype(pack_a), decltype(pack_b)> product{
      g.m, g.n, g.alpha == 0 ? 0 : b.k, nullptr, nullptr, pack_a, pack_b, nullptr, 0, g.c, g.c_row, finish};
  const auto make = [&](int64_t) { return product; };
  if constexpr (!N::scaled)
    if (gemm_detail::split_product<Arch>(g, 1, make)) return;
  gemm_detail::run_products<Ops, Arch>(product, 1, make);
}

/// Calls f with the form that widens a type's numbers.
template <class Arch, class F>
decltype(auto) with_numbers(DType type, F f) {
  switch (narrow_depth(type)) {
    case 16: return f(std::type_identity<Integers<2, Arch>>{});
    case 8: return f(std::type_identity<Integers<4, Arch>>{});
    case 4: return f(std::type_identity<Integers<8, Arch>>{});
    default:
      if (type == DType::float16) return f(std::type_identity<Halves<float16, Arch>>{});
      return f(std::type_identity<Halves<bfloat16, Arch>>{});
  }
}

// ---------------------------------------------------------------------------------------------- packing

/// n codes from index `first` on, one byte each, raised by half of their range for signed types.
template <class Arch, int bits>
void read_codes(const void* codes, DType type, int64_t first, int64_t n, uint8_t* __restrict to) {
  constexpr int each = 8 / bits;
  constexpr uint8_t mask = (1 << bits) - 1;
  const uint8_t flip = is_signed(type) ? 1 << (bits - 1) : 0;
  const auto* bytes = static_cast<const uint8_t*>(codes);
  int64_t i = 0;
  if (first % each == 0)
    for (const uint8_t* from = bytes + first / each; i + each <= n; i += each, ++from)
      for (int e = 0; e < each; ++e) to[i + e] = ((*from >> (e * bits)) & mask) ^ flip;
  for (; i < n; ++i) to[i] = ((bytes[(first + i) / each] >> ((first + i) % each * bits)) & mask) ^ flip;
}

template <int bits, class Arch>
void pack(const NarrowSource& s, const Layout<Integers<bits, Arch>, Arch>& layout, std::byte* to) {
  using N = Integers<bits, Arch>;
  constexpr int L = lanes<float, Arch>;
  const int64_t padded_k = (s.k + N::depth - 1) / N::depth * N::depth, padded_n = layout.panels(s.n) * L;
  Scratch scratch;
  if (s.transposed) {
    uint8_t* line = scratch.take<uint8_t>(padded_k);
    std::fill(line + s.k, line + padded_k, uint8_t{0});
    for (int64_t j = 0; j < padded_n; ++j) {
      if (j < s.n) read_codes<Arch, bits>(s.codes, s.type, j * s.k, s.k, line);
      else std::fill_n(line, s.k, uint8_t{0});
      for (int64_t k = 0; k < s.k; k += N::depth) {
        uint32_t word = 0;
        for (int e = 0; e < N::depth; ++e) word |= uint32_t{line[k + e]} << (bits * e);
        std::memcpy(to + layout.at(j / L, k) + j % L * 4, &word, 4);
      }
    }
  } else {
    uint8_t* lines = scratch.take<uint8_t>(N::depth * padded_n);
    std::fill_n(lines, N::depth * padded_n, uint8_t{0});
    for (int64_t k = 0; k < s.k; k += N::depth) {
      for (int64_t e = 0; e < N::depth; ++e)
        if (k + e < s.k) read_codes<Arch, bits>(s.codes, s.type, (k + e) * s.n, s.n, lines + e * padded_n);
      for (int64_t panel = 0; panel < layout.panels(s.n); ++panel) {
        uint32_t words[L] = {};
        for (int e = 0; e < N::depth; ++e)
          for (int l = 0; l < L; ++l) words[l] |= uint32_t{lines[e * padded_n + panel * L + l]} << (bits * e);
        std::memcpy(to + layout.at(panel, k), words, sizeof words);
      }
    }
  }
  for (int64_t panel = 0; panel < layout.panels(s.n); ++panel)
    for (int64_t b = 0; b < layout.blocks; ++b) {
      float scales[L] = {};
      for (int64_t j = panel * L; j < std::min((panel + 1) * L, s.n); ++j)
        scales[j % L] = s.scale[b * s.scale_row + j * s.scale_col];
      std::memcpy(to + layout.scales(panel, b), scales, sizeof scales);
    }
}

template <class T, class Arch>
void pack(const NarrowSource& s, const Layout<Halves<T, Arch>, Arch>& layout, std::byte* to) {
  constexpr int L = lanes<float, Arch>;
  constexpr int64_t strip = 32;  // rows that are read side by side
  const auto* from = static_cast<const T*>(s.codes);
  for (int64_t k0 = 0; k0 < s.k; k0 += strip)
    for (int64_t panel = 0; panel < layout.panels(s.n); ++panel) {
      auto* out = reinterpret_cast<T*>(to + layout.at(panel, k0));
      const int64_t j = panel * L, columns = std::min<int64_t>(L, s.n - j);
      const int64_t end = std::min(k0 + strip, s.k);
      for (int64_t k = k0; k < end; ++k, out += L) {
        if (s.transposed)
          for (int64_t l = 0; l < columns; ++l) out[l] = simd::element<Arch>(from + (j + l) * s.k + k);
        else
          std::memcpy(static_cast<void*>(out), static_cast<const void*>(from + k * s.n + j),
                      static_cast<std::size_t>(columns) * sizeof(T));
        std::fill(out + columns, out + L, T{});
      }
      const int64_t rest = (Halves<T, Arch>::depth - end % Halves<T, Arch>::depth) % Halves<T, Arch>::depth;
      std::fill_n(out, rest * L, T{});
    }
}

}  // namespace tenon::TENON_ABI::kernels::narrow_detail

namespace tenon::TENON_ABI::kernels {

template <class Arch>
NarrowSize narrow_size_impl(const NarrowSource& s) {
  using namespace narrow_detail;
  return with_numbers<Arch>(s.type, [&]<class N>(std::type_identity<N>) {
    const Layout<N, Arch> layout(s);
    const int64_t panels = layout.panels(s.n);
    return NarrowSize{panels * layout.panel_bytes,
                      s.zero != nullptr || !is_signed(s.type) ? layout.zeros(panels, 0) : 0};
  });
}

template <class Arch>
NarrowMatrix narrow_pack_impl(const NarrowSource& s, std::byte* data, uint8_t* zeros) {
  using namespace narrow_detail;
  NarrowMatrix m{s.type, s.k, s.n, s.block, data};
  with_numbers<Arch>(s.type, [&]<class N>(std::type_identity<N>) {
    const Layout<N, Arch> layout(s);
    pack(s, layout, data);
    if constexpr (N::scaled) {
      if (s.zero == nullptr && is_signed(s.type)) return;
      bool any = false;
      for (int64_t j = 0; j < layout.panels(s.n) * layout.L; ++j)
        for (int64_t b = 0; b < layout.blocks; ++b) {
          uint8_t zero = is_signed(s.type) ? N::middle : 0;
          if (s.zero != nullptr && j < s.n)
            read_codes<Arch, N::bits>(s.zero, s.type, b * s.scale_row + j * s.scale_col, 1, &zero);
          zeros[layout.zeros(j / layout.L, b) + j % layout.L] = zero;
          any |= j < s.n && zero != N::middle;
        }
      if (any) m.zeros = zeros;
    }
  });
  return m;
}

template <class Arch>
void narrow_gemm_impl(const GemmArgs<float>& args, const NarrowMatrix& b) {
  using namespace narrow_detail;
  with_numbers<Arch>(b.type,
                     [&]<class N>(std::type_identity<N>) { narrow_detail::multiply<N, Arch>(args, b); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template NarrowSize narrow_size_impl<TENON_INSTANTIATE>(const NarrowSource&);
template NarrowMatrix narrow_pack_impl<TENON_INSTANTIATE>(const NarrowSource&, std::byte*, uint8_t*);
template void narrow_gemm_impl<TENON_INSTANTIATE>(const GemmArgs<float>&, const NarrowMatrix&);

}  // namespace tenon::TENON_ABI::kernels
#endif
