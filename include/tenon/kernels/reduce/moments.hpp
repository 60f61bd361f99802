// Mean and variance of each channel, as training needs them.
#pragma once

#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"

namespace tenon::TENON_ABI::kernels {

/// mean and population variance, each (channels), of x (batch, channels, spatial). Sums are in double, in the
/// order of the elements; without elements the results are NaN. T: double, or a type that converts to float.
template <class T>
void moments(const T* x, double* mean, double* variance, int64_t batch, int64_t channels, int64_t spatial) {
  const auto value = [](const T& v) {
    if constexpr (sizeof(T) == sizeof(double)) return v;
    else return static_cast<double>(static_cast<float>(v));
  };
  const int64_t n = batch * spatial;
  const int64_t grain = n >= task_work::moderate ? 1 : task_work::moderate / (n + 1) + 1;
  parallel_for(channels, grain, [=](int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c) {
      const auto sum_of = [&](auto f) {
        double sum = 0;
        for (int64_t b = 0; b < batch; ++b)
          for (int64_t s = 0; s < spatial; ++s) sum += f(value(x[(b * channels + c) * spatial + s]));
        return sum;
      };
      const double m = sum_of([](double v) { return v; }) / static_cast<double>(n);
      mean[c] = m;
      variance[c] = sum_of([m](double v) { return (v - m) * (v - m); }) / static_cast<double>(n);
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels
