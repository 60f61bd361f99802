// Rotation of pairs of numbers in the heads of a sequence by angles that depend on the position. Types: float
// and double, and the narrow floats, which are rotated in float.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/elementwise/half.hpp"

namespace tenon::TENON_ABI::kernels {

template <class T>
struct RotaryArgs {
  int64_t batch = 0, steps = 0, heads = 0, size = 0;
  int64_t batch_stride = 0, step_stride = 0, head_stride = 0;  ///< of x and y, in elements
  const T* x = nullptr;                                        ///< vectors of `size`
  T* y = nullptr;                                              ///< may be x
  int64_t pairs = 0;         ///< rotated pairs: the first 2 pairs numbers of a vector; the others are kept
  bool interleaved = false;  ///< pair p is 2p and 2p + 1, else p and pairs + p
  const T *cos = nullptr, *sin = nullptr;  ///< rows of at least `pairs`
  int64_t angle_row = 0;                   ///< the distance between rows
  const int64_t* rows = nullptr;           ///< (batch, steps): the row of each position; nullptr: row by row
};

/// y = x with each pair (u, v) rotated to (u cos - v sin, u sin + v cos).
template <class T>
void rotary(const RotaryArgs<T>& a) {
  using W = compute_t<T>;
  constexpr bool narrow = !std::is_same_v<T, W>;
  const int64_t rotated = 2 * a.pairs;
  const int64_t work = std::max<int64_t>(1, a.heads * a.size);
  parallel_for(a.batch * a.steps, std::max<int64_t>(1, task_work::costly / work),
               [&](int64_t first, int64_t last) {
                 Scratch scratch;
                 W *wide_cos = nullptr, *wide_sin = nullptr, *wide_x = nullptr;
                 if constexpr (narrow)
                   wide_cos = scratch.take<W>(a.pairs), wide_sin = scratch.take<W>(a.pairs),
                   wide_x = scratch.take<W>(rotated);
                 for (int64_t at = first; at < last; ++at) {
                   const int64_t row = (a.rows != nullptr ? a.rows[at] : at) * a.angle_row;
                   const W *cos, *sin;
                   if constexpr (narrow) {
                     convert_half(a.cos + row, wide_cos, a.pairs);
                     convert_half(a.sin + row, wide_sin, a.pairs);
                     cos = wide_cos, sin = wide_sin;
                   } else {
                     cos = a.cos + row, sin = a.sin + row;
                   }
                   const int64_t start = at / a.steps * a.batch_stride + at % a.steps * a.step_stride;
                   for (int64_t h = 0; h < a.heads; ++h) {
                     const T* x = a.x + start + h * a.head_stride;
                     T* y = a.y + start + h * a.head_stride;
                     const W* from;
                     W* to;
                     if constexpr (narrow) {
                       convert_half(x, wide_x, rotated);
                       from = to = wide_x;
                     } else {
                       from = x, to = y;
                     }
                     const int64_t step = a.interleaved ? 2 : 1, second = a.interleaved ? 1 : a.pairs;
                     for (int64_t p = 0; p < a.pairs; ++p) {
                       const W u = from[p * step], v = from[p * step + second];
                       to[p * step] = uncontracted(cos[p] * u) - uncontracted(sin[p] * v);
                       to[p * step + second] = uncontracted(sin[p] * u) + uncontracted(cos[p] * v);
                     }
                     if constexpr (narrow) convert_half(to, y, rotated);
                     if (x != y) std::copy_n(x + rotated, a.size - rotated, y + rotated);
                   }
                 }
               });
}

}  // namespace tenon::TENON_ABI::kernels
