// The random numbers of ONNX's reference implementation, numpy's RandomState: MT19937, and doubles of 53 bits
// made of two of its words. For where a seed's very numbers count; random.hpp makes numbers in parallel.
#pragma once

#include <cstdint>

namespace tenon::kernels {

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
};

}  // namespace tenon::kernels
