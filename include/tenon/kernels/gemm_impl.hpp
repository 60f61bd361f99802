// Matrix products: bodies.
//
// A and B are cut into panels of `rows` rows and `cols` columns; a panel is packed so that a register tile of
// C reads both with unit stride: cells (p, i) of an A panel at p * rows + i, cells (p, j) of a B panel at p *
// cols + j, padded with zeros to whole panels. K is cut at multiples of `depth`, from 0 on: a block of all
// panels follows the other. An element of C is the sum of its blocks in order, each summed by fma in order,
// in every form of tile alike: so it does not depend on where tiles and tasks begin.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::kernels::gemm_detail {

using simd::batch;
using simd::lanes;

// ----------------------------------------------------------------------------------------------- arithmetic

/// A packed cell is one number.
template <class T>
struct Single {
  using Cell = T;
  using Out = T;
  static constexpr int per_cell = 1;
  static constexpr bool rare = std::is_integral_v<T>;

  template <class V>
  static V add_product(const V& a, const V& b, const V& sum) {
    if constexpr (std::is_floating_point_v<T>) return simd::mul_add(a, b, sum);
    else return sum + simd::mul_wrap(a, b);
  }
};

/// A packed cell is two neighbours along K in 16 bits each, the first in the low half.
struct Pair {
  using Cell = int32_t;
  using Out = int32_t;
  static constexpr int per_cell = 2;
  static constexpr bool rare = false;

  template <class V>
  static V add_product(const V& a, const V& b, const V& sum) {
    return simd::mul_add_pairs(a, b, sum);
  }
};

// ---------------------------------------------------------------------------------------------------- tiles

/// The register tile. Accumulators, one row of B and a broadcast of A have to fit: 16 registers at Baseline
/// (where a product needs one more) and Avx2, 32 at Avx512. Plain integer products are rare: a small tile
/// saves code.
template <class Ops, class Arch>
struct Tile {
  using Cell = typename Ops::Cell;
  static constexpr bool wide = std::is_same_v<Arch, simd::Avx512> && !Ops::rare;
  static constexpr int rows = wide ? 8 : std::is_same_v<Arch, simd::Avx2> && !Ops::rare ? 6 : 4;
  static constexpr int vectors = wide ? 3 : 2;
  static constexpr int cols = vectors * lanes<Cell, Arch>;
  static constexpr int64_t depth = 1536 / static_cast<int64_t>(sizeof(Cell));  ///< cells of K in a block
};

/// What happens to sums on their way to C.
template <class Out>
struct Finish {
  Out alpha = 1;
  Out beta = 0;
  const Out* d = nullptr;
  int64_t d_row = 0, d_col = 0;
  const Out* row_bias = nullptr;
  const Out* col_bias = nullptr;
  Out lo = no_lower_bound<Out>, hi = no_upper_bound<Out>;

  bool bounded() const {
    return std::is_floating_point_v<Out> && (lo != no_lower_bound<Out> || hi != no_upper_bound<Out>);
  }
};

/// How a tile ends: raw == nullptr: sums + add + row_bias, bounded, go to C; else sums go to `raw` as they
/// are.
template <class Out>
struct TileEnd {
  Out* c;
  int64_t c_row;
  const Out* add;  ///< with rows add_row apart, or nullptr
  int64_t add_row;
  const Out* row_bias;  ///< or nullptr
  bool bounded;
  Out lo, hi;
  Out* raw;
};

/// Sums of R rows, NV vectors: A panel * B panel over `depth` cells.
template <class Ops, class Arch, int R, int NV>
void compute_tile(int64_t depth, const typename Ops::Cell* a, const typename Ops::Cell* b, int64_t b_step,
                  const TileEnd<typename Ops::Out>& end) {
  using Cell = typename Ops::Cell;
  using V = batch<Cell, Arch>;
  constexpr int L = lanes<Cell, Arch>;
  constexpr int a_step = Tile<Ops, Arch>::rows;
  V sum[R][NV];
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sum[r][v] = V(Cell{0});
  for (int64_t p = 0; p < depth; ++p) {
    V bv[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) bv[v] = simd::loadu<Arch>(b + v * L);
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
      const V av(a[r]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[r][v] = Ops::add_product(av, bv[v], sum[r][v]);
    }
    a += a_step;
    b += b_step;
  }
  if (end.raw != nullptr) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) simd::storeu(end.raw + (r * NV + v) * L, sum[r][v]);
    return;
  }
  if (end.add != nullptr) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v)
        sum[r][v] = simd::loadu<Arch>(end.add + r * end.add_row + v * L) + sum[r][v];
  }
  if (end.row_bias != nullptr) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[r][v] = sum[r][v] + V(end.row_bias[r]);
  }
  if constexpr (std::is_floating_point_v<Cell>) {
    if (end.bounded) {
      const V lo(end.lo), hi(end.hi);
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[r][v] = simd::bound(sum[r][v], lo, hi);
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) simd::storeu(end.c + r * end.c_row + v * L, sum[r][v]);
}

template <class Ops>
using TileFunction = void (*)(int64_t, const typename Ops::Cell*, const typename Ops::Cell*, int64_t,
                              const TileEnd<typename Ops::Out>&);

/// compute_tile for every count of rows and vectors: entry (rows - 1) * vectors + (vectors - 1).
template <class Ops, class Arch>
inline constexpr auto tile_functions = []<int... I>(std::integer_sequence<int, I...>) {
  constexpr int vectors = Tile<Ops, Arch>::vectors;
  return std::array<TileFunction<Ops>, sizeof...(I)>{
      &compute_tile<Ops, Arch, I / vectors + 1, I % vectors + 1>...};
}
(std::make_integer_sequence<int, Tile<Ops, Arch>::rows * Tile<Ops, Arch>::vectors>{});

/// Whether a row panel's cells of one place in K are half a register or a whole one, as compute_narrow wants.
template <class Ops, class Arch>
inline constexpr bool narrow_fits = Tile<Ops, Arch>::rows == lanes<typename Ops::Cell, Arch> ||
                                    2 * Tile<Ops, Arch>::rows == lanes<typename Ops::Cell, Arch>;

/// Row panels that compute_narrow takes at once.
inline constexpr int narrow_panels = 8;

/// A few columns, for which a tile's vectors would be next to empty: vectors run down the rows of A instead.
/// Sums of C columns (at b, b + 1, ...) and `panels` row panels go to raw[row * C + column]. Same order of
/// sums as in tiles.
template <class Ops, class Arch, int C>
void compute_narrow(int64_t depth, const typename Ops::Cell* a, int64_t panels, const typename Ops::Cell* b,
                    int64_t b_step, typename Ops::Out* raw) {
  using Cell = typename Ops::Cell;
  using V = batch<Cell, Arch>;
  constexpr int rows = Tile<Ops, Arch>::rows, L = lanes<Cell, Arch>;
  V sum[narrow_panels][C];
  const Cell* panel[narrow_panels];
#pragma GCC unroll 8
  for (int g = 0; g < narrow_panels; ++g) {
    panel[g] = a + std::min<int64_t>(g, panels - 1) * depth * rows;
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) sum[g][c] = V(Cell{0});
  }
  for (int64_t p = 0; p < depth; ++p, b += b_step) {
    V bv[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) bv[c] = V(b[c]);
#pragma GCC unroll 8
    for (int g = 0; g < narrow_panels; ++g) {
      V av;
      if constexpr (rows == L) av = simd::loadu<Arch>(panel[g] + p * rows);
      else av = simd::load_half<Arch>(panel[g] + p * rows);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sum[g][c] = Ops::add_product(av, bv[c], sum[g][c]);
    }
  }
#pragma GCC unroll 8
  for (int g = 0; g < narrow_panels; ++g)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      Cell lane[L];
      simd::storeu(lane, sum[g][c]);
      for (int r = 0; g < panels && r < rows; ++r) raw[(g * rows + r) * C + c] = lane[r];
    }
}

/// Takes sums (rows, cols), rows `sum_row` apart, at element (i, j) of the whole, to C. `first` and `last`
/// tell whether they are of the first and last block of K.
template <class Arch, class Out>
void finish_sums(const Out* sum, int64_t sum_row, int64_t rows, int64_t cols, int64_t i, int64_t j,
                 const Finish<Out>& f, bool first, bool last, Out* c, int64_t c_row) {
  using V = batch<Out, Arch>;
  constexpr int L = lanes<Out, Arch>;
  const V alpha(f.alpha), beta(f.beta);
  const auto scaled = [](const V& factor, const V& x) {
    if constexpr (std::is_integral_v<Out>) return simd::mul_wrap(factor, x);
    else return factor * x;
  };
  const bool scale = f.alpha != Out{1};
  [[maybe_unused]] const bool bounded = last && f.bounded();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t q = 0; q < cols; q += L) {
      const int64_t n = std::min<int64_t>(L, cols - q);
      V x = simd::load_n<Arch>(sum + r * sum_row + q, n);
      Out* to = c + (i + r) * c_row + j + q;
      if (scale) x = scaled(alpha, x);
      if (!first) {
        x = simd::load_n<Arch>(to, n) + x;
      } else if (f.d != nullptr) {
        const Out* d = f.d + (i + r) * f.d_row + (j + q) * f.d_col;
        V y;
        if (f.d_col == 1) {
          y = simd::load_n<Arch>(d, n);
        } else {
          Out gathered[L] = {};
          for (int64_t e = 0; e < n; ++e) gathered[e] = d[e * f.d_col];
          y = simd::loadu<Arch>(gathered);
        }
        x = x + scaled(beta, y);
      }
      if (last && f.row_bias != nullptr) x = x + V(f.row_bias[i + r]);
      if (last && f.col_bias != nullptr) x = x + simd::load_n<Arch>(f.col_bias + j + q, n);
      if constexpr (std::is_floating_point_v<Out>)
        if (bounded) x = simd::bound(x, V(f.lo), V(f.hi));
      simd::store_n(to, x, n);
    }
}

// -------------------------------------------------------------------------------------------------- packing

/// Cells of a packed operand of `count` rows (or columns) in panels of `width`, and `depth` cells of K.
constexpr int64_t packed_size(int64_t count, int64_t width, int64_t depth) {
  return (count + width - 1) / width * width * depth;
}

/// One panel: to[p * width + i] = from[i * step + p * k_step] for i < count, p < depth; zero for i up to
/// width.
template <class Arch, int width, class T>
void pack_panel(const T* from, int64_t step, int64_t k_step, int64_t count, int64_t depth, T* to) {
  constexpr int side = simd::tile_side<T>;
  if (count < width)
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t i = count; i < width; ++i) to[p * width + i] = T{0};
  if (step == 1) {
    if (count == width) {
      // Rows lie too far apart for the hardware to see them coming.
      constexpr int L = lanes<T, Arch>, line = 64 / static_cast<int>(sizeof(T));
      for (int64_t p = 0; p < depth; ++p) {
        const T* row = from + p * k_step;
        const T* ahead = from + std::min(p + 8, depth - 1) * k_step;
#pragma GCC unroll 4
        for (int e = 0; e < width; e += line) __builtin_prefetch(ahead + e);
        if constexpr (width % L == 0) {
#pragma GCC unroll 4
          for (int e = 0; e < width; e += L) simd::storeu(to + p * width + e, simd::loadu<Arch>(row + e));
        } else {
          __builtin_memcpy(to + p * width, row, width * sizeof(T));
        }
      }
    } else {
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t i = 0; i < count; ++i) to[p * width + i] = from[p * k_step + i];
    }
    return;
  }
  int64_t i = 0;
  if (k_step == 1) {
    for (; i + side <= count; i += side) {
      int64_t p = 0;
      for (; p + side <= depth; p += side)
        simd::transpose_tile<Arch>(from + i * step + p, step, to + p * width + i, width);
      for (; p < depth; ++p)
        for (int e = 0; e < side; ++e) to[p * width + i + e] = from[(i + e) * step + p];
    }
  }
  for (; i < count; ++i)
    for (int64_t p = 0; p < depth; ++p) to[p * width + i] = from[i * step + p * k_step];
}

