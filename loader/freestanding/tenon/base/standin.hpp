// Stand-ins for the standard library's classes that allocate or wait, in freestanding programs. They lie in a
// namespace std of Tenon's own, which Tenon's code finds before the standard library's; other names of std
// are that library's.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/base/lent.hpp"

namespace tenon::TENON_ABI::std {

using namespace ::std;

struct mutex {};
template <class M>
struct lock_guard {
  explicit lock_guard(M&) {}
};

/// A pointer that owns nothing.
template <class T>
class shared_ptr {
 public:
  constexpr shared_ptr() = default;
  constexpr shared_ptr(std::nullptr_t) {}
  template <class U>
  constexpr shared_ptr(const shared_ptr<U>& other) : to_(other.get()) {}
  constexpr T* get() const { return to_; }
  constexpr T* operator->() const { return to_; }
  constexpr std::add_lvalue_reference_t<T> operator*() const { return *to_; }
  constexpr explicit operator bool() const { return to_ != nullptr; }
  constexpr bool operator==(const shared_ptr&) const = default;

 private:
  T* to_ = nullptr;
};
template <class T, class... A>
shared_ptr<T> make_shared(A&&...) {
  fail(ErrorCode::out_of_memory);
}

/// Text stored elsewhere. Operations that would make new text fail.
class string : public std::string_view {
 public:
  using std::string_view::basic_string_view;
  constexpr string() = default;
  constexpr string(std::string_view text) : std::string_view(text) {}
  [[noreturn]] string(std::size_t, char) { fail(ErrorCode::out_of_memory); }

  constexpr const char* c_str() const { return data(); }
  using std::string_view::begin, std::string_view::end, std::string_view::operator[];
  [[noreturn]] char* begin() { fail(ErrorCode::out_of_memory); }
  [[noreturn]] char* end() { fail(ErrorCode::out_of_memory); }
  [[noreturn]] char& operator[](std::size_t) { fail(ErrorCode::out_of_memory); }
  template <class Part>
  [[noreturn]] string& operator+=(const Part&) {
    fail(ErrorCode::out_of_memory);
  }
  [[noreturn]] string& append(auto...) { fail(ErrorCode::out_of_memory); }
  [[noreturn]] string& assign(auto...) { fail(ErrorCode::out_of_memory); }
  [[noreturn]] string& insert(auto...) { fail(ErrorCode::out_of_memory); }
  [[noreturn]] string& erase(auto...) { fail(ErrorCode::out_of_memory); }
  [[noreturn]] void resize(auto...) { fail(ErrorCode::out_of_memory); }
  [[noreturn]] void push_back(char) { fail(ErrorCode::out_of_memory); }
  constexpr void reserve(std::size_t) {}
  constexpr void pop_back() { remove_suffix(1); }
  constexpr void clear() { *this = {}; }
  [[noreturn]] friend string operator+(const string&, std::string_view) { fail(ErrorCode::out_of_memory); }
  [[noreturn]] friend string operator+(const string&, char) { fail(ErrorCode::out_of_memory); }
  [[noreturn]] friend string operator+(const char*, const string&) { fail(ErrorCode::out_of_memory); }
};
[[noreturn]] inline string to_string(auto) { fail(ErrorCode::out_of_memory); }

/// A vector whose elements lie in lent memory until the end of the node. Memory that it has outgrown is not
/// reused. Elements are not destroyed.
template <class T>
class vector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  using size_type = std::size_t;

