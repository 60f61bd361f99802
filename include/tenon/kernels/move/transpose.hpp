// Copies between strided layouts: transpose, and the copies of slice, concat, split, pad, tile and expand.
// Elements are moved as blocks of 1, 2, 4, 8 or 16 bytes; the templates at the end take types that only
// assignment can move.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/inline_vector.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/simd/arch.hpp"
#include "tenon/simd/copy.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::kernels {

/// Serial body, in transpose_impl.hpp: to[j * to_row + i * bytes] = from[i * from_row + j * bytes] for blocks
/// of 1, 2, 4 or 8 bytes, i < rows, j < columns. Row strides are in bytes.
template <class Arch, std::size_t bytes>
void turn_impl(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows, int64_t columns);

namespace detail {

/// A copy as a loop nest: axes of extent 1 dropped, the destination's largest strides outermost, neighbours
/// that both sides walk as one merged. Strides in elements.
struct CopyPlan {
  int rank = 0;
  int64_t size = 1;
  int64_t extents[max_rank] = {}, to[max_rank] = {}, from[max_rank] = {};

  constexpr void swap_axes(int d, int e) {
    for (int64_t* values : {extents, to, from}) {
      const int64_t value = values[d];
      values[d] = values[e];
      values[e] = value;
    }
  }
};

constexpr int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

constexpr CopyPlan copy_plan(const int64_t* to, const int64_t* from, const int64_t* extents, int rank) {
  CopyPlan plan;
  for (int d = 0; d < rank; ++d) {
    plan.size *= extents[d];
    if (extents[d] == 1) continue;
    const int last = plan.rank++;
    plan.extents[last] = extents[d];
    plan.to[last] = to[d];
    plan.from[last] = from[d];
    for (int e = last; e > 0 && magnitude(plan.to[e]) > magnitude(plan.to[e - 1]); --e)
      plan.swap_axes(e, e - 1);
  }
  int merged = 0;
  for (int d = 1; d < plan.rank; ++d) {
    if (plan.to[merged] == plan.to[d] * plan.extents[d] &&
        plan.from[merged] == plan.from[d] * plan.extents[d]) {
      plan.extents[merged] *= plan.extents[d];
    } else {
      ++merged;
      plan.extents[merged] = plan.extents[d];
    }
    plan.to[merged] = plan.to[d];
    plan.from[merged] = plan.from[d];
  }
  if (plan.rank > 0) plan.rank = merged + 1;
  return plan;
}

// Calls f(to, from) for the outer axes [0, axes) of the plan at the linear indices [begin, end).
template <class F>
constexpr void for_each_outer(const CopyPlan& plan, int axes, int64_t begin, int64_t end, F&& f) {
  int64_t index[max_rank] = {}, to = 0, from = 0;
  for (int64_t rest = begin, d = axes; d-- > 0; rest /= plan.extents[d]) {
    index[d] = rest % plan.extents[d];
    to += index[d] * plan.to[d];
    from += index[d] * plan.from[d];
  }
  for (int64_t i = begin; i < end; ++i) {
    f(to, from);
    for (int d = axes - 1; d >= 0; --d) {
      to += plan.to[d];
      from += plan.from[d];
      if (++index[d] < plan.extents[d]) break;
      to -= index[d] * plan.to[d];
      from -= index[d] * plan.from[d];
      index[d] = 0;
    }
  }
}

inline constexpr int64_t copy_bytes = task_work::bytes;  // per task, approximately

/// Copies rows of [part, 2 part] bytes: their first `part` bytes, and their last. A copy of a length known at
/// compile time needs no call.
template <int64_t part>
void copy_short_rows(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows,
                     int64_t bytes) {
  const int64_t last = bytes - part;
  if (last == 0) {
    for (; rows > 0; --rows, to += to_step, from += from_step) std::memcpy(to, from, part);
  } else {
    for (; rows > 0; --rows, to += to_step, from += from_step) {
      std::memcpy(to, from, part);
      std::memcpy(to + last, from + last, part);
    }
  }
}

/// Copies rows of `bytes` bytes each, which start to_step and from_step bytes apart.
inline void copy_rows(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows,
                      int64_t bytes) {
  const auto short_rows = [&]<int64_t part>(std::integral_constant<int64_t, part>) {
    copy_short_rows<part>(to, to_step, from, from_step, rows, bytes);
  };
  using std::integral_constant;
  switch (std::bit_width(static_cast<uint64_t>(bytes))) {
    case 0: return;
    case 1: return short_rows(integral_constant<int64_t, 1>{});
    case 2: return short_rows(integral_constant<int64_t, 2>{});
    case 3: return short_rows(integral_constant<int64_t, 4>{});
    case 4: return short_rows(integral_constant<int64_t, 8>{});
    case 5: return short_rows(integral_constant<int64_t, 16>{});
    case 6: return short_rows(integral_constant<int64_t, 32>{});
    case 7: return short_rows(integral_constant<int64_t, 64>{});
    case 8: return short_rows(integral_constant<int64_t, 128>{});
  }
  for (; rows > 0; --rows, to += to_step, from += from_step)
    simd::copy(to, from, static_cast<std::size_t>(bytes));
}

template <class T>
struct ElementMover {
  T* to;
  const T* from;
  static constexpr int64_t size = sizeof(T);
  void row(int64_t t, int64_t t_step, int64_t f, int64_t f_step, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) to[t + i * t_step] = from[f + i * f_step];
  }
};

