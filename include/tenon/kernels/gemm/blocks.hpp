// Matrix products: blocks of large operands for the caches, tasks for the threads.
//
// K is cut at multiples of block_depth, for any number of threads. An element of C is the sum of its blocks
// in order, so it does not depend on where tiles and tasks begin. Within a block, a panel of B (2048 bytes a
// column at most) is multiplied by every panel of some rows of A before the next panel of B. Both stay in the
// second-level cache, from which a tile streams B's vectors; A's few rows come from the first-level cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/args.hpp"
#include "tenon/kernels/gemm/byte_excess.hpp"
#include "tenon/kernels/gemm/pack.hpp"
#include "tenon/kernels/gemm/tile.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

/// One product. Each operand is packed in advance, or by a function when a block needs it. pack_a(i, rows, p,
/// depth, to) writes the panel of A that begins at row i, cells p to p + depth of K. pack_b does the same for
/// B, and may overwrite up to a vector past the panel. If pack_b has rows(), it returns B's first cell if B's
/// rows are dense, plain_b_row apart, else nullptr. An operand whose cells have unit column stride can also
/// be read unpacked, but A only if it has no part in compute_narrow.
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
  const Cell* plain_a = nullptr;
  int64_t plain_a_row = 0;
  int64_t b_copies = 1, b_copy_cells = 0;  // of packed_b, if `items` is 1: a task reads its thread's
  ExcessLists excess{};                    // of packed_b, where may_exceed<Ops>
};

/// Whether a packed B streams past so few rows: panel after panel and block after block, in memory order, so
/// that the hardware prefetches it. Tiles of one or two rows would prefetch too late for that, and so few
/// tiles of more rows would skip lines, which is worse than no prefetch.
template <class Ops, class Arch>
constexpr bool streams(int64_t rows) {
  using S = Tile<Ops, Arch>;
  constexpr int64_t line = 64 / sizeof(typename Ops::Cell);
  return rows <= 2 || (rows + S::rows - 1) / S::rows * line < S::cols;
}

