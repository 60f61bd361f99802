// Heap memory. Large blocks lie on large pages.
#pragma once

#include "tenon/base/version.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "tenon/base/platform/pages.hpp"

namespace tenon::TENON_ABI::detail {

/// Blocks much larger than a large page are aligned to one. Smaller blocks share large pages with their
/// neighbours.
inline std::align_val_t heap_alignment([[maybe_unused]] std::size_t bytes, std::size_t alignment) {
#ifdef TENON_LARGE_PAGES
  if (bytes >= 8 * large_page && alignment < large_page) alignment = large_page;
#endif
  return std::align_val_t(alignment);
}

// Smaller blocks come from operator new without alignment, which takes a fraction of the aligned one's time.
// They begin at the first aligned address that leaves room for the pointer that it returned. This holds in
// every unit of a program, sanitized or not.
inline constexpr std::size_t small_block = std::size_t{1} << 16;

// The rest of an allocation after a block is poisoned, because AddressSanitizer cannot know where the block
// ends.
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

/// `bytes` bytes aligned to `alignment`, a power of two; nullptr if out of memory.
inline void* heap_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes < small_block) return allocate_small(bytes, alignment);
  void* const memory = ::operator new(bytes, heap_alignment(bytes, alignment), std::nothrow);
  if (bytes >= large_page && memory != nullptr) request_large_pages(memory, bytes);
  return memory;
}

/// Frees memory that heap_allocate returned for the same sizes.
inline void heap_free(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes < small_block) return free_small(memory);
  ::operator delete(memory, heap_alignment(bytes, alignment));
}

}  // namespace tenon::TENON_ABI::detail
