// Bodies of cumulate.hpp.
#pragma once

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/reduce/cumulate.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// `rows` rows of count vectors, or of n columns; `sums` holds what precedes the rows, and is updated to what
/// precedes the next.
template <class Arch, bool exclusive, int count, class... N>
void cumulate_rows(const float* x, float* y, int64_t rows, int64_t step, int64_t ahead, double* sums,
                   N... n) {
  using B = simd::batch<double, Arch>;
  constexpr int64_t width = simd::lanes<double, Arch>;
  B sum[count];
#pragma GCC unroll 4
  for (int k = 0; k < count; ++k) sum[k] = simd::loadu<Arch>(sums + k * width);
  for (int64_t r = 0; r < rows; ++r, x += step, y += step) {
    for (int64_t line = 0; line < count * width; line += 16) {
      TENON_PREFETCH(x + line + ahead, 0, 3);
      TENON_PREFETCH(y + line + ahead, 1, 3);
    }
#pragma GCC unroll 4
    for (int k = 0; k < count; ++k) {
      const B next = sum[k] + simd::load_as_double<Arch>(x + k * width, n...);
      simd::store_as_float(y + k * width, exclusive ? sum[k] : next, n...);
      sum[k] = next;
    }
  }
#pragma GCC unroll 4
  for (int k = 0; k < count; ++k) simd::storeu(sums + k * width, sum[k]);
}

template <class Arch, bool exclusive>
void cumulate_block(const float* x, float* y, int64_t extent, int64_t step, int64_t columns) {
  constexpr int64_t width = simd::lanes<double, Arch>, some = 4 * width;
  alignas(64) double sums[cumulated_block + width];
  std::fill_n(sums, columns + width, 0.0);
  // Rows per step: fewer would load and store the sums more often, more would be too many streams.
  const int64_t together = columns <= some ? extent : 4;
  // Where rows are contiguous in memory, the hardware prefetcher does not keep up.
  const int64_t ahead = step == columns && columns <= 512 ? 512 : 0;
  for (int64_t k = 0; k < extent; k += together, x += together * step, y += together * step) {
    const int64_t rows = std::min(together, extent - k);
    int64_t i = 0;
    for (; i + some <= columns; i += some)
      cumulate_rows<Arch, exclusive, 4>(x + i, y + i, rows, step, ahead, sums + i);
    for (; i + width <= columns; i += width)
      cumulate_rows<Arch, exclusive, 1>(x + i, y + i, rows, step, ahead, sums + i);
    if (i < columns)
      cumulate_rows<Arch, exclusive, 1>(x + i, y + i, rows, step, ahead, sums + i, columns - i);
  }
}

}  // namespace detail

template <class Arch>
void cumulate_impl(const float* x, float* y, int64_t blocks, int64_t apart, int64_t extent, int64_t step,
                   int64_t columns, bool exclusive) {
  for (int64_t b = 0; b < blocks; ++b, x += apart, y += apart) {
    if (exclusive) detail::cumulate_block<Arch, true>(x, y, extent, step, columns);
    else detail::cumulate_block<Arch, false>(x, y, extent, step, columns);
  }
}

#ifdef TENON_INSTANTIATE
template void cumulate_impl<TENON_INSTANTIATE>(const float*, float*, int64_t, int64_t, int64_t, int64_t,
                                               int64_t, bool);
#endif

}  // namespace tenon::TENON_ABI::kernels