/// Adds one block of K to rows [i0, i1), columns [j0, j1) of C. `a` and `b` are the block's first cells,
/// packed unless `plain_a` and `plain_b` say otherwise. `next` is the first cell of the next block of B, or
/// nullptr. While tiles multiply a panel of B, each prefetches a strand of what comes next into the
/// second-level cache, from which (unlike memory) tiles and packing read it in time. That is the next panel
/// of the block, or the first one of the next block. If B is packed on the fly, it is the panel of the next
/// block in the same place.
template <class Ops, class Arch, class P>
void compute_rows(const P& q, int64_t i0, int64_t i1, int64_t j0, int64_t j1, int64_t p0, int64_t depth,
                  const typename Ops::Cell* a, bool plain_a, const typename Ops::Cell* b, bool plain_b,
                  const typename Ops::Cell* next) {
  using Cell = typename Ops::Cell;
  using Out = typename Ops::Out;
  using S = Tile<Ops, Arch>;
  constexpr int L = lanes<Cell, Arch>;
  const bool first = p0 == 0, last = p0 + depth == q.depth;
  const Finish<Out>& f = q.finish;
  const bool plain_d = f.d == nullptr || (f.beta == Out{1} && f.d_col == 1);
  const bool direct = (f.alpha == Out{1} || std::is_floating_point_v<Out>) && (!first || plain_d) &&
                      !(last && f.floats != nullptr);
  const Out* add = first ? f.d : q.c;
  alignas(64) Out raw[S::rows * std::max<int>(S::cols, 3 * narrow_panels)];
  TileEnd<Out> end{};
  end.c_row = q.c_row;
  end.add_row = first ? f.d_row : q.c_row;
  end.alpha = f.alpha;
  end.bounded = last && f.bounded();
  end.lo = f.lo;
  end.hi = f.hi;
  end.far = q.m * q.n * static_cast<int64_t>(sizeof(Out)) > cache_bytes::l2;
  const int64_t a_pitch = plain_a ? q.plain_a_row : depth;  // cells per row from panel to panel
  TileOperands<Cell> operands{};
  operands.a_row = plain_a ? q.plain_a_row : 1;
  operands.a_step = plain_a ? 1 : S::rows;
  operands.b_step = plain_b ? q.plain_b_row : S::cols;
  operands.b_panel = plain_b ? S::cols : S::cols * depth;
  // A strand of the next packed panel runs along it, some cells per step; one of unpacked cells is a line
  // wide.
  constexpr int64_t line = 64 / sizeof(Cell);
  const bool packed = q.packed_b != nullptr;
  const int64_t panels = (i1 - i0 + S::rows - 1) / S::rows, part = (S::cols + panels - 1) / panels;
  const int64_t strand = packed ? part * depth : line, step = packed ? part : q.plain_b_row,
                strands = packed ? (S::cols + part - 1) / part : S::cols / line + 1;
  const bool streaming = packed && streams<Ops, Arch>(i1 - i0);
  // Two panels at once are two streams, which are slower when memory is the bottleneck.
  const bool near = !packed || q.n * q.depth * static_cast<int64_t>(sizeof(Cell)) <= cache_bytes::l3 / 2;
  const int64_t joined = joins_panels<Ops, Arch> && i1 - i0 <= 2 && near ? 2 * S::cols : S::cols;
  constexpr bool exceeds = may_exceed<Ops>;
  [[maybe_unused]] alignas(64) Cell excess_a[exceeds ? S::rows * S::depth : 1];
  [[maybe_unused]] alignas(64) Out excess_sums[exceeds ? S::rows * S::cols : 1];
  int64_t width = 0;
  for (int64_t j = j0; j < j1; j += width) {
    width = j1 - j < joined ? S::cols : joined;
    const int64_t cols = std::min(width, j1 - j);
    const Cell* b_panel = plain_b ? b + (j - j0) : b + (j - j0) * depth;
    operands.b = b_panel;
    const int64_t ragged = cols % L;
    const bool narrow =
        narrow_fits<Ops, Arch> && ragged != 0 && ragged <= 3 && !(exceeds && q.excess.lists != 0);
    const int vectors = static_cast<int>(narrow ? cols / L : (cols + L - 1) / L);
    const bool whole_vectors = ragged == 0 || narrow;
    const Cell* ahead = next;
    if (streaming) ahead = nullptr;
    else if (!packed && !plain_b) ahead = next == nullptr ? nullptr : next + (j - j0);
    else if (j + width < j1) ahead = b_panel + width * (packed ? depth : 1);
    [[maybe_unused]] Excess excess;
    if constexpr (exceeds) {
      const int64_t blocks = (q.depth + S::depth - 1) / S::depth;
      excess = Excess(q.excess, j / S::cols * blocks + p0 / S::depth, S::cols);
    }
    int64_t rows = 0, tile = 0, fetched = 0;
    for (int64_t i = i0; i < i1 && vectors > 0; i += rows) {
      rows = std::min<int64_t>(S::rows, i1 - i);
      if (plain_a && !exact_tile(rows)) --rows;
      operands.a = a + (i - i0) * a_pitch;
      const bool fetches = ahead != nullptr && fetched < strands && fetched * panels <= tile++ * strands;
      operands.ahead = fetches ? ahead + fetched++ * strand : b_panel;
      operands.ahead_step = fetches ? step : 0;
      end.c = q.c + i * q.c_row + j;
      end.add = add == nullptr ? nullptr : add + i * end.add_row + j;
      end.row_bias = last && f.row_bias != nullptr ? f.row_bias + i : nullptr;
      end.col_bias = last && f.col_bias != nullptr ? f.col_bias + j : nullptr;
      end.raw = direct && whole_vectors && exact_tile(rows) ? nullptr : raw;
      tile_for<Ops, Arch>(rows, vectors)(depth, operands, end);
      if constexpr (exceeds) {
        if (excess.count > 0) {
          excess.gather<S::rows>(operands.a, excess_a);
          TileEnd<Out> rest = end;
          rest.add = end.c, rest.add_row = end.c_row, rest.row_bias = nullptr, rest.col_bias = nullptr;
          if (end.raw != nullptr) rest.raw = excess_sums;
          tile_for<Ops, Arch>(rows, vectors)(
              excess.count, {excess_a, 1, S::rows, excess.cells, S::cols, 0, excess_a, 0}, rest);
          if (end.raw != nullptr)
            for (int64_t e = 0; e < S::rows * vectors * L; ++e) raw[e] += excess_sums[e];
        }
      }
      if (end.raw != nullptr)
        finish_sums<Arch>(raw, vectors * L, rows, narrow ? vectors * L : cols, i, j, f, first, last, q.c,
                          q.c_row);
    }
    if constexpr (narrow_fits<Ops, Arch>) {
      for (int64_t i = i0; narrow && i < i1; i += narrow_panels * S::rows) {
        const int64_t count = std::min<int64_t>(narrow_panels * S::rows, i1 - i);
        const int64_t groups = (count + S::rows - 1) / S::rows, at = j + vectors * L;
        const Cell* a_panels = a + (i - i0) * depth;
        const Cell* b_cols = b_panel + vectors * L;
        switch (ragged) {
          case 1: compute_narrow<Ops, Arch, 1>(depth, a_panels, groups, b_cols, operands.b_step, raw); break;
          case 2: compute_narrow<Ops, Arch, 2>(depth, a_panels, groups, b_cols, operands.b_step, raw); break;
          default: compute_narrow<Ops, Arch, 3>(depth, a_panels, groups, b_cols, operands.b_step, raw); break;
        }
        finish_sums<Arch>(raw, ragged, count, ragged, i, at, f, first, last, q.c, q.c_row);
      }
    }
  }
}

