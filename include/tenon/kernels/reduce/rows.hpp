// Loops over contiguous rows, and over rows of a tile of columns, shared by the bodies of several kernels.
// Floats are summed in blocks of at most 16 additions per lane, and the blocks in double: the rounding error
// stays near the error of one addition for any length.
#pragma once

#include <algorithm>
#include <limits>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/reduce/lines.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// The joins of elements, for numbers and for batches, with their neutral elements.
struct Add {
  template <class V>
  static V join(const V& x, const V& y) {
    if constexpr (std::is_integral_v<V>)
      return static_cast<V>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
    else return x + y;
  }
  template <class V>
  static constexpr V identity() {
    return V(0);
  }
};
struct Multiply {
  template <class V>
  static V join(const V& x, const V& y) {
    if constexpr (std::is_integral_v<V>)
      return static_cast<V>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
    else return x * y;
  }
  template <class V>
  static constexpr V identity() {
    return V(1);
  }
};
struct Greatest {
  template <class V>
  static V join(const V& x, const V& y) {
    if constexpr (std::is_arithmetic_v<V>) {
      const V most = x > y ? x : y;  // ignores NaN, so that compilers use vectors
      return x != x ? x : most;
    } else return simd::max_nan(x, y);
  }
  template <class V>
  static constexpr V identity() {
    using L = std::numeric_limits<V>;
    return L::has_infinity ? -L::infinity() : L::lowest();
  }
};
struct Least {
  template <class V>
  static V join(const V& x, const V& y) {
    if constexpr (std::is_arithmetic_v<V>) {
      const V least = x < y ? x : y;  // ignores NaN, so that compilers use vectors
      return x != x ? x : least;
    } else return simd::min_nan(x, y);
  }
  template <class V>
  static constexpr V identity() {
    using L = std::numeric_limits<V>;
    return L::has_infinity ? L::infinity() : L::max();
  }
};

/// The lanes of a batch joined.
template <class Join, class B>
typename B::value_type join_lanes(const B& v) {
  if constexpr (std::is_same_v<Join, Add>) return simd::sum_of_lanes(v);
  else if constexpr (std::is_same_v<Join, Greatest>) return simd::max_of_lanes(v);
  else if constexpr (std::is_same_v<Join, Least>) return simd::min_of_lanes(v);
  else return simd::fold_lanes(v, [](auto x, auto y) { return Join::join(x, y); });
}

/// Reduces n contiguous elements into a total, in each of several runs that are `stride` apart; f(batch, i)
/// maps a batch of elements from i of a run on, f(batch, i, count) the last `count` ones.
template <class Arch, class Join, class T, class F>
TENON_NOINLINE void reduce_runs(const T* x, int64_t n, const F& f, double* totals, int64_t runs,
                                int64_t stride) {
  using C = compute_t<T>;
  using B = simd::batch<C, Arch>;
  constexpr int64_t width = simd::lanes<C, Arch>, ways = 4, block = 16 * ways * width;
  const B neutral(Join::template identity<C>());
  for (int64_t run = 0; run < runs; ++run) {
    const T* const from = x + run * stride;
    const auto mapped = [&](int64_t i) { return f(simd::load_wide<Arch>(from + i), i); };
    double total = Join::template identity<double>();
    for (int64_t at = 0; at < n; at += block) {
      const int64_t end = n - at < block ? n : at + block;
      int64_t i = at;
      B joined = neutral;
      if (end - at >= ways * width) {
        // Four named sums: an array would be kept in memory if the compiler did not unroll the loop.
        B a = mapped(i), b = mapped(i + width), c = mapped(i + 2 * width), d = mapped(i + 3 * width);
        for (i += ways * width; i + ways * width <= end; i += ways * width) {
          a = Join::join(mapped(i), a);
          b = Join::join(mapped(i + width), b);
          c = Join::join(mapped(i + 2 * width), c);
          d = Join::join(mapped(i + 3 * width), d);
        }
        joined = Join::join(Join::join(a, b), Join::join(c, d));
      }
      for (; i + width <= end; i += width) joined = Join::join(mapped(i), joined);
      if (i < end) {
        const B last = f(simd::load_wide<Arch>(from + i, end - i), i, end - i);
        joined = Join::join(simd::first_n(last, end - i, neutral), joined);
      }
      total = Join::join(total, static_cast<double>(join_lanes<Join>(joined)));
    }
    totals[run] = total;
  }
}
template <class Arch, class Join, class T, class F>
double reduce_run(const T* x, int64_t n, const F& f) {
  double total;
  reduce_runs<Arch, Join>(x, n, f, &total, 1, 0);
  return total;
}

