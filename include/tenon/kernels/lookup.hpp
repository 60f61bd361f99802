// Places of values in a list of keys, by hashing.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tenon::kernels {

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

}  // namespace detail

/// The place of a value in a list of keys, of equal keys the last one. All NaNs are equal. K: integers,
/// floats, std::string. The keys must outlive the table.
template <class K>
class Lookup {
 public:
  explicit Lookup(std::span<const K> keys)
      : keys_(keys), slots_(std::bit_ceil(2 * keys.size() + 1), 0), mask_(slots_.size() - 1) {
    for (std::size_t k = 0; k < keys.size(); ++k) slots_[slot_of(keys[k])] = static_cast<int64_t>(k) + 1;
  }
  /// -1 for a value that is no key.
  int64_t find(const K& value) const { return slots_[slot_of(value)] - 1; }

 private:
  /// The slot of an equal key, or the empty one where the search ends.
  std::size_t slot_of(const K& key) const {
    std::size_t s = detail::hash_key(key) & mask_;
    while (slots_[s] != 0 && !detail::same_key(keys_[static_cast<std::size_t>(slots_[s] - 1)], key))
      s = (s + 1) & mask_;
    return s;
  }

  std::span<const K> keys_;
  std::vector<int64_t> slots_;  // place + 1, or 0
  std::size_t mask_;
};

}  // namespace tenon::kernels
