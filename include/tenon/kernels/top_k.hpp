// The k greatest or least elements of each row, in order. Elements of any number type are ranked by unsigned
// keys.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/base/types.hpp"

namespace tenon::kernels {

namespace detail {

/// An unsigned integer that is less where x is less. -0 and 0 are equal, and so are all NaNs, which are above
/// all else.
template <class T>
constexpr uint64_t order_key(T x) {
  if constexpr (std::is_integral_v<T>) {
    constexpr uint64_t sign = std::is_signed_v<T> ? uint64_t{1} << 63 : 0;
    return static_cast<uint64_t>(x) ^ sign;
  } else {
    using Bits =
        std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
    constexpr Bits sign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
    const Bits bits = std::bit_cast<Bits>(x), magnitude = static_cast<Bits>(bits & ~sign);
    if (magnitude > std::bit_cast<Bits>(std::numeric_limits<T>::infinity())) return ~uint64_t{0};
    if (magnitude == 0) return sign;
    return static_cast<Bits>(bits & sign ? ~bits : bits | sign);
  }
}

/// Keys of the n elements at, at + step, …; the elements looked for have the least keys.
using LoadKeys = void (*)(const void* x, int64_t at, int64_t step, int64_t n, bool largest, uint64_t* keys);

template <class T>
void load_keys(const void* x, int64_t at, int64_t step, int64_t n, bool largest, uint64_t* keys) {
  const T* p = static_cast<const T*>(x) + at;
  const uint64_t flip = largest ? ~uint64_t{0} : 0;
  for (int64_t i = 0; i < n; ++i) keys[i] = order_key(p[i * step]) ^ flip;
}

struct Ranked {
  uint64_t key;
  int64_t index;
  friend constexpr bool operator<(const Ranked& a, const Ranked& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

/// Writes the first k elements of the row, in order, to `best`, which has room for `room` >= min(n, 2 k)
/// elements.
inline void rank_row(LoadKeys load, const void* x, int64_t at, int64_t step, int64_t n, int64_t k,
                     bool largest, Ranked* best, int64_t room) {
  constexpr int64_t block = 256;
  uint64_t keys[block];
  int64_t held = 0;
  // Once k elements are held that precede all dropped ones, a later element matters only if it is less than
  // the last of the k: an equal one has the greater index.
  bool full = false;
  uint64_t bound = 0;
  for (int64_t first = 0; first < n; first += block) {
    const int64_t count = std::min(block, n - first);
    load(x, at + first * step, step, count, largest, keys);
    for (int64_t i = 0; i < count; ++i) {
      if (full && keys[i] >= bound) continue;
      best[held++] = {keys[i], first + i};
      if (held < room) continue;
      if (first + i + 1 == n) break;
      std::nth_element(best, best + (k - 1), best + held);
      held = k;
      full = true;
      bound = best[k - 1].key;
    }
  }
  if (held > k) std::nth_element(best, best + (k - 1), best + held);
  std::sort(best, best + k);
}

template <class T>
void take_ranked(const void* x, const Ranked* best, int64_t k, int64_t from, int64_t to, int64_t step,
                 void* values) {
  const T* source = static_cast<const T*>(x) + from;
  T* dest = static_cast<T*>(values) + to;
  for (int64_t j = 0; j < k; ++j) dest[j * step] = source[best[j].index * step];
}

}  // namespace detail

/// values and indices (outer, k, inner): the k greatest (or least) elements of x (outer, extent, inner) along
/// its middle axis, in order, and their indices along that axis. Equal elements are ordered by ascending
/// index; NaN counts as the greatest. 0 <= k <= extent. Types: integers of whole bytes, float16, bfloat16,
/// float, double.
inline void top_k(DType type, const void* x, int64_t outer, int64_t extent, int64_t inner, int64_t k,
                  bool largest, void* values, int64_t* indices) {
  if (outer == 0 || inner == 0 || k == 0) return;
  detail::LoadKeys load = nullptr;
  decltype(&detail::take_ranked<uint8_t>) take = nullptr;
  dispatch<float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
           uint64_t>(type, [&]<class T>() {
    load = detail::load_keys<T>;
    take = detail::take_ranked<
        std::conditional_t<sizeof(T) == 1, uint8_t,
                           std::conditional_t<sizeof(T) == 2, uint16_t,
                                              std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>>;
  });
  const int64_t room = k < extent / 2 ? std::min(extent, std::max<int64_t>(2 * k, 64)) : extent;
  constexpr int64_t elements = 1 << 14;  // a task looks at about so many
  parallel_for(outer * inner, extent >= elements ? 1 : elements / extent, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    detail::Ranked* best = scratch.take<detail::Ranked>(room);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t o = row / inner, i = row % inner;
      const int64_t from = o * extent * inner + i, to = o * k * inner + i;
      detail::rank_row(load, x, from, inner, extent, k, largest, best, room);
      if (values) take(x, best, k, from, to, inner, values);
      if (indices)
        for (int64_t j = 0; j < k; ++j) indices[to + j * inner] = best[j].index;
    }
  });
}

}  // namespace tenon::kernels
