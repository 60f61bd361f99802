// The integers narrower than a byte (int4, uint4, int2, uint2), and pointers into arrays that pack several
// elements into a byte.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include "tenon/base/narrow_float.hpp"

namespace tenon::TENON_ABI {

namespace detail {

/// A float truncated towards zero. Beyond the range of I, where ONNX leaves the result open, it is the result
/// of the x86 instructions (and of numpy there) on every machine: types narrower than 32 bits keep the low
/// bits of the int32, uint32 the low bits of the int64; NaN and numbers beyond the wide type count as its
/// smallest number. uint64 keeps [2^63, 2^64), and greater numbers give 0.
template <class I, class R>
constexpr I truncate_to(R x) {
  constexpr R two31 = 2147483648.0f, two63 = 9223372036854775808.0f, two64 = 18446744073709551616.0f;
  if constexpr (sizeof(I) < 4) {
    return static_cast<I>(truncate_to<int32_t>(x));
  } else if constexpr (std::is_same_v<I, int32_t>) {
    // As a double, the range reaches down to -2^31 - 1, exclusive; as a float that bound is -2^31 itself.
    return x > -two31 - 1 && x < two31 ? static_cast<int32_t>(x) : std::numeric_limits<int32_t>::min();
  } else if constexpr (std::is_same_v<I, uint32_t>) {
    return static_cast<uint32_t>(truncate_to<int64_t>(x));
  } else if constexpr (std::is_same_v<I, int64_t>) {
    return x >= -two63 && x < two63 ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min();
  } else {
    static_assert(std::is_same_v<I, uint64_t>);
    if (x >= two63) return x < two64 ? static_cast<uint64_t>(x) : 0;
    return static_cast<uint64_t>(truncate_to<int64_t>(x));
  }
}

/// The common base of the packed integers. T is the type itself; `bits` holds its Width bits, the upper ones
/// are zero.
template <class T, int Width, bool Signed>
struct PackedInt {
  using Bits = uint8_t;

  uint8_t bits;

  PackedInt() = default;
  /// Keeps the low bits of an integer; a floating-point number is truncated first.
  template <Arithmetic A>
  constexpr explicit PackedInt(A value) : bits(0) {
    if constexpr (std::is_floating_point_v<A>) bits = truncate_to<uint8_t>(value) & mask;
    else bits = static_cast<uint8_t>(value) & mask;
  }

  static constexpr T from_bits(uint8_t bits) {
    T value{};
    value.bits = bits & mask;
    return value;
  }

  constexpr int value() const {
    if constexpr (Signed) return (bits ^ half) - half;
    else return bits;
  }

  template <Arithmetic A>
  constexpr explicit operator A() const {
    return static_cast<A>(value());
  }

  friend constexpr bool operator==(T a, T b) { return a.bits == b.bits; }
  friend constexpr std::strong_ordering operator<=>(T a, T b) { return a.value() <=> b.value(); }

  static constexpr int width = Width;
  static constexpr bool is_signed = Signed;

 private:
  static constexpr uint8_t mask = (1 << Width) - 1;
  static constexpr int half = 1 << (Width - 1);
};

}  // namespace detail

struct int4 : detail::PackedInt<int4, 4, true> {
  using PackedInt::PackedInt;
};
struct uint4 : detail::PackedInt<uint4, 4, false> {
  using PackedInt::PackedInt;
};
struct int2 : detail::PackedInt<int2, 2, true> {
  using PackedInt::PackedInt;
};
struct uint2 : detail::PackedInt<uint2, 2, false> {
  using PackedInt::PackedInt;
};

namespace detail {

template <class T>
inline constexpr int packed_width = 0;  // 0: an element takes whole bytes
template <>
inline constexpr int packed_width<float4e2m1> = 4;
template <>
inline constexpr int packed_width<int4> = 4;
template <>
inline constexpr int packed_width<uint4> = 4;
template <>
inline constexpr int packed_width<int2> = 2;
template <>
inline constexpr int packed_width<uint2> = 2;

}  // namespace detail

/// An element type that packs several elements into a byte.
template <class T>
concept PackedElement = detail::packed_width<std::remove_const_t<T>> != 0;

/// Stands for T& into a packed array: reads as a T, is assigned a T. Elements in one byte are not
/// independent: two threads must not write to the same byte.
template <PackedElement T>
class PackedRef {
 public:
  using Value = std::remove_const_t<T>;
  using Byte = std::conditional_t<std::is_const_v<T>, const uint8_t, uint8_t>;

  constexpr PackedRef(Byte* byte, int shift) : byte_(byte), shift_(shift) {}
  PackedRef(const PackedRef&) = default;

  constexpr operator Value() const {
    return Value::from_bits(static_cast<uint8_t>((*byte_ >> shift_) & mask));
  }
  template <detail::Arithmetic A>
  constexpr explicit operator A() const {
    return static_cast<A>(static_cast<Value>(*this));
  }
  constexpr operator PackedRef<const Value>() const
    requires(!std::is_const_v<T>)
  {
    return {byte_, shift_};
  }

