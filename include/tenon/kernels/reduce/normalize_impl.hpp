// Bodies of normalize.hpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "tenon/base/costs.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/reduce/normalize.hpp"
#include "tenon/kernels/reduce/rows.hpp"
#include "tenon/simd/math.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

template <class Arch, class T>
double row_mean(const T* x, int64_t n) {
  using B = simd::batch<compute_t<T>, Arch>;
  return reduce_run<Arch, Add>(x, n, [](const B& v, auto...) { return v; }) / static_cast<double>(n);
}
/// The mean of the squares of a row's distances from `mean`.
template <class Arch, class T>
double row_variance(const T* x, int64_t n, double mean) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  const B centre(static_cast<C>(mean));
  return reduce_run<Arch, Add>(x, n, [centre](const B& v, auto...) { return (v - centre) * (v - centre); }) /
         static_cast<double>(n);
}

/// y = (x - centre) * factor * scale + bias over a row; scale and bias may be null.
template <class Arch, class T>
void norm_row(const T* x, T* y, int64_t n, double mean, double inv_std, const T* scale, const T* bias) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  const B centre(static_cast<C>(mean)), factor(static_cast<C>(inv_std));
  const auto load = [](const T* p, int64_t i, auto... count) {
    return simd::load_wide<Arch>(p + i, count...);
  };
  const auto unit = [=](const B& v) { return (v - centre) * factor; };
  if (scale && bias)
    map_row<Arch>(x, y, n, [=](const B& v, int64_t i, auto... count) {
      return simd::mul_add(unit(v), load(scale, i, count...), load(bias, i, count...));
    });
  else if (scale)
    map_row<Arch>(x, y, n,
                  [=](const B& v, int64_t i, auto... count) { return unit(v) * load(scale, i, count...); });
  else if (bias)
    map_row<Arch>(x, y, n,
                  [=](const B& v, int64_t i, auto... count) { return unit(v) + load(bias, i, count...); });
  else map_row<Arch>(x, y, n, [=](const B& v, auto...) { return unit(v); });
}

template <class Arch, class T>
void norm_rows(const LayerNormArgs<T>& a, bool centred, int64_t first_row, int64_t last_row) {
  // Several rows take each pass together if they fit the first-level cache: a single row's passes would wait
  // for its sums.
  constexpr int64_t most = 4, cached = cache_bytes::l1 / 2 / static_cast<int64_t>(sizeof(T));
  const int64_t together = a.n * most <= cached ? most : 1;
  double mean[most], inv_std[most];
  for (int64_t row = first_row; row < last_row;) {
    const int64_t stop = row + together < last_row ? row + together : last_row, rows = stop - row;
    const T* const x = a.x + row * a.n;
    if (!centred) std::fill_n(mean, rows, 0);
    else
      for (int64_t k = 0; k < rows; ++k) mean[k] = row_mean<Arch>(x + k * a.n, a.n);
    for (int64_t k = 0; k < rows; ++k)
      inv_std[k] = 1 / std::sqrt(row_variance<Arch>(x + k * a.n, a.n, mean[k]) + a.epsilon);
    for (int64_t k = 0; k < rows; ++k, ++row) {
      if (centred && a.mean) a.mean[row] = static_cast<float>(mean[k]);
      if (a.inv_std) a.inv_std[row] = static_cast<float>(inv_std[k]);
      norm_row<Arch>(x + k * a.n, a.y + row * a.n, a.n, mean[k], inv_std[k], a.scale, a.bias);
    }
  }
}

}  // namespace detail

template <class Arch, class T>
void layer_norm_impl(const LayerNormArgs<T>& args, int64_t first_row, int64_t last_row) {
  detail::norm_rows<Arch>(args, true, first_row, last_row);
}

template <class Arch, class T>
void rms_norm_impl(const LayerNormArgs<T>& args, int64_t first_row, int64_t last_row) {
  detail::norm_rows<Arch>(args, false, first_row, last_row);
}

template <class Arch, class T>
void batch_norm_impl(const BatchNormArgs<T>& a, int64_t first, int64_t last) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  if (a.spatial == 1) {
    const B epsilon(static_cast<C>(a.epsilon));
    for (int64_t row = first; row < last; ++row)
      detail::map_row<Arch>(
          a.x + row * a.channels, a.y + row * a.channels, a.channels,
          [&](const B& v, int64_t c, auto... count) {
            const auto load = [&](const C* p) { return simd::load_wide<Arch>(p + c, count...); };
            const B scale = simd::div(load(a.scale), simd::sqrt(load(a.variance) + epsilon));
            return simd::mul_add(v - load(a.mean), scale, load(a.bias));
          });
    return;
  }
  for (int64_t row = first; row < last; ++row) {
    const int64_t c = row % a.channels;
    const B scale(static_cast<C>(a.scale[c] / std::sqrt(static_cast<double>(a.variance[c]) + a.epsilon)));
    const B mean(a.mean[c]), bias(a.bias[c]);
    detail::map_row<Arch>(a.x + row * a.spatial, a.y + row * a.spatial, a.spatial,
                          [&](const B& v, auto...) { return simd::mul_add(v - mean, scale, bias); });
  }
}

