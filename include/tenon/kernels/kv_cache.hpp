// Codes of attention's keys and values in a cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/base/dtype.hpp"

namespace tenon::TENON_ABI::kernels {

/// Rounds n numbers of a head, divided by its factors, to codes, ties to even: int8 or, of an even number,
/// uint4, two in a byte, the first in the lower bits, raised by 8. NaN becomes the least code.
template <class T>
void store_codes(DType type, const float* factors, const T* x, void* codes, int64_t n) {
  const bool halves = type == DType::uint4;
  const float least = halves ? -8 : -128, greatest = halves ? 7 : 127;
  const auto code = [&](int64_t i) {
    const float q = std::nearbyint(static_cast<float>(x[i]) / factors[i]);
    return static_cast<int>(q > least ? std::min(q, greatest) : least);
  };
  if (halves) {
    auto* const to = static_cast<uint8_t*>(codes);
    for (int64_t i = 0; i < n; i += 2)
      to[i / 2] = static_cast<uint8_t>((code(i) + 8) | (code(i + 1) + 8) << 4);
  } else {
    auto* const to = static_cast<int8_t*>(codes);
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int8_t>(code(i));
  }
}

/// y = n codes of 4 bits, as store_codes writes them. An even number.
template <class T>
void unpack_codes(const uint8_t* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 2) {
    y[i] = static_cast<T>((x[i / 2] & 15) - 8);
    y[i + 1] = static_cast<T>((x[i / 2] >> 4) - 8);
  }
}

}  // namespace tenon::TENON_ABI::kernels
