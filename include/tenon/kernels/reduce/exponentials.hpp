// Passes over contiguous lines that softmax consists of.
#pragma once

#include <limits>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/types.hpp"
#include "tenon/simd/math.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels::detail {

/// The greatest element of a contiguous line; any if one is NaN, which the line's exponentials then reveal.
template <class Arch, class T>
compute_t<T> greatest_of_row(const T* x, int64_t n) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  constexpr int64_t width = simd::lanes<C, Arch>;
  const B least(-std::numeric_limits<C>::infinity());
  const auto load = [&](int64_t i) { return simd::load_wide<Arch>(x + i); };
  B a = least, b = least, c = least, d = least;
  int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    a = simd::at_least(load(i), a);
    b = simd::at_least(load(i + width), b);
    c = simd::at_least(load(i + 2 * width), c);
    d = simd::at_least(load(i + 3 * width), d);
  }
  for (; i + width <= n; i += width) a = simd::at_least(load(i), a);
  if (i < n) b = simd::at_least(simd::first_n(simd::load_wide<Arch>(x + i, n - i), n - i, least), b);
  return simd::max_of_lanes(simd::at_least(simd::at_least(a, b), simd::at_least(c, d)));
}

/// Prefetch distance while exponentials are computed, in elements.
inline constexpr int64_t softmax_ahead = 1 << 12;

/// The sum of the exponentials of a contiguous line's elements minus `greatest`; f(e, i) or f(e, i, count)
/// gets each batch of them. The exponentials take long enough for a single sum to suffice, and for the next
/// line to be prefetched meanwhile.
template <class Arch, class T, class F>
double sum_exponentials(const T* x, int64_t n, const simd::batch<compute_t<T>, Arch>& greatest, const F& f) {
  using B = simd::batch<compute_t<T>, Arch>;
  constexpr int64_t width = simd::lanes<compute_t<T>, Arch>, block = 32 * width;
  const int64_t ahead = n < softmax_ahead ? n : softmax_ahead;
  double total = 0;
  for (int64_t i = 0; i < n;) {
    const int64_t end = n - i < block ? n : i + block;
    B sum(compute_t<T>(0));
    for (; i + width <= end; i += width) {
      TENON_PREFETCH(x + i + ahead, 0, 3);
      const B e = simd::exp_flushed(simd::load_wide<Arch>(x + i) - greatest);
      f(e, i);
      sum = sum + e;
    }
    if (i < end) {
      const B e = simd::exp_flushed(simd::load_wide<Arch>(x + i, end - i) - greatest);
      f(e, i, end - i);
      sum = sum + simd::first_n(e, end - i, B(compute_t<T>(0)));
      i = end;
    }
    total += static_cast<double>(simd::sum_of_lanes(sum));
  }
  return total;
}

}  // namespace tenon::TENON_ABI::kernels::detail
