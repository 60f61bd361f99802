// Memory for tensors: allocators, and `Storage`, a shared handle to a block of bytes that was allocated here,
// belongs to another object that is kept alive (a mapped file, a moved-in vector), or is merely borrowed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/base/error.hpp"
#include "tenon/base/heap.hpp"
#include "tenon/base/platform/overflow.hpp"

namespace tenon::TENON_ABI {

/// The alignment of every block that is allocated here: a cache line, and the widest vector register.
inline constexpr size_t storage_alignment = 64;

/// a * b; Error{invalid_shape} at `where` if the product does not fit.
template <class Int>
Int checked_mul(Int a, Int b, std::string_view where) {
  static_assert(std::is_integral_v<Int>);
  Int product;
  if (detail::mul_overflow(a, b, &product)) {
    raise(ErrorCode::invalid_shape, where, a, " x ", b, " is too large");
  }
  return product;
}

/// The source of blocks. Derive from it to supply your own memory; it must outlive the storages it backs, and
/// be callable from several threads at once.
class Allocator {
 public:
  /// `bytes` > 0 bytes aligned to `alignment` (a power of two). Throws or returns nullptr if out of memory.
  virtual void* allocate(size_t bytes, size_t alignment) = 0;
  /// Frees memory that allocate returned for the same sizes.
  virtual void deallocate(void* memory, size_t bytes, size_t alignment) noexcept = 0;

 protected:
  ~Allocator() = default;
};

namespace detail {
class NewAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t alignment) override { return heap_allocate(bytes, alignment); }
  void deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
    heap_free(memory, bytes, alignment);
  }
};
// Trivially destructible, so storages of any lifetime can use it, static ones included.
inline constinit NewAllocator new_allocator;

// A zero-byte storage points here if its owner gave nullptr.
alignas(storage_alignment) inline constinit std::byte no_bytes[storage_alignment] = {};
}  // namespace detail

/// Aligned operator new.
inline Allocator& default_allocator() { return detail::new_allocator; }

/// The owner of a part of a mapped file. The last handle to the part releases its pages; the system reads
/// released pages again when they are accessed.
class FilePart {
 public:
  FilePart(std::shared_ptr<const void> file, const void* data, size_t bytes)
      : file_(std::move(file)), data_(data), bytes_(bytes) {}
  FilePart(FilePart&&) = default;
  FilePart& operator=(FilePart&&) = delete;
  ~FilePart() {
    if (file_) forget();
  }

  /// Releases the part's pages. The part stays readable, even by other threads during the call.
  void forget() const noexcept { detail::forget_pages(data_, bytes_); }

 private:
  std::shared_ptr<const void> file_;
  const void* data_;
  size_t bytes_;
};

