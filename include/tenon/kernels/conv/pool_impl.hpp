// Pooling: bodies.
//
// Outputs are computed a vector at a time: each over its window's cells if the innermost axis is not pooled
// and fills vectors, otherwise a row of them from the fold of the rows that they see. With indices, and where
// padding would make a row far longer, they are computed one by one.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "tenon/base/parallel.hpp"
#include "tenon/kernels/conv/pool.hpp"
#include "tenon/kernels/conv/sliding.hpp"

namespace tenon::TENON_ABI::kernels::pool_detail {

using sliding::Axis;
using sliding::copy_strided;
using sliding::fill_run;
using sliding::fits_padded;
using sliding::SlidingWindow;
using sliding::step;
using sliding::steps_to_zero;

/// Kernel cells [first, last) of an axis that output cell o sees inside [low, high).
struct Part {
  int64_t first, last;
};
template <class Arch>
Part part_within(const Axis& a, int64_t o, int64_t low, int64_t high) {
  const int64_t start = o * a.stride - a.pad;
  return {std::min(steps_to_zero(start - low, a.dilation), a.kernel),
          std::min(steps_to_zero(start - high, a.dilation), a.kernel)};
}

/// Walks the cells of one window that lie inside: f(flat position in the plane), in row-major order.
template <class Arch, class F>
void for_cells(const SlidingWindow<Arch>& w, const int64_t* out_at, F f) {
  Part part[max_spatial];
  int64_t at[max_spatial];
  for (int d = 0; d < w.rank; ++d) {
    part[d] = part_within<Arch>(w.axis[d], out_at[d], 0, w.axis[d].in);
    if (part[d].first >= part[d].last) return;
    at[d] = part[d].first;
  }
  const Axis& inner = w.inner();
  for (;;) {
    int64_t row = 0;
    for (int d = 0; d + 1 < w.rank; ++d) {
      const Axis& a = w.axis[d];
      row = row * a.in + out_at[d] * a.stride + at[d] * a.dilation - a.pad;
    }
    row = row * inner.in + out_at[w.rank - 1] * inner.stride - inner.pad;
    for (int64_t k = part[w.rank - 1].first; k < part[w.rank - 1].last; ++k) f(row + k * inner.dilation);
    int d = w.rank - 2;
    for (; d >= 0; --d) {
      if (++at[d] < part[d].last) break;
      at[d] = part[d].first;
    }
    if (d < 0) return;
  }
}

/// Calls body(plane) for all planes, in parallel. `work` is the cost of a plane in cells.
template <class Arch, class F>
void for_planes(int64_t planes, int64_t work, F body) {
  const int64_t grain = std::max<int64_t>((int64_t{1} << 16) / std::max<int64_t>(work, 1), 1);
  parallel_for(planes, grain, body);
}

/// The greatest number of cells that a window can have inside, at least 1.
template <class Arch>
int64_t most_cells(const SlidingWindow<Arch>& w) {
  int64_t cells = 1;
  for (int d = 0; d < w.rank; ++d) cells *= std::max<int64_t>(std::min(w.axis[d].kernel, w.axis[d].in), 1);
  return cells;
}

/// What outputs see of a plane of rows: the offset of each row inside the window. It is the same for all
/// planes: a short list is made once, a long one for `together` outputs at a time.
template <class Arch>
class SeenRows {
 public:
  /// Planes of `outer` rows, each `row` cells long.
  [[gnu::noinline]] SeenRows(const SlidingWindow<Arch>& outer, int64_t row, int64_t together,
                             Scratch& scratch)
      : outer_(outer), row_(row), cells_(most_cells(outer)), listed_(outer.out_cells()) {
    whole_ = listed_ * cells_ <= 1 << 14;
    if (!whole_) listed_ = together;
    take_memory(scratch);
    if (whole_) list(listed_);
  }
  /// Before a task's first go_to.
  void begin(Scratch& scratch) {
    if (!whole_) take_memory(scratch);
  }
  /// Moves to the `count` consecutive outputs that start at number `first`.
  void go_to(int64_t first, int64_t count) {
    if (whole_) first_ = first;
    else list(count);
  }
  const int64_t* places(int64_t output) const { return places_ + (first_ + output) * cells_; }
  int64_t count(int64_t output) const { return counts_[first_ + output]; }

