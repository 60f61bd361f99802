// Bodies of transpose.hpp: squares of elements transposed in registers.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/move/transpose.hpp"
#include "tenon/simd/properties.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

template <std::size_t bytes>
struct BlockOf;
template <>
struct BlockOf<1> {
  using type = uint8_t;
};
template <>
struct BlockOf<2> {
  using type = uint16_t;
};
template <>
struct BlockOf<4> {
  using type = uint32_t;
};
template <>
struct BlockOf<8> {
  using type = uint64_t;
};

/// `lanes` lanes of sixteen bytes.
template <class T, int lanes>
struct Lanes {
  static constexpr int side = 16 / static_cast<int>(sizeof(T));
  using type = simd::Vector<T, lanes * side>;

  // Loads a lane from each of `lanes` rows that are `apart` bytes apart.
  static type load(const char* from, int64_t apart) {
    if constexpr (lanes == 1) {
      type v;
      std::memcpy(&v, from, 16);
      return v;
    } else {
      using Half = Lanes<T, lanes / 2>;
      return join(Half::load(from, apart), Half::load(from + lanes / 2 * apart, apart),
                  std::make_integer_sequence<int, lanes * side>{});
    }
  }
  // Interleaves the elements of a and b in each lane: the lower halves (half = 0) or the upper ones (half =
  // side / 2).
  template <int half>
  static type interleave(type a, type b) {
    return interleave<half>(a, b, std::make_integer_sequence<int, lanes * side>{});
  }

 private:
  template <class Half, int... k>
  static type join(Half a, Half b, std::integer_sequence<int, k...>) {
    return simd::shuffle<k...>(a, b);
  }
  template <int half, int... k>
  static type interleave(type a, type b, std::integer_sequence<int, k...>) {
    return simd::shuffle<(k / side * side + k % side / 2 + half + k % 2 * lanes * side)...>(a, b);
  }
};

/// The source of element e of vector k in `count` consecutive vectors of `side` elements: their elements in
/// turn, or every count-th of them.
template <int side, int count>
struct Woven {
  static constexpr int at(int k, int e) { return (k * side + e) / count + (k * side + e) % count * side; }
};
template <int count>
struct Unwoven {
  static constexpr int at(int k, int e) { return e * count + k; }
};

/// A vector of `bytes` bytes.
template <class T, int bytes>
struct Vector {
  static constexpr int side = bytes / static_cast<int>(sizeof(T));
  using type = simd::Vector<T, side>;

  static type load(const char* from) {
    type v;
    std::memcpy(&v, from, bytes);
    return v;
  }
  // Element e is element From::at(k, e) of a, b and, if there are three, c.
  template <int k, int count, class From>
  static type choose(type a, type b, type c, From) {
    return [&]<int... e>(std::integer_sequence<int, e...>) {
      const type v = simd::shuffle<(From::at(k, e) < 2 * side ? From::at(k, e) : 0)...>(a, b);
      if constexpr (count == 2) return v;
      else return type(simd::shuffle<(From::at(k, e) < 2 * side ? e : From::at(k, e) - side)...>(v, c));
    }(std::make_integer_sequence<int, side>{});
  }
};

// Transposes `lanes` squares of side x side elements that lie below one another in the source and side by
// side in the result. A square's registers take log2(side) rounds of interleaving register k with k + side /
// 2.
template <class T, int lanes>
void turn_squares(char* to, int64_t to_row, const char* from, int64_t from_row) {
  using L = Lanes<T, lanes>;
  using V = typename L::type;
  constexpr int side = L::side;
  V v[side], w[side];
  // Without unrolling, v and w would be kept in memory.
#pragma GCC unroll 16
  for (int k = 0; k < side; ++k) v[k] = L::load(from + k * from_row, side * from_row);
#pragma GCC unroll 4
  for (int round = 1; round < side; round *= 2) {
#pragma GCC unroll 8
    for (int k = 0; k < side / 2; ++k) {
      w[2 * k] = L::template interleave<0>(v[k], v[k + side / 2]);
      w[2 * k + 1] = L::template interleave<side / 2>(v[k], v[k + side / 2]);
    }
#pragma GCC unroll 16
    for (int k = 0; k < side; ++k) v[k] = w[k];
  }
#pragma GCC unroll 16
  for (int k = 0; k < side; ++k) std::memcpy(to + k * to_row, &v[k], sizeof(V));
}

// Element i * count + c at `to` is element i of row c, for as many i as fit into `bytes` bytes.
template <class T, int bytes, int count>
void weave_step(char* to, const char* from, int64_t from_row) {
  using V = Vector<T, bytes>;
  const auto a = V::load(from), b = V::load(from + from_row), c = V::load(from + (count - 1) * from_row);
  const auto part = [&]<int k>(std::integral_constant<int, k>) {
    const auto v = V::template choose<k, count>(a, b, c, Woven<V::side, count>{});
    std::memcpy(to + k * bytes, &v, bytes);
  };
  part(std::integral_constant<int, 0>{});
  part(std::integral_constant<int, 1>{});
  if constexpr (count == 3) part(std::integral_constant<int, 2>{});
}

// The inverse: element i of row c is element i * count + c at `from`.
template <class T, int bytes, int count>
void unweave_step(char* to, int64_t to_row, const char* from) {
  using V = Vector<T, bytes>;
  const auto a = V::load(from), b = V::load(from + bytes), c = V::load(from + (count - 1) * bytes);
  const auto row = [&]<int r>(std::integral_constant<int, r>) {
    const auto v = V::template choose<r, count>(a, b, c, Unwoven<count>{});
    std::memcpy(to + r * to_row, &v, bytes);
  };
  row(std::integral_constant<int, 0>{});
  row(std::integral_constant<int, 1>{});
  if constexpr (count == 3) row(std::integral_constant<int, 2>{});
}