/// One panel of pairs of 8-bit numbers less their zero points; k numbers make (k + 1) / 2 cells.
template <class Arch, int width, class T>
void pack_pair_panel(const T* from, int64_t step, int64_t k_step, int64_t count, int64_t k, const T* zero,
                     int64_t zero_step, int32_t* to) {
  for (int64_t p = 0; p < k; p += 2) {
    int32_t* row = to + p / 2 * width;
    for (int64_t i = 0; i < count; ++i) {
      const T* x = from + i * step + p * k_step;
      const int32_t z = zero != nullptr ? zero[i * zero_step] : 0;
      // Differences of 8-bit numbers fit into 9 bits, and the sum of two products of them into 32.
      const uint32_t low = static_cast<uint16_t>(x[0] - z);
      const uint32_t high = p + 1 < k ? static_cast<uint16_t>(x[k_step] - z) : 0;
      row[i] = static_cast<int32_t>(low | high << 16);
    }
    for (int64_t i = count; i < width; ++i) row[i] = 0;
  }
}

/// All panels of an operand of `count` rows (or columns), in the order in which products read them.
template <class Arch, int width, int64_t block, class Cell, class Pack>
void pack_whole(int64_t count, int64_t depth, Cell* to, const Pack& pack) {
  for (int64_t p = 0; p < depth; p += block) {
    const int64_t d = std::min(block, depth - p);
    Cell* panels = to + packed_size(count, width, p);
    for (int64_t i = 0; i < count; i += width)
      pack(i, std::min<int64_t>(width, count - i), p, d, panels + i * d);
  }
}

// --------------------------------------------------------------------------------------------------- blocks

/// One product. Either operand is packed beforehand, or packed by a function as blocks come up:
/// pack_a(i, rows, p, depth, to) writes the panel of A that begins at row i, cells p to p + depth of K;
/// pack_b likewise, and it may spoil a vector past the panel. A B of Single cells with unit column stride can
/// also be read where it lies.
template <class Ops, class PackA, class PackB>
struct Product {
  using Cell = typename Ops::Cell;
  using Out = typename Ops::Out;
  int64_t m, n, depth;  // depth: cells of K
  const Cell* packed_a;
  const Cell* packed_b;
  PackA pack_a;
  PackB pack_b;
  const Cell* plain_b;
  int64_t plain_b_row;
  Out* c;
  int64_t c_row;
  Finish<Out> finish;
};

/// One block of K of the C cells of rows [i0, i1), columns [j0, j1). Panels lie `a` and `b` apart as packed.
template <class Ops, class Arch, class P>
void compute_block(const P& q, int64_t i0, int64_t i1, int64_t j0, int64_t j1, int64_t p0, int64_t depth,
                   const typename Ops::Cell* a, const typename Ops::Cell* b, bool plain_b) {
  using Cell = typename Ops::Cell;
  using Out = typename Ops::Out;
  using S = Tile<Ops, Arch>;
  constexpr int L = lanes<Cell, Arch>;
  const bool first = p0 == 0, last = p0 + depth == q.depth;
  const Finish<Out>& f = q.finish;
  const bool plain_d = f.d == nullptr || (f.beta == Out{1} && f.d_col == 1);
  const bool direct = f.alpha == Out{1} && (!first || plain_d) && !(last && f.col_bias != nullptr);
  const Out* add = first ? f.d : q.c;
  alignas(64) Out raw[S::rows * std::max<int>(S::cols, 3 * narrow_panels)];
  TileEnd<Out> end{};
  end.c_row = q.c_row;
  end.add_row = first ? f.d_row : q.c_row;
  end.bounded = last && f.bounded();
  end.lo = f.lo;
  end.hi = f.hi;
  for (int64_t j = j0; j < j1; j += S::cols) {
    const int64_t cols = std::min<int64_t>(S::cols, j1 - j);
    const Cell* b_panel = plain_b ? b + (j - j0) : b + (j - j0) * depth;
    const int64_t b_step = plain_b ? q.plain_b_row : S::cols;
    const int64_t ragged = cols % L;
    const bool narrow = narrow_fits<Ops, Arch> && ragged != 0 && ragged <= 3;
    const int vectors = static_cast<int>(narrow ? cols / L : (cols + L - 1) / L);
    const bool spill = !direct || (ragged != 0 && !narrow);
    end.raw = spill ? raw : nullptr;
    for (int64_t i = i0; i < i1 && vectors > 0; i += S::rows) {
      const int64_t rows = std::min<int64_t>(S::rows, i1 - i);
      const auto tile =
          tile_functions<Ops, Arch>[static_cast<std::size_t>((rows - 1) * S::vectors + vectors - 1)];
      end.c = q.c + i * q.c_row + j;
      end.add = add == nullptr ? nullptr : add + i * end.add_row + j;
      end.row_bias = last && f.row_bias != nullptr ? f.row_bias + i : nullptr;
      tile(depth, a + (i - i0) * depth, b_panel, b_step, end);
      if (spill)
        finish_sums<Arch>(raw, vectors * L, rows, narrow ? vectors * L : cols, i, j, f, first, last, q.c,
                          q.c_row);
    }
    if constexpr (narrow_fits<Ops, Arch>) {
      for (int64_t i = i0; narrow && i < i1; i += narrow_panels * S::rows) {
        const int64_t rows = std::min<int64_t>(narrow_panels * S::rows, i1 - i);
        const int64_t panels = (rows + S::rows - 1) / S::rows, at = j + vectors * L;
        const Cell* a_panels = a + (i - i0) * depth;
        const Cell* b_cols = b_panel + vectors * L;
        switch (ragged) {
          case 1: compute_narrow<Ops, Arch, 1>(depth, a_panels, panels, b_cols, b_step, raw); break;
          case 2: compute_narrow<Ops, Arch, 2>(depth, a_panels, panels, b_cols, b_step, raw); break;
          default: compute_narrow<Ops, Arch, 3>(depth, a_panels, panels, b_cols, b_step, raw); break;
        }
        finish_sums<Arch>(raw, ragged, rows, ragged, i, at, f, first, last, q.c, q.c_row);
      }
    }
  }
}

