// Bodies of resize.hpp.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/resize/resize.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void resample_rows_impl(const T* x, T* y, const ResampleAxis<T>& axis, int64_t inner, int64_t begin,
                        int64_t end) {
  constexpr int width = simd::lanes<T, Arch>;
  const int64_t out = axis.out, taps = axis.taps;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t j = row % out;
    const T* from = x + row / out * axis.in * inner;
    T* to = y + row * inner;
    const int64_t* index = axis.index + j;
    const T* weights = axis.weights + j;
    // Memory that the next row reads, which the hardware does not predict where rows are skipped.
    const bool fetches = axis.in > out && j + 1 < out;
    int64_t i = 0;
    for (; i + 2 * width <= inner; i += 2 * width) {
      auto sum = simd::broadcast<Arch>(T{0}), sum2 = sum;
      for (int64_t k = 0; k < taps; ++k) {
        const auto w = simd::broadcast<Arch>(weights[k * out]);
        const T* p = from + index[k * out] * inner + i;
        sum = simd::mul_add(w, simd::loadu<Arch>(p), sum);
        sum2 = simd::mul_add(w, simd::loadu<Arch>(p + width), sum2);
        if (fetches) {
          const char* next = reinterpret_cast<const char*>(from + index[k * out + 1] * inner + i);
          for (int64_t b = 0; b < 2 * Arch::register_bytes; b += 64) TENON_PREFETCH(next + b, 0, 3);
        }
      }
      simd::storeu(to + i, sum);
      simd::storeu(to + i + width, sum2);
    }
    for (; i < inner; i += width) {
      const int64_t n = inner - i < width ? inner - i : width;
      auto sum = simd::broadcast<Arch>(T{0});
      for (int64_t k = 0; k < taps; ++k)
        sum = simd::mul_add(simd::broadcast<Arch>(weights[k * out]),
                            simd::load_n<Arch>(from + index[k * out] * inner + i, n), sum);
      simd::store_n(to + i, sum, n);
    }
  }
}

namespace detail {

/// Elements [begin, end) of a line, whose taps are two neighbours.
template <class Arch>
void resample_pairs(const float* from, float* to, const ResampleAxis<float>& axis, int64_t begin,
                    int64_t end) {
  constexpr int64_t L = simd::lanes<float, Arch>;
  for (int64_t j = begin; j < end; j += L) {
    j = std::min(j, end - L);
    const auto low = simd::load_pairs<Arch>(from, axis.index + j),
               high = simd::load_pairs<Arch>(from, axis.index + j + L / 2);
    simd::batch<float, Arch> first, second;
    simd::split_pairs(low, high, first, second);
    const auto sum = simd::loadu<Arch>(axis.weights + j) * first;
    simd::storeu(to + j, simd::mul_add(simd::loadu<Arch>(axis.weights + axis.out + j), second, sum));
  }
}

}  // namespace detail

template <class Arch, class T>
void resample_lines_impl(const T* x, T* y, const ResampleAxis<T>& axis, int64_t begin, int64_t end) {
  const int64_t out = axis.out;
  const bool pairs = std::is_same_v<T, float> && axis.pairs_end - axis.pairs_begin >= simd::lanes<T, Arch>;
  const int64_t head = pairs ? axis.pairs_begin : out, tail = pairs ? axis.pairs_end : out;
  for (int64_t line = begin; line < end; ++line) {
    const T* from = x + line * axis.in;
    T* __restrict to = y + line * out;
    const auto sum = [&](int64_t first, int64_t last) {
      for (int64_t k = 0; k < axis.taps; ++k) {
        const int64_t* index = axis.index + k * out;
        const T* weights = axis.weights + k * out;
        if (k == 0)
          for (int64_t j = first; j < last; ++j) to[j] = weights[j] * from[index[j]];
        else
          for (int64_t j = first; j < last; ++j) to[j] += weights[j] * from[index[j]];
      }
    };
    sum(0, head);
    if constexpr (std::is_same_v<T, float>)
      if (pairs) detail::resample_pairs<Arch>(from, to, axis, head, tail);
    if (tail < out) sum(tail, out);
  }
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void resample_rows_impl<TENON_INSTANTIATE>(const float*, float*, const ResampleAxis<float>&, int64_t,
                                                    int64_t, int64_t);
template void resample_rows_impl<TENON_INSTANTIATE>(const double*, double*, const ResampleAxis<double>&,
                                                    int64_t, int64_t, int64_t);
template void resample_lines_impl<TENON_INSTANTIATE>(const float*, float*, const ResampleAxis<float>&,
                                                     int64_t, int64_t);
template void resample_lines_impl<TENON_INSTANTIATE>(const double*, double*, const ResampleAxis<double>&,
                                                     int64_t, int64_t);

}  // namespace tenon::TENON_ABI::kernels
#endif
