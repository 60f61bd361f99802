// Random numbers by counter: number i depends on the seed and i alone. So any thread can make any part, and a
// seed gives the same numbers everywhere. Normal numbers may differ in the last bit of the platform's log,
// sin and cos.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <ctime>

#include "tenon/base/convert.hpp"
#include "tenon/base/parallel.hpp"

namespace tenon::kernels {

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

  /// Two numbers of [0, 1), multiples of 2^-53.
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

/// A seed that differs from earlier seeds of this process and of others.
inline uint64_t fresh_seed() {
  static std::atomic<uint64_t> calls{0};
  std::timespec clock{};
  std::timespec_get(&clock, TIME_UTC);
  const uint64_t now =
      static_cast<uint64_t>(clock.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(clock.tv_nsec);
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
  parallel_for((n + 1) / 2, 1 << 10, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const std::array<double, 2> z = philox.normal(static_cast<uint64_t>(block));
      y[2 * block] = convert<T>(mean + deviation * z[0]);
      if (2 * block + 1 < n) y[2 * block + 1] = convert<T>(mean + deviation * z[1]);
    }
  });
}

}  // namespace tenon::kernels