template <std::size_t bytes>
struct BlockMover {
  char* to;
  const char* from;
  static constexpr int64_t size = bytes;

  void row(int64_t t, int64_t t_step, int64_t f, int64_t f_step, int64_t n) const {
    if (t_step == 1 && f_step == 1) {
      simd::copy(to + t * size, from + f * size, static_cast<std::size_t>(n) * bytes);
    } else if (f_step == 0) {
      char block[bytes];
      std::memcpy(block, from + f * size, bytes);
      int64_t i = 0;
      if (t_step == 1 && n >= 16 / size) {
        Four four{};
        for (std::size_t k = 0; k < 16; k += bytes)
          std::memcpy(reinterpret_cast<char*>(&four) + k, block, bytes);
        for (; i + 64 / size <= n; i += 64 / size)
          for (int64_t k = 0; k < 64; k += 16) std::memcpy(to + (t + i) * size + k, &four, 16);
        for (; i + 16 / size <= n; i += 16 / size) store(t + i, four);
      }
      for (; i < n; ++i) std::memcpy(to + (t + i * t_step) * size, block, bytes);
    } else {
      int64_t i = 0;
      if constexpr (bytes == 4)
        // The second of two loads ends with the last element wanted.
        for (; t_step == 1 && f_step == 2 && i + 4 <= n; i += 4)
          store(t + i, simd::shuffle<0, 2, 5, 7>(load(f + 2 * i), load(f + 2 * i + 3)));
      for (; i < n; ++i) one(t + i * t_step, f + i * f_step);
    }
  }

  void rows(int64_t t, int64_t t_step, int64_t f, int64_t f_step, int64_t rows, int64_t n) const {
    copy_rows(to + t * size, t_step * size, from + f * size, f_step * size, rows, n * size);
  }

  void fetch(int64_t t, int64_t f) const {
    TENON_PREFETCH(to + t * size, 1, 3), TENON_PREFETCH(from + f * size, 0, 3);
  }

  // to[t + i + j * t_step] = from[f + i * f_step + j], i < ni, j < nj
  void tile(int64_t t, int64_t t_step, int64_t f, int64_t f_step, int64_t ni, int64_t nj) const {
    if constexpr (bytes < 16) {
      simd::dispatch([&]<class Arch>(Arch) {
        turn_impl<Arch, bytes>(to + t * size, t_step * size, from + f * size, f_step * size, ni, nj);
      });
    } else {
      for (int64_t j = 0; j < nj; ++j)
        for (int64_t i = 0; i < ni; ++i) one(t + i + j * t_step, f + i * f_step + j);
    }
  }

 private:
  using Four = simd::Vector<uint32_t, 4>;

  Four load(int64_t f) const {
    Four v;
    std::memcpy(&v, from + f * size, sizeof v);
    return v;
  }
  template <class V>
  void store(int64_t t, const V& v) const {
    std::memcpy(to + t * size, &v, sizeof v);
  }

