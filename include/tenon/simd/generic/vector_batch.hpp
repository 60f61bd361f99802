// Batches in the compiler's vector types, for processors whose registers xsimd does not know: the part of
// xsimd's interface that Tenon uses, with the same meaning. The compiler chooses the instructions, and
// without any it computes lane by lane.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::simd::vectors {

/// Registers of 16 bytes, which all families have that have any.
struct Vector16 {
  static constexpr int bytes = 16;
};
using default_arch = Vector16;

namespace detail {

template <std::size_t bytes>
using IntegerOf = std::conditional_t<
    bytes == 1, int8_t,
    std::conditional_t<bytes == 2, int16_t, std::conditional_t<bytes == 4, int32_t, int64_t>>>;

// The type in which integers wrap, and in which numbers have bits.
template <class T>
using Bits = std::make_unsigned_t<IntegerOf<sizeof(T)>>;

template <class T, class A>
struct Types {
  using Lanes [[gnu::vector_size(A::bytes)]] = T;
  using Mask [[gnu::vector_size(A::bytes)]] = IntegerOf<sizeof(T)>;
  using Words [[gnu::vector_size(A::bytes)]] = Bits<T>;
  // Integers are added and multiplied as unsigned ones, whose overflow is defined. g++ drops the size of a
  // vector that is an argument of std::conditional_t.
  using Sums [[gnu::vector_size(A::bytes)]] = std::conditional_t<std::integral<T>, Bits<T>, T>;
};

template <class V, class T, std::size_t... i>
inline V filled(T x, std::index_sequence<i...>) {
  return V{(static_cast<void>(i), x)...};
}

}  // namespace detail

template <class T, class A>
class batch;

/// The result of a comparison: lanes of which all bits are set, or none.
template <class T, class A>
class batch_bool {
 public:
  using register_type = typename detail::Types<T, A>::Mask;
  static constexpr std::size_t size = static_cast<std::size_t>(A::bytes) / sizeof(T);

  batch_bool() = default;
  batch_bool(register_type lanes) : data(lanes) {}
  explicit batch_bool(bool x)
      : data(detail::filled<register_type>(static_cast<detail::IntegerOf<sizeof(T)>>(x ? -1 : 0),
                                           std::make_index_sequence<size>{})) {}

  friend batch_bool operator&(const batch_bool& x, const batch_bool& y) { return x.data & y.data; }
  friend batch_bool operator|(const batch_bool& x, const batch_bool& y) { return x.data | y.data; }
  friend batch_bool operator^(const batch_bool& x, const batch_bool& y) { return x.data ^ y.data; }
  friend batch_bool operator&&(const batch_bool& x, const batch_bool& y) { return x.data & y.data; }
  friend batch_bool operator||(const batch_bool& x, const batch_bool& y) { return x.data | y.data; }
  batch_bool operator!() const { return ~data; }
  batch_bool operator~() const { return ~data; }

  void store_unaligned(bool* p) const {
    for (std::size_t k = 0; k < size; ++k) p[k] = data[k] != 0;
  }

  register_type data;
};

template <class T, class A>
class batch {
  using Types = detail::Types<T, A>;
  using Words = typename Types::Words;
  using Sums = typename Types::Sums;

 public:
  using value_type = T;
  using arch_type = A;
  using batch_bool_type = batch_bool<T, A>;
  using register_type = typename Types::Lanes;
  static constexpr std::size_t size = batch_bool_type::size;

  batch() = default;
  batch(T x) : data(detail::filled<register_type>(x, std::make_index_sequence<size>{})) {}
  batch(register_type lanes) : data(lanes) {}
  operator register_type() const { return data; }

  static batch load_unaligned(const T* p) {
    batch v;
    std::memcpy(&v.data, static_cast<const void*>(p), sizeof v.data);
    return v;
  }
  static batch load_aligned(const T* p) { return load_unaligned(p); }
  void store_unaligned(T* p) const { std::memcpy(static_cast<void*>(p), &data, sizeof data); }
  void store_aligned(T* p) const { store_unaligned(p); }

  friend batch operator+(const batch& x, const batch& y) { return lanes((Sums)x.data + (Sums)y.data); }
  friend batch operator-(const batch& x, const batch& y) { return lanes((Sums)x.data - (Sums)y.data); }
  friend batch operator*(const batch& x, const batch& y) { return lanes((Sums)x.data * (Sums)y.data); }
  friend batch operator/(const batch& x, const batch& y) { return x.data / y.data; }
  friend batch operator&(const batch& x, const batch& y) { return lanes((Words)x.data & (Words)y.data); }
  friend batch operator|(const batch& x, const batch& y) { return lanes((Words)x.data | (Words)y.data); }
  friend batch operator^(const batch& x, const batch& y) { return lanes((Words)x.data ^ (Words)y.data); }
  batch operator~() const { return lanes(~(Words)data); }
  batch operator-() const { return lanes(-(Sums)data); }

  friend batch operator<<(const batch& x, int n) { return lanes((Words)x.data << word(n)); }
  friend batch operator<<(const batch& x, const batch& n) { return lanes((Words)x.data << (Words)n.data); }
  friend batch operator>>(const batch& x, int n) { return x.data >> batch(static_cast<T>(n)).data; }
  friend batch operator>>(const batch& x, const batch& n) { return x.data >> n.data; }

  batch& operator+=(const batch& y) { return *this = *this + y; }
  batch& operator-=(const batch& y) { return *this = *this - y; }
  batch& operator*=(const batch& y) { return *this = *this * y; }
  batch& operator/=(const batch& y) { return *this = *this / y; }
  batch& operator&=(const batch& y) { return *this = *this & y; }
  batch& operator|=(const batch& y) { return *this = *this | y; }
  batch& operator^=(const batch& y) { return *this = *this ^ y; }

  friend batch_bool_type operator==(const batch& x, const batch& y) { return mask(x.data == y.data); }
  friend batch_bool_type operator!=(const batch& x, const batch& y) { return mask(x.data != y.data); }
  friend batch_bool_type operator<(const batch& x, const batch& y) { return mask(x.data < y.data); }
  friend batch_bool_type operator<=(const batch& x, const batch& y) { return mask(x.data <= y.data); }
  friend batch_bool_type operator>(const batch& x, const batch& y) { return mask(x.data > y.data); }
  friend batch_bool_type operator>=(const batch& x, const batch& y) { return mask(x.data >= y.data); }

  register_type data;

 private:
  template <class V>
  static batch lanes(V v) {
    return (register_type)v;
  }
  template <class V>
  static batch_bool_type mask(V v) {
    return (typename Types::Mask)v;
  }
  static Words word(int n) {
    return detail::filled<Words>(static_cast<detail::Bits<T>>(n), std::make_index_sequence<size>{});
  }
};

}  // namespace tenon::TENON_ABI::simd::vectors
