// Memory from the heap. Large blocks lie on large pages.
#pragma once

#include "tenon/base/version.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tenon::detail {

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

/// `bytes` at a multiple of `alignment`, a power of two; nullptr if there are none.
inline void* heap_allocate(std::size_t bytes, std::size_t alignment) noexcept {
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
  ::operator delete(memory, heap_alignment(bytes, alignment));
}

/// Gives back the memory of the pages that lie whole within a part of a mapped file. The system reads them
/// again when they are needed.
inline void forget_file_pages([[maybe_unused]] const void* data,
                              [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __linux__
  const auto page = static_cast<std::uintptr_t>(getpagesize());
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (at + page - 1) / page * page, end = (at + bytes) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
#endif
}

}  // namespace tenon::detail
