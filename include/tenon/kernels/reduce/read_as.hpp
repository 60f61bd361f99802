// Elements that are converted as they are read, and short lines of them that are turned into columns.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/reduce/rows.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// Elements of another type, which `read` converts to type C; replaces a pointer to them.
template <class C>
struct ReadAs {
  const char* at;
  int64_t size;  // of an element
  void (*read)(const void* x, C* y, int64_t n);

  template <class Arch, class T>
  static ReadAs of(const T* x) {
    const auto read = [](const void* from, C* y, int64_t n) {
      const T* const elements = static_cast<const T*>(from);
      if constexpr (simd::is_narrow<T> && std::is_same_v<C, float>) {
        simd::widen<Arch>(elements, y, n);
      } else {
        for (int64_t i = 0; i < n; ++i) y[i] = static_cast<C>(elements[i]);
      }
    };
    return {reinterpret_cast<const char*>(x), sizeof(T), read};
  }
  ReadAs operator+(int64_t n) const { return {at + n * size, size, read}; }
};

/// columns[i * count + r] = lines[r * n + i], r < count, i < n, n * count <= short_line * reduce_tile, in the
/// type C.
template <class Arch, class T, class C>
TENON_NOINLINE void turn_lines_of(const T* lines, C* columns, int64_t n, int64_t count) {
  simd::turn<Arch>(lines, n, count, n, columns, count);
}
template <class Arch, class C>
TENON_NOINLINE void turn_lines_of(const ReadAs<C>& lines, C* columns, int64_t n, int64_t count) {
  C converted[short_line * reduce_tile];
  lines.read(lines.at, converted, n * count);
  simd::turn<Arch>(static_cast<const C*>(converted), n, count, n, columns, count);
}

}  // namespace detail

}  // namespace tenon::TENON_ABI::kernels