  // Const, as an iterator's writable reference must be: it is the element that changes, not the proxy.
  constexpr const PackedRef& operator=(Value value) const
    requires(!std::is_const_v<T>)
  {
    *byte_ = static_cast<uint8_t>((*byte_ & ~(mask << shift_)) | ((value.bits & mask) << shift_));
    return *this;
  }
  constexpr PackedRef& operator=(const PackedRef& other)
    requires(!std::is_const_v<T>)
  {
    static_cast<const PackedRef&>(*this) = static_cast<Value>(other);
    return *this;
  }

  friend constexpr void swap(PackedRef a, PackedRef b)
    requires(!std::is_const_v<T>)
  {
    const Value value = a;
    static_cast<const PackedRef&>(a) = static_cast<Value>(b);
    static_cast<const PackedRef&>(b) = value;
  }

 private:
  static constexpr int mask = (1 << detail::packed_width<Value>)-1;

  Byte* byte_;
  int shift_;
};

/// Stands for T* into a packed array: elements fill each byte from its low bits up. T may be const.
template <PackedElement T>
class PackedPtr {
 public:
  using Value = std::remove_const_t<T>;
  using Byte = std::conditional_t<std::is_const_v<T>, const uint8_t, uint8_t>;
  using Void = std::conditional_t<std::is_const_v<T>, const void, void>;
  using value_type = Value;
  using reference = PackedRef<T>;
  using pointer = void;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;

  static constexpr int per_byte = 8 / detail::packed_width<Value>;

  constexpr PackedPtr() = default;
  constexpr PackedPtr(std::nullptr_t) {}
  constexpr explicit PackedPtr(Byte* bytes) : byte_(bytes) {}
  explicit PackedPtr(Void* bytes) : byte_(static_cast<Byte*>(bytes)) {}
  constexpr operator PackedPtr<const Value>() const
    requires(!std::is_const_v<T>)
  {
    return PackedPtr<const Value>(byte_) + slot_;
  }

  /// The byte that holds the element pointed at, and the element's place in it, 0 for its lowest bits.
  constexpr Byte* byte() const { return byte_; }
  constexpr int slot() const { return slot_; }

  constexpr explicit operator bool() const { return byte_ != nullptr; }
  constexpr reference operator*() const { return {byte_, slot_ * detail::packed_width<Value>}; }
  constexpr reference operator[](difference_type i) const { return *(*this + i); }

  constexpr PackedPtr& operator+=(difference_type n) {
    const difference_type place = slot_ + n;
    slot_ = static_cast<int>(place & (per_byte - 1));
    byte_ += (place - slot_) / per_byte;
    return *this;
  }
  constexpr PackedPtr& operator-=(difference_type n) { return *this += -n; }
  constexpr PackedPtr& operator++() { return *this += 1; }
  constexpr PackedPtr& operator--() { return *this += -1; }
  constexpr PackedPtr operator++(int) {
    PackedPtr before = *this;
    ++*this;
    return before;
  }
  constexpr PackedPtr operator--(int) {
    PackedPtr before = *this;
    --*this;
    return before;
  }
  friend constexpr PackedPtr operator+(PackedPtr p, difference_type n) { return p += n; }
  friend constexpr PackedPtr operator+(difference_type n, PackedPtr p) { return p += n; }
  friend constexpr PackedPtr operator-(PackedPtr p, difference_type n) { return p -= n; }
  friend constexpr difference_type operator-(PackedPtr a, PackedPtr b) {
    return (a.byte_ - b.byte_) * per_byte + (a.slot_ - b.slot_);
  }
  friend constexpr auto operator<=>(PackedPtr a, PackedPtr b) = default;
  friend constexpr bool operator==(PackedPtr a, PackedPtr b) = default;

 private:
  Byte* byte_ = nullptr;
  int slot_ = 0;
};

}  // namespace tenon::TENON_ABI

namespace tenon::TENON_ABI::detail {

template <class T>
struct PackedIntLimits : std::numeric_limits<void> {
  static constexpr bool is_specialized = true, is_integer = true, is_exact = true, is_bounded = true;
  static constexpr bool is_signed = T::is_signed;
  static constexpr int radix = 2;
  static constexpr int digits = T::width - (is_signed ? 1 : 0);
  static constexpr T max() noexcept { return T((1 << digits) - 1); }
  static constexpr T min() noexcept { return T(is_signed ? -(1 << digits) : 0); }
  static constexpr T lowest() noexcept { return min(); }
};

}  // namespace tenon::TENON_ABI::detail

template <>
struct std::numeric_limits<tenon::int4> : tenon::detail::PackedIntLimits<tenon::int4> {};
template <>
struct std::numeric_limits<tenon::uint4> : tenon::detail::PackedIntLimits<tenon::uint4> {};
template <>
struct std::numeric_limits<tenon::int2> : tenon::detail::PackedIntLimits<tenon::int2> {};
template <>
struct std::numeric_limits<tenon::uint2> : tenon::detail::PackedIntLimits<tenon::uint2> {};
