// Vectors for compilers that have no such types: arrays, whose loops a compiler may turn into instructions.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {

/// simd::Vector as an array.
template <class T, int count>
struct PlainVector {
  // A signed integer of T's size.
  using Truth = std::conditional_t<
      sizeof(T) == 1, int8_t,
      std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;
  using Mask = PlainVector<Truth, count>;

  T number[count];

  PlainVector() = default;
  template <class... N>
    requires(sizeof...(N) == count && count > 1)
  PlainVector(N... n) : number{static_cast<T>(n)...} {}
  // Implicit: a number is an operand.
  PlainVector(T x) {
    for (T& n : number) n = x;
  }

  T& operator[](int64_t i) { return number[i]; }
  const T& operator[](int64_t i) const { return number[i]; }

  template <class F>
  static PlainVector each(const PlainVector& a, const PlainVector& b, F f) {
    PlainVector r{};
    for (int i = 0; i < count; ++i) r[i] = static_cast<T>(f(a[i], b[i]));
    return r;
  }
  template <class F>
  static Mask compare(const PlainVector& a, const PlainVector& b, F holds) {
    Mask r{};
    for (int i = 0; i < count; ++i) r[i] = holds(a[i], b[i]) ? -1 : 0;
    return r;
  }

  using V = PlainVector;
  friend V operator+(const V& a, const V& b) {
    return each(a, b, [](T x, T y) { return x + y; });
  }
  friend V operator-(const V& a, const V& b) {
    return each(a, b, [](T x, T y) { return x - y; });
  }
  friend V operator*(const V& a, const V& b) {
    return each(a, b, [](T x, T y) { return x * y; });
  }
  friend V operator/(const V& a, const V& b) {
    return each(a, b, [](T x, T y) { return x / y; });
  }
  friend V operator&(const V& a, const V& b) {
    return each(a, b, [](auto x, auto y) { return x & y; });
  }
  friend V operator|(const V& a, const V& b) {
    return each(a, b, [](auto x, auto y) { return x | y; });
  }
  friend V operator^(const V& a, const V& b) {
    return each(a, b, [](auto x, auto y) { return x ^ y; });
  }
  friend V operator>>(const V& a, int n) {
    return each(a, a, [n](auto x, auto) { return x >> n; });
  }
  friend V operator~(const V& a) {
    return each(a, a, [](auto x, auto) { return ~x; });
  }
  friend Mask operator==(const V& a, const V& b) {
    return compare(a, b, [](T x, T y) { return x == y; });
  }
  friend Mask operator<(const V& a, const V& b) {
    return compare(a, b, [](T x, T y) { return x < y; });
  }
  friend Mask operator>(const V& a, const V& b) {
    return compare(a, b, [](T x, T y) { return x > y; });
  }

  V& operator+=(const V& b) { return *this = *this + b; }
  V& operator&=(const V& b) { return *this = *this & b; }
  V& operator|=(const V& b) { return *this = *this | b; }
};

}  // namespace detail

template <int... from, class T, int count>
inline auto shuffle(const detail::PlainVector<T, count>& a, const detail::PlainVector<T, count>& b) {
  return detail::PlainVector<T, static_cast<int>(sizeof...(from))>{
      (from < count ? a[from % count] : b[from % count])...};
}

template <class To, class T, int count>
inline To convert(const detail::PlainVector<T, count>& x) {
  To r{};
  for (int i = 0; i < count; ++i) r[i] = static_cast<std::remove_reference_t<decltype(r[i])>>(x[i]);
  return r;
}

template <class Mask, class T, int count>
inline auto choose(const Mask& holds, const detail::PlainVector<T, count>& a,
                   const detail::PlainVector<T, count>& b) {
  detail::PlainVector<T, count> r{};
  for (int i = 0; i < count; ++i) r[i] = holds[i] != 0 ? a[i] : b[i];
  return r;
}

}  // namespace tenon::TENON_ABI::simd
