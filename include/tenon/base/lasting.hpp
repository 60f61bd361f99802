// Memory for blocks of similar lifetime, such as a model's weights in the kernels' layout.
#pragma once

#include <type_traits>

#include "tenon/base/platform/mutex.hpp"
#include "tenon/base/platform/pages.hpp"
#include "tenon/base/storage.hpp"

namespace tenon::TENON_ABI {

#ifdef TENON_LARGE_PAGES

namespace detail {

/// Places blocks next to each other in regions of large pages. On their own, blocks of less than a few large
/// pages would get small pages: a gigabyte of these takes a quarter of a second longer to obtain. A region is
/// returned to the system with the last of its blocks, a large block's memory with the block.
class LastingAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t alignment) override {
    if (shares_pages(bytes)) {
      const LockGuard lock(mutex_);
      if (void* const memory = take(bytes, alignment)) return memory;
    }
    return heap_allocate(bytes, alignment);
  }
  void deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
    if (shares_pages(bytes)) {
      const LockGuard lock(mutex_);
      if (give_back(memory, bytes)) return;
    }
    heap_free(memory, bytes, alignment);
  }

 private:
  // Lies at the beginning of its region.
  struct Region {
    Region* after;
    size_t used, blocks;
    std::byte* begin() { return reinterpret_cast<std::byte*>(this); }
  };
  static constexpr size_t region_bytes = 16 * large_page;

  // AddressSanitizer knows the ends of the heap's blocks only.
  static bool shares_pages(size_t bytes) {
    return !address_sanitizer && bytes >= small_block && bytes < 8 * large_page;
  }

  void* take(size_t bytes, size_t alignment) {
    const auto place = [&](const Region& r) { return (r.used + alignment - 1) / alignment * alignment; };
    if (regions_ == nullptr || place(*regions_) + bytes > region_bytes) {
      Region* const fresh = reserve();
      if (fresh == nullptr || place(*fresh) + bytes > region_bytes) return nullptr;
      fresh->after = regions_;
      regions_ = fresh;
    }
    Region& r = *regions_;
    void* const memory = r.begin() + place(r);
    r.used = place(r) + bytes;
    ++r.blocks;
    return memory;
  }

  // The first 2 MB of a region remain small pages, so that a small model takes no more memory than it uses.
  static Region* reserve() {
    auto* const first = static_cast<std::byte*>(reserve_pages(region_bytes));
    if (first == nullptr) return nullptr;
    request_large_pages(first + large_page, region_bytes - large_page);
    return ::new (static_cast<void*>(first)) Region{nullptr, sizeof(Region), 0};
  }

  bool give_back(void* memory, size_t bytes) noexcept {
    auto* const at = static_cast<std::byte*>(memory);
    for (Region** link = &regions_; *link != nullptr; link = &(*link)->after) {
      Region& r = **link;
      if (at < r.begin() || at >= r.begin() + region_bytes) continue;
      if (--r.blocks == 0) {
        *link = r.after;
        release_pages(&r, region_bytes);
      } else if (at + bytes == r.begin() + r.used) {
        r.used = static_cast<size_t>(at - r.begin());
      } else {
        forget_pages(memory, bytes);
      }
      return true;
    }
    return false;
  }

  Mutex mutex_;
  Region* regions_ = nullptr;  // the first one is filled; guarded by mutex_
};

/// An object that is not destroyed.
template <class T>
union Undestroyed {
  T object;
  constexpr Undestroyed() : object() {}
  ~Undestroyed()
    requires(std::is_trivially_destructible_v<T>)
  = default;
  ~Undestroyed() {}
};

// Storages of any lifetime can use it, static ones included, though the mutex has a destructor on some
// systems (libc++'s on musl).
inline constinit Undestroyed<LastingAllocator> lasting_blocks;

}  // namespace detail

/// The default allocator for blocks of similar lifetime.
inline Allocator& lasting_allocator() { return detail::lasting_blocks.object; }

#else

inline Allocator& lasting_allocator() { return default_allocator(); }

#endif

}  // namespace tenon::TENON_ABI
