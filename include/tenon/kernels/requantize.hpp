// From 32-bit sums of products to 8-bit integers. Bodies of the hot loop: requantize_impl.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/parallel.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::kernels {

/// y = saturate(round(x * scale) + zero), rounded to nearest, ties to even, for rows of x (rows, n).
/// T: int8_t, uint8_t.
template <class T>
struct RequantizeArgs {
  int64_t rows = 0, n = 0;
  const int32_t* x = nullptr;
  T* y = nullptr;
  const float* row_scale = nullptr;  ///< of row r, at row_scale[r % row_scales]
  int64_t row_scales = 1;
  const float* col_scale = nullptr;  ///< (n), multiplied with the row's; nullptr: 1
  const T* zero = nullptr;           ///< of row r, at zero[r % zeros]
  int64_t zeros = 1;
};

/// Serial body. `rate` is the row's scale.
template <class Arch, class T>
void requantize_row_impl(const int32_t* x, int64_t n, float rate, const float* col_scale, T zero, T* y);

/// See RequantizeArgs.
template <class T>
void requantize(const RequantizeArgs<T>& a) {
  constexpr int64_t grain = 1 << 14;  // elements a task takes
  parallel_for(a.rows, std::max<int64_t>(1, grain / std::max<int64_t>(a.n, 1)),
               [&](int64_t begin, int64_t end) {
                 simd::dispatch([&]<class Arch>(Arch) {
                   for (int64_t r = begin; r < end; ++r)
                     requantize_row_impl<Arch>(a.x + r * a.n, a.n, a.row_scale[r % a.row_scales], a.col_scale,
                                               a.zero[r % a.zeros], a.y + r * a.n);
                 });
               });
}

}  // namespace tenon::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/requantize_impl.hpp"
#endif
