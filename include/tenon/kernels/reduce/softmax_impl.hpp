// Bodies of softmax.hpp. Contiguous lines take three passes (greatest, exponentials and their sum, scaling);
// lines with a stride are processed in tiles of neighbours.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tenon/kernels/reduce/exponentials.hpp"
#include "tenon/kernels/reduce/rows.hpp"
#include "tenon/kernels/reduce/softmax.hpp"
#include "tenon/simd/math.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// One contiguous line.
template <class Arch, class T>
void softmax_row(bool log, const T* x, T* y, int64_t n) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  const B greatest(greatest_of_row<Arch>(x, n));
  if (log) {
    const double sum = sum_exponentials<Arch>(x, n, greatest, [y](const B&, int64_t i, auto...) {
      if (i < softmax_ahead) TENON_PREFETCH(y + i, 1, 3);
    });
    const B shift(static_cast<C>(std::log(sum)));
    map_row<Arch>(x, y, n, [&](const B& v, auto...) { return v - greatest - shift; });
  } else if constexpr (simd::is_narrow<T>) {
    const B scale(static_cast<C>(1 / sum_exponentials<Arch>(x, n, greatest, [](auto...) {})));
    map_row<Arch>(x, y, n, [&](const B& v, auto...) { return simd::exp_flushed(v - greatest) * scale; });
  } else {
    // The exponentials are kept in y. (Narrow floats, which y would round a first time, are computed again
    // above.)
    const double sum = sum_exponentials<Arch>(x, n, greatest, [y](const B& e, int64_t i, auto... count) {
      simd::store_wide<Arch>(y + i, e, count...);
    });
    const B scale(static_cast<C>(1 / sum));
    map_row<Arch>(y, y, n, [&](const B& v, auto...) { return v * scale; });
  }
}

/// `rows` contiguous lines of n elements, so short that `count` registers hold one: (count - 1) lanes < n <=
/// count lanes. Lines are processed in pairs, because each is a long chain of operations; for a last single
/// line softmax_row yields the same bits.
template <class Arch, int count, class T>
void softmax_short_rows(bool log, const T* x, T* y, int64_t n, int64_t rows) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  constexpr int64_t width = simd::lanes<C, Arch>;
  constexpr int together = 2;
  const int64_t last = n - (count - 1) * width;
  const B least(-std::numeric_limits<C>::infinity());
  const auto load = [&](const T* from, int k) {
    if (k < count - 1 || last == width) return simd::load_wide<Arch>(from + k * width);
    return simd::first_n(simd::load_wide<Arch>(from + k * width, last), last, least);
  };
  for (; rows >= together; rows -= together, x += together * n, y += together * n) {
    B v[together][count], greatest[together], change[together];
    for (int r = 0; r < together; ++r) {
      for (int k = 0; k < count; ++k) v[r][k] = load(x + r * n, k);
      B most = v[r][0];
      for (int k = 1; k < count; ++k) most = simd::at_least(v[r][k], most);
      greatest[r] = B(simd::max_of_lanes(most));
    }
    for (int r = 0; r < together; ++r)
      for (int k = 0; k < count; ++k) v[r][k] = simd::exp_flushed(v[r][k] - greatest[r]);
    for (int r = 0; r < together; ++r) {
      B sum = v[r][0];
      for (int k = 1; k < count; ++k) sum = sum + v[r][k];
      const C total = simd::sum_of_lanes(sum);
      change[r] = B(log ? static_cast<C>(std::log(static_cast<double>(total))) : C(1) / total);
    }
    for (int r = 0; r < together; ++r)
      for (int k = 0; k < count; ++k) {
        const B result = log ? load(x + r * n, k) - greatest[r] - change[r] : v[r][k] * change[r];
        if (k < count - 1 || last == width) simd::store_wide<Arch>(y + r * n + k * width, result);
        else simd::store_wide<Arch>(y + r * n + k * width, result, last);
      }
  }
  if (rows > 0) softmax_row<Arch>(log, x, y, n);
}

/// Contiguous lines.
template <class Arch, class T>
void softmax_rows(bool log, const T* x, T* y, int64_t n, int64_t rows) {
  constexpr int64_t width = simd::lanes<compute_t<T>, Arch>;
  const int64_t count = (n + width - 1) / width;
  const auto short_rows = [&]<int... k>(std::integer_sequence<int, k...>) {
    return ((count == k + 1 && (softmax_short_rows<Arch, k + 1>(log, x, y, n, rows), true)) || ...);
  };
  if (short_rows(std::make_integer_sequence<int, Arch::registers / 4>{})) return;
  for (; rows > 0; --rows, x += n, y += n) softmax_row<Arch>(log, x, y, n);
}

/// Lines shorter than this are turned into columns first.
inline constexpr int64_t short_softmax = 8;

