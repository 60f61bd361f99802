// A function of several arrays of float or double that all change together, such as an optimizer's step. All
// arithmetic is in double, in panels of elements, so that one instance serves all mixtures of types.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tenon/base/dtype.hpp"
#include "tenon/base/parallel.hpp"

namespace tenon::TENON_ABI::kernels {

/// Elements of float or, if `wide`, of double.
template <class Void>
struct Reals {
  Void* data = nullptr;
  bool wide = false;
};

namespace detail {

inline void load_reals(Reals<const void> from, int64_t at, int64_t n, double* to) {
  if (from.wide) std::copy_n(static_cast<const double*>(from.data) + at, n, to);
  else std::copy_n(static_cast<const float*>(from.data) + at, n, to);
}
inline void store_reals(Reals<void> to, int64_t at, int64_t n, const double* from) {
  if (to.wide) std::copy_n(from, n, static_cast<double*>(to.data) + at);
  else
    for (int64_t k = 0; k < n; ++k) static_cast<float*>(to.data)[at + k] = static_cast<float>(from[k]);
}

}  // namespace detail

/// Calls f(values) for each of n elements, with the values of all arrays at it, and writes what f leaves in
/// values[k] to out[k], unless that is null. `out` may be `in`.
template <std::size_t N, class F>
void step(const std::array<Reals<const void>, N>& in, const std::array<Reals<void>, N>& out, int64_t n, F f) {
  constexpr int64_t panel = 256;
  parallel_for(n, 32 * panel, [&](int64_t begin, int64_t end) {
    double values[N][panel];
    for (int64_t at = begin; at < end; at += panel) {
      const int64_t count = std::min(panel, end - at);
      for (std::size_t k = 0; k < N; ++k) detail::load_reals(in[k], at, count, values[k]);
      for (int64_t j = 0; j < count; ++j) {
        std::array<double, N> v;
        for (std::size_t k = 0; k < N; ++k) v[k] = values[k][j];
        f(v);
        for (std::size_t k = 0; k < N; ++k) values[k][j] = v[k];
      }
      for (std::size_t k = 0; k < N; ++k)
        if (out[k].data != nullptr) detail::store_reals(out[k], at, count, values[k]);
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels
