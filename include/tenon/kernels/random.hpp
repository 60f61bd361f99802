// Counter-based random numbers: number i depends on the seed and i alone. So any thread can generate any
// part, and a seed gives the same numbers everywhere. Normal numbers may differ in the last bit of the
// platform's log, sin and cos.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tenon/base/convert.hpp"
#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/clock.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/base/scratch.hpp"

namespace tenon::TENON_ABI::kernels {

/// Philox 4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
/// 2011).
class Philox {
 public:
  explicit constexpr Philox(uint64_t key)
      : key_{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)} {}

  /// Block number `counter`: 128 random bits.
  constexpr std::array<uint32_t, 4> operator()(uint64_t counter, uint64_t high = 0) const {
    std::array<uint32_t, 4> x{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                              static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
    uint32_t k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53} * x[0], b = uint64_t{0xCD9E8D57} * x[2];
      x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(b),
           static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(a)};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return x;
  }

  /// Two numbers in [0, 1), multiples of 2^-53.
  constexpr std::array<double, 2> uniform(uint64_t counter) const {
    const std::array<uint32_t, 4> x = (*this)(counter);
    const auto fraction = [](uint32_t high, uint32_t low) {
      return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
    };
    return {fraction(x[1], x[0]), fraction(x[3], x[2])};
  }
  /// Two independent numbers of the standard normal distribution (Box and Muller).
  std::array<double, 2> normal(uint64_t counter) const {
    const auto [u, v] = uniform(counter);
    const double radius = std::sqrt(-2 * std::log(1 - u)), angle = 6.283185307179586477 * v;
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  uint32_t key_[2];
};

/// A seed that differs from earlier seeds of this process and of other processes.
inline uint64_t fresh_seed() {
  static std::atomic<uint64_t> calls{0};
  const uint64_t now = tenon::detail::clock_nanoseconds();
  // An address, which differs from run to run under address space randomisation.
  const auto place = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(&calls));
  // Each call advances by the golden ratio, then applies splitmix64's finish.
  uint64_t z = (now ^ place) + (calls.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// y[i], i < n, of the normal distribution. Rounded once from double.
template <class T>
void random_normal(T* y, int64_t n, uint64_t seed, double mean, double deviation) {
  const Philox philox(seed);
  parallel_for((n + 1) / 2, task_work::draws / 2, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const std::array<double, 2> z = philox.normal(static_cast<uint64_t>(block));
      y[2 * block] = convert<T>(mean + uncontracted(deviation * z[0]));
      if (2 * block + 1 < n) y[2 * block + 1] = convert<T>(mean + uncontracted(deviation * z[1]));
    }
  });
}

/// y[i], i < n, of the uniform distribution over [low, high]. Rounded once from double.
template <class T>
void random_uniform(T* y, int64_t n, uint64_t seed, double low, double high) {
  const Philox philox(seed);
  const double span = high - low;
  parallel_for((n + 1) / 2, task_work::draws, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const std::array<double, 2> u = philox.uniform(static_cast<uint64_t>(block));
      y[2 * block] = convert<T>(low + uncontracted(span * u[0]));
      if (2 * block + 1 < n) y[2 * block + 1] = convert<T>(low + uncontracted(span * u[1]));
    }
  });
}

/// y[i], i < n, is true with probability p[i], in [0, 1].
template <class T>
void random_bernoulli(const T* p, bool* y, int64_t n, uint64_t seed) {
  const Philox philox(seed);
  parallel_for((n + 1) / 2, task_work::draws, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const std::array<double, 2> u = philox.uniform(static_cast<uint64_t>(block));
      y[2 * block] = u[0] < static_cast<double>(p[2 * block]);
      if (2 * block + 1 < n) y[2 * block + 1] = u[1] < static_cast<double>(p[2 * block + 1]);
    }
  });
}

/// For each row of x (rows, classes) y has `samples` classes, each drawn with probabilities in proportion to
/// exp(x). False, with y incomplete, if a row defines no probabilities: it contains NaN or +infinity, or
/// nothing above -infinity.
template <class T, class I>
bool random_multinomial(const T* x, I* y, int64_t rows, int64_t classes, int64_t samples, uint64_t seed) {
  const Philox philox(seed);
  const int64_t blocks = (samples + 1) / 2,
                grain = std::max(int64_t{1}, task_work::searches / (classes + samples));
  std::atomic<bool> all{true};
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    double* sums = scratch.take<double>(classes);
    for (int64_t r = begin; r < end; ++r) {
      double greatest = -std::numeric_limits<double>::infinity(), total = 0;
      for (int64_t c = 0; c < classes; ++c)
        greatest = std::max(greatest, static_cast<double>(x[r * classes + c]));
      for (int64_t c = 0; c < classes; ++c)
        sums[c] = total += std::exp(static_cast<double>(x[r * classes + c]) - greatest);
      if (!(total > 0)) all.store(false, std::memory_order_relaxed);
      if (!(total > 0)) continue;
      for (int64_t k = 0; k < samples; k += 2) {
        const std::array<double, 2> u = philox.uniform(static_cast<uint64_t>(r * blocks + k / 2));
        for (int64_t j = k; j < std::min(k + 2, samples); ++j) {
          const int64_t c =
              std::upper_bound(sums, sums + classes, u[static_cast<std::size_t>(j - k)] * total) - sums;
          y[r * samples + j] = static_cast<I>(std::min(c, classes - 1));
        }
      }
    }
  });
  return all.load(std::memory_order_relaxed);
}

}  // namespace tenon::TENON_ABI::kernels
