// The random numbers of ONNX's reference implementation, numpy's RandomState: MT19937, doubles of 53 bits
// from two words each, and normal numbers from two doubles each. Use it to reproduce the reference's numbers
// for a seed; random.hpp generates numbers in parallel.
#pragma once

#include <cmath>
#include <cstdint>

#include "tenon/base/convert.hpp"
#include "tenon/base/platform/uncontracted.hpp"

namespace tenon::TENON_ABI::kernels {

/// The Mersenne Twister MT19937 of Matsumoto and Nishimura. Draws depend on one another: a stream belongs to
/// one thread.
class MersenneTwister {
 public:
  explicit MersenneTwister(uint32_t seed) {
    state_[0] = seed;
    for (uint32_t i = 1; i < size; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
  }

  /// 32 random bits.
  uint32_t next() {
    if (at_ == size) refill();
    uint32_t x = state_[at_++];
    x ^= x >> 11;
    x ^= x << 7 & 0x9d2c5680u;
    x ^= x << 15 & 0xefc60000u;
    return x ^ x >> 18;
  }
  /// Uniform in [0, 1): a multiple of 2^-53.
  double uniform() {
    const uint32_t high = next() >> 5, low = next() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }
  /// A number of the standard normal distribution, by Marsaglia's polar method. The method generates two
  /// numbers; the next call returns the second.
  double normal() {
    if (has_other_) return has_other_ = false, other_;
    double x, y, square;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = uncontracted(x * x) + uncontracted(y * y);
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    other_ = factor * x;
    has_other_ = true;
    return factor * y;
  }

 private:
  static constexpr uint32_t size = 624, middle = 397;

  void refill() {
    for (uint32_t i = 0; i < size; ++i) {
      const uint32_t x = (state_[i] & 0x80000000u) | (state_[(i + 1) % size] & 0x7fffffffu);
      state_[i] = state_[(i + middle) % size] ^ x >> 1 ^ (x & 1 ? 0x9908b0dfu : 0);
    }
    at_ = 0;
  }

  uint32_t state_[size];
  uint32_t at_ = size;
  double other_ = 0;
  bool has_other_ = false;
};

/// y[i], i < n, of the normal distribution: drawn one by one, each rounded to T, then scaled and shifted in
/// T.
template <class T>
void random_normal(T* y, int64_t n, MersenneTwister random, float mean, float deviation) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const W scale = convert<W>(convert<T>(deviation)), shift = convert<W>(convert<T>(mean));
  for (int64_t i = 0; i < n; ++i) {
    const T scaled = convert<T>(uncontracted(convert<W>(convert<T>(random.normal())) * scale));
    y[i] = convert<T>(convert<W>(scaled) + shift);
  }
}

/// y[i], i < n, of the uniform distribution over [low, high]: drawn one by one, each rounded to T, then
/// scaled and shifted in T.
template <class T>
void random_uniform(T* y, int64_t n, MersenneTwister random, float low, float high) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const W scale = convert<W>(convert<T>(double{high} - double{low})), shift = convert<W>(convert<T>(low));
  for (int64_t i = 0; i < n; ++i) {
    const T scaled = convert<T>(uncontracted(convert<W>(convert<T>(random.uniform())) * scale));
    y[i] = convert<T>(convert<W>(scaled) + shift);
  }
}

/// y[i], i < n, is true with probability p[i], in [0, 1]: numpy's binomial numbers of one trial, where the
/// greatest draws give the less probable outcome.
template <class T>
void random_bernoulli(const T* p, bool* y, int64_t n, MersenneTwister random) {
  for (int64_t i = 0; i < n; ++i) {
    const auto one = static_cast<double>(p[i]);
    const bool rare = one <= 0.5;
    const double common = 1 - (rare ? one : 1 - one);
    y[i] = one != 0 && (random.uniform() > common) == rare;
  }
}

}  // namespace tenon::TENON_ABI::kernels