/// A handle to a block of bytes: copies share the block, moves copy a few words, and the last handle frees
/// it. Counting is atomic, so handles to one block may live on many threads. A default-constructed or
/// moved-from handle is empty; a block of zero bytes is not. Whether the bytes may be written is a property
/// of the handle, inherited by its copies: `read_only` shares the block for reading only.
class Storage {
 public:
  Storage() = default;
  Storage(const Storage& other) noexcept
      : block_(other.block_), data_(other.data_), bytes_(other.bytes_), writable_(other.writable_) {
    if (block_ != nullptr) block_->handles.fetch_add(1, std::memory_order_relaxed);
  }
  Storage(Storage&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        writable_(std::exchange(other.writable_, false)) {}
  Storage& operator=(Storage other) noexcept {
    swap(other);
    return *this;
  }
  ~Storage() {
    if (block_ == nullptr) return;
    if (block_->handles.fetch_sub(1, std::memory_order_acq_rel) == 1) block_->destroy(block_);
  }

  void swap(Storage& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(writable_, other.writable_);
  }

  /// A new block of uninitialised bytes, aligned to 64. Error{out_of_memory}.
  [[nodiscard]] static Storage allocate(size_t bytes, Allocator& allocator = default_allocator()) {
    return Storage(*new_block<std::byte>(bytes, 0, allocator), bytes);
  }

  /// A new block of n elements, aligned to 64: uninitialised if T is trivial, else default-constructed and
  /// destroyed with the block (std::string). Error{invalid_shape} for n < 0 or n * sizeof(T) beyond 64 bits,
  /// Error{out_of_memory}.
  template <class T>
  [[nodiscard]] static Storage make(int64_t n, Allocator& allocator = default_allocator()) {
    static_assert(alignof(T) <= storage_alignment);
    if (n < 0) raise(ErrorCode::invalid_shape, "Storage", "cannot hold ", n, " elements");
    const size_t bytes = checked_mul(static_cast<size_t>(n), sizeof(T), "Storage");
    if constexpr (std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>) {
      return allocate(bytes, allocator);
    } else {
      static_assert(std::is_nothrow_default_constructible_v<T>);
      OwnBlock* block = new_block<T>(bytes, static_cast<size_t>(n), allocator);
      T* elements = reinterpret_cast<T*>(block + 1);
      for (int64_t i = 0; i < n; ++i) ::new (static_cast<void*>(elements + i)) T();
      return Storage(*block, bytes);
    }
  }

  /// Memory that `owner` keeps valid: any movable object, which is destroyed with the last handle (a
  /// shared_ptr, a unique_ptr with a deleter, a mapping). The memory need not be aligned beyond its elements'
  /// needs.
  template <class Owner>
  [[nodiscard]] static Storage keep(void* data, size_t bytes, Owner owner) {
    auto* block =
        new (std::nothrow) KeepBlock<Owner>{{{1}, &KeepBlock<Owner>::destroy, nullptr}, std::move(owner)};
    if (block == nullptr) raise(ErrorCode::out_of_memory, "Storage", "no memory for a block's owner");
    if constexpr (std::is_same_v<Owner, FilePart>) block->file_part = &block->owner;
    return Storage(block, data, bytes, true);
  }
  /// The same for memory that may only be read.
  template <class Owner>
  [[nodiscard]] static Storage keep(const void* data, size_t bytes, Owner owner) {
    Storage storage = keep(const_cast<void*>(data), bytes, std::move(owner));
    storage.writable_ = false;
    return storage;
  }

  /// The owner of the bytes if `keep` was given a FilePart, else null.
  const FilePart* file_part() const noexcept { return block_ == nullptr ? nullptr : block_->file_part; }

  /// The elements of a vector, which stay where they are.
  template <class T, class A>
  static Storage take(std::vector<T, A>&& elements) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no array of elements");
    T* data = elements.data();
    const size_t bytes = elements.size() * sizeof(T);
    return keep(data, bytes, std::move(elements));
  }

  /// Memory that the caller keeps valid for as long as any handle is used.
  [[nodiscard]] static Storage borrow(void* data, size_t bytes) noexcept {
    return Storage(nullptr, data, bytes, true);
  }
  [[nodiscard]] static Storage borrow(const void* data, size_t bytes) noexcept {
    return Storage(nullptr, const_cast<void*>(data), bytes, false);
  }