/// n <= reduce_tile neighbouring lines whose elements are `inner` apart.
template <class Arch, class T>
void softmax_tile(bool log, const T* x, T* y, int64_t axis, int64_t inner, int64_t n) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  constexpr int64_t width = simd::lanes<C, Arch>;
  const int64_t copies = n == inner ? rows_together<C, Arch>(axis, n) : 1;
  const int64_t columns = copies * n, whole = axis / copies * copies;
  double total[reduce_tile + width];
  alignas(64) C greatest[reduce_tile + width] = {}, last[reduce_tile + width] = {};
  // Calls f(offset, stride, rows, columns) for the rows that are processed together, and for the rest.
  const auto for_rows = [&](const auto& f) {
    f(int64_t{0}, copies * inner, axis / copies, columns);
    if (whole < axis) f(whole * inner, inner, axis - whole, n);
  };
  const auto totals = [&]<class Join>(Join, const auto& f) {
    begin_totals<Arch, Join>(total, columns);
    for_rows([&](int64_t at, int64_t stride, int64_t rows, int64_t wide) {
      reduce_rows<Arch, Join>(
          x + at, stride, rows, wide, total,
          [&, at](const B& v, int64_t j, int64_t i, auto... count) { return f(v, j, at + i, count...); });
    });
    join_copies<Join>(total, n, copies);
  };
  const auto spread = [&](C* of_columns) {
    for (int64_t j = n; j < columns; ++j) of_columns[j] = of_columns[j - n];
  };
  totals(Greatest{}, [](const B& v, auto...) { return v; });
  for (int64_t j = 0; j < n; ++j) greatest[j] = static_cast<C>(total[j]);
  spread(greatest);
  const bool kept = !log && !simd::is_narrow<T>;  // exponentials in y, as in softmax_row
  const auto below = [&](const B& v, int64_t j) { return v - simd::loadu<Arch>(greatest + j); };
  totals(Add{}, [&](const B& v, int64_t j, int64_t i, auto... count) {
    const B e = simd::exp_flushed(below(v, j));
    if (kept) simd::store_wide<Arch>(y + i, e, count...);
    return e;
  });
  for (int64_t j = 0; j < n; ++j) last[j] = static_cast<C>(log ? std::log(total[j]) : 1 / total[j]);
  spread(last);
  for_rows([&](int64_t at, int64_t stride, int64_t rows, int64_t wide) {
    for (const int64_t end = at + rows * stride; at < end; at += stride)
      map_row<Arch>((kept ? y : x) + at, y + at, wide, [&](const B& v, int64_t j, auto...) {
        const B other = simd::loadu<Arch>(last + j);
        return log ? below(v, j) - other : (kept ? v : simd::exp_flushed(below(v, j))) * other;
      });
  });
}

}  // namespace detail

template <class Arch, class T>
void softmax_impl(bool log, const T* x, T* y, int64_t axis, int64_t inner, int64_t first, int64_t last) {
  if (inner == 1 && axis < detail::short_softmax && last - first >= 8) {
    constexpr int64_t tile = detail::reduce_tile;
    T columns[detail::short_softmax * tile];
    for (int64_t line = first; line < last; line += tile) {
      const int64_t n = last - line < tile ? last - line : tile;
      simd::turn<Arch>(x + line * axis, axis, n, axis, columns, tile);
      detail::softmax_tile<Arch>(log, static_cast<const T*>(columns), columns, axis, tile, n);
      T* to = y + line * axis;
      // simd::turn would take longer: its columns are shorter than 8 here.
      for (int64_t r = 0; r < n; ++r)
        for (int64_t i = 0; i < axis; ++i) to[r * axis + i] = columns[i * tile + r];
    }
    return;
  }
  if (inner == 1) {
    return detail::softmax_rows<Arch>(log, x + first * axis, y + first * axis, axis, last - first);
  }
  const int64_t together = detail::lines_together(inner);
  for (int64_t line = first; line < last;) {
    const int64_t column = line % inner, n = std::min({inner - column, last - line, together});
    const int64_t offset = line / inner * axis * inner + column;
    detail::softmax_tile<Arch>(log, x + offset, y + offset, axis, inner, n);
    line += n;
  }
}

#ifdef TENON_INSTANTIATE
template void softmax_impl<TENON_INSTANTIATE>(bool, const float*, float*, int64_t, int64_t, int64_t, int64_t);
template void softmax_impl<TENON_INSTANTIATE>(bool, const double*, double*, int64_t, int64_t, int64_t,
                                              int64_t);
template void softmax_impl<TENON_INSTANTIATE>(bool, const float16*, float16*, int64_t, int64_t, int64_t,
                                              int64_t);
template void softmax_impl<TENON_INSTANTIATE>(bool, const bfloat16*, bfloat16*, int64_t, int64_t, int64_t,
                                              int64_t);
#endif

}  // namespace tenon::TENON_ABI::kernels