// Calls step<bytes>(i) for the elements from i on of rows of n, `bytes` bytes of each; the last step begins
// early enough to end with the rows. False if the rows are too short, or if the level has no shuffles of such
// small elements.
template <class Arch, class T, class Step>
bool few_rows(int64_t n, const Step& step) {
  constexpr int least = 16, most = sizeof(T) < 4 ? least : Arch::register_bytes;
  constexpr int64_t wide = most / sizeof(T), side = least / sizeof(T);
  if constexpr (sizeof(T) < 4 && !simd::has_byte_shuffles<Arch>) {
    return false;
  } else {
    if (n < side) return false;
    int64_t i = 0;
    for (; i + wide <= n; i += wide) step.template operator()<most>(i);
    for (; i < n; i += side) step.template operator()<least>(std::min(i, n - side));
    return true;
  }
}

// turn_impl for two or three rows, or columns, if the result, or the source, has no gaps between them.
template <class Arch, class T, int count>
bool weave(char* to, const char* from, int64_t from_row, int64_t n) {
  return few_rows<Arch, T>(n, [=]<int bytes>(int64_t i) {
    constexpr int64_t size = sizeof(T);
    weave_step<T, bytes, count>(to + i * count * size, from + i * size, from_row);
  });
}
template <class Arch, class T, int count>
bool unweave(char* to, int64_t to_row, const char* from, int64_t n) {
  return few_rows<Arch, T>(n, [=]<int bytes>(int64_t i) {
    constexpr int64_t size = sizeof(T);
    unweave_step<T, bytes, count>(to + i * size, to_row, from + i * count * size);
  });
}

// turn_impl for any rows and columns, one by one.
template <class Arch, std::size_t bytes>
void turn_each(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows, int64_t columns) {
  constexpr int64_t size = bytes;
  const auto one = [=](int64_t i, int64_t j) {
    std::memcpy(to + j * to_row + i * size, from + i * from_row + j * size, bytes);
  };
  if (rows <= 3)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i) one(i, j);
  else
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) one(i, j);
}

}  // namespace detail

template <class Arch, std::size_t bytes>
void turn_impl(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows, int64_t columns) {
  using T = typename detail::BlockOf<bytes>::type;
  // Blocks with a cache line of elements on both sides.
  constexpr int64_t line = 64, size = bytes, n = line / size, side = 16 / size,
                    lanes = Arch::register_bytes / 16;
  if (rows == 2 && to_row == 2 * size && detail::weave<Arch, T, 2>(to, from, from_row, columns)) return;
  if (rows == 3 && to_row == 3 * size && detail::weave<Arch, T, 3>(to, from, from_row, columns)) return;
  if (columns == 2 && from_row == 2 * size && detail::unweave<Arch, T, 2>(to, to_row, from, rows)) return;
  if (columns == 3 && from_row == 3 * size && detail::unweave<Arch, T, 3>(to, to_row, from, rows)) return;
  if (rows < side || columns < side)
    return detail::turn_each<Arch, bytes>(to, to_row, from, from_row, rows, columns);
  alignas(line) char read[n * line];
  for (int64_t j = 0; j < columns; j += n) {
    for (int64_t i = 0; i < rows; i += n) {
      const int64_t high = rows - i < n ? rows - i : n, wide = columns - j < n ? columns - j : n;
      const char* block = from + i * from_row + j * size;
      int64_t row = from_row;
      // Hardware does not predict lines that are rows apart: prefetch the lines of the block after the next.
      if (int64_t ahead = i + 2 * n, strip = j; rows > 2 * n || ahead < rows) {
        if (ahead >= rows) ahead -= (rows + n - 1) / n * n, strip += n;
        const int64_t lines = rows - ahead < n ? rows - ahead : n;
        const char* source = from + ahead * from_row + strip * size;
        for (int64_t k = 0; strip < columns && k < lines; ++k) TENON_PREFETCH(source + k * from_row, 0, 3);
        char* result = to + strip * to_row + ahead * size;
        for (int64_t k = 0; k < n && strip + k < columns; ++k) TENON_PREFETCH(result + k * to_row, 1, 3);
      }
      // More than eight lines of the source may map to one set of the first-level cache and would be evicted:
      // they are read at once.
      if (n > 8 && high == n && wide == n && row % (65536 / n) == 0) {
        for (int64_t k = 0; k < n; ++k) std::memcpy(read + k * line, block + k * row, line);
        block = read;
        row = line;
      }
      // The last squares begin early enough to end with the block, possibly before its beginning.
      for (int64_t k = 0; k < wide; k += side) {
        const int64_t y = std::min(k, wide - side);
        char* const out = to + (j + y) * to_row + i * size;
        int64_t x = 0;
        for (; x + side * lanes <= high; x += side * lanes)
          detail::turn_squares<T, lanes>(out + x * size, to_row, block + x * row + y * size, row);
        for (; x < high; x += side) {
          const int64_t last = std::min(x, high - side);
          detail::turn_squares<T, 1>(out + last * size, to_row, block + last * row + y * size, row);
        }
      }
    }
  }
}

#ifdef TENON_INSTANTIATE
template void turn_impl<TENON_INSTANTIATE, 1>(char*, int64_t, const char*, int64_t, int64_t, int64_t);
template void turn_impl<TENON_INSTANTIATE, 2>(char*, int64_t, const char*, int64_t, int64_t, int64_t);
template void turn_impl<TENON_INSTANTIATE, 4>(char*, int64_t, const char*, int64_t, int64_t, int64_t);
template void turn_impl<TENON_INSTANTIATE, 8>(char*, int64_t, const char*, int64_t, int64_t, int64_t);
#endif

}  // namespace tenon::TENON_ABI::kernels
