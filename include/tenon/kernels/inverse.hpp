// Inverses of small square matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/base/platform/uncontracted.hpp"

namespace tenon::TENON_ABI::kernels {

/// The inverse, at y, of the row-major (n, n) matrix at a, which is destroyed. By Gaussian elimination, with
/// the greatest element of each column, or NaN, as its pivot; of a singular matrix infinities and NaN.
template <class T>
void invert(T* a, T* y, int64_t n) {
  std::fill_n(y, n * n, T(0));
  for (int64_t k = 0; k < n; ++k) y[k * n + k] = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      const T x = a[i * n + k];
      if (std::abs(x) > std::abs(a[pivot * n + k]) || x != x) pivot = i;
    }
    for (T* m : {a, y}) {
      if (pivot != k) std::swap_ranges(m + k * n, m + (k + 1) * n, m + pivot * n);
    }
    const T diagonal = a[k * n + k];
    for (T* m : {a, y})
      for (int64_t j = 0; j < n; ++j) m[k * n + j] /= diagonal;
    for (int64_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const T factor = a[i * n + k];
      for (T* m : {a, y})
        for (int64_t j = 0; j < n; ++j) m[i * n + j] -= uncontracted(factor * m[k * n + j]);
    }
  }
}

}  // namespace tenon::TENON_ABI::kernels
