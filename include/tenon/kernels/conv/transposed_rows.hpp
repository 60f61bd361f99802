// Transposed convolutions: rows of the output, in which the results of a phase or a kernel cell are a stride
// apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::transposed_detail {

using sliding::copy_strided;

/// to[i] = from[i % count][i / count] for i < n.
template <class Arch, class T>
void interleave(const T* const* from, int64_t count, int64_t n, T* to) {
  constexpr int L = simd::lanes<T, Arch>;
  if (count == 1) return copy_strided<Arch>(from[0], 1, n, to);
  if constexpr (std::is_same_v<T, float>) {
    if (count == 2) {
      for (int64_t i = 0; i < n; i += 2 * L) {
        const int64_t evens = std::min<int64_t>((n - i + 1) / 2, L), odds = std::min<int64_t>((n - i) / 2, L);
        simd::batch<T, Arch> low, high;
        simd::join_pairs(simd::batch<T, Arch>(simd::load_n<Arch>(from[0] + i / 2, evens)),
                         simd::batch<T, Arch>(simd::load_n<Arch>(from[1] + i / 2, odds)), low, high);
        simd::store_n(to + i, low, std::min<int64_t>(n - i, L));
        if (n - i > L) simd::store_n(to + i + L, high, std::min<int64_t>(n - i - L, L));
      }
      return;
    }
  }
  for (int64_t r = 0; r < count; ++r)
    for (int64_t i = r, j = 0; i < n; i += count, ++j) to[i] = from[r][j];
}

/// y[i * stride] += x[i].
template <class Arch, class T>
inline void add_strided(const T* x, int64_t count, T* y, int64_t stride) {
  constexpr int L = simd::lanes<T, Arch>;
  if (stride == 1) {
    int64_t i = 0;
    for (; i + L <= count; i += L) simd::storeu(y + i, simd::loadu<Arch>(y + i) + simd::loadu<Arch>(x + i));
    if constexpr (simd::masks_are_free<Arch>) {
      const int64_t rest = count - i;
      if (rest > 0)
        simd::store_n(y + i, simd::load_n<Arch>(y + i, rest) + simd::load_n<Arch>(x + i, rest), rest);
    } else {
      for (; i < count; ++i) y[i] += x[i];
    }
  } else {
    int64_t i = 0;
    if constexpr (std::is_same_v<T, float>) {
      // The stores end before the last number.
      for (simd::batch<T, Arch> low, high, even, odd; stride == 2 && i + L < count; i += L) {
        T* const to = y + 2 * i;
        simd::split_pairs(simd::batch<T, Arch>(simd::loadu<Arch>(to)),
                          simd::batch<T, Arch>(simd::loadu<Arch>(to + L)), even, odd);
        simd::join_pairs(simd::batch<T, Arch>(even + simd::loadu<Arch>(x + i)), odd, low, high);
        simd::storeu(to, low);
        simd::storeu(to + L, high);
      }
    }
    for (; i < count; ++i) y[i * stride] += x[i];
  }
}

}  // namespace tenon::TENON_ABI::kernels::transposed_detail