/// C of rows [i0, i1), columns [j0, j1), which begin at whole panels. Blocks are sized for a second-level
/// cache of 1 MB: a block of B is read once for each panel of A, and all of A's chunk once for each block of
/// B.
template <class Ops, class Arch, class P>
void compute_range(const P& q, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  using Cell = typename Ops::Cell;
  using S = Tile<Ops, Arch>;
  constexpr int64_t block_cols = 4 * S::cols;
  constexpr int64_t chunk_cells = (int64_t{4} << 20) / static_cast<int64_t>(sizeof(Cell));
  constexpr int64_t chunk_depth = 16 * S::depth;
  const int64_t padded_m = (q.m + S::rows - 1) / S::rows * S::rows;
  const int64_t padded_n = (q.n + S::cols - 1) / S::cols * S::cols;
  const bool packs_a = q.packed_a == nullptr;
  const int64_t k_chunk = packs_a ? std::min(q.depth, chunk_depth) : q.depth;
  int64_t m_chunk = i1 - i0;
  if (packs_a && k_chunk > 0) {
    const int64_t fitting = std::max<int64_t>(chunk_cells / k_chunk, 256) / S::rows * S::rows;
    m_chunk = std::min(m_chunk, fitting);
  }
  Scratch<Arch> scratch;
  Cell* a_space = packs_a ? scratch.template take<Cell>(packed_size(m_chunk, S::rows, k_chunk)) : nullptr;
  Cell* b_space = nullptr;
  if (q.packed_b == nullptr)
    b_space = scratch.template take<Cell>(
        packed_size(std::min(block_cols, j1 - j0), S::cols, std::min<int64_t>(q.depth, S::depth)) +
        lanes<Cell, Arch>);
  for (int64_t i = i0; i < i1; i += m_chunk) {
    const int64_t i_end = std::min(i + m_chunk, i1);
    int64_t k0 = 0;
    do {
      const int64_t k_end = std::min(k0 + k_chunk, q.depth);
      if (packs_a)
        for (int64_t p = k0; p < k_end; p += S::depth) {
          const int64_t depth = std::min<int64_t>(S::depth, k_end - p);
          Cell* block = a_space + packed_size(i_end - i, S::rows, p - k0);
          for (int64_t r = i; r < i_end; r += S::rows)
            q.pack_a(r, std::min<int64_t>(S::rows, i_end - r), p, depth, block + (r - i) * depth);
        }
      for (int64_t j = j0; j < j1; j += block_cols) {
        const int64_t j_end = std::min(j + block_cols, j1);
        int64_t p = k0;
        do {
          const int64_t depth = std::min<int64_t>(S::depth, k_end - p);
          const Cell* a = packs_a ? a_space + packed_size(i_end - i, S::rows, p - k0)
                                  : q.packed_a + p * padded_m + i * depth;
          if (q.packed_b != nullptr) {
            compute_block<Ops, Arch>(q, i, i_end, j, j_end, p, depth, a,
                                     q.packed_b + p * padded_n + j * depth, false);
          } else {
            // Where it lies B serves whole vectors; columns short of one are packed.
            int64_t j_plain = j;
            if (q.plain_b != nullptr) j_plain = j + (j_end - j) / lanes<Cell, Arch> * lanes<Cell, Arch>;
            for (int64_t t = j_plain; t < j_end; t += S::cols)
              q.pack_b(t, std::min<int64_t>(S::cols, j_end - t), p, depth, b_space + (t - j_plain) * depth);
            if (j_plain > j)
              compute_block<Ops, Arch>(q, i, i_end, j, j_plain, p, depth, a,
                                       q.plain_b + p * q.plain_b_row + j, true);
            if (j_end > j_plain)
              compute_block<Ops, Arch>(q, i, i_end, j_plain, j_end, p, depth, a, b_space, false);
          }
          p += depth;
        } while (p < k_end);
      }
      k0 = k_end;
    } while (k0 < q.depth);
  }
}

/// How C is cut into tasks: rows and columns of each, whole panels.
struct Cut {
  int64_t rows, cols;
  int64_t down, across;
  double cost;
};

/// Threads that a loop of this thread could use now.
template <class Arch>
int64_t threads_at_hand() {
  const Executor* executor = current_executor();
  return executor == nullptr ? 1 : executor->threads();
}

/// Cuts each of `items` products so that `threads` are done soonest, with about `tasks` tasks of a product at most. A task
/// packs its rows of A and its columns of B, unless that operand is packed already.
template <class Arch>
Cut cut_for(int64_t m, int64_t n, int64_t panel_rows, int64_t panel_cols, bool packs_a, bool packs_b, int64_t items,
            int64_t tasks, int64_t threads) {
  const int64_t row_panels = (m + panel_rows - 1) / panel_rows, col_panels = (n + panel_cols - 1) / panel_cols;
  // In units of a multiply-add for each cell of K: packing a number costs about as much as 16, reading a packed one
  // again about half of that.
  const double a_cost = packs_a ? 16 : 8, b_cost = packs_b ? 16 : 8;
  Cut best{};
  for (int64_t down = 1; down <= tasks && down <= row_panels; ++down) {
    for (int64_t across = 1; down * across <= tasks && across <= col_panels; ++across) {
      const int64_t rows = (row_panels + down - 1) / down * panel_rows;
      const int64_t cols = (col_panels + across - 1) / across * panel_cols;
      const double all = static_cast<double>(m) * static_cast<double>(n) +
                         a_cost * static_cast<double>(m * across) + b_cost * static_cast<double>(n * down);
      const double largest = static_cast<double>(std::min(rows, m)) * static_cast<double>(std::min(cols, n)) +
                             a_cost * static_cast<double>(rows) + b_cost * static_cast<double>(cols);
      // Whoever takes the last task to begin begins it when the others are no further than the average.
      const double cost = (all * static_cast<double>(items) + largest * static_cast<double>(threads - 1)) /
                          static_cast<double>(threads);
      if (best.down == 0 || cost < best.cost)
        best = {rows, cols, (row_panels * panel_rows + rows - 1) / rows, (col_panels * panel_cols + cols - 1) / cols, cost};
    }
  }
  return best;
}

