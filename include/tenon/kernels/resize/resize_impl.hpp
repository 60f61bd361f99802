// Bodies of resize.hpp.
#pragma once

#include "tenon/kernels/resize/resize.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::kernels {

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
    int64_t i = 0;
    for (; i + 2 * width <= inner; i += 2 * width) {
      auto sum = simd::broadcast<Arch>(T{0}), sum2 = sum;
      for (int64_t k = 0; k < taps; ++k) {
        const auto w = simd::broadcast<Arch>(weights[k * out]);
        const T* p = from + index[k * out] * inner + i;
        sum = simd::mul_add(w, simd::loadu<Arch>(p), sum);
        sum2 = simd::mul_add(w, simd::loadu<Arch>(p + width), sum2);
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

template <class Arch, class T>
void resample_lines_impl(const T* x, T* y, const ResampleAxis<T>& axis, int64_t begin, int64_t end) {
  const int64_t out = axis.out;
  for (int64_t line = begin; line < end; ++line) {
    const T* from = x + line * axis.in;
    T* __restrict to = y + line * out;
    for (int64_t k = 0; k < axis.taps; ++k) {
      const int64_t* index = axis.index + k * out;
      const T* weights = axis.weights + k * out;
      if (k == 0)
        for (int64_t j = 0; j < out; ++j) to[j] = weights[j] * from[index[j]];
      else
        for (int64_t j = 0; j < out; ++j) to[j] += weights[j] * from[index[j]];
    }
  }
}

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

template void resample_rows_impl<TENON_INSTANTIATE>(const float*, float*, const ResampleAxis<float>&, int64_t,
                                                    int64_t, int64_t);
template void resample_rows_impl<TENON_INSTANTIATE>(const double*, double*, const ResampleAxis<double>&,
                                                    int64_t, int64_t, int64_t);
template void resample_lines_impl<TENON_INSTANTIATE>(const float*, float*, const ResampleAxis<float>&,
                                                     int64_t, int64_t);
template void resample_lines_impl<TENON_INSTANTIATE>(const double*, double*, const ResampleAxis<double>&,
                                                     int64_t, int64_t);

}  // namespace tenon::kernels
#endif
