// Running sums and products along an axis. Bodies for sums of float: cumulate_impl.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/base/convert.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

enum class CumulateOp : uint8_t { sum, product };

namespace detail {

template <class T, bool = std::is_integral_v<T>>
struct RunningOf {
  using type = double;
};
template <class T>
struct RunningOf<T, true> {
  using type = std::make_unsigned_t<T>;
};

template <CumulateOp F, class Sum, class T>
Sum running(Sum sum, T x) {
  if constexpr (F == CumulateOp::sum) return sum + convert<Sum>(x);
  else return sum * convert<Sum>(x);
}

/// Accumulates `columns` neighbours, at most cumulated_block, through `extent` rows that are `step` elements
/// apart. y may be x.
inline constexpr int64_t cumulated_block = 1024;
template <CumulateOp F, class T>
void cumulate_columns(const T* x, T* y, int64_t extent, int64_t step, int64_t columns, bool exclusive) {
  using Sum = typename RunningOf<T>::type;
  constexpr int64_t part = 16;  // a constant, so that compilers use vectors
  Sum sums[cumulated_block];
  std::fill_n(sums, columns, F == CumulateOp::sum ? Sum(0) : Sum(1));
  // Where rows are contiguous in memory, the hardware prefetcher does not keep up.
  const int64_t ahead = step == columns ? int64_t{1024 / sizeof(T)} : 0;
  for (int64_t k = 0; k < extent; ++k, x += step, y += step) {
    int64_t i = 0;
    for (; i + part <= columns; i += part) {
      TENON_PREFETCH(x + i + ahead, 0, 3);
      TENON_PREFETCH(y + i + ahead, 1, 3);
      Sum* const sum = sums + i;
      Sum next[part];
      for (int64_t j = 0; j < part; ++j) next[j] = running<F>(sum[j], x[i + j]);
      if (exclusive)
        for (int64_t j = 0; j < part; ++j) y[i + j] = convert<T>(sum[j]);
      else
        for (int64_t j = 0; j < part; ++j) y[i + j] = convert<T>(next[j]);
      std::copy_n(next, part, sum);
    }
    for (; i < columns; ++i) {
      const Sum before = sums[i];
      sums[i] = running<F>(before, x[i]);
      y[i] = convert<T>(exclusive ? before : sums[i]);
    }
  }
}

/// Accumulates `lines` dense lines, as many at once as hide the latency of their sums.
template <CumulateOp F, class T>
void cumulate_lines(const T* x, T* y, int64_t extent, int64_t lines, bool exclusive, bool reverse) {
  using Sum = typename RunningOf<T>::type;
  constexpr int together = 4;
  constexpr auto start = F == CumulateOp::sum ? Sum(0) : Sum(1);
  const int64_t first = reverse ? extent - 1 : 0, step = reverse ? -1 : 1;
  for (; lines >= together; lines -= together, x += together * extent, y += together * extent) {
    Sum sums[together] = {start, start, start, start};
    for (int64_t k = 0, at = first; k < extent; ++k, at += step)
#pragma GCC unroll 4
      for (int line = 0; line < together; ++line) {
        const Sum before = sums[line];
        sums[line] = running<F>(before, x[at + line * extent]);
        y[at + line * extent] = convert<T>(exclusive ? before : sums[line]);
      }
  }
  for (; lines > 0; --lines, x += extent, y += extent) {
    Sum sum = start;
    for (int64_t k = 0, at = first; k < extent; ++k, at += step) {
      const Sum before = sum;
      sum = running<F>(before, x[at]);
      y[at] = convert<T>(exclusive ? before : sum);
    }
  }
}

}  // namespace detail

/// Serial body: cumulate_columns of sums, for `blocks` blocks that are `apart` elements apart.
template <class Arch>
void cumulate_impl(const float* x, float* y, int64_t blocks, int64_t apart, int64_t extent, int64_t step,
                   int64_t columns, bool exclusive);

/// y[o, k, i] = x[o, 0, i] f … f x[o, k, i] in arrays of (outer, extent, inner) elements. With `exclusive`
/// x[o, k, i] is left out; with `reverse` the axis is walked from its end. Floats are accumulated in double,
/// to keep precision in long vectors; integers wrap. y may be x.
template <CumulateOp F, class T>
void cumulate(const T* x, T* y, int64_t outer, int64_t extent, int64_t inner, bool exclusive, bool reverse) {
  if (inner == 1)
    return parallel_for(outer, 16384 / extent + 4, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * extent;
      detail::cumulate_lines<F>(x + at, y + at, extent, end - begin, exclusive, reverse);
    });
  constexpr int64_t block = detail::cumulated_block;
  const int64_t blocks = (inner + block - 1) / block;
  parallel_for(outer * blocks, std::max<int64_t>(1, 4096 / (extent * std::min(inner, block))),
               [&](int64_t begin, int64_t end) {
                 // If blocks are whole axes, a task walks several at once.
                 const int64_t together = blocks == 1 ? end - begin : 1;
                 for (int64_t b = begin; b < end; b += together) {
                   const int64_t first = b % blocks * block, columns = std::min(block, inner - first);
                   const int64_t at = (b / blocks * extent + (reverse ? extent - 1 : 0)) * inner + first;
                   const int64_t step = reverse ? -inner : inner, apart = extent * inner;
                   if constexpr (F == CumulateOp::sum && std::is_same_v<T, float>)
                     simd::dispatch([&]<class Arch>(Arch) {
                       cumulate_impl<Arch>(x + at, y + at, together, apart, extent, step, columns, exclusive);
                     });
                   else
                     for (int64_t k = at; k < at + together * apart; k += apart)
                       detail::cumulate_columns<F>(x + k, y + k, extent, step, columns, exclusive);
                 }
               });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/reduce/cumulate_impl.hpp"
#endif