  void one(int64_t t, int64_t f) const { std::memcpy(to + t * size, from + f * size, bytes); }
};

// Moves axes i and j in tiles: the destination is contiguous along i, the source along j.
template <class Mover>
void copy_tiles(CopyPlan plan, int j, const Mover& move) {
  const int i = plan.rank - 1;
  if (j != i - 1) {
    // for_each_outer walks the axes before these two.
    for (int d = j; d < i - 1; ++d) plan.swap_axes(d, d + 1);
    j = i - 1;
  }
  // A strip that stays in the second-level cache on both sides; long if one side is short.
  const int64_t strip_i = plan.extents[j] < 8 ? 1024 : 256, strip_j = plan.extents[i] < 8 ? 1024 : 64;
  const int64_t pieces_i = (plan.extents[i] + strip_i - 1) / strip_i;
  const int64_t pieces_j = (plan.extents[j] + strip_j - 1) / strip_j, pieces = pieces_i * pieces_j;
  const int64_t outer = plan.size / (plan.extents[i] * plan.extents[j]);
  const auto least = [](int64_t a, int64_t b) { return a < b ? a : b; };
  const int64_t bytes = least(strip_i, plan.extents[i]) * least(strip_j, plan.extents[j]) * Mover::size;
  parallel_for(outer * pieces, bytes >= copy_bytes ? 1 : copy_bytes / bytes, [&](int64_t begin, int64_t end) {
    if (pieces == 1)
      return for_each_outer(plan, j, begin, end, [&](int64_t to, int64_t from) {
        move.tile(to, plan.to[j], from, plan.from[i], plan.extents[i], plan.extents[j]);
      });
    for (int64_t at = begin; at < end;) {
      const int64_t stop = least(end, at / pieces * pieces + pieces);
      for_each_outer(plan, j, at / pieces, at / pieces + 1, [&](int64_t to, int64_t from) {
        for (; at < stop; ++at) {
          const int64_t i0 = at % pieces % pieces_i * strip_i, j0 = at % pieces / pieces_i * strip_j;
          move.tile(to + i0 + j0 * plan.to[j], plan.to[j], from + i0 * plan.from[i] + j0, plan.from[i],
                    least(strip_i, plan.extents[i] - i0), least(strip_j, plan.extents[j] - j0));
        }
      });
    }
  });
}

// Makes the last loop over rows, of `row_bytes`, run along an axis of few rows that are close together in the
// source, if the plan has one of many that are far apart. The few are then streams that the hardware
// prefetches; more of them would collide in the same sets of a cache.
constexpr void walk_source(CopyPlan& plan, int64_t row_bytes) {
  const int many = plan.rank - 2, few = plan.rank - 3;
  if (few >= 0 && row_bytes >= 128 && plan.extents[few] <= 8 && plan.extents[few] < plan.extents[many] &&
      plan.from[few] != 0 && magnitude(plan.from[few]) < magnitude(plan.from[many]))
    plan.swap_axes(few, many);
}

template <class Mover>
void run_copy(CopyPlan plan, const Mover& move) {
  if (plan.size == 0) return;
  if (plan.rank == 0) return move.row(0, 1, 0, 1, 1);
  const int inner = plan.rank - 1;
  if constexpr (requires { &Mover::tile; }) {
    if (plan.to[inner] == 1 && plan.from[inner] != 1 && plan.from[inner] != 0)
      for (int j = 0; j < inner; ++j)
        if (plan.from[j] == 1) return copy_tiles(plan, j, move);
  }
  const int64_t n = plan.extents[inner], row_bytes = n * Mover::size;
  walk_source(plan, row_bytes);
  const int64_t to_step = plan.to[inner], from_step = plan.from[inner];
  if (row_bytes > 2 * copy_bytes) {
    constexpr int64_t piece = copy_bytes / Mover::size;
    const int64_t pieces = (n + piece - 1) / piece;
    parallel_for(plan.size / n * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for_each_outer(plan, inner, i / pieces, i / pieces + 1, [&](int64_t to, int64_t from) {
          const int64_t first = i % pieces * piece;
          move.row(to + first * to_step, to_step, from + first * from_step, from_step,
                   std::min(piece, n - first));
        });
    });
    return;
  }
  // A row of few bytes takes as long as a cache line.
  const int64_t grain = copy_bytes / (row_bytes < 64 ? 64 : row_bytes) + 1;
  if constexpr (requires { &Mover::rows; })
    if (to_step == 1 && from_step == 1 && inner > 0) {
      const int along = inner - 1;
      const int64_t many = plan.extents[along];
      return parallel_for(plan.size / n, grain, [&](int64_t begin, int64_t end) {
        while (begin < end) {
          const int64_t o = begin / many, first = begin % many;
          // The rows of a part of the axis, or all rows of several outer indices.
          const bool whole = first == 0 && end - begin >= many;
          const int64_t stop = whole ? end / many : o + 1,
                        rows = whole ? many : std::min(many - first, end - begin);
          for_each_outer(plan, along, o, stop, [&](int64_t to, int64_t from) {
            move.rows(to + first * plan.to[along], plan.to[along], from + first * plan.from[along],
                      plan.from[along], rows, n);
          });
          begin += (stop - o) * rows;
        }
      });
    }
  parallel_for(plan.size / n, grain, [&](int64_t begin, int64_t end) {
    for_each_outer(plan, inner, begin, end,
                   [&](int64_t to, int64_t from) { move.row(to, to_step, from, from_step, n); });
  });
}

