// Loads and stores of float, double, float16 and bfloat16 as batches of the type they are computed in: float
// for the narrow ones, else their own.
#pragma once

#include "tenon/base/narrow_float.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::simd {

template <class T>
inline constexpr bool is_narrow = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

template <class T>
using wide = std::conditional_t<is_narrow<T>, float, T>;

namespace detail {

template <class Arch>
inline batch<float, Arch> widen(const float16* p) {
  alignas(64) float lane[lanes<float, Arch>];
  f16_to_f32<Arch>(reinterpret_cast<const uint16_t*>(p), lane, lanes<float, Arch>);
  return loadu<Arch>(lane);
}
template <class Arch>
inline batch<float, Arch> widen(const bfloat16* p) {
  alignas(64) float lane[lanes<float, Arch>];
  bf16_to_f32<Arch>(reinterpret_cast<const uint16_t*>(p), lane, lanes<float, Arch>);
  return loadu<Arch>(lane);
}
template <class Arch>
inline void narrow(float16* p, const batch<float, Arch>& v) {
  alignas(64) float lane[lanes<float, Arch>];
  storeu(lane, v);
  f32_to_f16<Arch>(lane, reinterpret_cast<uint16_t*>(p), lanes<float, Arch>);
}
template <class Arch>
inline void narrow(bfloat16* p, const batch<float, Arch>& v) {
  alignas(64) float lane[lanes<float, Arch>];
  storeu(lane, v);
  f32_to_bf16<Arch>(lane, reinterpret_cast<uint16_t*>(p), lanes<float, Arch>);
}

}  // namespace detail

/// `lanes<wide<T>, Arch>` elements from memory of any alignment.
template <class Arch, class T>
inline batch<wide<T>, Arch> load_wide(const T* p) {
  if constexpr (is_narrow<T>) return detail::widen<Arch>(p);
  else return loadu<Arch>(p);
}

/// The first n <= lanes elements from memory, the other lanes zero.
template <class Arch, class T>
inline batch<wide<T>, Arch> load_wide(const T* p, int64_t n) {
  if constexpr (is_narrow<T>) {
    T part[lanes<float, Arch>] = {};
    std::memcpy(part, p, static_cast<std::size_t>(n) * sizeof(T));
    return detail::widen<Arch>(part);
  } else {
    return load_n<Arch>(p, n);
  }
}

/// All lanes to memory of any alignment, rounded to T.
template <class Arch, class T>
inline void store_wide(T* p, const batch<wide<T>, Arch>& v) {
  if constexpr (is_narrow<T>) detail::narrow<Arch>(p, v);
  else storeu(p, v);
}

/// The first n <= lanes lanes to memory, rounded to T.
template <class Arch, class T>
inline void store_wide(T* p, const batch<wide<T>, Arch>& v, int64_t n) {
  if constexpr (is_narrow<T>) {
    T part[lanes<float, Arch>];
    detail::narrow<Arch>(part, v);
    std::memcpy(p, part, static_cast<std::size_t>(n) * sizeof(T));
  } else {
    store_n(p, v, n);
  }
}

}  // namespace tenon::simd