 private:
  void take_memory(Scratch& scratch) {
    places_ = scratch.take<int64_t>(listed_ * cells_);
    counts_ = scratch.take<int64_t>(listed_);
  }
  [[gnu::noinline]] void list(int64_t count) {
    for (int64_t r = 0; r < count; ++r) {
      int64_t n = 0;
      const auto add = [&](int64_t cell) { places_[r * cells_ + n++] = cell * row_; };
      if (outer_.rank == 0) add(0);
      else for_cells(outer_, at_, add);
      counts_[r] = n;
      step<Arch>(outer_.rank, at_, [&](int d) { return outer_.axis[d].out; });
    }
  }

  const SlidingWindow<Arch>& outer_;
  int64_t row_, cells_, listed_, first_ = 0;
  bool whole_;
  int64_t *places_ = nullptr, *counts_ = nullptr;
  int64_t at_[max_spatial] = {};
};

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
  const int64_t some =
      std::clamp<int64_t>(std::min((int64_t{1} << 12) / line, (int64_t{1} << 12) / cells), 1, rows);
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
  const int64_t some = std::clamp<int64_t>((1 << 12) / most_cells(outer), 1, rows);
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

/// All outputs if the only window is the whole plane: a plane's cells are folded into one vector, then into a
/// number.
template <class Arch, class T, class Join, class Done>
void pool_whole(int64_t planes, int64_t cells, const T* x, T* y, T neutral, Join join, Done done) {
  using V = simd::batch<T, Arch>;
  constexpr int L = simd::lanes<T, Arch>;
  for_planes<Arch>(planes, cells, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* from = x + plane * cells;
      V sum[4] = {V(neutral), V(neutral), V(neutral), V(neutral)};
      int64_t i = 0;
      for (; i + 4 * L <= cells; i += 4 * L)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sum[v] = join(V(simd::loadu<Arch>(from + i + v * L)), sum[v]);
      for (; i + L <= cells; i += L) sum[0] = join(V(simd::loadu<Arch>(from + i)), sum[0]);
      if (i < cells)
        sum[1] = join(simd::load_masked<Arch>(from + i, (uint64_t{1} << (cells - i)) - 1, neutral), sum[1]);
      y[plane] = done(join(join(sum[0], sum[1]), join(sum[2], sum[3])));
    }
  });
}

/// The greatest lane; NaN only where all are.
template <class Arch, class T>
T greatest_number(const simd::batch<T, Arch>& v) {
  if constexpr (std::is_floating_point_v<T>) {
    using V = simd::batch<T, Arch>;
    const V least(-std::numeric_limits<T>::infinity());
    const T most = simd::max_of_lanes(V(simd::max_num(least, v)));
    return most > -std::numeric_limits<T>::infinity() || xsimd::any(v == least)
               ? most
               : std::numeric_limits<T>::quiet_NaN();
  } else {
    return simd::fold_lanes(v, [](T a, T b) { return std::max(a, b); });
  }
}

/// Whether there is one window, and it sees each cell of a plane once.
template <class Arch>
bool sees_whole(const SlidingWindow<Arch>& w) {
  for (int d = 0; d < w.rank; ++d) {
    const Axis& a = w.axis[d];
    if (a.out != 1 || a.pad != 0 || a.kernel != a.in || (a.dilation != 1 && a.kernel != 1)) return false;
  }
  return true;
}

/// All outputs one by one: one(x of the plane, output coordinates, plane, place of the output).
template <class Arch, class One>
void pool_cells(const SlidingWindow<Arch>& w, int64_t planes, One one) {
  const int64_t out = w.out_cells();
  for_planes<Arch>(planes, out * most_cells(w), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      int64_t at[max_spatial] = {};
      for (int64_t o = 0; o < out; ++o) {
        one(plane, at, plane * out + o);
        step<Arch>(w.rank, at, [&](int d) { return w.axis[d].out; });
      }
    }
  });
}

/// The place of row-major cell `flat` of a plane if the first axis varies fastest.
template <class Arch>
int64_t column_major_place(int rank, const int64_t* extents, int64_t flat) {
  int64_t place = 0;
  for (int d = rank - 1; d >= 0; --d) {
    int64_t stride = 1;
    for (int e = 0; e < d; ++e) stride *= extents[e];
    place += flat % extents[d] * stride;
    flat /= extents[d];
  }
  return place;
}

}  // namespace tenon::TENON_ABI::kernels::pool_detail

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void max_pool_impl(const PoolArgs<T>& g) {
  using namespace pool_detail;
  const SlidingWindow<Arch> w(true, g.rank, g.in, g.out, g.kernel, g.strides, g.dilations, g.pads_begin);
  const int64_t in = w.in_cells();
  if (g.planes <= 0 || w.out_cells() <= 0) return;
  // NaN is the neutral element of a maximum that prefers numbers.
  constexpr T neutral =
      std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::quiet_NaN();
  using V = simd::batch<T, Arch>;
  const auto greater = [](const V& a, const V& b) { return simd::max_num(a, b); };
  if (g.indices == nullptr && sees_whole(w))
    return pool_whole<Arch>(g.planes, in, g.x, g.y, neutral, greater,
                            [](const V& v) { return greatest_number<Arch>(v); });
  const SlidingWindow<Arch> plain(false, g.rank, g.in, g.out, g.kernel, g.strides, g.dilations, g.pads_begin);
  if (g.indices == nullptr && keeps_vectors<T>(g.rank, plain) && fits_padded<T>(plain))
    return pool_vectors<Arch>(plain, g.planes, g.x, g.y, neutral, greater,
                              [](int64_t, const V& v) { return v; });
  if (g.indices == nullptr && in > 0 && fits_padded<T>(w)) {
    pool_rows<Arch>(w, g.planes, g.x, g.y, neutral, greater, [](int64_t, int64_t, const V& v) { return v; });
    return;
  }
  pool_cells<Arch>(w, g.planes, [&](int64_t plane, const int64_t* at, int64_t to) {
    const T* x = g.x + plane * in;
    int64_t best = -1;
    T most{};
    for_cells(w, at, [&](int64_t cell) {
      const T value = x[cell];
      if (best < 0 || value > most || (most != most && value == value)) {
        best = cell;
        most = value;
      }
    });
    g.y[to] = best >= 0 ? x[best] : neutral;
    if (g.indices != nullptr)
      g.indices[to] =
          best < 0 ? -1 : plane * in + (g.column_major ? column_major_place<Arch>(g.rank, g.in, best) : best);
  });
}

