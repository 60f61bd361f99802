// Products whose right side is kept in fewer bits than a float has: bodies.
//
// A product of few rows takes the time in which memory is read: numbers are widened in registers. A product
// of more rows widens panels of B to the second-level cache, from which tiles read them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/narrow_gemm.hpp"
#include "tenon/kernels/gemm/pack.hpp"
#include "tenon/kernels/gemm/tile.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::kernels::narrow_detail {

using gemm_detail::Finish;
using gemm_detail::Single;
using gemm_detail::Tile;
using simd::batch;
using simd::lanes;

/// Signed integers of `bits` bits: a lane of 32 bits holds those of `depth` neighbours along K, the first
/// lowest.
template <int width, class Arch>
struct Integers {
  using Codes = batch<int32_t, Arch>;
  static constexpr bool scaled = true;
  static constexpr int bits = width, middle = 1 << (bits - 1);
  static constexpr int depth = 32 / bits;
  static constexpr int64_t bytes = Arch::register_bytes;

  static Codes load(const std::byte* p) { return simd::loadu<Arch>(reinterpret_cast<const int32_t*>(p)); }
  /// The i-th integer of each lane.
  static batch<float, Arch> number(const Codes& codes, int i) {
    if constexpr (Arch::register_bytes == 64) {
      // One instruction makes the mantissa's bits of it in the place where it lies, and the other bits those
      // of a power of two, from which the sum is that far. Only the upper 16 bits are shifted to the lower.
      const int at = i * bits, place = at & (bits == 2 ? 8 : 15);
      const Codes mask(((1 << bits) - 1) << place), other((150 - place) << 23 | middle << place);
      const Codes sum = simd::masked_xor(at == place ? codes : codes >> (at - place), mask, other);
      return simd::bits_as<float>(sum) - batch<float, Arch>(static_cast<float>((1 << (23 - place)) + middle));
    } else {
      const int above = 32 - bits * (i + 1);
      return simd::to_float((above == 0 ? codes : codes << above) >> (32 - bits));
    }
  }
};

/// float16 or bfloat16.
template <class T, class Arch>
struct Halves {
  using Codes = batch<float, Arch>;
  static constexpr bool scaled = false;
  static constexpr int depth = 1;
  static constexpr int64_t bytes = Arch::register_bytes / 2;

  static Codes load(const std::byte* p) { return simd::load_wide<Arch>(reinterpret_cast<const T*>(p)); }
  static batch<float, Arch> number(const Codes& codes, int) { return codes; }
};

/// Where the parts of a packed matrix lie.
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
  /// The place of a block's zero points.
  int64_t zeros(int64_t panel, int64_t b) const { return (panel * blocks + b) * L; }
};

/// Zero points of a block, whose bytes are greater by N::middle.
template <class N, class Arch>
batch<float, Arch> load_zeros(const NarrowMatrix& b, int64_t place) {
  return simd::to_float(simd::load_bytes<Arch>(b.zeros + place)) - batch<float, Arch>(N::middle);
}

// --------------------------------------------------------------------------------------------- few rows

/// Sums of R rows x, each of K rounded up to N::depth, x_step apart, and NV panels: sums[(r * NV + v) * L].
template <class N, class Arch, int R, int NV, bool has_zeros>
void few_rows(const NarrowMatrix& b, const float* x, int64_t x_step, int64_t panel, float* sums) {
  using V = batch<float, Arch>;
  constexpr int L = lanes<float, Arch>;
  const Layout<N, Arch> layout(b);
  const std::byte* at[NV];
  V total[R][NV];
#pragma GCC unroll 4
  for (int v = 0; v < NV; ++v) {
    at[v] = b.data + layout.at(panel + v, 0);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) total[r][v] = V(0.0f);
  }
  for (int64_t i = 0; i < layout.blocks; ++i) {
    const int64_t end = std::min((i + 1) * layout.block, b.k);
    V sum[R][NV];
    [[maybe_unused]] V zero[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      if constexpr (has_zeros) zero[v] = load_zeros<N, Arch>(b, layout.zeros(panel + v, i));
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r][v] = V(0.0f);
    }
    for (int64_t k = i * layout.block; k < end; k += N::depth) {
      typename N::Codes codes[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        codes[v] = N::load(at[v]);
        at[v] += N::bytes;
      }
#pragma GCC unroll 16
      for (int e = 0; e < N::depth; ++e) {
        V xv[R];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) xv[r] = V(x[r * x_step + k + e]);
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
          V y = N::number(codes[v], e);
          if constexpr (has_zeros) y = y - zero[v];
#pragma GCC unroll 4
          for (int r = 0; r < R; ++r) sum[r][v] = simd::mul_add(xv[r], y, sum[r][v]);
        }
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      if constexpr (N::scaled) {
        const V scale = simd::loadu<Arch>(reinterpret_cast<const float*>(at[v]));
        at[v] += layout.scale_bytes;
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) total[r][v] = simd::mul_add(sum[r][v], scale, total[r][v]);
      } else {
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) total[r][v] = sum[r][v];
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) simd::storeu(sums + (r * NV + v) * L, total[r][v]);
}