template <class Arch, class T>
void group_norm_impl(const GroupNormArgs<T>& a, int64_t first, int64_t last) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  const int64_t channels = a.channels / a.groups, n = channels * a.spatial;
  for (int64_t row = first; row < last; ++row) {
    const T* x = a.x + row * n;
    T* y = a.y + row * n;
    const double mean = detail::row_mean<Arch>(x, n);
    const double inv_std = 1 / std::sqrt(detail::row_variance<Arch>(x, n, mean) + a.epsilon);
    const int64_t first_channel = row % a.groups * channels;
    for (int64_t i = 0; i < channels; ++i) {
      const int64_t c = first_channel + i;
      const B centre(static_cast<C>(mean));
      const B scale(static_cast<C>(inv_std * (a.scale ? static_cast<double>(a.scale[c]) : 1)));
      const B bias(a.bias ? static_cast<C>(a.bias[c]) : C(0));
      detail::map_row<Arch>(x + i * a.spatial, y + i * a.spatial, a.spatial,
                            [&](const B& v, auto...) { return simd::mul_add(v - centre, scale, bias); });
    }
  }
}

template <class Arch, class T>
void lrn_impl(const LrnArgs<T>& a, int64_t first, int64_t last) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  constexpr int64_t width = simd::lanes<C, Arch>;
  const int64_t below = (a.size - 1) / 2, above = a.size / 2, channels = a.channels;
  const B factor(static_cast<C>(a.alpha / static_cast<double>(a.size))), bias(static_cast<C>(a.bias));
  const B exponent(static_cast<C>(-a.beta));
  const bool three_quarters = a.beta == 0.75;
  const auto power = [&](const B& v) {
    if (!three_quarters) return simd::pow(v, exponent);
    const B root = simd::sqrt(v);
    return simd::div(B(C(1)), root * simd::sqrt(root));
  };
  // Each window of `size` channels is the end of one block of that size and the beginning of the next: wide
  // windows are composed of sums of these, so that the time does not grow with the size.
  const bool wide = std::min(a.size, channels) > 32;
  Scratch scratch;
  C* from_begin = wide ? scratch.take<C>(channels * width) : nullptr;
  C* to_end = wide ? scratch.take<C>(channels * width) : nullptr;
  for (int64_t at = first; at < last;) {
    const int64_t s = at % a.spatial, left = a.spatial - s;
    int64_t n = left < last - at ? left : last - at;
    if (n > width) n = width;
    const int64_t offset = at / a.spatial * channels * a.spatial + s;
    const auto load = [&](int64_t c) {
      const T* p = a.x + offset + c * a.spatial;
      return n == width ? simd::load_wide<Arch>(p) : simd::load_wide<Arch>(p, n);
    };
    const auto add_square = [&](int64_t c, B& sum) {
      const B v = load(c);
      sum = simd::mul_add(v, v, sum);
    };
    for (int64_t block = 0, end = 0; wide && block < channels; block = end) {
      end = channels - block > a.size ? block + a.size : channels;
      B sum(C(0));
      for (int64_t c = block; c < end; ++c) {
        add_square(c, sum);
        simd::storeu(from_begin + c * width, sum);
      }
      sum = B(C(0));
      for (int64_t c = end; c-- > block;) {
        add_square(c, sum);
        simd::storeu(to_end + c * width, sum);
      }
    }
    for (int64_t c = 0; c < channels; ++c) {
      B sum(C(0));
      const int64_t from = c > below ? c - below : 0, to = c + above < channels ? c + above : channels - 1;
      if (!wide)
        for (int64_t k = from; k <= to; ++k) add_square(k, sum);
      else if (from == 0) sum = simd::loadu<Arch>(from_begin + to * width);
      else {
        sum = simd::loadu<Arch>(to_end + from * width);
        if (from / a.size != to / a.size) sum = sum + simd::loadu<Arch>(from_begin + to * width);
      }
      const B y = load(c) * power(simd::mul_add(factor, sum, bias));
      simd::store_wide<Arch>(a.y + offset + c * a.spatial, y, n);
    }
    at += n;
  }
}

#ifdef TENON_INSTANTIATE
#define TENON_NORMALIZE(T)                                                                     \
  template void layer_norm_impl<TENON_INSTANTIATE>(const LayerNormArgs<T>&, int64_t, int64_t); \
  template void rms_norm_impl<TENON_INSTANTIATE>(const LayerNormArgs<T>&, int64_t, int64_t);   \
  template void batch_norm_impl<TENON_INSTANTIATE>(const BatchNormArgs<T>&, int64_t, int64_t); \
  template void group_norm_impl<TENON_INSTANTIATE>(const GroupNormArgs<T>&, int64_t, int64_t); \
  template void lrn_impl<TENON_INSTANTIATE>(const LrnArgs<T>&, int64_t, int64_t);
TENON_NORMALIZE(float)
TENON_NORMALIZE(double)
TENON_NORMALIZE(float16)
TENON_NORMALIZE(bfloat16)
#undef TENON_NORMALIZE
#endif

}  // namespace tenon::TENON_ABI::kernels