/// compute_rows on a few rows of A at a time. If C does not fit into the second-level cache, rows are few
/// enough that the columns of each follow in quick succession, which the hardware detects and prefetches. If
/// a panel of B does not stay in the first-level cache, the rows do. Trailing rows that join panels are
/// processed separately.
template <class Ops, class Arch, class P>
void compute_block(const P& q, int64_t i0, int64_t i1, int64_t j0, int64_t j1, int64_t p0, int64_t depth,
                   const typename Ops::Cell* a, bool plain_a, const typename Ops::Cell* b, bool plain_b,
                   const typename Ops::Cell* next) {
  using S = Tile<Ops, Arch>;
  constexpr auto out_bytes = static_cast<int64_t>(sizeof(typename Ops::Out)),
                 cell_bytes = static_cast<int64_t>(sizeof(typename Ops::Cell));
  // Deep blocks of a packed B come from memory, and are read once for all rows.
  const bool stay =
      j1 - j0 < 2 * S::cols || (q.packed_b != nullptr && depth * cell_bytes > 768) ||
      (q.m * q.n * out_bytes <= cache_bytes::l2 && depth * S::cols * cell_bytes <= cache_bytes::l1 / 4 * 3);
  const int64_t some = (stay ? 256 : 32) / S::rows * S::rows;
  const int64_t a_row = plain_a ? q.plain_a_row : depth;
  int64_t few = 0;
  if constexpr (joins_panels<Ops, Arch>) {
    few = (i1 - i0) % S::rows;
    if (few > 2) few = !plain_a ? 0 : few == 3 ? 3 : few % 2;
    // A B that comes from memory must be prefetched continuously, by all rows.
    if (q.packed_b != nullptr && q.n * q.depth * cell_bytes > cache_bytes::l2 && i1 - i0 > 2 &&
        i1 - i0 <= 2 * S::rows)
      few = 0;
  }
  int64_t rows = 0;
  for (int64_t i = i0; i < i1; i += rows) {
    rows = i < i1 - few ? std::min(some, i1 - few - i) : std::min<int64_t>(i1 - i, 2);
    // The first rows prefetch the next block: the last ones may have too few tiles for it.
    compute_rows<Ops, Arch>(q, i, i + rows, j0, j1, p0, depth, a + (i - i0) * a_row, plain_a, b, plain_b,
                            i == i0 ? next : nullptr);
  }
}