/// Sets n totals, padded to a whole register, to the neutral element: loading a register from smaller recent
/// stores would stall.
template <class Arch, class Join>
void begin_totals(double* total, int64_t n) {
  constexpr int wide = simd::lanes<double, Arch>;
  for (int64_t j = 0; j < n; j += wide)
    simd::storeu(total + j, simd::broadcast<Arch>(Join::template identity<double>()));
}

/// Joins each lane of v with one total.
template <class Arch, class Join, class C>
void join_totals(const simd::batch<C, Arch>& v, double* total) {
  constexpr int width = simd::lanes<C, Arch>, wide = simd::lanes<double, Arch>;
  alignas(64) C lane[width];
  simd::storeu(lane, v);
  const auto load = [&](int k) {
    if constexpr (std::is_same_v<C, double>) return simd::loadu<Arch>(lane + k);
    else return simd::load_as_double<Arch>(lane + k);
  };
  for (int k = 0; k < width; k += wide)
    simd::storeu(total + k, Join::join(load(k), simd::loadu<Arch>(total + k)));
}

/// Reduces `rows` rows of n elements into n totals, in each of `blocks` blocks, whose first elements are
/// `block_stride` apart: blocks * n <= reduce_tile. After the totals there is room up to a whole register.
/// f(batch, j, i) maps the elements from column j on, counted through the blocks, that lie i elements from x;
/// f(batch, j, i, count) the last columns.
template <class Arch, class Join, class T, class F>
TENON_NOINLINE void reduce_rows(const T* x, int64_t stride, int64_t rows, int64_t n, double* total,
                                const F& f, int64_t blocks = 1, int64_t block_stride = 0) {
  using C = compute_t<T>;
  constexpr int64_t width = simd::lanes<C, Arch>;
  alignas(64) C sums[reduce_tile];
  // Rows per step: fewer would load and store the sums more often, more distant rows would be too many
  // streams.
  const int64_t step = stride <= 4 * reduce_tile ? 16 : 4;
  for (int64_t row = 0, first = 0, block = 0; rows > 0 && first < blocks * n;) {
    const int64_t end = rows - row < step ? rows : row + step;
    const bool begins = row % 16 == 0, ends = end % 16 == 0 || end == rows;
    const auto columns = [&](int64_t j, auto... last) {
      const auto mapped = [&](int64_t i) {
        return f(simd::load_wide<Arch>(x + i, last...), first + j, i, last...);
      };
      int64_t i = block + row * stride + j;
      auto acc = mapped(i);
      if (!begins) acc = Join::join(acc, simd::loadu<Arch>(sums + j));
      int64_t r = row + 1;
      for (; r + 4 <= end; r += 4)
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) acc = Join::join(mapped(i += stride), acc);
      for (; r < end; ++r) acc = Join::join(mapped(i += stride), acc);
      if (!ends) return simd::storeu(sums + j, acc);
      // Columns past the last may be other totals.
      ((acc = simd::first_n(acc, last, simd::broadcast<Arch>(Join::template identity<C>()))), ...);
      join_totals<Arch, Join, C>(acc, total + first + j);
    };
    int64_t j = 0;
    for (; j + width <= n; j += width) columns(j);
    if (j < n) columns(j, n - j);
    row = end;
    if (row == rows) row = 0, first += n, block += block_stride;
  }
}

/// How many of `rows` short rows of n <= reduce_tile elements, without gaps between them, are treated as one
/// row. That yields several copies of a column; joining them takes as long as more rows than few copies would
/// lose.
template <class C, class Arch>
int64_t rows_together(int64_t rows, int64_t n) {
  const int64_t most = std::min(rows, reduce_tile / n),
                some = std::max<int64_t>(std::min<int64_t>(simd::lanes<C, Arch> / n, rows / 8), rows / 128);
  return std::max<int64_t>(1, std::min(some, most));
}
/// Joins the copies, total[k * n + j] of column j, into total[j].
template <class Join, class V>
void join_copies(V* total, int64_t n, int64_t copies) {
  for (const V* copy = total + n; --copies > 0; copy += n)
    for (int64_t j = 0; j < n; ++j) total[j] = Join::join(copy[j], total[j]);
}

/// Lines shorter than this are turned into columns first.
inline constexpr int64_t short_line = 24;
/// Up to this many columns are narrow: they are turned into wide ones first if they are short.
inline constexpr int64_t narrow_columns = 4;

/// y = f(x, i) over n contiguous elements, a batch at a time.
template <class Arch, class T, class F>
void map_row(const T* x, T* y, int64_t n, const F& f) {
  constexpr int64_t width = simd::lanes<compute_t<T>, Arch>;
  int64_t i = 0;
  for (; i + width <= n; i += width) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i), i));
  if (i < n) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i, n - i), i, n - i), n - i);
}

}  // namespace detail

}  // namespace tenon::TENON_ABI::kernels
