// Running sums and products along an axis.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/base/convert.hpp"
#include "tenon/base/parallel.hpp"

namespace tenon::kernels {

enum class CumulateOp : uint8_t { sum, product };

namespace detail {

/// One step of `width` running sums; element i is at i * step. y may be x.
template <CumulateOp F, int width, class Sum, class T>
[[gnu::always_inline]] inline void cumulate_step(Sum* sums, const T* x, T* y, auto step, bool exclusive) {
  Sum next[width];
#pragma GCC unroll 4
  for (int i = 0; i < width; ++i) {
    if constexpr (F == CumulateOp::sum) next[i] = sums[i] + convert<Sum>(x[i * step]);
    else next[i] = sums[i] * convert<Sum>(x[i * step]);
  }
  const auto store = [&](const Sum* from) {
#pragma GCC unroll 4
    for (int i = 0; i < width; ++i) y[i * step] = convert<T>(from[i]);
  };
  if (exclusive) store(sums);
  else store(next);
#pragma GCC unroll 4
  for (int i = 0; i < width; ++i) sums[i] = next[i];
}

}  // namespace detail

/// y[o, k, i] = x[o, 0, i] f … f x[o, k, i] in arrays of (outer, extent, inner) elements. With `exclusive`
/// x[o, k, i] is left out; with `reverse` the axis is walked from its end. Floats are accumulated in double,
/// to keep precision in long vectors; integers wrap.
template <CumulateOp F, class T>
void cumulate(const T* x, T* y, int64_t outer, int64_t extent, int64_t inner, bool exclusive, bool reverse) {
  constexpr bool integers = std::is_integral_v<T>;
  using Sum =
      std::conditional_t<integers, std::make_unsigned_t<std::conditional_t<integers, T, int>>, double>;
  constexpr auto start = F == CumulateOp::sum ? Sum(0) : Sum(1);
  using One = std::integral_constant<int64_t, 1>;
  if (inner == 1) {
    // A line waits for each of its sums, so lines are done together.
    constexpr int together = 4;
    const int64_t lines = outer, groups = (lines + together - 1) / together;
    return parallel_for(groups, 4096 / (together * extent) + 1, [&](int64_t begin, int64_t end) {
      const int64_t first = reverse ? extent - 1 : 0, step = reverse ? -1 : 1;
      for (int64_t g = begin; g < end; ++g) {
        const int64_t at = g * together * extent + first;
        const bool whole = lines - g * together >= together;
        for (int64_t line = 0; line < (whole ? 1 : lines - g * together); ++line) {
          Sum sums[together];
          std::fill_n(sums, together, start);
          for (int64_t k = 0, i = at + line * extent; k < extent; ++k, i += step) {
            if (whole) detail::cumulate_step<F, together>(sums, x + i, y + i, extent, exclusive);
            else detail::cumulate_step<F, 1>(sums, x + i, y + i, One{}, exclusive);
          }
        }
      }
    });
  }
  // Neighbours along `inner` are independent and are done a block at a time.
  constexpr int64_t block = 256, part = 16;
  const int64_t blocks = (inner + block - 1) / block;
  parallel_for(outer * blocks, std::max<int64_t>(1, 4096 / (extent * std::min(inner, block))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t b = begin; b < end; ++b) {
                   const int64_t first = b % blocks * block, width = std::min(block, inner - first);
                   Sum sums[block];
                   std::fill_n(sums, width, start);
                   for (int64_t k = 0; k < extent; ++k) {
                     const int64_t at =
                         (b / blocks * extent + (reverse ? extent - 1 - k : k)) * inner + first;
                     int64_t i = 0;
                     for (; i + part <= width; i += part)
                       detail::cumulate_step<F, part>(sums + i, x + at + i, y + at + i, One{}, exclusive);
                     for (; i < width; ++i)
                       detail::cumulate_step<F, 1>(sums + i, x + at + i, y + at + i, One{}, exclusive);
                   }
                 }
               });
}

}  // namespace tenon::kernels