/// C of rows [i0, i1), columns [j0, j1), which begin at whole panels. Blocks are sized for the second-level
/// cache: a block of B is read once per panel of A, and A's whole chunk once per block of B. A chunk
/// is as large as that cache if B is packed in advance, and larger if B would be packed for each chunk.
template <class Ops, class Arch, class P>
void compute_range(const P& q, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  using Cell = typename Ops::Cell;
  using S = Tile<Ops, Arch>;
  constexpr auto cell_bytes = static_cast<int64_t>(sizeof(Cell));
  constexpr bool packs_rows = !Ops::rare && requires { q.pack_b.rows(); };
  const int64_t block = block_depth<Ops, Arch>(q.depth);
  const int64_t block_cols = q.packed_b != nullptr && streams<Ops, Arch>(i1 - i0)
                                 ? j1 - j0
                                 : 6144 / (std::clamp<int64_t>(q.depth, 1, block) * cell_bytes) * S::cols;
  const int64_t chunk_cells = (q.packed_b != nullptr ? cache_bytes::l2 : 4 * cache_bytes::l2) / cell_bytes;
  const int64_t padded_m = (q.m + S::rows - 1) / S::rows * S::rows;
  const int64_t padded_n = (q.n + S::cols - 1) / S::cols * S::cols;
  // Packing A pays if it is read for more than 16 panels of B.
  const bool plain_a = q.plain_a != nullptr && j1 - j0 <= 16 * S::cols,
             packs_a = q.packed_a == nullptr && !plain_a;
  const int64_t k_chunk = packs_a ? std::min(q.depth, 16 * block) : q.depth;
  int64_t m_chunk = i1 - i0;
  if (packs_a && k_chunk > 0) {
    const int64_t fitting = std::max<int64_t>(chunk_cells / k_chunk, 256) / S::rows * S::rows;
    m_chunk = std::min(m_chunk, fitting);
  }
  Scratch scratch;
  Cell* a_space = packs_a ? scratch.take<Cell>(packed_size(m_chunk, S::rows, k_chunk)) : nullptr;
  Cell* b_space = nullptr;
  if (q.packed_b == nullptr)
    b_space = scratch.take<Cell>(
        packed_size(std::min(block_cols, j1 - j0), S::cols, std::min(q.depth, block)) + lanes<Cell, Arch>);
  for (int64_t i = i0; i < i1; i += m_chunk) {
    const int64_t i_end = std::min(i + m_chunk, i1);
    int64_t k0 = 0;
    do {
      const int64_t k_end = std::min(k0 + k_chunk, q.depth);
      if (packs_a)
        for (int64_t p = k0; p < k_end; p += block) {
          const int64_t depth = std::min(block, k_end - p);
          Cell* to = a_space + packed_size(i_end - i, S::rows, p - k0);
          for (int64_t r = i; r < i_end; r += S::rows)
            q.pack_a(r, std::min<int64_t>(S::rows, i_end - r), p, depth, to + (r - i) * depth);
        }
      for (int64_t j = j0; j < j1; j += block_cols) {
        const int64_t j_end = std::min(j + block_cols, j1);
        int64_t p = k0;
        do {
          const int64_t depth = std::min(block, k_end - p);
          const Cell* a = packs_a   ? a_space + packed_size(i_end - i, S::rows, p - k0)
                          : plain_a ? q.plain_a + i * q.plain_a_row + p
                                    : q.packed_a + p * padded_m + i * depth;
          // The block of B that comes next. After these columns it belongs to the thread's next task.
          const int64_t next_p = p + depth < k_end ? p + depth : k0, next_j = p + depth < k_end ? j : j_end;
          if (q.packed_b != nullptr) {
            const auto packed = [&](int64_t at, int64_t column) {
              return q.packed_b + at * padded_n + column * std::min(block, k_end - at);
            };
            compute_block<Ops, Arch>(q, i, i_end, j, j_end, p, depth, a, plain_a, packed(p, j), false,
                                     next_j < q.n ? packed(next_p, next_j) : nullptr);
          } else {
            const Cell* rows = q.plain_b;
            if constexpr (packs_rows)
              if (rows == nullptr) rows = q.pack_b.rows();
            const Cell* next =
                rows != nullptr && next_j < q.n ? rows + next_p * q.plain_b_row + next_j : nullptr;
            // Unpacked B is read by whole vectors only; the columns past the last whole vector are packed.
            int64_t j_plain = j;
            if (q.plain_b != nullptr) j_plain = j + (j_end - j) / lanes<Cell, Arch> * lanes<Cell, Arch>;
            int64_t t = j_plain;
            if constexpr (packs_rows)
              if (rows != nullptr && q.plain_b == nullptr) {
                t = j + (j_end - j) / S::cols * S::cols;
                pack_rows<Arch, S::cols>(rows + p * q.plain_b_row + j, q.plain_b_row, t - j, depth, b_space);
              }
            for (; t < j_end; t += S::cols)
              q.pack_b(t, std::min<int64_t>(S::cols, j_end - t), p, depth, b_space + (t - j_plain) * depth);
            if (j_plain > j)
              compute_block<Ops, Arch>(q, i, i_end, j, j_plain, p, depth, a, plain_a,
                                       q.plain_b + p * q.plain_b_row + j, true, next);
            if (j_end > j_plain)
              compute_block<Ops, Arch>(q, i, i_end, j_plain, j_end, p, depth, a, plain_a, b_space, false,
                                       q.plain_b != nullptr ? nullptr : next);
          }
          p += depth;
        } while (p < k_end);
      }
      k0 = k_end;
    } while (k0 < q.depth);
  }
}

/// How C is cut into tasks: rows and columns per task, in whole panels.
struct Cut {
  int64_t rows, cols;
  int64_t down, across;
  double cost;
};

/// The grain of a loop over `count` rows or columns that takes `size` multiply-adds in total: equal shares
/// for the threads, or a single call if that is all they are worth. A multiple of `step` above `least`.
template <class Arch>
int64_t share_of(int64_t count, int64_t size, int64_t least, int64_t step) {
  const int64_t threads = threads_at_hand();
  // 65536 multiply-adds of numbers that are read once take two microseconds, several times the overhead of a
  // share.
  int64_t parts = std::min({size >> 16, count / least, 4 * threads});
  if (threads == 1 || parts <= 1) return count;
  if (parts > threads) parts -= parts % threads;
  return ((count + parts - 1) / parts + step - 1) / step * step;
}

/// Calls f(item, begin, end) for parts of the `count` rows or columns of each of `items` products of `size`
/// multiply-adds, in parallel if that pays. Only if there are few products are they cut, as in share_of.
template <class Arch, class F>
void for_shares(int64_t items, int64_t count, int64_t size, int64_t least, int64_t step, const F& f) {
  const int64_t threads = threads_at_hand();
  const int64_t tasks = threads == 1 ? 1 : std::clamp<int64_t>(size * items >> 16, 1, 4 * threads);
  const int64_t share = items < tasks ? share_of<Arch>(count, size, least, step) : count;
  const int64_t parts = (count + share - 1) / share;
  parallel_for(items * parts, (items * parts + tasks - 1) / tasks, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t from = t % parts * share;
      f(t / parts, from, std::min(from + share, count));
    }
  });
}

/// Cuts each of `items` products so that `threads` finish soonest, into at most about `tasks` tasks per
/// product. A task packs its rows of A and its columns of B, unless that operand is packed already.
template <class Arch>
Cut cut_for(int64_t m, int64_t n, int64_t panel_rows, int64_t panel_cols, bool packs_a, bool packs_b,
            int64_t items, int64_t tasks, int64_t threads) {
  const int64_t row_panels = (m + panel_rows - 1) / panel_rows,
                col_panels = (n + panel_cols - 1) / panel_cols;
  // Costs in units of one multiply-add for each cell of K: packing a number costs about 16, reading a packed
  // number again about 8.
  const double a_cost = packs_a ? 16 : 8, b_cost = packs_b ? 16 : 8;
  Cut best{};
  for (int64_t down = 1; down <= tasks && down <= row_panels; ++down) {
    for (int64_t across = 1; down * across <= tasks && across <= col_panels; ++across) {
      const int64_t rows = (row_panels + down - 1) / down * panel_rows;
      const int64_t cols = (col_panels + across - 1) / across * panel_cols;
      const int64_t most_rows = std::min(rows, m), most_cols = std::min(cols, n);
      const double all = (static_cast<double>(m) * static_cast<double>(n) +
                          a_cost * static_cast<double>(m * across) + b_cost * static_cast<double>(n * down)) *
                         static_cast<double>(items);
      const double largest = static_cast<double>(most_rows) * static_cast<double>(most_cols) +
                             a_cost * static_cast<double>(rows) + b_cost * static_cast<double>(cols);
      // Threads of equal speed run rounds of tasks. A few trailing columns need no round of their own, but
      // cost half a panel. In the worst case the last task begins when the threads have done equal shares of
      // the other work.
      const bool few = n % most_cols > 0 && n % most_cols < most_cols / 4;
      const int64_t full =
          items * ((m + most_rows - 1) / most_rows) * (n / most_cols + (n % most_cols > 0 && !few));
      const int64_t rounds = (full + threads - 1) / threads;
      const double share = all / static_cast<double>(threads);
      const double rest = few ? static_cast<double>(most_rows * panel_cols / 2) : 0;
      const double equal = std::max(largest * static_cast<double>(rounds) + rest, share);
      const double worst = share + largest * static_cast<double>(threads - 1) / static_cast<double>(threads);
      const double cost = (equal + worst) / 2;
      if (best.down == 0 || cost < best.cost)
        best = {rows, cols, (row_panels * panel_rows + rows - 1) / rows,
                (col_panels * panel_cols + cols - 1) / cols, cost};
    }
  }
  return best;
}