/// Runs `items` products, all of the extents of `shape`, which is the first; product(i) makes the i-th.
template <class Ops, class Arch, class P, class MakeProduct>
void run_products(const P& shape, int64_t items, const MakeProduct& product) {
  using S = Tile<Ops, Arch>;
  using Cell = typename Ops::Cell;
  // A task should outlast the waking of a thread by far: a million multiply-adds take about 10 microseconds.
  constexpr double task_size = 1 << 20;
  const int64_t threads = threads_at_hand<Arch>();
  int64_t tasks = 1;
  if (threads > 1) {
    const double size = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                        static_cast<double>(shape.depth) * Ops::per_cell * static_cast<double>(items);
    tasks = static_cast<int64_t>(std::min(size / task_size, 4.0 * static_cast<double>(threads)));
  }
  if (tasks <= 1) {
    compute_range<Ops, Arch>(shape, 0, shape.m, 0, shape.n);
    for (int64_t item = 1; item < items; ++item)
      compute_range<Ops, Arch>(product(item), 0, shape.m, 0, shape.n);
    return;
  }
  const int64_t each = (tasks + items - 1) / items;  // tasks of a product
  const bool packs_a = shape.packed_a == nullptr, packs_b = shape.packed_b == nullptr && shape.plain_b == nullptr;
  Cut cut = cut_for<Arch>(shape.m, shape.n, S::rows, S::cols, packs_a, packs_b, items, each, threads);
  // Where C has few columns, tasks share them, and would each pack the same B: then it is packed first, by all threads.
  const int64_t col_panels = (shape.n + S::cols - 1) / S::cols;
  const int64_t b_cells = packed_size(shape.n, S::cols, shape.depth);
  constexpr int64_t most_cells = (int64_t{4} << 20) / static_cast<int64_t>(sizeof(Cell));
  Scratch<Arch> scratch;
  Cell* packed_b = nullptr;
  if (packs_b && cut.down > 1 && b_cells <= most_cells / items) {
    const Cut shared = cut_for<Arch>(shape.m, shape.n, S::rows, S::cols, packs_a, false, items, each, threads);
    const double packing = 16.0 * static_cast<double>(shape.n * items) / static_cast<double>(threads);
    if (shared.cost + packing < cut.cost) {
      cut = shared;
      packed_b = scratch.template take<Cell>(b_cells * items + lanes<Cell, Arch>);
      const int64_t blocks = (shape.depth + S::depth - 1) / S::depth;
      parallel_for(items * blocks * col_panels, 1, [&](int64_t begin, int64_t end) {
        // A function that packs may spoil a vector past its panel, which another thread may have written.
        Scratch<Arch> own;
        Cell* panel = own.template take<Cell>(S::cols * S::depth + lanes<Cell, Arch>);
        for (int64_t t = begin; t < end; ++t) {
          const int64_t item = t / (blocks * col_panels), p = t / col_panels % blocks * S::depth;
          const int64_t j = t % col_panels * S::cols, depth = std::min<int64_t>(S::depth, shape.depth - p);
          product(item).pack_b(j, std::min<int64_t>(S::cols, shape.n - j), p, depth, panel);
          std::copy_n(panel, S::cols * depth, packed_b + item * b_cells + packed_size(shape.n, S::cols, p) + j * depth);
        }
      });
    }
  }
  const int64_t parts = cut.down * cut.across;
  parallel_for(items * parts, (items * parts + tasks - 1) / tasks, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t part = t % parts;
      const int64_t i = part / cut.across * cut.rows, j = part % cut.across * cut.cols;
      P own = product(t / parts);
      if (packed_b != nullptr) own.packed_b = packed_b + t / parts * b_cells;
      compute_range<Ops, Arch>(own, i, std::min(i + cut.rows, shape.m), j, std::min(j + cut.cols, shape.n));
    }
  });
}

// ---------------------------------------------------------------------------------------- few rows or
// columns

/// Sums of products of R vectors x (each of k, `x_step` apart) with rows [0, count) of a matrix whose rows
/// lie `row` apart and are dense: sums[i * sum_i + r * sum_r]. Rows are taken four at a time to read memory
/// in four streams.
template <class Arch, int R, class T>
void dot_rows(const T* x, int64_t x_step, const T* matrix, int64_t row, int64_t count, int64_t k, T* sums,
              int64_t sum_i, int64_t sum_r) {
  using V = batch<T, Arch>;
  constexpr int L = lanes<T, Arch>;
  const auto rows_at = [&]<int N>(std::integral_constant<int, N>, int64_t i) {
    V sum[N][R];
#pragma GCC unroll 4
    for (int e = 0; e < N; ++e)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[e][r] = V(T{0});
    const T* at = matrix + i * row;
    int64_t p = 0;
    for (; p + L <= k; p += L) {
      V xv[R];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) xv[r] = simd::loadu<Arch>(x + r * x_step + p);
#pragma GCC unroll 4
      for (int e = 0; e < N; ++e) {
        const V y = simd::loadu<Arch>(at + e * row + p);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sum[e][r] = Single<T>::add_product(xv[r], y, sum[e][r]);
      }
    }
    if (p < k) {
#pragma GCC unroll 4
      for (int e = 0; e < N; ++e) {
        const V y = simd::load_n<Arch>(at + e * row + p, k - p);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
          sum[e][r] = Single<T>::add_product(simd::load_n<Arch>(x + r * x_step + p, k - p), y, sum[e][r]);
      }
    }
#pragma GCC unroll 4
    for (int e = 0; e < N; ++e)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sums[(i + e) * sum_i + r * sum_r] = simd::sum_of_lanes(sum[e][r]);
  };
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) rows_at(std::integral_constant<int, 4>{}, i);
  for (; i < count; ++i) rows_at(std::integral_constant<int, 1>{}, i);
}

/// sums[j] = sum over p of x[p] * matrix[p * row + j], for j < count: rows are read eight at a time, end to
/// end.
template <class Arch, class T>
void weighted_rows(const T* x, const T* matrix, int64_t row, int64_t count, int64_t k, T* sums) {
  using V = batch<T, Arch>;
  constexpr int L = lanes<T, Arch>;
  const auto rows_at = [&]<int N>(std::integral_constant<int, N>, int64_t p) {
    const T* at = matrix + p * row;
    V xv[N];
#pragma GCC unroll 8
    for (int e = 0; e < N; ++e) xv[e] = V(x[p + e]);
    int64_t j = 0;
    for (; j + L <= count; j += L) {
      V sum = p == 0 ? V(T{0}) : simd::loadu<Arch>(sums + j);
#pragma GCC unroll 8
      for (int e = 0; e < N; ++e)
        sum = Single<T>::add_product(xv[e], simd::loadu<Arch>(at + e * row + j), sum);
      simd::storeu(sums + j, sum);
    }
    if (j < count) {
      V sum = p == 0 ? V(T{0}) : simd::load_n<Arch>(sums + j, count - j);
#pragma GCC unroll 8
      for (int e = 0; e < N; ++e)
        sum = Single<T>::add_product(xv[e], simd::load_n<Arch>(at + e * row + j, count - j), sum);
      simd::store_n(sums + j, sum, count - j);
    }
  };
  int64_t p = 0;
  for (; p + 8 <= k; p += 8) rows_at(std::integral_constant<int, 8>{}, p);
  for (; p < k; ++p) rows_at(std::integral_constant<int, 1>{}, p);
}

/// R (1 to 4) vectors against a matrix. `lies_across`: the vectors are rows of A, the matrix B; else columns
/// of B and A.
template <class Arch, class T>
struct Skinny {
  int64_t vectors;  // R
  const T* x;       // element p of vector r at r * x_step + p * x_k
  int64_t x_step, x_k;
  const T* matrix;  // element (i,p) at i * row + p
  int64_t row, count, k;
  bool lies_across;
  Finish<T> finish;
  T* c;
  int64_t c_row;

  void run() const {
    Scratch<Arch> scratch;
    const T* dense = x;
    int64_t dense_step = x_step;
    if (x_k != 1 && k > 1) {
      T* copy = scratch.template take<T>(vectors * k);
      for (int64_t r = 0; r < vectors; ++r)
        for (int64_t p = 0; p < k; ++p) copy[r * k + p] = x[r * x_step + p * x_k];
      dense = copy;
      dense_step = k;
    }
    T* sums = scratch.template take<T>(vectors * count);
    const int64_t sum_i = lies_across ? 1 : vectors, sum_r = lies_across ? count : 1;
    const int64_t grain =
        std::max<int64_t>((int64_t{1} << 18) / (vectors * std::max<int64_t>(k, 1)) / 4 * 4, 4);
    parallel_for(count, grain, [&](int64_t begin, int64_t end) {
      const auto dots = [&]<int R>(std::integral_constant<int, R>) {
        dot_rows<Arch, R>(dense, dense_step, matrix + begin * row, row, end - begin, k, sums + begin * sum_i,
                          sum_i, sum_r);
      };
      switch (vectors) {
        case 1: dots(std::integral_constant<int, 1>{}); break;
        case 2: dots(std::integral_constant<int, 2>{}); break;
        case 3: dots(std::integral_constant<int, 3>{}); break;
        default: dots(std::integral_constant<int, 4>{}); break;
      }
    });
    if (lies_across) finish_sums<Arch>(sums, count, vectors, count, 0, 0, finish, true, true, c, c_row);
    else finish_sums<Arch>(sums, vectors, count, vectors, 0, 0, finish, true, true, c, c_row);
  }
};

/// One row of A, B with dense rows.
template <class Arch, class T>
void single_row(const GemmArgs<T>& g, const T* a, const T* b, const Finish<T>& finish, T* c) {
  Scratch<Arch> scratch;
  const T* x = a;
  if (g.a_col != 1 && g.k > 1) {
    T* copy = scratch.template take<T>(g.k);
    for (int64_t p = 0; p < g.k; ++p) copy[p] = a[p * g.a_col];
    x = copy;
  }
  // Sums of a strip stay in the first-level cache while rows stream by.
  constexpr int64_t strip = 2048;
  parallel_for(g.n, strip, [&](int64_t begin, int64_t end) {
    Scratch<Arch> own;
    T* sums = own.template take<T>(strip);
    for (int64_t j = begin; j < end; j += strip) {
      const int64_t count = std::min(strip, end - j);
      if (g.k == 0) std::fill(sums, sums + count, T{0});
      weighted_rows<Arch>(x, b + j, g.b_row, count, g.k, sums);
      finish_sums<Arch>(sums, count, 1, count, 0, j, finish, true, true, c, g.c_row);
    }
  });
}

/// Packs `count` rows of A from row i on, or columns of B, cells p to p + depth of K; `across`: the step from
/// one to the next, `along`: that of K.
template <class Arch, int width>
void pack_quant_panel(const QuantMatrix& x, int64_t offset, int64_t across, int64_t along, int64_t i,
                      int64_t count, int64_t k, int64_t p, int64_t depth, int32_t* to) {
  const auto pack = [&]<class T>(T) {
    const T* from = static_cast<const T*>(x.data) + offset + i * across + 2 * p * along;
    const T* zero = x.zero == nullptr ? nullptr : static_cast<const T*>(x.zero) + i * x.zero_step;
    pack_pair_panel<Arch, width>(from, across, along, count, std::min(k - 2 * p, 2 * depth), zero,
                                 x.zero_step, to);
  };
  if (x.is_signed) pack(int8_t{});
  else pack(uint8_t{});
}

/// A product too small to be worth packing: rows of C four at a time, a vector of columns after the other.
template <class Arch, class T>
void tiny_product(const GemmArgs<T>& g, const T* a, const T* b, const Finish<T>& finish, T* c) {
  using V = batch<T, Arch>;
  constexpr int L = lanes<T, Arch>;
  const auto rows_at = [&]<int N, bool whole>(std::integral_constant<int, N>, std::bool_constant<whole>,
                                              int64_t i, int64_t j, int64_t count) {
    V sum[N];
    const T* row[N];
#pragma GCC unroll 4
    for (int r = 0; r < N; ++r) sum[r] = V(T{0}), row[r] = a + (i + r) * g.a_row;
    const T* bp = b + j;
    for (int64_t p = 0; p < g.k; ++p, bp += g.b_row) {
      V x;
      if constexpr (whole) x = simd::loadu<Arch>(bp);
      else x = simd::load_n<Arch>(bp, count);
#pragma GCC unroll 4
      for (int r = 0; r < N; ++r) sum[r] = Single<T>::add_product(V(row[r][p * g.a_col]), x, sum[r]);
    }
    alignas(64) T raw[N * L];
#pragma GCC unroll 4
    for (int r = 0; r < N; ++r) simd::storeu(raw + r * L, sum[r]);
    finish_sums<Arch>(raw, L, N, count, i, j, finish, true, true, c, g.c_row);
  };
  const auto rows_of = [&](auto n, int64_t i) {
    int64_t j = 0;
    for (; j + L <= g.n; j += L) rows_at(n, std::true_type{}, i, j, L);
    if (j < g.n) rows_at(n, std::false_type{}, i, j, g.n - j);
  };
  int64_t i = 0;
  for (; i + 4 <= g.m; i += 4) rows_of(std::integral_constant<int, 4>{}, i);
  for (; i < g.m; ++i) rows_of(std::integral_constant<int, 1>{}, i);
}

