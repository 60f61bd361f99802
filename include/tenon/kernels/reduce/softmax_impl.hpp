// Bodies of softmax.hpp. Contiguous lines go through three passes (greatest, exponentials and their sum,
// scaling); lines with a stride are done a tile of neighbours at a time.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/kernels/reduce/rows.hpp"
#include "tenon/kernels/reduce/softmax.hpp"
#include "tenon/simd/math.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::kernels {

namespace detail {

/// One contiguous line.
template <class Arch, class T>
void softmax_row(bool log, const T* x, T* y, int64_t n) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  const B greatest(static_cast<C>(reduce_run<Arch, Greatest>(x, n, [](const B& v, auto...) { return v; })));
  const auto exponential = [&](const B& v, auto...) { return simd::exp_flushed(v - greatest); };
  if (log) {
    const double sum = reduce_run<Arch, Add>(x, n, exponential);
    const B shift(static_cast<C>(std::log(sum)));
    map_row<Arch>(x, y, n, [&](const B& v, auto...) { return v - greatest - shift; });
  } else if constexpr (simd::is_narrow<T>) {
    const B scale(static_cast<C>(1 / reduce_run<Arch, Add>(x, n, exponential)));
    map_row<Arch>(x, y, n, [&](const B& v, auto...) { return exponential(v) * scale; });
  } else {
    // The exponentials are kept in y. (Narrow floats, which y would round a first time, are computed again
    // above.)
    const double sum = reduce_run<Arch, Add>(x, n, [&](const B& v, int64_t i, auto... count) {
      const B e = exponential(v);
      simd::store_wide<Arch>(y + i, e, count...);
      return e;
    });
    const B scale(static_cast<C>(1 / sum));
    map_row<Arch>(y, y, n, [&](const B& v, auto...) { return v * scale; });
  }
}

/// n <= reduce_tile neighbouring lines whose elements are `inner` apart.
template <class Arch, class T>
void softmax_tile(bool log, const T* x, T* y, int64_t axis, int64_t inner, int64_t n) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  constexpr int64_t width = simd::lanes<C, Arch>;
  double total[reduce_tile];
  alignas(64) C greatest[reduce_tile + width] = {}, last[reduce_tile + width] = {};
  for (int64_t j = 0; j < n; ++j) total[j] = Greatest::identity<double>();
  reduce_rows<Arch, Greatest>(x, inner, axis, n, total, [](const B& v, auto...) { return v; });
  for (int64_t j = 0; j < n; ++j) {
    greatest[j] = static_cast<C>(total[j]);
    total[j] = 0;
  }
  const bool kept = !log && !simd::is_narrow<T>;  // exponentials in y, as in softmax_row
  const auto below = [&](const B& v, int64_t j) { return v - simd::loadu<Arch>(greatest + j); };
  reduce_rows<Arch, Add>(x, inner, axis, n, total, [&](const B& v, int64_t j, int64_t i, auto... count) {
    const B e = simd::exp_flushed(below(v, j));
    if (kept) simd::store_wide<Arch>(y + i, e, count...);
    return e;
  });
  for (int64_t j = 0; j < n; ++j) last[j] = static_cast<C>(log ? std::log(total[j]) : 1 / total[j]);
  for (int64_t i = 0; i < axis * inner; i += inner)
    map_row<Arch>((kept ? y : x) + i, y + i, n, [&](const B& v, int64_t j, auto...) {
      const B other = simd::loadu<Arch>(last + j);
      return log ? below(v, j) - other : (kept ? v : simd::exp_flushed(below(v, j))) * other;
    });
}

}  // namespace detail

template <class Arch, class T>
void softmax_impl(bool log, const T* x, T* y, int64_t axis, int64_t inner, int64_t first, int64_t last) {
  if (inner == 1 && axis < detail::short_line && last - first >= 8) {
    constexpr int64_t tile = detail::reduce_tile;
    T columns[detail::short_line * tile];
    for (int64_t line = first; line < last; line += tile) {
      const int64_t n = last - line < tile ? last - line : tile;
      detail::turn_lines<Arch>(x + line * axis, columns, axis, n);
      detail::softmax_tile<Arch>(log, static_cast<const T*>(columns), columns, axis, tile, n);
      T* to = y + line * axis;
      for (int64_t r = 0; r < n; ++r)
        for (int64_t i = 0; i < axis; ++i) to[r * axis + i] = columns[i * tile + r];
    }
    return;
  }
  if (inner == 1) {
    for (int64_t line = first; line < last; ++line)
      detail::softmax_row<Arch>(log, x + line * axis, y + line * axis, axis);
    return;
  }
  for (int64_t line = first; line < last;) {
    const int64_t column = line % inner, left = inner - column;
    int64_t n = left < last - line ? left : last - line;
    if (n > detail::reduce_tile) n = detail::reduce_tile;
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

}  // namespace tenon::kernels
