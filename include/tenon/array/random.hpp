// Random tensors: uniform and normal numbers from a seed, with the same bits on every platform and compiler,
// and for any number of threads.
//
// Numbers come from Philox 4x32-10 (kernels/random.hpp), keyed by the seed and counted by the element's
// index, so random<float>({6}, 1) and random<float>({2, 3}, 1) contain the same numbers. Every step is an
// integer operation, a comparison, or an operation that IEEE 754 rounds once (std::fma for multiply-add). So
// neither the platform's log and cos nor contraction of a * b + c can change a bit; -ffast-math can.
#pragma once

#include <cmath>

#include "tenon/array/factory.hpp"
#include "tenon/base/costs.hpp"
#include "tenon/base/platform/overflow.hpp"
#include "tenon/kernels/random.hpp"

namespace tenon::TENON_ABI {

namespace array_detail {

/// Further random numbers for one element, after its first block: as many as a rejection method needs.
class Draws {
 public:
  Draws(const kernels::Philox& philox, int64_t element)
      : philox_(philox), element_(static_cast<uint64_t>(element)) {}

  /// 64 random bits.
  uint64_t bits() {
    if (left_ == 0) {
      words_ = philox_(element_, ++block_);  // `random` takes block 0
      left_ = 2;
    }
    const std::size_t at = 2 * static_cast<std::size_t>(--left_);
    return uint64_t{words_[at + 1]} << 32 | words_[at];
  }
  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  bool with_probability(double p) { return uniform() < p; }

 private:
  const kernels::Philox& philox_;
  uint64_t element_, block_ = 0;
  std::array<uint32_t, 4> words_{};
  int left_ = 0;
};

/// True with probability exp(-t), t in [0, 1]: the drawn numbers decrease from t an even number of times (von
/// Neumann).
inline bool with_exponential(Draws& draws, double t) {
  bool even = true;
  for (double last = t, next = draws.uniform(); next < last; last = next, next = draws.uniform())
    even = !even;
  return even;
}

/// A number of the standard normal distribution, by comparisons only: C. F. F. Karney, "Sampling exactly from
/// the normal distribution", ACM TOMS 42 (2016), algorithm N, with uniform numbers of 53 bits.
inline double standard_normal(Draws& draws) {
  constexpr double root = 0.60653065971263342;  // exp(-1/2)
  for (;;) {
    int k = 0;  // the integer part, with probability proportional to exp(-k^2 / 2)
    while (draws.with_probability(root)) ++k;
    bool taken = true;
    for (int n = k * (k - 1); n > 0 && taken; --n) taken = draws.with_probability(root);
    if (!taken) continue;
    const double x = draws.uniform(), twice = 2 * k;
    const double t = x * (twice + x) / (twice + 2);
    for (int n = 0; n <= k && taken; ++n) taken = with_exponential(draws, t);
    if (taken) return draws.with_probability(0.5) ? -(k + x) : k + x;
  }
}

/// A uniform number in [0, range) (Lemire, "Fast random integer generation in an interval", 2019); range 0
/// stands for 2^64.
inline uint64_t below(Draws& draws, uint64_t range) {
  if (range == 0) return draws.bits();
  for (;;) {
    uint64_t low;
    const uint64_t high = tenon::detail::multiply_wide(draws.bits(), range, &low);
    if (low >= (0 - range) % range) return high;
  }
}

/// The type of bounds for numbers of type T: double for floats.
template <class T>
using Bound = std::conditional_t<std::is_integral_v<T>, T, double>;
template <class T>
inline constexpr Bound<T> greatest_bound = 1;
template <std::integral T>
inline constexpr T greatest_bound<T> = std::numeric_limits<T>::max();

template <class T, class S>
Tensor<T, S> make_random(std::span<const int64_t> extents, uint64_t seed, Bound<T> low, Bound<T> high) {
  const auto refuse = [](const char* why) { raise(ErrorCode::invalid_argument, "random", why); };
  const kernels::Philox philox(seed);
  auto t = named("random", [&] { return Tensor<T, S>::uninitialized(extents); });
  T* const y = t.data();
  if constexpr (std::is_integral_v<T>) {
    if (high < low) refuse("high is below low");
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    parallel_for(t.size(), task_work::draws / 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Draws draws(philox, i);
        y[i] = static_cast<T>(static_cast<uint64_t>(low) + below(draws, range));
      }
    });
  } else {
    const double span = high - low;
    if (!std::isfinite(span)) refuse("bounds and their distance are finite");
    // Only as many bits as T has below 1: rounding could give 1 itself.
    constexpr double steps = static_cast<double>(int64_t{1} << std::numeric_limits<T>::digits);
    const auto number = [=](double u) {
      u = std::trunc(u * steps) / steps;
      return convert<T>(low == 0 && span == 1 ? u : std::fma(span, u, low));
    };
    const int64_t n = t.size();
    parallel_for(n / 2 + n % 2, task_work::draws / 2, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const std::array<double, 2> u = philox.uniform(static_cast<uint64_t>(block));
        y[2 * block] = number(u[0]);
        if (2 * block + 1 < n) y[2 * block + 1] = number(u[1]);
      }
    });
  }
  return t;
}