/// How many copies of B, of `cells` each and `most` in total, are worth packing for one product of `m` rows.
/// Threads that each pack a part and read all parts move B between caches, both when writing and when reading
/// it. That takes longer than packing it again if the caches are far from each other.
template <class Arch>
int64_t b_copies(int64_t m, int64_t cells, int64_t most) {
  const int64_t threads = threads_at_hand();
  return m >= 256 * (threads - 1) && cells <= most / threads ? threads : 1;
}

/// Runs `items` products with the extents of `shape`, which is the first; product(i) creates the i-th.
template <class Ops, class Arch, class P, class MakeProduct>
void run_products(const P& shape, int64_t items, const MakeProduct& product) {
  using S = Tile<Ops, Arch>;
  using Cell = typename Ops::Cell;
  // Tile registers do more in the same time.
  constexpr double task_size =
      (requires { typename Ops::Unit; } ? 4 : Ops::per_cell) * task_work::tile_products;
  const int64_t threads = threads_at_hand();
  int64_t tasks = 1;
  if (threads > 1) {
    // With few rows the time is spent reading B.
    const double size = static_cast<double>(std::max<int64_t>(shape.m, 8)) * static_cast<double>(shape.n) *
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
  const bool packs_a = shape.packed_a == nullptr && shape.plain_a == nullptr,
             packs_b = shape.packed_b == nullptr && shape.plain_b == nullptr;
  Cut cut = cut_for<Arch>(shape.m, shape.n, S::rows, S::cols, packs_a, packs_b, items, each, threads);
  // If C has few columns, several tasks share them and would each pack the same B. Therefore all threads pack
  // B first, each all of it or a part.
  const int64_t col_panels = (shape.n + S::cols - 1) / S::cols;
  const int64_t b_cells = packed_size(shape.n, S::cols, shape.depth);
  constexpr int64_t most_cells = cache_bytes::l3 / 4 / static_cast<int64_t>(sizeof(Cell));
  Scratch scratch;
  Cell* packed_b = nullptr;
  int64_t copies = shape.b_copies;
  if (packs_b && cut.down > 1 && b_cells <= most_cells / items) {
    const Cut shared =
        cut_for<Arch>(shape.m, shape.n, S::rows, S::cols, packs_a, false, items, each, threads);
    const int64_t own = items == 1 ? b_copies<Arch>(shape.m, b_cells, most_cells) : 1;
    const double packing = 24.0 * static_cast<double>(shape.n * items * own) / static_cast<double>(threads);
    if (shared.cost + packing < cut.cost) {
      cut = shared;
      copies = own;
      packed_b = scratch.take<Cell>(b_cells * items * copies + lanes<Cell, Arch>);
      const int64_t block = block_depth<Ops, Arch>(shape.depth), blocks = (shape.depth + block - 1) / block;
      parallel_for(copies * items * blocks * col_panels, 1, [&](int64_t begin, int64_t end) {
        // pack_b may overwrite a vector past its panel, and another thread may have written there.
        Scratch of_thread;
        Cell* panel = of_thread.take<Cell>(S::cols * block + lanes<Cell, Arch>);
        for (int64_t t = begin; t < end; ++t) {
          const int64_t image = t / (blocks * col_panels), p = t / col_panels % blocks * block;
          const int64_t j = t % col_panels * S::cols, depth = std::min(block, shape.depth - p);
          product(image % items).pack_b(j, std::min<int64_t>(S::cols, shape.n - j), p, depth, panel);
          std::copy_n(panel, S::cols * depth,
                      packed_b + image * b_cells + packed_size(shape.n, S::cols, p) + j * depth);
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
      const int64_t image = copies > 1 ? t * copies / parts : t / parts;  // copies are of one item
      if (packed_b != nullptr) own.packed_b = packed_b + image * b_cells;
      else if (copies > 1) own.packed_b += image * own.b_copy_cells;
      compute_range<Ops, Arch>(own, i, std::min(i + cut.rows, shape.m), j, std::min(j + cut.cols, shape.n));
    }
  });
}

/// The offset of item `index` of a batch with strides `strides` (nullptr: all items share the operand).
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

}  // namespace tenon::TENON_ABI::kernels::gemm_detail
