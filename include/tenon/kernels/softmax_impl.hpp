// Bodies of softmax.hpp. Contiguous lines go through three passes (greatest, exponentials and their sum, scaling);
// lines with a stride are done a tile of neighbours at a time.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/kernels/rows.hpp"
#include "tenon/kernels/softmax.hpp"
#include "tenon/simd/math.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::kernels {

namespace detail {

/// One contiguous line.
template <class Arch, class T>
void softmax_row(bool log, const T* x, T* y, int64_t n) {
  using C = simd::wide<T>;
  using B = simd::batch<C, Arch>;
  const auto as_is = [](const B& v) { return v; };
  const B greatest(static_cast<C>(reduce_run<Arch, Greatest, C>(x, n, as_is)));
  const double sum = reduce_run<Arch, Add, C>(
      x, n, [&](const B& v) { return simd::exp(v - greatest); });
  if (log) {
    const B shift(static_cast<C>(std::log(sum)));
    map_row<Arch>(x, y, n, [&](const B& v, auto...) { return v - greatest - shift; });
  } else {
    const B scale(static_cast<C>(1 / sum));
    map_row<Arch>(x, y, n, [&](const B& v, auto...) { return simd::exp(v - greatest) * scale; });
  }
}

/// n <= reduce_tile neighbouring lines whose elements are `inner` apart.
template <class Arch, class T>
void softmax_tile(bool log, const T* x, T* y, int64_t axis, int64_t inner, int64_t n) {
  using C = simd::wide<T>;
  using B = simd::batch<C, Arch>;
  constexpr int64_t width = simd::lanes<C, Arch>;
  double total[reduce_tile];
  alignas(64) C greatest[reduce_tile + width] = {}, last[reduce_tile + width] = {};
  for (int64_t j = 0; j < n; ++j) total[j] = -std::numeric_limits<double>::infinity();
  reduce_rows<Arch, Greatest, C>(x, inner, axis, n, total, [](const B& v, int64_t) { return v; });
  for (int64_t j = 0; j < n; ++j) {
    greatest[j] = static_cast<C>(total[j]);
    total[j] = 0;
  }
  reduce_rows<Arch, Add, C>(x, inner, axis, n, total, [&](const B& v, int64_t j) {
    return simd::exp(v - simd::loadu<Arch>(greatest + j));
  });
  for (int64_t j = 0; j < n; ++j) last[j] = static_cast<C>(log ? std::log(total[j]) : 1 / total[j]);
  const auto f = [&](const B& v, int64_t j) {
    const B below = v - simd::loadu<Arch>(greatest + j), other = simd::loadu<Arch>(last + j);
    return log ? below - other : simd::exp(below) * other;
  };
  for (int64_t i = 0; i < axis; ++i) {
    const T* from = x + i * inner;
    T* to = y + i * inner;
    int64_t j = 0;
    for (; j + width <= n; j += width) simd::store_wide<Arch>(to + j, f(simd::load_wide<Arch>(from + j), j));
    if (j < n) simd::store_wide<Arch>(to + j, f(simd::load_wide<Arch>(from + j, n - j), j), n - j);
  }
}

}  // namespace detail

template <class Arch, class T>
void softmax_impl(bool log, const T* x, T* y, int64_t axis, int64_t inner, int64_t first, int64_t last) {
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
template void softmax_impl<TENON_INSTANTIATE>(bool, const double*, double*, int64_t, int64_t, int64_t, int64_t);
template void softmax_impl<TENON_INSTANTIATE>(bool, const float16*, float16*, int64_t, int64_t, int64_t, int64_t);
template void softmax_impl<TENON_INSTANTIATE>(bool, const bfloat16*, bfloat16*, int64_t, int64_t, int64_t, int64_t);
#endif

}  // namespace tenon::kernels
