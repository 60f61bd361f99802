// Resampling along the axes of a dense tensor, one after another, and the selection of elements by an index
// per axis. Bodies of resampling: resize_impl.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/base/costs.hpp"
#include "tenon/kernels/move/move.hpp"
#include "tenon/simd/arch.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::kernels {

/// Element j of the new axis is the sum over k of weights[k * out + j] * element index[k * out + j] of the
/// old one.
template <class T>
struct ResampleAxis {
  int64_t in = 1, out = 1;
  int64_t taps = 1;
  const int64_t* index = nullptr;  ///< (taps, out), in [0, in)
  const T* weights = nullptr;      ///< (taps, out)
  /// The taps of elements [pairs_begin, pairs_end) are two neighbours; at the ends of the axis they may
  /// coincide.
  int64_t pairs_begin = 0, pairs_end = 0;

  ResampleAxis() = default;
  ResampleAxis(int64_t extent, int64_t new_extent, int64_t count, const int64_t* places, const T* factors)
      : in(extent), out(new_extent), taps(count), index(places), weights(factors) {
    if (taps != 2) return;
    const auto pair = [this](int64_t j) { return index[out + j] == index[j] + 1; };
    while (pairs_begin < out && !pair(pairs_begin)) ++pairs_begin;
    for (pairs_end = pairs_begin; pairs_end < out && pair(pairs_end);) ++pairs_end;
  }
};

/// Serial bodies: rows [begin, end) of the outer * out rows of `inner` elements each; and whole lines, where
/// inner is 1. T: float, double.
template <class Arch, class T>
void resample_rows_impl(const T* x, T* y, const ResampleAxis<T>& axis, int64_t inner, int64_t begin,
                        int64_t end);
template <class Arch, class T>
void resample_lines_impl(const T* x, T* y, const ResampleAxis<T>& axis, int64_t begin, int64_t end);

/// y (outer, out, inner) from x (outer, in, inner).
template <class T>
void resample(const T* x, T* y, const ResampleAxis<T>& axis, int64_t outer, int64_t inner) {
  const int64_t row = inner == 1 ? axis.out : inner, rows = inner == 1 ? outer : outer * axis.out;
  parallel_for(rows, 1 + task_work::cheap / (row * axis.taps + 1), [&](int64_t begin, int64_t end) {
    simd::dispatch([&]<class Arch>(Arch) {
      if (inner == 1) resample_lines_impl<Arch>(x, y, axis, begin, end);
      else resample_rows_impl<Arch>(x, y, axis, inner, begin, end);
    });
  });
}

namespace detail {

/// A row of n elements from the columns, which repeat each element `times` times unless that is 0.
template <class Mover>
void pick_columns(const Mover& mover, int64_t to, int64_t from, const int64_t* columns, int64_t n,
                  int64_t times, int64_t wide) {
  if constexpr (requires { &Mover::tile; })
    if (times == 2 || times == 3) return mover.tile(to, times, from, 0, times, wide);
  const Mover move = mover;
  for (int64_t j = 0; j < n; ++j) move.row(to + j, 0, from + columns[j], 0, 1);
}

/// `rows` consecutive rows of `wide` >= 4 elements of 4 bytes, each twice.
inline void pick_twice(char* to, const char* from, int64_t wide, int64_t rows) {
  using Four = simd::Vector<uint32_t, 4>;
  // The last step begins early enough to end with the row.
  for (int64_t k = 0; k < wide; k += 4) {
    k = std::min(k, wide - 4);
    Four x;
    std::memcpy(&x, from + 4 * k, sizeof x);
    const Four low = simd::shuffle<0, 0, 1, 1>(x, x), high = simd::shuffle<2, 2, 3, 3>(x, x);
    char* const first = to + 8 * k;
    const auto put = [&](char* place) {
      std::memcpy(place, &low, sizeof low);
      std::memcpy(place + 16, &high, sizeof high);
    };
    put(first);
    if (rows > 1) put(first + 8 * wide);  // usually the last one
    for (int64_t r = 2; r < rows; ++r) put(first + 8 * wide * r);
  }
}

/// A row of n elements from the row before it.
template <class Mover>
void repeat_row(const Mover& mover, int64_t to, int64_t n) {
  const Mover move{mover.to, mover.to};
  if constexpr (requires { &Mover::rows; }) move.rows(to, 0, to - n, 0, 1, n);
  else move.row(to, 1, to - n, 1, n);
}

}  // namespace detail

/// to[i, j, …] = from[index[0][i], index[1][j], …] for dense arrays of these extents. Elements of type d.
inline void pick(DType d, void* to, std::span<const int64_t> to_extents, const void* from,
                 std::span<const int64_t> from_extents, const int64_t* const* index) {
  const int rank = static_cast<int>(to_extents.size());
  if (rank == 0) return copy(d, to, from, 1);
  detail::CopyPlan plan;
  plan.rank = rank;
  int64_t strides[max_rank], step = 1;
  for (int a = rank; a-- > 0; step *= from_extents[static_cast<std::size_t>(a)]) {
    strides[a] = step;
    plan.extents[a] = to_extents[static_cast<std::size_t>(a)];
    plan.size *= plan.extents[a];
  }
  if (plan.size == 0) return;
  const int last = rank - 1;
  const int64_t n = plan.extents[last], *columns = index[last], along = last > 0 ? plan.extents[last - 1] : 1;
  // How often each column is repeated, if equal for all: 1 for whole rows, 0 if columns differ.
  int64_t times = n % from_extents.back() == 0 ? n / from_extents.back() : 0;
  for (int64_t j = 0; times > 0 && j < n; ++j)
    if (columns[j] != j / times) times = 0;
  detail::with_mover(d, to, from, [&]<class Mover>(Mover mover) {
    const bool serial = detail::shares_bytes<Mover>;
    detail::for_rows(plan.size / n, n * Mover::size, serial, [&](int64_t begin, int64_t end) {
      int64_t before = -1;  // the source of the previous row
      for (int64_t row = begin; row < end;) {
        int64_t start = 0;
        for (int64_t rest = row / along, a = last - 1; a-- > 0; rest /= plan.extents[a])
          start += index[a][rest % plan.extents[a]] * strides[a];
        const int64_t stop = std::min(end, (row / along + 1) * along);
        for (int64_t j = row % along; row < stop; ++j, ++row) {
          const int64_t f = last > 0 ? start + index[last - 1][j] * strides[last - 1] : 0;
          if constexpr (requires { &Mover::tile; } && Mover::size == 4)
            if (times == 2 && n >= 8) {
              int64_t alike = 1;
              while (row + alike < stop && index[last - 1][j + alike] == index[last - 1][j]) ++alike;
              detail::pick_twice(mover.to + row * n * 4, mover.from + f * 4, n / 2, alike);
              j += alike - 1, row += alike - 1;
              continue;
            }
          if (times == 1) mover.row(row * n, 1, f, 1, n);
          else if (f == before) detail::repeat_row(mover, row * n, n);
          else detail::pick_columns(mover, row * n, f, columns, n, times, from_extents.back());
          before = f;
        }
      }
    });
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/resize/resize_impl.hpp"
#endif
