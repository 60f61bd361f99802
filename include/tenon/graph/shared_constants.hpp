// SharedConstants: what a session's programs make of constants, such as weights in the kernels' layouts.
// Equal ones are held once.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/mutex.hpp"
#include "tenon/base/platform/overflow.hpp"
#include "tenon/base/storage.hpp"

namespace tenon::TENON_ABI {

namespace detail {

/// 128 bits of a block of memory. They differ for blocks that differ, unless somebody chose these to be
/// equal.
using Digest = std::array<uint64_t, 2>;
inline Digest digest_of(const std::byte* data, std::size_t bytes) {
  constexpr uint64_t odd[] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93};
  const auto mix = [](uint64_t a, uint64_t b) {
    uint64_t low = 0;
    const uint64_t high = multiply_wide(a, b, &low);
    return low ^ high;
  };
  uint64_t lanes[4] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1};
  const auto add = [&](const std::byte* at) {
    uint64_t words[8];
    std::memcpy(words, at, sizeof words);
    for (int l = 0; l < 4; ++l) lanes[l] += mix(words[2 * l] ^ odd[l], words[2 * l + 1] ^ lanes[l]);
  };
  std::size_t at = 0;
  for (; bytes - at >= 64; at += 64) add(data + at);
  std::byte rest[64] = {};
  if (bytes > at) std::memcpy(rest, data + at, bytes - at);
  add(rest);
  const auto end = [&](int a, int b, int c, int d) {
    return mix(mix(lanes[a] ^ bytes, lanes[b] ^ odd[0]), mix(lanes[c] ^ odd[1], lanes[d] ^ odd[2]));
  };
  return {end(0, 1, 2, 3), end(2, 0, 3, 1)};
}

/// The same for a large block, of whose parts an executor's threads take the digests.
inline Digest digest_of_parts(const void* data, std::size_t bytes) {
  constexpr std::size_t part = std::size_t{1} << 20;
  const auto* from = static_cast<const std::byte*>(data);
  std::vector<Digest> digests((bytes + part - 1) / part);
  parallel_for(static_cast<int64_t>(digests.size()), 1, [&](int64_t first, int64_t last) {
    for (auto p = static_cast<std::size_t>(first); p < static_cast<std::size_t>(last); ++p)
      digests[p] = digest_of(from + p * part, std::min(part, bytes - p * part));
  });
  return digest_of(reinterpret_cast<const std::byte*>(digests.data()), digests.size() * sizeof(Digest));
}

}  // namespace detail

/// What an object is made of: numbers, and the contents of blocks of memory as 128 bits each.
class ConstantKey {
 public:
  /// `kind` tells the objects' type.
  explicit ConstantKey(std::string_view kind) : text_(kind) { text_ += '\0'; }

  template <class... T>
  ConstantKey& add(T... numbers) {
    static_assert((std::is_trivially_copyable_v<T> && ...));
    (text_.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
    return *this;
  }
  /// `data` may be null, and at any address.
  ConstantKey& add_content(const void* data, std::size_t bytes) {
    return add(data != nullptr, bytes, detail::digest_of_parts(data, data == nullptr ? 0 : bytes));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Where packed constants are kept for later processes. May be used by concurrent threads.
class PackedStore {
 public:
  using Parts = std::array<Storage, 2>;

  virtual ~PackedStore() = default;
  /// What an earlier process added with the key, aligned to 64 bytes; empty handles if there is nothing.
  virtual Parts find(std::string_view key) = 0;
  /// Takes what the session has packed, which later calls of `find` need not return.
  virtual void add(std::string_view key, Parts parts) = 0;
  /// Called when the session has its own program; nothing is added afterwards. Error{io} if what was added
  /// cannot be kept.
  virtual void finish() = 0;
};

/// Objects by their keys. Each lives as long as a program uses it. May be used by concurrent threads.
class SharedConstants {
 public:
  /// `store`, which may be null, must outlive the object.
  explicit SharedConstants(PackedStore* store = nullptr) : store_(store) {}
  SharedConstants(const SharedConstants&) = delete;
  SharedConstants& operator=(const SharedConstants&) = delete;

  PackedStore* store() const { return store_; }
  /// The T of this key, or else what make() returns, a std::shared_ptr<T>.
  template <class T, class F>
  std::shared_ptr<T> get(const ConstantKey& key, F make) {
    if (std::shared_ptr<void> found = find(key.text())) return std::static_pointer_cast<T>(found);
    std::shared_ptr<T> made = make();
    const detail::LockGuard lock(mutex_);
    std::erase_if(objects_, [](const auto& o) { return o.second.expired(); });
    std::weak_ptr<void>& object = objects_[key.text()];
    if (std::shared_ptr<void> other = object.lock()) return std::static_pointer_cast<T>(other);
    object = made;
    return made;
  }

 private:
  std::shared_ptr<void> find(const std::string& key) {
    const detail::LockGuard lock(mutex_);
    const auto at = objects_.find(key);
    return at == objects_.end() ? nullptr : at->second.lock();
  }

  PackedStore* store_;
  detail::Mutex mutex_;
  std::map<std::string, std::weak_ptr<void>> objects_;
};

}  // namespace tenon::TENON_ABI