struct TransposeStrides {
  int64_t to[max_rank] = {}, from[max_rank] = {}, extents[max_rank] = {};
};

constexpr TransposeStrides transpose_strides(std::span<const int64_t> extents,
                                             std::span<const int64_t> permutation) {
  TransposeStrides s;
  int64_t source[max_rank] = {}, step = 1;
  for (std::size_t d = extents.size(); d-- > 0; step *= extents[d]) source[d] = step;
  step = 1;
  for (std::size_t d = extents.size(); d-- > 0; step *= s.extents[d]) {
    const auto axis = static_cast<std::size_t>(permutation[d]);
    s.extents[d] = extents[axis];
    s.from[d] = source[axis];
    s.to[d] = step;
  }
  return s;
}

}  // namespace detail

/// to[sum of index[d] * to_strides[d]] = from[sum of index[d] * from_strides[d]] for all indices below
/// `extents`. Strides count elements and may be negative or, of `from`, 0. Elements of `to` must not overlap
/// one another or `from`. element_size: 1, 2, 4, 8 or 16 bytes.
inline void copy_strided(void* to, const int64_t* to_strides, const void* from, const int64_t* from_strides,
                         const int64_t* extents, int rank, std::size_t element_size) {
  const detail::CopyPlan plan = detail::copy_plan(to_strides, from_strides, extents, rank);
  char* t = static_cast<char*>(to);
  const char* f = static_cast<const char*>(from);
  switch (element_size) {
    case 1: return detail::run_copy(plan, detail::BlockMover<1>{t, f});
    case 2: return detail::run_copy(plan, detail::BlockMover<2>{t, f});
    case 4: return detail::run_copy(plan, detail::BlockMover<4>{t, f});
    case 8: return detail::run_copy(plan, detail::BlockMover<8>{t, f});
    case 16: return detail::run_copy(plan, detail::BlockMover<16>{t, f});
  }
}

/// The same by assignment, for strings and similar types.
template <class T>
void copy_strided(T* to, const int64_t* to_strides, const T* from, const int64_t* from_strides,
                  const int64_t* extents, int rank) {
  detail::run_copy(detail::copy_plan(to_strides, from_strides, extents, rank),
                   detail::ElementMover<T>{to, from});
}

/// Axis d of the dense result is axis permutation[d] of the dense source of these extents.
inline void transpose(void* to, const void* from, std::span<const int64_t> extents,
                      std::span<const int64_t> permutation, std::size_t element_size) {
  const auto s = detail::transpose_strides(extents, permutation);
  copy_strided(to, s.to, from, s.from, s.extents, static_cast<int>(extents.size()), element_size);
}

/// The same by assignment.
template <class T>
void transpose(T* to, const T* from, std::span<const int64_t> extents, std::span<const int64_t> permutation) {
  const auto s = detail::transpose_strides(extents, permutation);
  copy_strided(to, s.to, from, s.from, s.extents, static_cast<int>(extents.size()));
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/move/transpose_impl.hpp"
#endif
