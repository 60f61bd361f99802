// Running sums and products along an axis.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/base/convert.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"

namespace tenon::kernels {

enum class CumulateOp : uint8_t { sum, product };

/// y[o, k, i] = x[o, 0, i] f … f x[o, k, i] in arrays of (outer, extent, inner) elements. With `exclusive`
/// x[o, k, i] is left out; with `reverse` the axis is walked from its end. Floats are accumulated in double,
/// to keep precision in long vectors; integers wrap.
template <CumulateOp F, class T>
void cumulate(const T* x, T* y, int64_t outer, int64_t extent, int64_t inner, bool exclusive, bool reverse) {
  constexpr bool integers = std::is_integral_v<T>;
  using Sum =
      std::conditional_t<integers, std::make_unsigned_t<std::conditional_t<integers, T, int>>, double>;
  constexpr int64_t block = 64;  // neighbours along `inner` are independent and are done a block at a time
  const int64_t blocks = (inner + block - 1) / block;
  parallel_for(outer * blocks, std::max<int64_t>(1, 4096 / (extent * std::min(inner, block))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t b = begin; b < end; ++b) {
                   const int64_t first = b % blocks * block, width = std::min(block, inner - first);
                   Sum sums[block];
                   std::fill_n(sums, width, F == CumulateOp::sum ? Sum(0) : Sum(1));
                   for (int64_t k = 0; k < extent; ++k) {
                     const int64_t at =
                         (b / blocks * extent + (reverse ? extent - 1 - k : k)) * inner + first;
                     for (int64_t i = 0; i < width; ++i) {
                       const Sum before = sums[i];
                       if constexpr (F == CumulateOp::sum) sums[i] += convert<Sum>(x[at + i]);
                       else sums[i] *= convert<Sum>(x[at + i]);
                       y[at + i] = convert<T>(exclusive ? before : sums[i]);
                     }
                   }
                 }
               });
}

}  // namespace tenon::kernels
