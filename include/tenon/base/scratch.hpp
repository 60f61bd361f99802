// Working memory for kernels: a stack per thread that only grows, so that a second call with the same extents
// takes nothing from the heap.
#pragma once

#include "tenon/base/error.hpp"
#include "tenon/base/heap.hpp"
#include "tenon/base/platform/mutex.hpp"
#include "tenon/base/version.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace tenon::TENON_ABI {

namespace detail {

// The blocks of one thread, in the order in which they are filled. Memory that has been handed out never
// moves. Blocks past the current one are empty: several of them are replaced by one of their total size, so
// that the same calls find room in it the next time.
class ScratchStack {
 public:
  ScratchStack() = default;
  ScratchStack(const ScratchStack&) = delete;
  ScratchStack& operator=(const ScratchStack&) = delete;
  ~ScratchStack() { resize(0); }

  struct Mark {
    int current;
    std::size_t used;
    int depth;
  };
  Mark push() { return {current_, used_, ++depth_}; }

  void* take(std::size_t bytes, [[maybe_unused]] int depth) {
    assert(depth == depth_ && "memory is taken by the innermost Scratch of the thread");
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (count_ == 0 || blocks_[current_].size - used_ < bytes) next_block(bytes);
    void* p = blocks_[current_].data + used_;
    used_ += bytes;
    return p;
  }

  void pop(Mark m) {
    assert(m.depth == depth_);
    --depth_;
    current_ = m.current;
    used_ = m.used;
    const int held = current_ > 0 || used_ > 0 ? current_ + 1 : 0;
    if (count_ - held < 2) return;
    const std::size_t size = size_from(held);
    resize(held);
    // If there is no memory for one block, the next call allocates anew.
    if (void* p = heap_allocate(size, alignment)) blocks_[count_++] = {static_cast<std::byte*>(p), size};
  }

  std::size_t size() const { return size_from(0); }

 private:
  static constexpr std::size_t alignment = 64;
  static constexpr int max_blocks = 32;  // each is at least as big as all before it together: never reached

  struct Block {
    std::byte* data;
    std::size_t size;
  };

  // Moves on to a block with room for `bytes` bytes. A new one is at least as big as all blocks before it and
  // the ones that it replaces together.
  void next_block(std::size_t bytes) {
    const int next = count_ == 0 ? 0 : current_ + 1;
    if (next == count_ || blocks_[next].size < bytes) {
      if (next == max_blocks) raise_bad_alloc();
      const std::size_t size = std::max(bytes, size_from(0));
      resize(next);
      void* const p = heap_allocate(size, alignment);
      if (p == nullptr) raise_bad_alloc();
      blocks_[next] = {static_cast<std::byte*>(p), size};
      count_ = next + 1;
    }
    current_ = next;
    used_ = 0;
  }

  std::size_t size_from(int first) const {
    std::size_t total = 0;
    for (int i = first; i < count_; ++i) total += blocks_[i].size;
    return total;
  }

  void resize(int count) {
    for (; count_ > count; --count_) heap_free(blocks_[count_ - 1].data, blocks_[count_ - 1].size, alignment);
  }

  Block blocks_[max_blocks];
  int count_ = 0;
  int current_ = 0;
  std::size_t used_ = 0;  // of the current block
  int depth_ = 0;         // live Scratch objects
};

TENON_PROCESS_WIDE inline ScratchStack& scratch_stack() {
  TENON_THREAD_LOCAL ScratchStack stack;
  return stack;
}

}  // namespace detail

/// The bytes that the calling thread's stack has from the heap. Whatever its Scratch took at once so far fits
/// into them.
inline std::size_t scratch_size() { return detail::scratch_stack().size(); }

/// Working memory for the lifetime of this object, on the calling thread. Objects nest like the calls that
/// create them, on one stack per thread, and only the innermost may take memory.
class Scratch {
 public:
  Scratch() : stack_(detail::scratch_stack()), mark_(stack_.push()) {}
  ~Scratch() { stack_.pop(mark_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// n uninitialised elements, aligned to 64 bytes. std::bad_alloc if out of memory or if n is absurd.
  template <class T>
  T* take(int64_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n < 0 || static_cast<std::size_t>(n) > (SIZE_MAX >> 8) / sizeof(T)) raise_bad_alloc();
    return static_cast<T*>(stack_.take(static_cast<std::size_t>(n) * sizeof(T), mark_.depth));
  }

 private:
  detail::ScratchStack& stack_;
  detail::ScratchStack::Mark mark_;
};

}  // namespace tenon::TENON_ABI
