// Vectors of attention's keys and values in a cache: floats of any type, or integers with scales.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/base/dtype.hpp"

namespace tenon::TENON_ABI::kernels {

/// Number i of a vector of head h is code * scale[h * scale_head + i * scale_step].
struct CacheCodes {
  int bits = 8;      ///< 8: int8; 4: two in a byte, the first in the lower bits, raised by 8
  int64_t size = 0;  ///< of a vector, even if bits is 4
  const float* scale = nullptr;
  int64_t scale_head = 0, scale_step = 0;

  int64_t bytes() const { return size * bits / 8; }
};

/// x = the numbers of a cached vector of head h.
inline void load_cached(const CacheCodes& c, int64_t h, const void* codes, float* x) {
  const float* scale = c.scale + h * c.scale_head;
  if (c.bits == 8) {
    const auto* from = static_cast<const int8_t*>(codes);
    for (int64_t i = 0; i < c.size; ++i) x[i] = static_cast<float>(from[i]) * scale[i * c.scale_step];
  } else {
    const auto* from = static_cast<const uint8_t*>(codes);
    for (int64_t i = 0; i < c.size; i += 2) {
      x[i] = static_cast<float>((from[i / 2] & 15) - 8) * scale[i * c.scale_step];
      x[i + 1] = static_cast<float>((from[i / 2] >> 4) - 8) * scale[(i + 1) * c.scale_step];
    }
  }
}

/// Rounds the numbers x of a vector of head h to codes, ties to even. NaN becomes the least code.
inline void store_cached(const CacheCodes& c, int64_t h, const float* x, void* codes) {
  const float* scale = c.scale + h * c.scale_head;
  const float least = c.bits == 8 ? -128 : -8, greatest = c.bits == 8 ? 127 : 7;
  const auto code = [&](int64_t i) {
    const float q = std::nearbyint(x[i] / scale[i * c.scale_step]);
    return static_cast<int>(q > least ? std::min(q, greatest) : least);
  };
  if (c.bits == 8) {
    auto* to = static_cast<int8_t*>(codes);
    for (int64_t i = 0; i < c.size; ++i) to[i] = static_cast<int8_t>(code(i));
  } else {
    auto* to = static_cast<uint8_t*>(codes);
    for (int64_t i = 0; i < c.size; i += 2)
      to[i / 2] = static_cast<uint8_t>((code(i) + 8) | (code(i + 1) + 8) << 4);
  }
}

}  // namespace tenon::TENON_ABI::kernels