/// The product of rows that are taken four at a time, with each group of panels while it is in a cache.
template <class N, class Arch>
void multiply_few(const GemmArgs<float>& g, const NarrowMatrix& b, const Finish<float>& finish) {
  constexpr int L = lanes<float, Arch>;
  constexpr int64_t group = 4;
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
  const auto multiply = [&]<int R>(std::integral_constant<int, R>, int64_t i, int64_t p, int64_t end) {
    constexpr int together = Arch::registers == 32 || R <= 2 ? 4 : 2;  // R x together sums stay in registers
    alignas(64) float sums[R * together * L];
    const auto panels = [&]<int NV>(std::integral_constant<int, NV>) {
      if (b.zeros != nullptr) few_rows<N, Arch, R, NV, N::scaled>(b, x + i * x_step, x_step, p, sums);
      else few_rows<N, Arch, R, NV, false>(b, x + i * x_step, x_step, p, sums);
      gemm_detail::finish_sums<Arch>(sums, NV * L, R, std::min<int64_t>(NV * L, g.n - p * L), i, p * L,
                                     finish, true, true, g.c, g.c_row);
      p += NV;
    };
    while (p + together <= end) panels(std::integral_constant<int, together>{});
    while (p < end) panels(std::integral_constant<int, 1>{});
  };
  const int64_t panels = layout.panels(g.n);
  const int64_t share = gemm_detail::share_of<Arch>(panels, g.m * g.n * b.k, group, group);
  parallel_for(panels, share, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p += group)
      for (int64_t i = 0; i < g.m; i += 4) {
        const int64_t last = std::min(p + group, end);
        switch (g.m - i) {
          case 1: multiply(std::integral_constant<int, 1>{}, i, p, last); break;
          case 2: multiply(std::integral_constant<int, 2>{}, i, p, last); break;
          case 3: multiply(std::integral_constant<int, 3>{}, i, p, last); break;
          default: multiply(std::integral_constant<int, 4>{}, i, p, last); break;
        }
      }
  });
}

// -------------------------------------------------------------------------------------------- more rows

/// Columns [j, j + cols), cells p to p + depth of K, as tiles read them.
template <class N, class Arch>
void widen_panel(const NarrowMatrix& b, const Layout<N, Arch>& layout, int64_t j, int64_t cols, int64_t p,
                 int64_t depth, float* to) {
  using V = batch<float, Arch>;
  constexpr int L = lanes<float, Arch>, step = Tile<Single<float>, Arch>::cols;
  for (int64_t v = 0; v < layout.panels(cols); ++v)
    for (int64_t k = p; k < p + depth;) {
      const int64_t panel = j / L + v, block = k / layout.block;
      const int64_t end = std::min((block + 1) * layout.block, p + depth);
      const std::byte* at = b.data + layout.at(panel, k);
      V scale(1.0f), zero(0.0f);
      if constexpr (N::scaled) {
        scale = simd::loadu<Arch>(reinterpret_cast<const float*>(b.data + layout.scales(panel, block)));
        if (b.zeros != nullptr) zero = load_zeros<N, Arch>(b, layout.zeros(panel, block));
      }
      for (; k < end; k += N::depth, at += N::bytes) {
        const typename N::Codes codes = N::load(at);
        float* row = to + (k - p) * step + v * L;
#pragma GCC unroll 16
        for (int e = 0; e < N::depth; ++e, row += step) {
          if (e > 0 && k + e >= end) break;
          V y = N::number(codes, e);
          if constexpr (N::scaled) y = (y - zero) * scale;
          simd::storeu(row, y);
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
  constexpr int64_t few = 12;  // rows for which tiles gain less than it costs to write panels for them
  if (g.m <= few && g.alpha != 0) return multiply_few<N, Arch>(g, b, finish);
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
  gemm_detail::run_products<Ops, Arch>(product, 1, [&](int64_t) { return product; });
}

/// Calls f with the widening of the numbers of a type.
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

/// n codes from the `first` on, a byte each, those of unsigned types less half of their range.
template <class Arch, int bits>
void read_codes(const void* codes, DType type, int64_t first, int64_t n, uint8_t* __restrict to) {
  constexpr int each = 8 / bits;
  constexpr uint8_t mask = (1 << bits) - 1;
  const uint8_t flip = is_signed(type) ? 0 : 1 << (bits - 1);
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
      for (int64_t k = k0; k < std::min(k0 + strip, s.k); ++k, out += L) {
        if (s.transposed)
          for (int64_t l = 0; l < columns; ++l) out[l] = from[(j + l) * s.k + k];
        else std::copy_n(from + k * s.n + j, columns, out);
        std::fill(out + columns, out + L, T{});
      }
    }
}

}  // namespace tenon::kernels::narrow_detail

namespace tenon::kernels {

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
      // Without zero points, those of unsigned types are 0, which is N::middle less by now.
      if (s.zero == nullptr && is_signed(s.type)) return;
      bool any = false;
      for (int64_t j = 0; j < layout.panels(s.n) * layout.L; ++j)
        for (int64_t b = 0; b < layout.blocks; ++b) {
          uint8_t zero = is_signed(s.type) ? 0 : N::middle;
          if (s.zero != nullptr && j < s.n)
            read_codes<Arch, N::bits>(s.zero, s.type, b * s.scale_row + j * s.scale_col, 1, &zero);
          zeros[layout.zeros(j / layout.L, b) + j % layout.L] = zero ^ N::middle;
          any |= j < s.n && zero != 0;
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

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

template NarrowSize narrow_size_impl<TENON_INSTANTIATE>(const NarrowSource&);
template NarrowMatrix narrow_pack_impl<TENON_INSTANTIATE>(const NarrowSource&, std::byte*, uint8_t*);
template void narrow_gemm_impl<TENON_INSTANTIATE>(const GemmArgs<float>&, const NarrowMatrix&);

}  // namespace tenon::kernels
#endif