/// The offset of item `index` of a batch whose strides are `strides` (nullptr: all items share the operand).
template <class Arch>
int64_t batch_offset(const GemmBatch& batch, const int64_t* strides, int64_t index) {
  int64_t offset = 0;
  for (int axis = batch.rank - 1; axis >= 0; --axis) {
    const int64_t extent = batch.extents[axis];
    if (strides != nullptr) offset += index % extent * strides[axis];
    index /= extent;
  }
  return offset;
}

template <class Arch>
int64_t batch_items(const GemmBatch& batch) {
  int64_t items = 1;
  for (int axis = 0; axis < batch.rank; ++axis) items *= batch.extents[axis];
  return items;
}

/// Picks a form and runs it.
template <class Arch, class T>
void run_gemm(GemmArgs<T> g) {
  using Ops = Single<T>;
  using S = Tile<Ops, Arch>;
  int64_t items = batch_items<Arch>(g.batch);
  if (g.m <= 0 || g.n <= 0 || items <= 0) return;
  if (g.alpha == T{0}) g.k = 0;
  if (g.beta == T{0}) g.d = nullptr;
  if (g.batch.rank == 1 && items > 1 && (g.packed_b != nullptr || g.batch.b[0] == 0) &&
      g.packed_a == nullptr && g.batch.a[0] == g.m * g.a_row && g.batch.c[0] == g.m * g.c_row &&
      g.d == nullptr && g.row_bias == nullptr) {
    g.m *= items;  // a shared B: one tall product
    items = 1;
    g.batch.rank = 0;
  }
  Finish<T> finish{g.alpha, g.beta, g.d, g.d_row, g.d_col, g.row_bias, g.col_bias, g.lo, g.hi};
  const auto finish_of = [&](int64_t item) {
    Finish<T> f = finish;
    if (f.d != nullptr) f.d += batch_offset<Arch>(g.batch, g.batch.d, item);
    return f;
  };
  // Packed operands of one panel can be read like any other.
  if (g.packed_b != nullptr && g.n <= 4) {
    g.b = g.packed_b, g.b_row = S::cols, g.b_col = 1, g.packed_b = nullptr;
    g.batch.b = nullptr;
  }
  if (g.packed_a != nullptr && g.m <= 4) {
    g.a = g.packed_a, g.a_row = 1, g.a_col = S::rows, g.packed_a = nullptr;
    g.batch.a = nullptr;
  }
  if (g.packed_a == nullptr && g.packed_b == nullptr) {
    const bool dots_across = g.m <= 4 && (g.b_row == 1 || g.k <= 1) && g.n > 1;
    const bool dots_down = g.n <= 4 && (g.a_col == 1 || g.k <= 1);
    const bool row = g.m == 1 && g.b_col == 1;
    const bool tiny = g.b_col == 1 && g.m <= 16 && g.k <= 64 && g.n <= 2 * S::cols && g.m * g.n * g.k <= 8192;
    if (row || tiny || dots_across || dots_down) {
      for (int64_t item = 0; item < items; ++item) {
        const T* a = g.k == 0 ? g.a : g.a + batch_offset<Arch>(g.batch, g.batch.a, item);
        const T* b = g.k == 0 ? g.b : g.b + batch_offset<Arch>(g.batch, g.batch.b, item);
        T* c = g.c + batch_offset<Arch>(g.batch, g.batch.c, item);
        if (tiny) tiny_product<Arch>(g, a, b, finish_of(item), c);
        else if (row) single_row<Arch>(g, a, b, finish_of(item), c);
        else if (dots_across)
          Skinny<Arch, T>{g.m, a, g.a_row, g.a_col, b, g.b_col, g.n, g.k, true, finish_of(item), c, g.c_row}
              .run();
        else
          Skinny<Arch, T>{g.n, b, g.b_col, g.b_row, a, g.a_row, g.m, g.k, false, finish_of(item), c, g.c_row}
              .run();
      }
      return;
    }
  }
  constexpr int64_t plain_cells = (int64_t{1} << 18) / static_cast<int64_t>(sizeof(T));
  const auto product = [&](int64_t item) {
    const T* a = g.packed_a != nullptr || g.k == 0 ? g.a : g.a + batch_offset<Arch>(g.batch, g.batch.a, item);
    const T* b = g.packed_b != nullptr || g.k == 0 ? g.b : g.b + batch_offset<Arch>(g.batch, g.batch.b, item);
    const auto pack_a = [a, &g](int64_t i, int64_t rows, int64_t p, int64_t depth, T* to) {
      pack_panel<Arch, S::rows>(a + i * g.a_row + p * g.a_col, g.a_row, g.a_col, rows, depth, to);
    };
    const auto pack_b = [b, &g](int64_t j, int64_t cols, int64_t p, int64_t depth, T* to) {
      pack_panel<Arch, S::cols>(b + j * g.b_col + p * g.b_row, g.b_col, g.b_row, cols, depth, to);
    };
    // Packing B pays when it is read more than once or twice, and does not stay in the second-level cache by
    // itself.
    const bool plain_b = g.b_col == 1 && (g.m <= 2 * S::rows || g.k * g.n <= plain_cells);
    return Product<Ops, decltype(pack_a), decltype(pack_b)>{
        g.m,        g.n,
        g.k,        g.packed_a,
        g.packed_b, pack_a,
        pack_b,     plain_b ? b : nullptr,
        g.b_row,    g.c + batch_offset<Arch>(g.batch, g.batch.c, item),
        g.c_row,    finish_of(item)};
  };
  run_products<Ops, Arch>(product(0), items, product);
}

}  // namespace tenon::kernels::gemm_detail

