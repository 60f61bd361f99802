// The operators new and delete of a whole program, made of two functions that a test defines. One unit of the
// program includes this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace tenon::heap {

/// Memory for an operator new; null where there is none. The test's.
void* take(std::size_t bytes, std::size_t alignment) noexcept;
/// Memory, or null, from an operator delete. The test's.
void give(void* p) noexcept;

/// Memory for any number of bytes, where std::aligned_alloc takes multiples of the alignment.
inline void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t multiples = std::max((bytes + alignment - 1) / alignment, std::size_t{1});
  return std::aligned_alloc(alignment, multiples * alignment);
}

inline void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* p = take(bytes, alignment)) return p;
  throw std::bad_alloc();
}

}  // namespace tenon::heap

void* operator new(std::size_t n) { return tenon::heap::take_or_throw(n, alignof(std::max_align_t)); }
void* operator new[](std::size_t n) { return tenon::heap::take_or_throw(n, alignof(std::max_align_t)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return tenon::heap::take(n, alignof(std::max_align_t));
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return tenon::heap::take(n, alignof(std::max_align_t));
}
void* operator new(std::size_t n, std::align_val_t a) {
  return tenon::heap::take_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return tenon::heap::take_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return tenon::heap::take(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return tenon::heap::take(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { tenon::heap::give(p); }
void operator delete[](void* p) noexcept { tenon::heap::give(p); }
void operator delete(void* p, std::size_t) noexcept { tenon::heap::give(p); }
void operator delete[](void* p, std::size_t) noexcept { tenon::heap::give(p); }
void operator delete(void* p, std::align_val_t) noexcept { tenon::heap::give(p); }
void operator delete[](void* p, std::align_val_t) noexcept { tenon::heap::give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { tenon::heap::give(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { tenon::heap::give(p); }
