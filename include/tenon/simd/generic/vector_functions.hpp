// Functions of batches in the compiler's vector types.
#pragma once

#include <cmath>

#include "tenon/base/target.hpp"
#include "tenon/simd/generic/vector_batch.hpp"

namespace tenon::TENON_ABI::simd::vectors {

/// x where the condition holds, else y.
template <class T, class A>
inline batch<T, A> select(const batch_bool<T, A>& condition, const batch<T, A>& x, const batch<T, A>& y) {
  return condition.data ? x.data : y.data;
}

/// The greater or the lesser; y if either is NaN.
template <class T, class A>
inline batch<T, A> max(const batch<T, A>& x, const batch<T, A>& y) {
  return vectors::select(x > y, x, y);
}
template <class T, class A>
inline batch<T, A> min(const batch<T, A>& x, const batch<T, A>& y) {
  return vectors::select(x < y, x, y);
}

template <class T, class A>
inline batch_bool<T, A> isnan(const batch<T, A>& x) {
  return x != x;
}

template <class T, class A>
inline batch<T, A> abs(const batch<T, A>& x) {
  using Bits = detail::Bits<T>;
  using Words = typename detail::Types<T, A>::Words;
  if constexpr (std::floating_point<T>)
    return (typename batch<T, A>::register_type)((Words)x.data & batch<Bits, A>(Bits(-1) >> 1).data);
  else if constexpr (std::is_signed_v<T>) return vectors::select(x < batch<T, A>(T(0)), -x, x);
  else return x;
}

template <class T, class A>
inline bool any(const batch_bool<T, A>& x) {
#if defined(__wasm_simd128__)
  return __builtin_wasm_any_true_v128((typename detail::Types<int8_t, A>::Lanes)x.data);
#else
  const auto words = (typename detail::Types<uint64_t, A>::Lanes)x.data;
  uint64_t set = 0;
  for (int i = 0; i < A::bytes / 8; ++i) set |= words[i];
  return set != 0;
#endif
}
template <class T, class A>
inline bool all(const batch_bool<T, A>& x) {
  return !vectors::any(!x);
}

namespace detail {
template <class T, class A, class F>
inline batch<T, A> each(const batch<T, A>& x, F f) {
  batch<T, A> y = x;
  for (std::size_t i = 0; i < batch<T, A>::size; ++i) y.data[i] = f(x.data[i]);
  return y;
}
}  // namespace detail

// clang knows vector forms of these functions.
#if defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_floor) && __has_builtin(__builtin_elementwise_nearbyint) && \
    __has_builtin(__builtin_elementwise_sqrt)
#define TENON_ELEMENTWISE(name, x) __builtin_elementwise_##name((x).data)
#endif
#endif
#if !defined(TENON_ELEMENTWISE)
#define TENON_ELEMENTWISE(name, x) detail::each(x, [](T lane) { return std::name(lane); })
#endif

template <class T, class A>
inline batch<T, A> floor(const batch<T, A>& x) {
  return TENON_ELEMENTWISE(floor, x);
}
template <class T, class A>
inline batch<T, A> nearbyint(const batch<T, A>& x) {
  return TENON_ELEMENTWISE(nearbyint, x);
}
template <class T, class A>
inline batch<T, A> sqrt(const batch<T, A>& x) {
  return TENON_ELEMENTWISE(sqrt, x);
}

#undef TENON_ELEMENTWISE

/// x * y + z, which may round twice.
template <class T, class A>
inline batch<T, A> fma(const batch<T, A>& x, const batch<T, A>& y, const batch<T, A>& z) {
  return x * y + z;
}

template <class A>
inline batch<int32_t, A> to_int(const batch<float, A>& x) {
  return __builtin_convertvector(x.data, typename batch<int32_t, A>::register_type);
}
template <class A>
inline batch<float, A> to_float(const batch<int32_t, A>& x) {
  return __builtin_convertvector(x.data, typename batch<float, A>::register_type);
}
template <class A>
inline batch<int32_t, A> nearbyint_as_int(const batch<float, A>& x) {
  return vectors::to_int(vectors::nearbyint(x));
}

/// The sum of all lanes.
template <class T, class A>
inline T reduce_add(const batch<T, A>& x) {
  T lane[batch<T, A>::size];
  x.store_unaligned(lane);
  for (std::size_t half = batch<T, A>::size / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

}  // namespace tenon::TENON_ABI::simd::vectors