  /// A handle to a part of the same block. Error{out_of_range} if the part exceeds this one.
  [[nodiscard]] Storage slice(size_t offset, size_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset) {
      raise(ErrorCode::out_of_range, "Storage", bytes, " bytes at ", offset, " reach beyond a block of ",
            bytes_);
    }
    Storage part = *this;
    if (part.data_ != nullptr) part.data_ = static_cast<std::byte*>(part.data_) + offset;
    part.bytes_ = bytes;
    return part;
  }

  /// A read-only handle to the same bytes.
  Storage read_only() const noexcept {
    Storage s = *this;
    s.forbid_writing();
    return s;
  }
  /// Makes this handle read-only.
  void forbid_writing() noexcept { writable_ = false; }

  explicit operator bool() const noexcept { return data_ != nullptr; }
  /// The first byte, for reading; nullptr only for an empty handle.
  const void* data() const noexcept { return data_; }
  /// The bytes as const elements: s.as<const float>().
  template <class T>
    requires std::is_const_v<T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  /// The bytes as writable elements: s.as<float>(). Error{invalid_argument} if the handle is read-only.
  template <class T>
    requires(!std::is_const_v<T>)
  T* as() {
    if (!writable_ && data_ != nullptr) refuse_to_write();
    return static_cast<T*>(data_);
  }
  size_t size_bytes() const noexcept { return bytes_; }
  /// Whether the bytes may be written through this handle: false if they were given as const memory, such as
  /// a mapped file, or by `read_only`.
  bool writable() const noexcept { return writable_; }
  /// The number of handles to the block, slices included; 0 for borrowed memory and empty handles.
  int64_t use_count() const noexcept {
    return block_ == nullptr ? 0 : block_->handles.load(std::memory_order_relaxed);
  }
  /// Whether this is the only handle to a block, so that no other handle can observe a write. Always false
  /// for borrowed memory, where the lender can. Accesses through former handles, on any thread, happened
  /// before.
  bool unique() const noexcept {
    return block_ != nullptr && block_->handles.load(std::memory_order_acquire) == 1;
  }

 private:
  struct Block {
    std::atomic<int64_t> handles;
    void (*destroy)(Block*) noexcept;
    const FilePart* file_part;  // the owner that the block keeps, or null
  };

  // Precedes the bytes of an allocated block in the same allocation; its size keeps them aligned.
  struct alignas(storage_alignment) OwnBlock : Block {
    Allocator* allocator;
    size_t allocated;
    size_t elements;  // to be destroyed
  };

  template <class Owner>
  struct KeepBlock : Block {
    Owner owner;
    static void destroy(Block* block) noexcept { delete static_cast<KeepBlock*>(block); }
  };

  Storage(Block* block, void* data, size_t bytes, bool writable) noexcept
      : block_(block), data_(data), bytes_(bytes), writable_(writable) {
    if (data_ == nullptr && bytes_ == 0) data_ = detail::no_bytes;
  }
  Storage(OwnBlock& block, size_t bytes) noexcept : Storage(&block, &block + 1, bytes, true) {}

  template <class T>
  static OwnBlock* new_block(size_t bytes, size_t elements, Allocator& allocator) {
    // Pointer differences must fit, and operator new accepts no more either.
    if (bytes > static_cast<size_t>(PTRDIFF_MAX) - 2 * storage_alignment) no_memory(bytes);
    const size_t padded = (bytes + storage_alignment - 1) / storage_alignment * storage_alignment;
    const size_t allocated = sizeof(OwnBlock) + padded;
    void* memory = allocator.allocate(allocated, storage_alignment);
    if (memory == nullptr) no_memory(bytes);
    return ::new (memory) OwnBlock{{{1}, &destroy_own<T>, nullptr}, &allocator, allocated, elements};
  }

  template <class T>
  static void destroy_own(Block* base) noexcept {
    OwnBlock* block = static_cast<OwnBlock*>(base);
    if constexpr (!std::is_trivially_destructible_v<T>) {
      T* elements = reinterpret_cast<T*>(block + 1);
      for (size_t i = block->elements; i-- > 0;) elements[i].~T();
    }
    Allocator& allocator = *block->allocator;
    const size_t allocated = block->allocated;
    block->~OwnBlock();
    allocator.deallocate(block, allocated, storage_alignment);
  }

  [[noreturn, gnu::cold]] static void refuse_to_write() {
    raise(ErrorCode::invalid_argument, "Storage", "the memory may only be read");
  }
  [[noreturn]] static void no_memory(size_t bytes) {
    raise(ErrorCode::out_of_memory, "Storage", "cannot allocate ", bytes, " bytes");
  }

  Block* block_ = nullptr;  // nullptr: borrowed, or empty
  void* data_ = nullptr;
  size_t bytes_ = 0;
  bool writable_ = false;
};

}  // namespace tenon::TENON_ABI