template <class T, class S>
Tensor<T, S> make_normal(std::span<const int64_t> extents, uint64_t seed, double mean, double deviation) {
  if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation < 0)
    raise(ErrorCode::invalid_argument, "normal", "mean and deviation are finite, the latter not negative");
  const kernels::Philox philox(seed);
  auto t = named("normal", [&] { return Tensor<T, S>::uninitialized(extents); });
  T* const y = t.data();
  parallel_for(t.size(), 1 << 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Draws draws(philox, i);
      y[i] = convert<T>(std::fma(deviation, standard_normal(draws), mean));
    }
  });
  return t;
}

}  // namespace array_detail

/// Uniform numbers. Floats lie in [low, high), by default [0, 1), with as many bits as T has; with given
/// bounds, rounding may give high itself. Integers lie in [low, high], by default from 0 to the type's
/// maximum. random<float>({2, 3}, 42), random<int32_t>({10}, 42, 1, 6), random<float, Shape<2, 3>>(42).
/// Error{invalid_argument} for bounds that are not finite or, of integers, out of order.
template <Countable T, array_detail::Static S>
[[nodiscard]] Tensor<T, S> random(uint64_t seed, array_detail::Bound<T> low = 0,
                                  array_detail::Bound<T> high = array_detail::greatest_bound<T>) {
  return array_detail::make_random<T, S>(S::extents, seed, low, high);
}
template <Countable T, std::size_t R>
[[nodiscard]] Tensor<T, DynamicShape<R>> random(
    const int64_t (&extents)[R], uint64_t seed, array_detail::Bound<T> low = 0,
    array_detail::Bound<T> high = array_detail::greatest_bound<T>) {
  return array_detail::make_random<T, DynamicShape<R>>(extents, seed, low, high);
}
template <Countable T, class S = AnyShape>
[[nodiscard]] Tensor<T, S> random(const Extents& extents, uint64_t seed, array_detail::Bound<T> low = 0,
                                  array_detail::Bound<T> high = array_detail::greatest_bound<T>) {
  return array_detail::make_random<T, S>(extents, seed, low, high);
}

/// Numbers of the normal distribution with this mean and standard deviation, rounded once.
/// normal<float>({784, 10}, 42, 0, 0.01). Error{invalid_argument} for a negative deviation, and if either
/// number is not finite.
template <Countable T, array_detail::Static S>
  requires(!std::is_integral_v<T>)
[[nodiscard]] Tensor<T, S> normal(uint64_t seed, double mean = 0, double deviation = 1) {
  return array_detail::make_normal<T, S>(S::extents, seed, mean, deviation);
}
template <Countable T, std::size_t R>
  requires(!std::is_integral_v<T>)
[[nodiscard]] Tensor<T, DynamicShape<R>> normal(const int64_t (&extents)[R], uint64_t seed, double mean = 0,
                                                double deviation = 1) {
  return array_detail::make_normal<T, DynamicShape<R>>(extents, seed, mean, deviation);
}
template <Countable T, class S = AnyShape>
  requires(!std::is_integral_v<T>)
[[nodiscard]] Tensor<T, S> normal(const Extents& extents, uint64_t seed, double mean = 0,
                                  double deviation = 1) {
  return array_detail::make_normal<T, S>(extents, seed, mean, deviation);
}

}  // namespace tenon::TENON_ABI
