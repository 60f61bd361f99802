// Copies between strided layouts: transpose, and what slice, concat, split, pad, tile and expand are made of.
// Elements are moved as blocks of 1, 2, 4, 8 or 16 bytes; the templates at the end take types that only
// assignment can move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tenon/base/inline_vector.hpp"
#include "tenon/base/parallel.hpp"

namespace tenon::kernels {

namespace detail {

/// A copy as a loop nest: axes of extent 1 dropped, the greatest steps of the destination outermost,
/// neighbours that both sides walk as one merged. Steps in elements.
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

inline constexpr int64_t copy_bytes = 1 << 17;  // a task moves about so many

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
      std::memcpy(to + t * size, from + f * size, static_cast<std::size_t>(n) * bytes);
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(to + (t + i * t_step) * size, from + (f + i * f_step) * size, bytes);
  }
};

template <class Mover>
void run_copy(const CopyPlan& plan, Mover move) {
  if (plan.size == 0) return;
  if (plan.rank == 0) return move.row(0, 1, 0, 1, 1);
  const int inner = plan.rank - 1;
  const int64_t n = plan.extents[inner], rows = plan.size / n;
  const int64_t row_bytes = n * Mover::size;
  parallel_for(rows, row_bytes >= copy_bytes ? 1 : copy_bytes / row_bytes, [&](int64_t begin, int64_t end) {
    for_each_outer(plan, inner, begin, end, [&](int64_t to, int64_t from) {
      move.row(to, plan.to[inner], from, plan.from[inner], n);
    });
  });
}

struct TransposeStrides {
  int64_t to[max_rank] = {}, from[max_rank] = {}, extents[max_rank] = {};
};

constexpr TransposeStrides transpose_strides(std::span<const int64_t> extents,
                                             std::span<const int64_t> permutation) {
  TransposeStrides s;
  int64_t source[max_rank] = {}, step = 1;
  const int rank = static_cast<int>(extents.size());
  for (int d = rank; d-- > 0; step *= extents[d]) source[d] = step;
  step = 1;
  for (int d = rank; d-- > 0; step *= s.extents[d]) {
    s.extents[d] = extents[permutation[d]];
    s.from[d] = source[permutation[d]];
    s.to[d] = step;
  }
  return s;
}

}  // namespace detail

/// to[sum of index[d] * to_strides[d]] = from[sum of index[d] * from_strides[d]] for all indices below
/// `extents`. Strides count elements and may be negative or, of `from`, 0. Elements of `to` must not coincide
/// with one another or with `from`. element_size: 1, 2, 4, 8 or 16 bytes.
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

/// The same by assignment, for strings and the like.
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

}  // namespace tenon::kernels
