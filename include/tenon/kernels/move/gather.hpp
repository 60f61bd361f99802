// Elements taken by index: whole slices (gather) or one by one (gather_elements). Elements of any type.
#pragma once

#include <atomic>
#include <cstring>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/move/move.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {
/// Indices below 0 count from the end. A branch would be mispredicted if signs are mixed.
template <class I>
constexpr int64_t wrap_index(I index, int64_t extent) {
  const auto i = static_cast<int64_t>(index);
  return i + (extent & i >> 63);
}
}  // namespace detail

/// Whether n indices lie in [low, extent), low being 0 or -extent.
template <class I>
bool indices_within(const I* indices, int64_t n, int64_t low, int64_t extent) {
  // Negative if the index is outside; avoids a branch per index.
  const auto outside = [first = static_cast<uint64_t>(low), last = static_cast<uint64_t>(extent - 1)](
                           auto index) { return (index - first) | (last - index); };
  int64_t k = 0;
  uint64_t any = 0;
  if constexpr (sizeof(I) == 8) {
    using Two = simd::Vector<uint64_t, 2>;
    Two all{}, other{};
    for (; k + 4 <= n; k += 4) {
      Two a, b;
      std::memcpy(&a, indices + k, 16);
      std::memcpy(&b, indices + k + 2, 16);
      all |= outside(a);
      other |= outside(b);
    }
    all |= other;
    any = all[0] | all[1];
  }
  for (; k < n; ++k) any |= outside(static_cast<uint64_t>(static_cast<int64_t>(indices[k])));
  return any >> 63 == 0;
}

/// to (outer, count, inner) = from (outer, extent, inner) at indices (count), each in [-extent, extent). I:
/// int32_t or int64_t.
template <class I>
void gather(DType d, void* to, const void* from, const I* indices, int64_t count, int64_t outer,
            int64_t extent, int64_t inner) {
  if (outer == 0 || count == 0 || inner == 0) return;
  detail::with_mover(d, to, from, [&]<class Mover>(Mover mover) {
    const bool serial = detail::shares_bytes<Mover>;
    // Captures are by value. The compiler must assume that a store changes any variable in memory, so
    // captured references would be reloaded after each store.
    const auto rows = [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end;) {
        const int64_t o = row / count, stop = std::min(end, (o + 1) * count), base = o * extent;
        const I* index = indices + (row - o * count);
        if (inner != 1) {
          for (; row < stop; ++row) {
            const int64_t at = base + detail::wrap_index(*index++, extent);
            mover.row(row * inner, 1, at * inner, 1, inner);
          }
          continue;
        }
        // A single element is not passed as a dense row, so that the compiler knows its size. The same
        // columns are prefetched two rows ahead.
        const Mover move = mover;
        const int64_t n = stop - row, t = row, wrap = extent, ahead = o + 2 < outer ? 2 * extent : 0;
#pragma GCC unroll 8
        for (int64_t k = 0; k < n; ++k) {
          const int64_t at = base + detail::wrap_index(index[k], wrap);
          if constexpr (requires { &Mover::fetch; }) move.fetch(t + k, at + ahead);
          move.row(t + k, 0, at, 0, 1);
        }
        row = stop;
      }
    };
    detail::for_rows(outer * count, inner * Mover::size, serial, rows);
  });
}

/// to[index] = from[index with its entry on `axis` replaced by indices[index]], for all indices below
/// `extents`. `indices` and `to` have the extents `extents`, which on axes other than `axis` are at most
/// from's. False if an index is outside [-from's extent, from's extent) on the axis; `to` is then
/// unspecified.
template <class I>
bool gather_elements(DType d, void* to, const void* from, std::span<const int64_t> from_extents,
                     const I* indices, std::span<const int64_t> extents, int axis) {
  const auto along = static_cast<std::size_t>(axis);
  detail::CopyPlan plan;
  plan.rank = static_cast<int>(extents.size());
  int64_t axis_step = 1, from_step = 1;
  for (std::size_t a = extents.size(); a-- > 0;) {
    plan.extents[a] = extents[a];
    plan.to[a] = plan.size;
    plan.from[a] = a == along ? 0 : from_step;
    if (a == along) axis_step = from_step;
    plan.size *= extents[a];
    from_step *= from_extents[a];
  }
  if (plan.size == 0) return true;
  const int last = plan.rank - 1;
  const int64_t n = extents.back(), from_extent = from_extents[along], last_step = plan.from[last];
  std::atomic<bool> inside = true;
  detail::with_mover(d, to, from, [&]<class Mover>(Mover mover) {
    const bool serial = detail::shares_bytes<Mover>;
    const auto row = [&](int64_t t, int64_t f) {
      const Mover move = mover;
      const I* index = indices + t;
      const int64_t end = n, extent = from_extent, step = last_step, scale = axis_step;
      // Indices of a row are read all at once and then again, when memory would be idle: the next row is
      // prefetched.
      const auto along_row = [=](auto wrap) {
        constexpr int64_t line = 64 / sizeof(I);
        int64_t j = 0;
        for (; j + line <= end; j += line) {
          TENON_PREFETCH(index + end + j, 0, 3);
          if constexpr (requires { &Mover::fetch; }) move.fetch(t + end + j, f + extent + j);
#pragma GCC unroll 16
          for (int64_t k = j; k < j + line; ++k) move.row(t + k, 0, f + wrap(index[k]), 0, 1);
        }
        for (; j < end; ++j) move.row(t + j, 0, f + wrap(index[j]), 0, 1);
      };
      const auto each = [=](auto wrap) {
        if (scale == 1 && step == 0) return along_row(wrap);
#pragma GCC unroll 4
        for (int64_t j = 0; j < end; ++j) move.row(t + j, 0, f + j * step + wrap(index[j]) * scale, 0, 1);
      };
      if (indices_within(index, n, 0, extent)) return each([](int64_t i) { return i; });
      if (!indices_within(index, n, -extent, extent)) return inside.store(false, std::memory_order_relaxed);
      each([=](int64_t i) { return detail::wrap_index(i, extent); });
    };
    detail::for_rows(plan.size / n, n * Mover::size, serial, [&](int64_t begin, int64_t end) {
      detail::for_each_outer(plan, last, begin, end, row);
    });
  });
  return inside;
}

/// to (rows, columns, inner) = from with the first lengths[b] slices of sequence b in reverse order. The
/// sequences are the columns, from the first row on, or the rows. Lengths lie in [0, a sequence's].
inline void reverse_sequences(DType d, void* to, const void* from, const int64_t* lengths, bool in_columns,
                              int64_t rows, int64_t columns, int64_t inner) {
  detail::with_mover(d, to, from, [&]<class Mover>(Mover mover) {
    const auto slices = [=](int64_t begin, int64_t end) {
      int64_t row = begin / columns, column = begin % columns;
      for (int64_t slice = begin; slice < end; ++slice) {
        const int64_t n = lengths[in_columns ? column : row], t = in_columns ? row : column;
        const int64_t ahead = t < n ? n - 1 - 2 * t : 0;
        const int64_t source = slice + (in_columns ? ahead * columns : ahead);
        if (inner == 1) mover.row(slice, 0, source, 0, 1);
        else mover.row(slice * inner, 1, source * inner, 1, inner);
        if (++column == columns) column = 0, ++row;
      }
    };
    detail::for_rows(rows * columns, inner * Mover::size, detail::shares_bytes<Mover>, slices);
  });
}

}  // namespace tenon::TENON_ABI::kernels
