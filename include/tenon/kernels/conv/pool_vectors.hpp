// Pooling whose innermost axis is not pooled and fills vectors.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/pool_windows.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::pool_detail {

using sliding::fill_run;

/// Whether the innermost of several axes is not pooled, and fills vectors.
template <class T, class Arch>
bool keeps_vectors(int rank, const SlidingWindow<Arch>& plain) {
  return rank > 1 && plain.inner().identity() && plain.inner().in % simd::lanes<T, Arch> == 0;
}

/// All outputs if keeps_vectors, as in pool_rows, but each column's vectors separately: the rows that windows
/// see are folded into one, whose columns the windows then join. done(place of the first of them, joined
/// cells). `w` has the caller's axes.
template <class Arch, class T, class Join, class Done>
void pool_vectors(const SlidingWindow<Arch>& w, int64_t planes, const T* x, T* y, T neutral, Join join,
                  Done done) {
  using V = simd::batch<T, Arch>;
  constexpr int64_t L = simd::lanes<T, Arch>;
  const int64_t depth = w.inner().in;
  SlidingWindow<Arch> outer = w;
  --outer.rank;
  const Axis& across = w.axis[outer.rank - 1];
  const int64_t in = outer.in_cells() * depth, out = outer.out_cells(), rows = out / across.out;
  const int64_t work = out * depth * most_cells(outer);
  const int64_t span = (across.out - 1) * across.stride + (across.kernel - 1) * across.dilation + 1;
  const int64_t first = std::max<int64_t>(-across.pad, 0), last = std::min(across.in, span - across.pad);
  --outer.rank;
  constexpr int64_t near = cache_bytes::l1 / int64_t{sizeof(int64_t)};  // listed places
  const int64_t some = std::clamp<int64_t>(near / most_cells(outer), 1, rows);
  Scratch list;
  const SeenRows<Arch> all(outer, across.in * depth, some, list);
  for_planes<Arch>(planes, work, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    SeenRows<Arch> seen = all;
    seen.begin(scratch);
    T* const folded = scratch.take<T>(span * L);
    fill_run<Arch>(folded, span * L, neutral);
    // N columns starting from one, `each` cells apart: the join of `count` vectors, which `cell` locates.
    const auto joined = [&]<int N>(int64_t count, int64_t each, auto cell, auto store) {
      V v[N];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) v[n] = count > 0 ? V(simd::loadu<Arch>(cell(0) + n * each)) : V(neutral);
      for (int64_t k = 1; k < count; ++k)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) v[n] = join(V(simd::loadu<Arch>(cell(k) + n * each)), v[n]);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) store(n, v[n]);
    };
    for (int64_t row = 0; row < rows; row += some) {
      const int64_t count = std::min(some, rows - row);
      seen.go_to(row, count);
      for (int64_t plane = begin; plane < end; ++plane)
        for (int64_t r = 0; r < count; ++r)
          for (int64_t c = 0; c < depth; c += L) {
            const auto fold = [&]<int N>(int64_t i) {
              joined.template operator()<N>(
                  seen.count(r), depth,
                  [&](int64_t k) { return x + plane * in + seen.places(r)[k] + i * depth + c; },
                  [&](int n, const V& v) { simd::storeu(folded + (i + n + across.pad) * L, v); });
            };
            const auto join_window = [&]<int N>(int64_t o) {
              joined.template operator()<N>(
                  across.kernel, across.stride * L,
                  [&](int64_t k) { return folded + (o * across.stride + k * across.dilation) * L; },
                  [&](int n, const V& v) {
                    const int64_t place = (((row + r) * across.out) + o + n) * depth + c;
                    simd::storeu(y + plane * out * depth + place, done(place, v));
                  });
            };
            int64_t i = first, o = 0;
            for (; i + 4 <= last; i += 4) fold.template operator()<4>(i);
            for (; i < last; ++i) fold.template operator()<1>(i);
            for (; o + 4 <= across.out; o += 4) join_window.template operator()<4>(o);
            for (; o < across.out; ++o) join_window.template operator()<1>(o);
          }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels::pool_detail
