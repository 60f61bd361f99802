// Small values with public members, so that operators that hold them can be template arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI {

/// A vector of at most N elements, stored in place. Growing past N throws Error{out_of_range}.
template <class T, int N>
struct InlineVector {
  int size_ = 0;
  T items_[N]{};

  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  constexpr InlineVector() = default;
  constexpr InlineVector(std::initializer_list<T> list) : InlineVector(list.begin(), list.end()) {}
  constexpr InlineVector(std::span<const T> list) {
    if (list.size() > static_cast<std::size_t>(N)) overflow();
    for (const T& t : list) items_[size_++] = t;
  }
  template <std::input_iterator I, std::sentinel_for<I> S>
  constexpr InlineVector(I first, S last) {
    for (; first != last; ++first) push_back(static_cast<T>(*first));
  }
  /// `count` copies of `value`.
  static constexpr InlineVector filled(int count, T value) {
    InlineVector v;
    for (int i = 0; i < count; ++i) v.push_back(value);
    return v;
  }

  static constexpr int capacity() { return N; }
  constexpr int size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* data() const { return items_; }
  constexpr T* data() { return items_; }
  constexpr const T* begin() const { return items_; }
  constexpr const T* end() const { return items_ + size_; }
  constexpr T* begin() { return items_; }
  constexpr T* end() { return items_ + size_; }
  constexpr const T& operator[](int64_t i) const { return items_[i]; }
  constexpr T& operator[](int64_t i) { return items_[i]; }
  constexpr const T& back() const { return items_[size_ - 1]; }
  constexpr T& back() { return items_[size_ - 1]; }

  constexpr void push_back(T value) {
    if (size_ == N) overflow();
    items_[size_++] = value;
  }
  constexpr void insert(int at, T value) {
    push_back(value);
    for (int i = size_ - 1; i > at; --i) items_[i] = items_[i - 1];
    items_[at] = value;
  }
  constexpr void erase(int at) {
    for (int i = at; i + 1 < size_; ++i) items_[i] = items_[i + 1];
    items_[--size_] = T{};
  }
  constexpr void clear() {
    while (size_ > 0) items_[--size_] = T{};
  }
  constexpr void resize(int count, T value = T{}) {
    while (size_ > count) items_[--size_] = T{};
    while (size_ < count) push_back(value);
  }

  constexpr bool operator==(const InlineVector& o) const {
    if (size_ != o.size_) return false;
    for (int i = 0; i < size_; ++i)
      if (!(items_[i] == o.items_[i])) return false;
    return true;
  }

  [[noreturn]] static void overflow() { raise(ErrorCode::out_of_range, {}, "more than ", N, " elements"); }
};

/// The greatest rank of a tensor.
inline constexpr int max_rank = 16;
/// The most axes that windows slide along: the axes after batch and channels.
inline constexpr int max_spatial = 8;

/// Integers of an attribute that are bounded by the rank: axes, strides, pads.
using Ints = InlineVector<int64_t, 2 * max_rank>;

/// A short string: the value of an attribute that names a mode. At most 31 characters.
struct Str {
  char text_[32]{};
  int size_ = 0;

  constexpr Str() = default;
  constexpr Str(const char* s) : Str(std::string_view(s)) {}
  constexpr Str(std::string_view s) {
    if (s.size() > 31) raise(ErrorCode::invalid_argument, {}, "'", s, "' is longer than any known value");
    for (char c : s) text_[size_++] = c;
  }
  constexpr operator std::string_view() const { return {text_, static_cast<std::size_t>(size_)}; }
  constexpr bool operator==(const Str&) const = default;
  friend constexpr bool operator==(const Str& a, std::string_view b) { return std::string_view(a) == b; }
  friend constexpr bool operator==(const Str& a, const char* b) { return std::string_view(a) == b; }
};

/// A number as a template's argument: clang before 18, and with it Xcode 16, takes none of floating point
/// alone.
struct Real {
  double value = 0;

  constexpr Real(double v) : value(v) {}
  constexpr bool operator==(const Real&) const = default;
};

/// A value or none: std::optional with public members.
template <class T>
struct Opt {
  bool has_ = false;
  T value_{};

  constexpr Opt() = default;
  constexpr Opt(T value) : has_(true), value_(value) {}
  /// From text, if T is constructed from it.
  constexpr Opt(const char* text)
    requires(std::is_class_v<T> && std::is_convertible_v<const char*, T>)
      : has_(true), value_(text) {}
  constexpr explicit operator bool() const { return has_; }
  constexpr const T& operator*() const { return value_; }
  constexpr T value_or(T other) const { return has_ ? value_ : other; }
  /// Not defaulted: that is ill-formed where T's own is not constexpr, as a checked vector's.
  constexpr bool operator==(const Opt& o) const { return has_ == o.has_ && value_ == o.value_; }
};

}  // namespace tenon::TENON_ABI
