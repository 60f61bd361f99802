// Working memory of kernels: a stack that each thread keeps and that only grows, so that a second call with
// the same extents takes nothing from the heap.
#pragma once

#include "tenon/base/version.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace tenon {

namespace detail {

// Blocks of one thread, in the order in which they are filled. What has been handed out never moves; blocks
// past the current one hold nothing, and once no block does, several are replaced by one of their size
// together.
template <class Tag>
class ScratchStack {
 public:
  ScratchStack() = default;
  ScratchStack(const ScratchStack&) = delete;
  ScratchStack& operator=(const ScratchStack&) = delete;
  ~ScratchStack() { resize(0); }

  struct Mark {
    int current;
    std::size_t used;
  };
  Mark mark() const { return {current_, used_}; }

  void* take(std::size_t bytes) {
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (count_ == 0 || blocks_[current_].size - used_ < bytes) next_block(bytes);
    void* p = blocks_[current_].data + used_;
    used_ += bytes;
    return p;
  }

  void rewind(Mark m) {
    current_ = m.current;
    used_ = m.used;
    if (current_ > 0 || used_ > 0 || count_ < 2) return;
    std::size_t total = 0;
    for (int i = 0; i < count_; ++i) total += blocks_[i].size;
    resize(0);
    // Without the memory for one block the next call starts anew.
    if (void* p = ::operator new (total, std::align_val_t{alignment}, std::nothrow)) {
      blocks_[count_++] = {static_cast<std::byte*>(p), total};
    }
  }

 private:
  static constexpr std::size_t alignment = 64;
  static constexpr int max_blocks = 32;  // each is at least as big as all before it together: never reached

  struct Block {
    std::byte* data;
    std::size_t size;
  };

  void next_block(std::size_t bytes) {
    const int next = count_ == 0 ? 0 : current_ + 1;
    if (next == count_ || blocks_[next].size < bytes) {
      resize(next);
      std::size_t size = bytes;
      std::size_t total = 0;
      for (int i = 0; i < count_; ++i) total += blocks_[i].size;
      if (size < total) size = total;
      if (count_ == max_blocks) throw std::bad_alloc();
      blocks_[next] = {static_cast<std::byte*>(::operator new (size, std::align_val_t{alignment})), size};
      count_ = next + 1;
    }
    current_ = next;
    used_ = 0;
  }

  void resize(int count) {
    while (count_ > count) ::operator delete (blocks_[--count_].data, std::align_val_t{alignment});
  }

  Block blocks_[max_blocks];
  int count_ = 0;
  int current_ = 0;
  std::size_t used_ = 0;  // of the current block
};

// Not a variable template: GCC 12 does not run the destructors of thread-local ones.
template <class Tag>
ScratchStack<Tag>& scratch_stack() {
  static thread_local ScratchStack<Tag> stack;
  return stack;
}

}  // namespace detail

/// Working memory for the lifetime of this object, on the calling thread. Objects nest like the calls that
/// make them. `Tag` keeps code of different instruction-set levels apart: pass the kernel's Arch.
template <class Tag>
class Scratch {
 public:
  Scratch() : stack_(detail::scratch_stack<Tag>()), mark_(stack_.mark()) {}
  ~Scratch() { stack_.rewind(mark_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// n uninitialised elements, aligned to 64 bytes. std::bad_alloc if the system has no more, or n is absurd.
  template <class T>
  T* take(int64_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n < 0 || static_cast<std::size_t>(n) > (SIZE_MAX >> 8) / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(stack_.take(static_cast<std::size_t>(n) * sizeof(T)));
  }

 private:
  detail::ScratchStack<Tag>& stack_;
  typename detail::ScratchStack<Tag>::Mark mark_;
};

}  // namespace tenon
