// Pages of memory. Linux backs memory with pages of 2 MB on request: weights and results that are read from
// end to end then cause a 512th of the page faults and address translations, which saves a tenth to a third
// of the time of memory-bound work. Other systems choose the pages of operator new's memory themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/base/version.hpp"

// TENON_LARGE_PAGES is defined where large pages can be requested.
#ifdef __linux__
#define TENON_LARGE_PAGES
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tenon::TENON_ABI::detail {

inline constexpr std::size_t large_page = std::size_t{1} << 21;

/// Requests large pages for a block.
inline void request_large_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef TENON_LARGE_PAGES
  const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % static_cast<std::size_t>(getpagesize());
  madvise(static_cast<std::byte*>(data) - before, bytes + before, MADV_HUGEPAGE);
#endif
}

/// Releases the pages that lie entirely within a block. On the next access the system reads pages of a mapped
/// file again; other pages are zero.
inline void forget_pages([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __linux__
  const auto page = static_cast<std::uintptr_t>(getpagesize());
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (at + page - 1) / page * page, end = (at + bytes) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
#endif
}

#ifdef TENON_LARGE_PAGES
/// Address space of `bytes` zero bytes, a multiple of large_page, aligned to one; memory is taken as it is
/// written. nullptr if there is none.
inline void* reserve_pages(std::size_t bytes) noexcept {
  void* const all = mmap(nullptr, bytes + large_page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(all);
  const std::size_t before = (large_page - reinterpret_cast<std::uintptr_t>(first) % large_page) % large_page;
  if (before > 0) munmap(first, before);
  munmap(first + before + bytes, large_page - before);
  return first + before;
}
/// Returns what reserve_pages gave for the same size.
inline void release_pages(void* data, std::size_t bytes) noexcept { munmap(data, bytes); }
#endif

}  // namespace tenon::TENON_ABI::detail
