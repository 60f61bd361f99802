// The memory of tensors in a freestanding program: always borrowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tenon/base/error.hpp"
#include "tenon/base/heap.hpp"
#include "tenon/base/standin.hpp"

namespace tenon::TENON_ABI {

inline constexpr std::size_t storage_alignment = 64;

template <class Int>
constexpr Int checked_mul(Int a, Int b, std::string_view) {
  Int product;
  if (__builtin_mul_overflow(a, b, &product)) fail(ErrorCode::invalid_shape);
  return product;
}

/// There is no allocator.
class Allocator {};
namespace detail {
inline constinit Allocator no_allocator;
}
inline Allocator& default_allocator() { return detail::no_allocator; }

/// There are no file parts.
class FilePart {
 public:
  void forget() const noexcept {}
};

/// Memory that its owner keeps valid. Copies refer to the same memory.
class Storage {
 public:
  constexpr Storage() = default;

  [[noreturn]] static Storage allocate(std::size_t, Allocator& = default_allocator()) {
    fail(ErrorCode::out_of_memory);
  }
  template <class T>
  [[noreturn]] static Storage make(int64_t, Allocator& = default_allocator()) {
    fail(ErrorCode::out_of_memory);
  }
  template <class Owner>
  [[noreturn]] static Storage keep(const void*, std::size_t, Owner) {
    fail(ErrorCode::out_of_memory);
  }
  template <class T>
  [[noreturn]] static Storage take(std::vector<T>&&) {
    fail(ErrorCode::out_of_memory);
  }
  static constexpr Storage borrow(void* data, std::size_t bytes) noexcept { return {data, bytes, true}; }
  static constexpr Storage borrow(const void* data, std::size_t bytes) noexcept {
    return {const_cast<void*>(data), bytes, false};
  }

  template <class Owner>
  constexpr const Owner* owner() const noexcept {
    return nullptr;
  }
  Storage slice(std::size_t offset, std::size_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset) fail(ErrorCode::out_of_range);
    return {static_cast<std::byte*>(data_) + offset, bytes, writable_};
  }
  constexpr Storage read_only() const noexcept { return {data_, bytes_, false}; }
  constexpr void forbid_writing() noexcept { writable_ = false; }
  constexpr explicit operator bool() const noexcept { return data_ != nullptr; }
  constexpr const void* data() const noexcept { return data_; }
  template <class T>
    requires std::is_const_v<T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  template <class T>
    requires(!std::is_const_v<T>)
  T* as() {
    if (!writable_ && data_ != nullptr) fail(ErrorCode::invalid_argument);
    return static_cast<T*>(data_);
  }
  constexpr std::size_t size_bytes() const noexcept { return bytes_; }
  constexpr bool writable() const noexcept { return writable_; }
  constexpr int64_t use_count() const noexcept { return 0; }
  constexpr bool unique() const noexcept { return false; }

 private:
  constexpr Storage(void* data, std::size_t bytes, bool writable)
      : data_(data), bytes_(bytes), writable_(writable) {}

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool writable_ = false;
};

}  // namespace tenon::TENON_ABI
