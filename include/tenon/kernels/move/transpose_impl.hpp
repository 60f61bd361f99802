// Bodies of transpose.hpp: squares of elements turned in registers.
#pragma once

#include <utility>

#include "tenon/kernels/move/transpose.hpp"

namespace tenon::kernels {

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
  using type [[gnu::vector_size(16 * lanes)]] = T;
  static constexpr int side = 16 / static_cast<int>(sizeof(T));

  // A lane from each of `lanes` rows that are `apart` bytes from one another.
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
    return __builtin_shufflevector(a, b, k...);
  }
  template <int half, int... k>
  static type interleave(type a, type b, std::integer_sequence<int, k...>) {
    return __builtin_shufflevector(a, b, (k / side * side + k % side / 2 + half + k % 2 * lanes * side)...);
  }
};

// Turns `lanes` squares of side x side elements that lie below one another in the source, beside one another
// in the result. Of the registers of a square, log2(side) rounds of interleaving register k with k + side / 2
// turn it.
template <class T, int lanes>
void turn_squares(char* to, int64_t to_row, const char* from, int64_t from_row) {
  using L = Lanes<T, lanes>;
  using V = typename L::type;
  constexpr int side = L::side;
  V v[side], w[side];
  // Without unrolling, v and w would lie in memory.
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

}  // namespace detail

template <class Arch, std::size_t bytes>
void turn_impl(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows, int64_t columns) {
  using T = typename detail::BlockOf<bytes>::type;
  // Blocks of as many elements on both sides as lie in a cache line.
  constexpr int64_t line = 64, size = bytes, n = line / size, side = 16 / size,
                    lanes = Arch::register_bytes / 16;
  alignas(line) char read[n * line];
  for (int64_t j = 0; j < columns; j += n) {
    for (int64_t i = 0; i < rows; i += n) {
      const int64_t high = rows - i < n ? rows - i : n, wide = columns - j < n ? columns - j : n;
      const char* block = from + i * from_row + j * size;
      int64_t row = from_row;
      // Processors do not guess lines that lie rows apart: those of the block after the next.
      if (int64_t ahead = i + 2 * n, strip = j; rows > 2 * n || ahead < rows) {
        if (ahead >= rows) ahead -= (rows + n - 1) / n * n, strip += n;
        const int64_t lines = rows - ahead < n ? rows - ahead : n;
        const char* source = from + ahead * from_row + strip * size;
        for (int64_t k = 0; strip < columns && k < lines; ++k) __builtin_prefetch(source + k * from_row);
        char* result = to + strip * to_row + ahead * size;
        for (int64_t k = 0; k < n && strip + k < columns; ++k) __builtin_prefetch(result + k * to_row, 1);
      }
      // More than eight lines of the source may go to one place of the first-level cache, and would not stay
      // there: they are read at once.
      if (n > 8 && high == n && wide == n && row % (65536 / n) == 0) {
        for (int64_t k = 0; k < n; ++k) std::memcpy(read + k * line, block + k * row, line);
        block = read;
        row = line;
      }
      for (int64_t y = 0; y < wide; y += side) {
        char* const out = to + (j + y) * to_row + i * size;
        int64_t x = 0;
        for (; x + side * lanes <= high; x += side * lanes)
          detail::turn_squares<T, lanes>(out + x * size, to_row, block + x * row + y * size, row);
        for (; x < high; x += side)
          detail::turn_squares<T, 1>(out + x * size, to_row, block + x * row + y * size, row);
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

}  // namespace tenon::kernels
