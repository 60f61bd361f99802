// Pooling: a row of outputs in vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/pool_windows.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::pool_detail {

using sliding::copy_strided;
using sliding::fill_run;

/// to[i] = done(i, results, joined cells) for i < n, in vectors: each joins `count` cells, which load(place,
/// number of results if less than a vector) reads at from + i * step + places[k]. The last vector ends with
/// the last result, and two are computed side by side, because joins wait for each other.
template <class Arch, class T, class Join, class Load, class Done>
void join_run(const T* from, int64_t step, int64_t n, const int64_t* places, int64_t count, T neutral,
              Join join, Load load, T* to, Done done) {
  using V = simd::batch<T, Arch>;
  constexpr int64_t L = simd::lanes<T, Arch>;
  const auto joined = [=](const T* cells, auto... results) {
    V v = count > 0 ? load(cells + places[0], results...) : V(neutral);
    for (int64_t k = 1; k < count; ++k) v = join(load(cells + places[k], results...), v);
    return v;
  };
  if (n < L) {
    if (n > 0) simd::store_n(to, done(0, n, joined(from, n)), n);
    return;
  }
  int64_t i = 0;
  for (; i + L < n; i += 2 * L) {
    const int64_t j = std::min(i + L, n - L);
    const T *const first = from + i * step, *const second = from + j * step;
    V v(neutral), u(neutral);
    if (count > 0) v = load(first + places[0]), u = load(second + places[0]);
    for (int64_t k = 1; k < count; ++k)
      v = join(load(first + places[k]), v), u = join(load(second + places[k]), u);
    simd::storeu(to + i, done(i, L, v));
    simd::storeu(to + j, done(j, L, u));
  }
  if (i < n) simd::storeu(to + n - L, done(n - L, L, joined(from + (n - L) * step)));
}

/// All outputs in vectors, row by row: the rows that windows see are folded into one, whose cells the windows
/// then join. Some rows are folded before the first is joined, because a load that spans several recent
/// stores has to wait for them. done(place of the first output in the plane, outputs, joined cells).
template <class Arch, class T, class Join, class Done>
void pool_rows(const SlidingWindow<Arch>& w, int64_t planes, const T* x, T* y, T neutral, Join join,
               Done done) {
  using V = simd::batch<T, Arch>;
  constexpr int L = simd::lanes<T, Arch>;
  const Axis& inner = w.inner();
  const int64_t in = w.in_cells(), out = w.out_cells(), rows = out / inner.out;
  // A folded row begins where the first window does. With larger strides its cells are sorted by remainder.
  const bool skips = std::is_floating_point_v<T> && inner.stride == 2, sorts = inner.stride > 1 && !skips;
  const int64_t span = (inner.out - 1) * inner.stride + (inner.kernel - 1) * inner.dilation + 1;
  const int64_t line = span + 2 * L, length = span / inner.stride + 1 + L,
                sorted_line = length * inner.stride;
  const int64_t first = std::max<int64_t>(-inner.pad, 0), last = std::min(inner.in, span - inner.pad);
  SlidingWindow<Arch> outer = w;
  --outer.rank;
  const int64_t cells = most_cells(outer);
  constexpr int64_t near = cache_bytes::l1 / int64_t{sizeof(int64_t)};  // folded cells, or listed places
  const int64_t some = std::clamp<int64_t>(std::min(near / line, near / cells), 1, rows);
  Scratch list;
  const SeenRows<Arch> all(outer, inner.in, some, list);
  for_planes<Arch>(planes, in + out * w.kernel_cells(), [&](int64_t begin, int64_t end) {
    Scratch scratch;
    int64_t* taps = scratch.take<int64_t>(inner.kernel);
    for (int64_t k = 0; k < inner.kernel; ++k) {
      const int64_t cell = k * inner.dilation;
      taps[k] = sorts ? cell % inner.stride * length + cell / inner.stride : cell;
    }
    SeenRows<Arch> seen = all;
    seen.begin(scratch);
    T* folded = scratch.take<T>(some * line);
    T* sorted = sorts ? scratch.take<T>(some * sorted_line) : folded;
    fill_run<Arch>(folded, some * line, neutral);
    if (sorts) fill_run<Arch>(sorted, some * sorted_line, neutral);
    for (int64_t row = 0; row < rows; row += some) {
      const int64_t count = std::min(some, rows - row);
      seen.go_to(row, count);
      for (int64_t plane = begin; plane < end; ++plane) {
        for (int64_t r = 0; r < count; ++r)
          join_run<Arch>(
              x + plane * in + first, 1, last - first, seen.places(r), seen.count(r), neutral, join,
              [](const T* p, auto... results) {
                if constexpr (sizeof...(results) == 0) return V(simd::loadu<Arch>(p));
                else return simd::load_n<Arch>(p, results...);
              },
              folded + r * line + inner.pad + first, [](int64_t, int64_t, const V& v) { return v; });
        for (int64_t r = 0; r < count && sorts; ++r)
          for (int64_t s = 0; s < inner.stride; ++s)
            copy_strided<Arch>(folded + r * line + s, inner.stride,
                               (span - s + inner.stride - 1) / inner.stride,
                               sorted + r * sorted_line + s * length);
        const auto join_taps = [&](auto load, int64_t step_of_line, int64_t step_of_output) {
          for (int64_t r = 0; r < count; ++r) {
            const int64_t place = (row + r) * inner.out;
            join_run<Arch>(sorted + r * step_of_line, step_of_output, inner.out, taps, inner.kernel, neutral,
                           join, load, y + plane * out + place, [=](int64_t o, int64_t results, const V& v) {
                             return done(place + o, results, v);
                           });
          }
        };
        const auto plain = [](const T* p, auto...) { return V(simd::loadu<Arch>(p)); };
        if constexpr (std::is_floating_point_v<T>) {
          if (skips) join_taps([](const T* p, auto...) { return simd::load_even<Arch>(p); }, line, 2);
          else join_taps(plain, sorts ? sorted_line : line, 1);
        } else {
          join_taps(plain, sorts ? sorted_line : line, 1);
        }
      }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels::pool_detail
