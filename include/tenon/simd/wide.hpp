// Loads and stores of float, double, float16 and bfloat16 as batches of the type in which they are computed:
// float for the narrow ones, else their own.
#pragma once

#include "tenon/base/types.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/half.hpp"

namespace tenon::TENON_ABI::simd {

template <class T>
inline constexpr bool is_narrow = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// n narrow floats to float and back, rounded to nearest even.
template <class Arch>
inline void widen(const float16* x, float* y, int64_t n) {
  f16_to_f32<Arch>(reinterpret_cast<const uint16_t*>(x), y, n);
}
template <class Arch>
inline void widen(const bfloat16* x, float* y, int64_t n) {
  bf16_to_f32<Arch>(reinterpret_cast<const uint16_t*>(x), y, n);
}
template <class Arch>
inline void narrow(const float* x, float16* y, int64_t n) {
  f32_to_f16<Arch>(x, reinterpret_cast<uint16_t*>(y), n);
}
template <class Arch>
inline void narrow(const float* x, bfloat16* y, int64_t n) {
  f32_to_bf16<Arch>(x, reinterpret_cast<uint16_t*>(y), n);
}

/// `lanes<compute_t<T>, Arch>` elements from memory of any alignment.
template <class Arch, class T>
inline batch<compute_t<T>, Arch> load_wide(const T* p) {
  if constexpr (is_narrow<T>) {
    alignas(64) float lane[lanes<float, Arch>];
    widen<Arch>(p, lane, lanes<float, Arch>);
    return loadu<Arch>(lane);
  } else {
    return loadu<Arch>(p);
  }
}

/// The first n <= lanes elements from memory, the other lanes zero.
template <class Arch, class T>
inline batch<compute_t<T>, Arch> load_wide(const T* p, int64_t n) {
  if constexpr (is_narrow<T>) {
    T part[lanes<float, Arch>] = {};
    std::memcpy(part, p, static_cast<std::size_t>(n) * sizeof(T));
    return load_wide<Arch>(static_cast<const T*>(part));
  } else {
    return load_n<Arch>(p, n);
  }
}

/// All lanes to memory of any alignment, rounded to T.
template <class Arch, class T>
inline void store_wide(T* p, const batch<compute_t<T>, Arch>& v) {
  if constexpr (is_narrow<T>) {
    alignas(64) float lane[lanes<float, Arch>];
    storeu(lane, v);
    narrow<Arch>(lane, p, lanes<float, Arch>);
  } else {
    storeu(p, v);
  }
}

/// The first n <= lanes lanes to memory, rounded to T.
template <class Arch, class T>
inline void store_wide(T* p, const batch<compute_t<T>, Arch>& v, int64_t n) {
  if constexpr (is_narrow<T>) {
    T part[lanes<float, Arch>];
    store_wide<Arch>(part, v);
    std::memcpy(p, part, static_cast<std::size_t>(n) * sizeof(T));
  } else {
    store_n(p, v, n);
  }
}

/// As many floats from memory as there are lanes of double.
template <class Arch>
inline batch<double, Arch> load_as_double(const float* p);

/// The first n <= lanes of them, the other lanes zero.
template <class Arch>
inline batch<double, Arch> load_as_double(const float* p, int64_t n);

/// All lanes to memory as floats.
template <class A>
inline void store_as_float(float* p, const xsimd::batch<double, A>& v);

/// The first n <= lanes lanes to memory as floats.
template <class A>
inline void store_as_float(float* p, const xsimd::batch<double, A>& v, int64_t n);

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/wide.hpp"
#include "tenon/simd/x86/wide.hpp"

#include "tenon/simd/generic/wide.hpp"