template <class Arch, class T>
void average_pool_impl(const PoolArgs<T>& g) {
  using namespace pool_detail;
  // Axes are not joined, because divisors need the padding of each of the caller's axes.
  const SlidingWindow<Arch> w(false, g.rank, g.in, g.out, g.kernel, g.strides, g.dilations, g.pads_begin);
  const int64_t in = w.in_cells();
  if (g.planes <= 0 || w.out_cells() <= 0) return;
  const auto counted = [&](int d, int64_t o) {
    const Axis& a = w.axis[d];
    const Part part = part_within<Arch>(a, o, g.count_include_pad ? -a.pad : 0,
                                        a.in + (g.count_include_pad ? g.pads_end[d] : 0));
    return std::max<int64_t>(part.last - part.first, 0);
  };
  using V = simd::batch<T, Arch>;
  const auto plus = [](const V& a, const V& b) { return a + b; };
  if (sees_whole(w)) {
    pool_whole<Arch>(g.planes, in, g.x, g.y, T{0}, plus,
                     [=](const V& sum) { return simd::sum_of_lanes(sum) / static_cast<T>(in); });
    return;
  }
  const bool by_vectors = keeps_vectors<T>(g.rank, w);
  if (in > 0 && fits_padded<T>(w)) {
    Scratch scratch;
    const int last = w.rank - 1;
    const int64_t row = w.inner().out, out = w.out_cells();
    T* counts = scratch.take<T>(out);
    T* of_axis[max_spatial];
    for (int d = 0; d < w.rank; ++d) {
      of_axis[d] = scratch.take<T>(w.axis[d].out);
      for (int64_t o = 0; o < w.axis[d].out; ++o) of_axis[d][o] = static_cast<T>(counted(d, o));
    }
    int64_t at[max_spatial] = {};
    for (int64_t first = 0; first < out; first += row) {
      T outer = 1;
      for (int d = 0; d < last; ++d) outer *= of_axis[d][at[d]];
      for (int64_t o = 0; o < row; ++o) counts[first + o] = outer * of_axis[last][o];
      step<Arch>(last, at, [&](int d) { return w.axis[d].out; });
    }
    if (by_vectors)
      return pool_vectors<Arch>(w, g.planes, g.x, g.y, T{0}, plus, [counts](int64_t place, const V& sum) {
        return sum / V(simd::loadu<Arch>(counts + place));
      });
    pool_rows<Arch>(w, g.planes, g.x, g.y, T{0}, plus, [=](int64_t place, int64_t count, const V& sum) {
      return sum / simd::load_n<Arch>(counts + place, count);
    });
    return;
  }
  pool_cells<Arch>(w, g.planes, [&](int64_t plane, const int64_t* at, int64_t to) {
    const T* x = g.x + plane * in;
    T sum = 0, count = 1;
    for_cells(w, at, [&](int64_t cell) { sum += x[cell]; });
    for (int d = 0; d < w.rank; ++d) count *= static_cast<T>(counted(d, at[d]));
    g.y[to] = count == 0 ? std::numeric_limits<T>::quiet_NaN() : sum / count;
  });
}

template <class Arch, class T>
void sum_pool_impl(const PoolArgs<T>& g) {
  using namespace pool_detail;
  const SlidingWindow<Arch> w(true, g.rank, g.in, g.out, g.kernel, g.strides, g.dilations, g.pads_begin);
  const int64_t in = w.in_cells();
  if (g.planes <= 0 || w.out_cells() <= 0) return;
  if (in > 0 && fits_padded<T>(w)) {
    using V = simd::batch<T, Arch>;
    const auto plus = [](const V& a, const V& b) { return a + b; };
    pool_rows<Arch>(w, g.planes, g.x, g.y, T{0}, plus, [](int64_t, int64_t, const V& sum) { return sum; });
    return;
  }
  pool_cells<Arch>(w, g.planes, [&](int64_t plane, const int64_t* at, int64_t to) {
    const T* x = g.x + plane * in;
    T sum = 0;
    for_cells(w, at, [&](int64_t cell) { sum += x[cell]; });
    g.y[to] = sum;
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void max_pool_impl<TENON_INSTANTIATE, float>(const PoolArgs<float>&);
template void max_pool_impl<TENON_INSTANTIATE, double>(const PoolArgs<double>&);
template void max_pool_impl<TENON_INSTANTIATE, int8_t>(const PoolArgs<int8_t>&);
template void max_pool_impl<TENON_INSTANTIATE, uint8_t>(const PoolArgs<uint8_t>&);
template void average_pool_impl<TENON_INSTANTIATE, float>(const PoolArgs<float>&);
template void average_pool_impl<TENON_INSTANTIATE, double>(const PoolArgs<double>&);
template void sum_pool_impl<TENON_INSTANTIATE, float>(const PoolArgs<float>&);
template void sum_pool_impl<TENON_INSTANTIATE, double>(const PoolArgs<double>&);

}  // namespace tenon::TENON_ABI::kernels
#endif
