// Memory from the heap. Large blocks lie on large pages.
#pragma once

#include "tenon/base/version.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tenon::TENON_ABI::detail {

// Linux gives pages of 2 MB to memory for which it is asked. Weights and results that are read from end to
// end then take a 512th of the page faults and of the translations, which saves a tenth to a third of the
// time where memory binds.
inline constexpr std::size_t large_page = std::size_t{1} << 21;

/// Blocks that are much larger than a large page begin at one. Smaller ones share theirs with their
/// neighbours.
inline std::align_val_t heap_alignment(std::size_t bytes, std::size_t alignment) {
#ifdef __linux__
  if (bytes >= 8 * large_page) alignment = std::max(alignment, large_page);
#endif
  return std::align_val_t(alignment);
}

// Blocks below this come from the operator new without alignment, which takes a fraction of the other's time.
// They begin at a multiple behind room for the address that it gave. So they do in every unit of a program,
// sanitized or not.
inline constexpr std::size_t small_block = std::size_t{1} << 16;

// AddressSanitizer is told of the rest behind a block, whose end it would not know.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool address_sanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool address_sanitizer = false;
#endif
extern "C" void __asan_poison_memory_region(const volatile void* memory, std::size_t bytes);

inline void* allocate_small(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t all = sizeof(void*) + alignment + bytes;
  void* const given = ::operator new(all, std::nothrow);
  if (given == nullptr) return nullptr;
  std::byte* memory = static_cast<std::byte*>(given) + sizeof given;
  memory += (alignment - reinterpret_cast<std::uintptr_t>(memory) % alignment) % alignment;
  std::memcpy(memory - sizeof given, &given, sizeof given);
  if constexpr (address_sanitizer) {
    const std::byte* const end = static_cast<std::byte*>(given) + all;
    __asan_poison_memory_region(memory + bytes, static_cast<std::size_t>(end - (memory + bytes)));
  }
  return memory;
}
inline void free_small(void* memory) noexcept {
  void* given;
  std::memcpy(&given, static_cast<std::byte*>(memory) - sizeof given, sizeof given);
  ::operator delete(given);
}

/// `bytes` at a multiple of `alignment`, a power of two; nullptr if there are none.
inline void* heap_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes < small_block) return allocate_small(bytes, alignment);
  void* const memory = ::operator new(bytes, heap_alignment(bytes, alignment), std::nothrow);
#ifdef __linux__
  if (bytes >= large_page && memory != nullptr) {
    const std::size_t before = reinterpret_cast<std::uintptr_t>(memory) % 4096;  // on its first page
    madvise(static_cast<std::byte*>(memory) - before, bytes + before, MADV_HUGEPAGE);
  }
#endif
  return memory;
}

/// Takes back what heap_allocate gave for the same numbers.
inline void heap_free(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes < small_block) return free_small(memory);
  ::operator delete(memory, heap_alignment(bytes, alignment));
}

/// Gives back the memory of the pages that lie whole within a block. When they are needed, the system reads
/// pages of a mapped file again; other pages have zeros.
inline void forget_pages([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __linux__
  const auto page = static_cast<std::uintptr_t>(getpagesize());
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (at + page - 1) / page * page, end = (at + bytes) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
#endif
}

}  // namespace tenon::TENON_ABI::detail
