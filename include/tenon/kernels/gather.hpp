// Elements taken by index: whole slices (gather) or one by one (gather_elements). Elements of any type.
#pragma once

#include "tenon/kernels/move.hpp"

namespace tenon::kernels {

namespace detail {
/// Indices below 0 count from the end.
template <class I>
constexpr int64_t wrap_index(I index, int64_t extent) {
  const auto i = static_cast<int64_t>(index);
  return i < 0 ? i + extent : i;
}
// One element as a strided row: its size is then known to the compiler, where a dense row may have any
// length.
constexpr int64_t row_step(int64_t n) { return n == 1 ? 0 : 1; }
}  // namespace detail

/// to (outer, count, inner) = from (outer, extent, inner) at indices (count), each in [-extent, extent). I:
/// int32_t or int64_t.
template <class I>
void gather(DType d, void* to, const void* from, const I* indices, int64_t count, int64_t outer,
            int64_t extent, int64_t inner) {
  if (outer == 0 || count == 0 || inner == 0) return;
  detail::with_mover(d, to, from, [&]<class Mover>(Mover mover) {
    const int64_t step = detail::row_step(inner);
    const bool serial = detail::shares_bytes<Mover>;
    detail::for_rows(outer * count, inner * Mover::size, serial, [&](int64_t begin, int64_t end) {
      int64_t o = begin / count, j = begin % count;
      for (int64_t row = begin; row < end; ++row) {
        const int64_t at = o * extent + detail::wrap_index(indices[j], extent);
        mover.row(row * inner, step, at * inner, step, inner);
        if (++j == count) j = 0, ++o;
      }
    });
  });
}

/// to[index] = from[index with that of `axis` replaced by indices[index]] for all indices below `extents`,
/// which are those of `indices` and of `to`; on axes other than `axis` they are not above those of `from`.
template <class I>
void gather_elements(DType d, void* to, const void* from, std::span<const int64_t> from_extents,
                     const I* indices, std::span<const int64_t> extents, int axis) {
  detail::CopyPlan plan;
  plan.rank = static_cast<int>(extents.size());
  int64_t axis_step = 1;
  for (int64_t a = plan.rank, from_step = 1; a-- > 0;) {
    plan.extents[a] = extents[a];
    plan.to[a] = plan.size;
    plan.from[a] = a == axis ? 0 : from_step;
    if (a == axis) axis_step = from_step;
    plan.size *= extents[a];
    from_step *= from_extents[a];
  }
  if (plan.size == 0) return;
  const int last = plan.rank - 1;
  const int64_t n = extents[last], from_extent = from_extents[axis];
  detail::with_mover(d, to, from, [&]<class Mover>(Mover mover) {
    const bool serial = detail::shares_bytes<Mover>;
    detail::for_rows(plan.size / n, n * Mover::size, serial, [&](int64_t begin, int64_t end) {
      detail::for_each_outer(plan, last, begin, end, [&](int64_t t, int64_t f) {
        for (int64_t j = 0; j < n; ++j) {
          const int64_t index = detail::wrap_index(indices[t + j], from_extent);
          mover.row(t + j, 0, f + j * plan.from[last] + index * axis_step, 0, 1);
        }
      });
    });
  });
}

}  // namespace tenon::kernels
