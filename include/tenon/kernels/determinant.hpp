// Determinants of small square matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::kernels {

/// The determinant of the row-major (n, n) matrix at a, which is destroyed; 1 for n = 0. By Gaussian
/// elimination, with the greatest element of each column, or NaN, as its pivot.
template <class T>
T determinant(T* a, int64_t n) {
  T product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      const T x = a[i * n + k];
      if (std::abs(x) > std::abs(a[pivot * n + k]) || x != x) pivot = i;
    }
    const T* top = a + k * n;
    if (pivot != k) {
      std::swap_ranges(a + k * n + k, a + (k + 1) * n, a + pivot * n + k);
      product = -product;
    }
    product *= top[k];
    if (top[k] == 0) return product;
    for (int64_t i = k + 1; i < n; ++i) {
      T* row = a + i * n;
      const T factor = row[k] / top[k];
      for (int64_t j = k + 1; j < n; ++j) row[j] -= factor * top[j];
    }
  }
  return product;
}

}  // namespace tenon::TENON_ABI::kernels
