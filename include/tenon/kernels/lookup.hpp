// Positions of values in a list of keys, by hashing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

template <class K>
uint64_t hash_key(const K& key) {
  if constexpr (std::is_same_v<K, std::string>) {
    return std::hash<std::string_view>{}(key);
  } else {
    uint64_t h = 0;
    if constexpr (std::is_integral_v<K>) h = static_cast<uint64_t>(key);
    else if (key == key) h = std::bit_cast<uint64_t>(static_cast<double>(key) + 0.0);  // -0 becomes 0
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
    h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
    return h ^ (h >> 31);
  }
}

template <class K>
bool same_key(const K& a, const K& b) {
  if constexpr (std::is_floating_point_v<K>) return a == b || (a != a && b != b);
  else return a == b;
}
/// An order of keys in which NaN is last.
template <class K>
bool key_less(const K& a, const K& b) {
  if constexpr (std::is_floating_point_v<K>) return a < b || (a == a && b != b);
  else return a < b;
}

}  // namespace detail

/// The position of a value in a list of keys, the last among equal keys. All NaNs are equal. K: integers,
/// floats, std::string. The keys must outlive the table. Keys of equal hashes are ordered, so that a file's
/// author who provokes collisions costs no more than a binary search.
template <class K>
class Lookup {
 public:
  explicit Lookup(std::span<const K> keys)
      : keys_(keys), places_(keys.size()), starts_(std::bit_ceil(2 * keys.size() + 1) + 1) {
    for (const K& key : keys) ++starts_[bucket_of(key)];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    // Each bucket is filled from its end to its start.
    for (std::size_t k = keys.size(); k-- > 0;) places_[--starts_[bucket_of(keys[k])]] = k;
    for (std::size_t b = 0; b + 1 < starts_.size(); ++b)
      if (starts_[b + 1] - starts_[b] > 1)
        std::sort(&places_[starts_[b]], &places_[0] + starts_[b + 1], [&](std::size_t x, std::size_t y) {
          return detail::key_less(keys[x], keys[y]) || (x < y && !detail::key_less(keys[y], keys[x]));
        });
  }
  /// -1 for a value that is not a key.
  int64_t find(const K& value) const {
    const std::size_t b = bucket_of(value);
    std::size_t begin = starts_[b], end = starts_[b + 1];
    if (begin == end) return -1;
    // The last key not above the value.
    while (end - begin > 1) {
      const std::size_t middle = begin + (end - begin) / 2;
      (detail::key_less(value, keys_[places_[middle]]) ? end : begin) = middle;
    }
    return detail::same_key(keys_[places_[begin]], value) ? static_cast<int64_t>(places_[begin]) : -1;
  }

 private:
  std::size_t bucket_of(const K& key) const { return detail::hash_key(key) & (starts_.size() - 2); }

  std::span<const K> keys_;
  std::vector<std::size_t> places_;  // bucket by bucket
  std::vector<std::size_t> starts_;  // of each bucket among the places, and the end of the last one
};

}  // namespace tenon::TENON_ABI::kernels