  constexpr vector() = default;
  explicit constexpr vector(std::size_t n) { resize(n); }
  constexpr vector(std::size_t n, const T& value) { assign(n, value); }
  template <std::input_iterator I>
  constexpr vector(I first, I last) {
    assign(first, last);
  }
  constexpr vector(std::initializer_list<T> list) : vector(list.begin(), list.end()) {}
  /// Views constants, and is not written to.
  static constexpr vector listed(std::span<const T> constants) {
    vector v;
    v.data_ = const_cast<T*>(constants.data());
    v.size_ = v.room_ = constants.size();
    return v;
  }
  constexpr vector(const vector& other) : vector(other.begin(), other.end()) {}
  constexpr vector(vector&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        room_(std::exchange(other.room_, 0)) {}
  constexpr vector& operator=(vector other) noexcept {
    swap(other);
    return *this;
  }
  constexpr void swap(vector& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
  }

  constexpr std::size_t size() const { return size_; }
  constexpr std::size_t capacity() const { return room_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr auto rbegin() const { return std::reverse_iterator(end()); }
  constexpr auto rend() const { return std::reverse_iterator(begin()); }
  constexpr T& operator[](std::size_t i) { return data_[i]; }
  constexpr const T& operator[](std::size_t i) const { return data_[i]; }
  constexpr T& front() { return data_[0]; }
  constexpr const T& front() const { return data_[0]; }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr const T& back() const { return data_[size_ - 1]; }

  constexpr void clear() { size_ = 0; }
  constexpr void reserve(std::size_t n) {
    if (n <= room_) return;
    T* const grown = static_cast<T*>(detail::lent_memory().take_high(n * sizeof(T)));
    for (std::size_t i = 0; i < size_; ++i) ::new (static_cast<void*>(grown + i)) T(std::move(data_[i]));
    data_ = grown;
    room_ = n;
  }
  template <class... A>
  constexpr T& emplace_back(A&&... a) {
    if (size_ == room_) {
      T value(std::forward<A>(a)...);
      reserve(std::max<std::size_t>(2 * room_, 64 / sizeof(T) + 1));
      return *::new (static_cast<void*>(data_ + size_++)) T(std::move(value));
    }
    return *::new (static_cast<void*>(data_ + size_++)) T(std::forward<A>(a)...);
  }
  constexpr void push_back(const T& value) { emplace_back(value); }
  constexpr void push_back(T&& value) { emplace_back(std::move(value)); }
  constexpr void pop_back() { --size_; }
  constexpr void resize(std::size_t n) {
    reserve(n);
    for (; size_ < n; ++size_) ::new (static_cast<void*>(data_ + size_)) T();
    size_ = n;
  }
  constexpr void resize(std::size_t n, const T& value) {
    reserve(n);
    for (; size_ < n; ++size_) ::new (static_cast<void*>(data_ + size_)) T(value);
    size_ = n;
  }
  constexpr void assign(std::size_t n, const T& value) {
    clear();
    resize(n, value);
  }
  template <std::input_iterator I>
  constexpr void assign(I first, I last) {
    clear();
    if constexpr (std::random_access_iterator<I>) reserve(static_cast<std::size_t>(last - first));
    for (; first != last; ++first) emplace_back(*first);
  }
  constexpr T* insert(const T* at, const T& value) {
    const std::ptrdiff_t k = at - data_;
    push_back(value);
    std::rotate(data_ + k, end() - 1, end());
    return data_ + k;
  }
  template <std::input_iterator I>
  constexpr T* insert(const T* at, I first, I last) {
    const std::ptrdiff_t k = at - data_, old = end() - data_;
    for (; first != last; ++first) push_back(*first);
    std::rotate(data_ + k, data_ + old, end());
    return data_ + k;
  }
  constexpr T* erase(const T* first, const T* last) {
    T* const to = data_ + (first - data_);
    size_ = static_cast<std::size_t>(std::move(data_ + (last - data_), end(), to) - data_);
    return to;
  }
  constexpr T* erase(const T* at) { return erase(at, at + 1); }

  constexpr bool operator==(const vector& o) const { return std::equal(begin(), end(), o.begin(), o.end()); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};
template <class I>
vector(I, I) -> vector<std::iter_value_t<I>>;

}  // namespace tenon::TENON_ABI::std

namespace tenon::TENON_ABI {

/// For functions that only make messages. None is called.
template <class... Parts>
[[noreturn]] std::string str_cat(const Parts&...) {
  fail(ErrorCode::out_of_memory);
}

}  // namespace tenon::TENON_ABI
