// The k greatest or least elements of each row, in order. Elements of any number type are ranked by unsigned
// keys.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/base/types.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// An unsigned integer that is less if x is less. -0 and 0 are equal, and so are all NaNs, which rank above
/// everything else.
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

struct Ranked {
  uint64_t key;
  int64_t index;
  friend constexpr bool operator<(const Ranked& a, const Ranked& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

/// Writes each of the n elements at, at + step, … whose key is at most `bound`, numbered from `first` on, and
/// returns their number. The elements sought have the least keys. `found` has room for n + 1.
using FindRanked = int64_t (*)(const void* x, int64_t at, int64_t step, int64_t n, bool largest,
                               uint64_t bound, int64_t first, Ranked* found);

template <class T>
int64_t find_ranked(const void* x, int64_t at, int64_t step, int64_t n, bool largest, uint64_t bound,
                    int64_t first, Ranked* found) {
  const T* p = static_cast<const T*>(x) + at;
  const uint64_t flip = largest ? ~uint64_t{0} : 0;
  int64_t held = 0, i = 0;
  const auto look = [&](int64_t k) {
    const uint64_t key = order_key(p[k * step]) ^ flip;
    found[held] = {key, first + k};
    held += key <= bound;
  };
  if constexpr (std::is_same_v<T, float>) {
    // Most parts of a long row have none, which comparisons with the first number above the bound show.
    constexpr int64_t part = 16;
    constexpr uint32_t sign = uint32_t{1} << 31;
    const uint64_t above = (bound + 1) ^ flip;
    const auto bits = static_cast<uint32_t>(above);
    const float limit = std::bit_cast<float>(bits & sign ? bits ^ sign : ~bits);
    if (step == 1 && bound != ~uint64_t{0} && above >> 32 == 0)
      for (; i + part <= n; i += part) {
        int any = 0;
        if (largest)
          for (int64_t j = 0; j < part; ++j) any |= !(p[i + j] <= limit);
        else
          for (int64_t j = 0; j < part; ++j) any |= p[i + j] < limit;
        if (any)
          for (int64_t j = 0; j < part; ++j) look(i + j);
      }
  }
  for (; i < n; ++i) look(i);
  return held;
}

/// Inserts an element into the `held` best ones so far, at most k, if it belongs there. Its index is the
/// greatest.
inline void put_ranked(Ranked element, int64_t k, Ranked* best, int64_t& held) {
  if (held == k && element.key >= best[k - 1].key) return;
  int64_t place = held < k ? held++ : k - 1;
  for (; place > 0 && element.key < best[place - 1].key; --place) best[place] = best[place - 1];
  best[place] = element;
}

/// The first k <= n elements, in order, of each of `columns` neighbouring rows whose elements are `step`
/// apart: the elements of row c are written from best + c * k on.
template <int columns>
void rank_columns(const float* x, int64_t step, int64_t n, int64_t k, bool largest, Ranked* best) {
  const uint64_t flip = largest ? ~uint64_t{0} : 0;
  float limit[columns];  // the last of the k elements
  const auto put = [&](int64_t i, int c, int64_t held) {
    Ranked* const own = best + c * k;
    put_ranked({order_key(x[i * step + c]) ^ flip, i}, k, own, held);
    if (held == k) limit[c] = x[own[k - 1].index * step + c];
  };
  for (int64_t i = 0; i < k; ++i)
    for (int c = 0; c < columns; ++c) put(i, c, i);
  for (int64_t i = k; i < n; ++i) {
    const float* const row = x + i * step;
    // NaN, in a row or as a limit, is compared by its key.
    int any = 0;
    if (largest)
      for (int c = 0; c < columns; ++c) any |= !(row[c] <= limit[c]);
    else
      for (int c = 0; c < columns; ++c) any |= !(row[c] >= limit[c]);
    if (!any) continue;
    for (int c = 0; c < columns; ++c)
      if (largest ? !(row[c] <= limit[c]) : !(row[c] >= limit[c])) put(i, c, k);
  }
}

/// The first k <= n elements, in order, of each of 16 dense rows, n * k <= short_ranks: the elements of row r
/// are written from best + r * k on. Each element passes all places in a lane of its row, so that no branch
/// depends on it.
inline constexpr int64_t short_ranks = 64;
inline void rank_short_rows(const float* x, int64_t n, int64_t k, bool largest, Ranked* best) {
  constexpr int64_t rows = 16, width = 4;
  using Lanes = simd::Vector<int32_t, width>;
  using Keys = Lanes[rows / width];
  Keys key[short_ranks], index[short_ranks];
  for (int64_t i = 0; i < n; ++i) {
    const int64_t places = std::min(i, k);
    for (int64_t v = 0; v < rows / width; ++v) {
      Lanes element;
      for (int64_t r = 0; r < width; ++r) element[r] = std::bit_cast<int32_t>(x[(v * width + r) * n + i]);
      // order_key, mapped to the order of signed integers.
      const Lanes magnitude = element & 0x7fffffff, from = magnitude - magnitude + static_cast<int32_t>(i);
      Lanes e = simd::choose(magnitude == 0, magnitude, element ^ (element >> 31 & 0x7fffffff)), at = from;
      e |= (magnitude > 0x7f800000) & 0x7fffffff;
      e &= ~(magnitude > 0x7f800000) | 0x7fffffff;
      if (largest) e = ~e;
      // An element that has been displaced precedes all that follow.
      Lanes moves = magnitude - magnitude;
      for (int64_t j = 0; j < places; ++j) {
        const Lanes other = key[j][v], other_at = index[j][v];
        moves |= e < other;
        key[j][v] = simd::choose(moves, e, other);
        index[j][v] = simd::choose(moves, at, other_at);
        e = simd::choose(moves, other, e);
        at = simd::choose(moves, other_at, at);
      }
      if (i < k) key[i][v] = e, index[i][v] = at;
    }
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < k; ++j) best[r * k + j] = {0, index[j][r / width][r % width]};
}

inline constexpr int64_t ranked_block = 256;

/// A row of n elements, at, at + step, … of x. Once k elements are held that precede all dropped ones, a
/// later element matters only if it is less than the last of the k: an equal one has a greater index.
struct RankedRow {
  FindRanked find;
  const void* x;
  int64_t at, step, n;
  bool largest;

  /// The elements from `first` on, at most `block`, whose keys are at most `bound`.
  int64_t look(int64_t first, int64_t block, uint64_t bound, Ranked* found) const {
    return find(x, at + first * step, step, std::min(block, n - first), largest, bound, first, found);
  }

  /// Writes the first k elements, in order, to `best`, which has room for one more block. Each is inserted
  /// into its place, which is fastest if k is small.
  void rank_few(int64_t k, Ranked* best) const {
    constexpr int64_t block = ranked_block / 4;
    uint64_t bound = ~uint64_t{0};
    int64_t held = 0;
    for (int64_t first = 0; first < n; first += block) {
      Ranked* const found = best + k;
      const int64_t count = look(first, block, bound, found);
      for (int64_t i = 0; i < count; ++i) put_ranked(found[i], k, best, held);
      if (held < k) continue;
      if (best[k - 1].key == 0) return;
      bound = best[k - 1].key - 1;
    }
  }

  /// The same. `best` has room for `room` >= min(n, 2 k) elements and a block.
  void rank_many(int64_t k, Ranked* best, int64_t room) const {
    uint64_t bound = ~uint64_t{0};
    int64_t held = 0;
    for (int64_t first = 0; first < n; first += ranked_block) {
      held += look(first, ranked_block, bound, best + held);
      if (held < room || first + ranked_block >= n) continue;
      std::nth_element(best, best + (k - 1), best + held);
      held = k;
      if (best[k - 1].key == 0) break;
      bound = best[k - 1].key - 1;
    }
    if (held > k) std::nth_element(best, best + (k - 1), best + held);
    std::sort(best, best + k);
  }
};

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
  detail::FindRanked find = nullptr;
  decltype(&detail::take_ranked<uint8_t>) take = nullptr;
  visit_types<float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
              uint32_t, uint64_t>(type, [&]<class T>() {
    find = detail::find_ranked<T>;
    take = detail::take_ranked<
        std::conditional_t<sizeof(T) == 1, uint8_t,
                           std::conditional_t<sizeof(T) == 2, uint16_t,
                                              std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>>;
  });
  const int64_t room = k < extent / 2 ? std::min(extent, std::max<int64_t>(2 * k, 64)) : extent;
  constexpr int64_t elements = task_work::moderate;  // per task, approximately
  // Neighbouring rows are processed together, 16 or 4 at a time.
  constexpr int64_t most = 16;
  const bool in_columns = type == DType::float32 && inner >= 4 && k <= most;
  const bool short_rows =
      type == DType::float32 && inner == 1 && extent <= 32 && extent * k <= detail::short_ranks;
  // Sorting many elements takes several steps for each.
  const int64_t work = k <= most ? extent : extent * std::bit_width(static_cast<uint64_t>(k));
  const int64_t grain =
      std::max<int64_t>(work >= elements ? 1 : elements / work, in_columns || short_rows ? most : 1);
  parallel_for(outer * inner, grain, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    static_assert(detail::ranked_block >= most * most);
    detail::Ranked* best = scratch.take<detail::Ranked>(room + detail::ranked_block + 1);
    detail::RankedRow ranked{find, x, 0, inner, extent, largest};
    for (int64_t row = begin, together; row < end; row += together) {
      const int64_t o = row / inner, i = row % inner;
      const int64_t from = o * extent * inner + i, to = o * k * inner + i;
      const int64_t left = in_columns ? std::min(inner - i, end - row) : short_rows ? end - row : 1;
      const auto columns = [&]<int n>() {
        detail::rank_columns<n>(static_cast<const float*>(x) + from, inner, extent, k, largest, best);
      };
      together = left >= most ? most : in_columns && left >= 4 ? 4 : 1;
      ranked.at = from;
      if (together == most && short_rows)
        detail::rank_short_rows(static_cast<const float*>(x) + from, extent, k, largest, best);
      else if (together == most) columns.template operator()<most>();
      else if (together > 1) columns.template operator()<4>();
      else if (k <= most) ranked.rank_few(k, best);
      else ranked.rank_many(k, best, room);
      const int64_t from_step = short_rows ? extent : 1, to_step = short_rows ? k : 1;
      for (int64_t c = 0; c < together; ++c) {
        const int64_t at = to + c * to_step;
        if (values) take(x, best + c * k, k, from + c * from_step, at, inner, values);
        if (indices)
          for (int64_t j = 0; j < k; ++j) indices[at + j * inner] = best[c * k + j].index;
      }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels
