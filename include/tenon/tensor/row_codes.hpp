// Vectors as 8-bit codes with a scale.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tenon/base/dtype.hpp"
#include "tenon/base/element.hpp"

namespace tenon::TENON_ABI {

/// The types of vectors that can be codes.
using CodedTypes = TypeList<float, double, float16, bfloat16>;

/// Writes the codes of n numbers, integers from -127 to 127, and returns their scale: a number is its code
/// times the scale, which is a 127th of the greatest magnitude, so that it is off by at most half of the
/// scale. If a number is not finite as a float, the scale is NaN.
template <class T>
float encode_row(const T* x, int64_t n, int8_t* codes) {
  float most = 0;
  bool finite = true;
  for (int64_t i = 0; i < n; ++i) {
    const float magnitude = std::fabs(static_cast<float>(static_cast<compute_t<T>>(x[i])));
    finite &= magnitude <= std::numeric_limits<float>::max();
    most = std::max(most, magnitude);
  }
  const float scale = most / 127;
  if (!finite || scale == 0) {
    std::fill_n(codes, n, int8_t{0});
    return finite ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
  for (int64_t i = 0; i < n; ++i) {
    const float code = std::nearbyint(static_cast<float>(static_cast<compute_t<T>>(x[i])) / scale);
    codes[i] = static_cast<int8_t>(std::clamp(code, -127.0f, 127.0f));
  }
  return scale;
}

/// y = the n numbers of a row's codes.
template <class T>
void decode_row(const int8_t* codes, float scale, int64_t n, T* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(static_cast<float>(codes[i]) * scale);
}

}  // namespace tenon::TENON_ABI