namespace tenon::kernels {

template <class Arch, class T>
void gemm_impl(const GemmArgs<T>& g) {
  if constexpr (std::is_unsigned_v<T>) {
    // Wrapping sums and products have the same bits with and without a sign.
    using I = std::make_signed_t<T>;
    const auto as = [](const T* p) { return reinterpret_cast<const I*>(p); };
    gemm_detail::run_gemm<Arch>(GemmArgs<I>{g.m,
                                            g.n,
                                            g.k,
                                            as(g.a),
                                            g.a_row,
                                            g.a_col,
                                            as(g.b),
                                            g.b_row,
                                            g.b_col,
                                            reinterpret_cast<I*>(g.c),
                                            g.c_row,
                                            static_cast<I>(g.alpha),
                                            static_cast<I>(g.beta),
                                            as(g.d),
                                            g.d_row,
                                            g.d_col,
                                            as(g.row_bias),
                                            as(g.col_bias),
                                            no_lower_bound<I>,
                                            no_upper_bound<I>,
                                            as(g.packed_a),
                                            as(g.packed_b),
                                            g.batch});
  } else {
    gemm_detail::run_gemm<Arch>(g);
  }
}

template <class Arch, class T>
int64_t packed_a_size_impl(int64_t m, int64_t k) {
  return gemm_detail::packed_size(m, gemm_detail::Tile<gemm_detail::Single<T>, Arch>::rows, k);
}

template <class Arch, class T>
int64_t packed_b_size_impl(int64_t k, int64_t n) {
  return gemm_detail::packed_size(n, gemm_detail::Tile<gemm_detail::Single<T>, Arch>::cols, k);
}

template <class Arch, class T>
void pack_a_impl(const GemmArgs<T>& g, T* packed) {
  using namespace gemm_detail;
  using S = Tile<Single<T>, Arch>;
  pack_whole<Arch, S::rows, S::depth>(
      g.m, g.k, packed, [&](int64_t i, int64_t rows, int64_t p, int64_t depth, T* to) {
        pack_panel<Arch, S::rows>(g.a + i * g.a_row + p * g.a_col, g.a_row, g.a_col, rows, depth, to);
      });
}

template <class Arch, class T>
void pack_b_impl(const GemmArgs<T>& g, T* packed) {
  using namespace gemm_detail;
  using S = Tile<Single<T>, Arch>;
  pack_whole<Arch, S::cols, S::depth>(
      g.n, g.k, packed, [&](int64_t j, int64_t cols, int64_t p, int64_t depth, T* to) {
        pack_panel<Arch, S::cols>(g.b + j * g.b_col + p * g.b_row, g.b_col, g.b_row, cols, depth, to);
      });
}

template <class Arch>
void quant_gemm_impl(const QuantGemmArgs& g) {
  using namespace gemm_detail;
  using S = Tile<Pair, Arch>;
  const int64_t items = batch_items<Arch>(g.batch);
  if (g.m <= 0 || g.n <= 0 || items <= 0) return;
  Finish<int32_t> finish;
  finish.row_bias = g.row_bias;
  finish.col_bias = g.col_bias;
  const auto product = [&](int64_t item) {
    const int64_t a = g.packed_a != nullptr ? 0 : batch_offset<Arch>(g.batch, g.batch.a, item);
    const int64_t b = g.packed_b != nullptr ? 0 : batch_offset<Arch>(g.batch, g.batch.b, item);
    const auto pack_a = [a, &g](int64_t i, int64_t rows, int64_t p, int64_t depth, int32_t* to) {
      pack_quant_panel<Arch, S::rows>(g.a, a, g.a.row, g.a.col, i, rows, g.k, p, depth, to);
    };
    const auto pack_b = [b, &g](int64_t j, int64_t cols, int64_t p, int64_t depth, int32_t* to) {
      pack_quant_panel<Arch, S::cols>(g.b, b, g.b.col, g.b.row, j, cols, g.k, p, depth, to);
    };
    return Product<Pair, decltype(pack_a), decltype(pack_b)>{
        g.m,     g.n,    (g.k + 1) / 2, g.packed_a, g.packed_b,
        pack_a,  pack_b, nullptr,       0,          g.c + batch_offset<Arch>(g.batch, g.batch.c, item),
        g.c_row, finish};
  };
  run_products<Pair, Arch>(product(0), items, product);
}

template <class Arch>
int64_t quant_packed_a_size_impl(int64_t m, int64_t k) {
  return gemm_detail::packed_size(m, gemm_detail::Tile<gemm_detail::Pair, Arch>::rows, (k + 1) / 2);
}

template <class Arch>
int64_t quant_packed_b_size_impl(int64_t k, int64_t n) {
  return gemm_detail::packed_size(n, gemm_detail::Tile<gemm_detail::Pair, Arch>::cols, (k + 1) / 2);
}

template <class Arch>
void quant_pack_a_impl(const QuantGemmArgs& g, int32_t* packed) {
  using namespace gemm_detail;
  using S = Tile<Pair, Arch>;
  pack_whole<Arch, S::rows, S::depth>(
      g.m, (g.k + 1) / 2, packed, [&](int64_t i, int64_t rows, int64_t p, int64_t depth, int32_t* to) {
        pack_quant_panel<Arch, S::rows>(g.a, 0, g.a.row, g.a.col, i, rows, g.k, p, depth, to);
      });
}

template <class Arch>
void quant_pack_b_impl(const QuantGemmArgs& g, int32_t* packed) {
  using namespace gemm_detail;
  using S = Tile<Pair, Arch>;
  pack_whole<Arch, S::cols, S::depth>(
      g.n, (g.k + 1) / 2, packed, [&](int64_t j, int64_t cols, int64_t p, int64_t depth, int32_t* to) {
        pack_quant_panel<Arch, S::cols>(g.b, 0, g.b.col, g.b.row, j, cols, g.k, p, depth, to);
      });
}

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

#define TENON_GEMM(T)                                                          \
  template void gemm_impl<TENON_INSTANTIATE, T>(const GemmArgs<T>&);           \
  template int64_t packed_a_size_impl<TENON_INSTANTIATE, T>(int64_t, int64_t); \
  template int64_t packed_b_size_impl<TENON_INSTANTIATE, T>(int64_t, int64_t); \
  template void pack_a_impl<TENON_INSTANTIATE, T>(const GemmArgs<T>&, T*);     \
  template void pack_b_impl<TENON_INSTANTIATE, T>(const GemmArgs<T>&, T*);
TENON_GEMM(float)
TENON_GEMM(double)
TENON_GEMM(int32_t)
TENON_GEMM(uint32_t)
TENON_GEMM(int64_t)
TENON_GEMM(uint64_t)
#undef TENON_GEMM

template void quant_gemm_impl<TENON_INSTANTIATE>(const QuantGemmArgs&);
template int64_t quant_packed_a_size_impl<TENON_INSTANTIATE>(int64_t, int64_t);
template int64_t quant_packed_b_size_impl<TENON_INSTANTIATE>(int64_t, int64_t);
template void quant_pack_a_impl<TENON_INSTANTIATE>(const QuantGemmArgs&, int32_t*);
template void quant_pack_b_impl<TENON_INSTANTIATE>(const QuantGemmArgs&, int32_t*);

}  // namespace tenon::kernels
#endif
