// Bodies of arg_reduce.hpp. Long lines are searched one by one: for the extremum first, then for its place.
// Columns, and short lines turned into columns, are compared row by row, up to `reduce_tile` of them at once.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/reduce/arg_reduce.hpp"
#include "tenon/kernels/reduce/read_as.hpp"
#include "tenon/kernels/reduce/rows.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// The type in which columns of type T are compared: for unsigned integers, the signed ones of equal width.
template <class T>
using arg_value = typename std::conditional_t<std::is_integral_v<T>, std::make_signed<T>,
                                              std::type_identity<compute_t<T>>>::type;

/// An order of elements: the greatest `of(x)` is the extremum sought.
template <class V>
struct ArgOrder {
  V turn;  // floats: a factor; integers: the bits that are inverted, so that nothing overflows
  bool last_index;

  static ArgOrder of_type(bool is_unsigned, bool greatest, bool last_index) {
    if constexpr (std::is_integral_v<V>)
      return {
          static_cast<V>((greatest ? V(0) : V(-1)) ^ (is_unsigned ? std::numeric_limits<V>::min() : V(0))),
          last_index};
    else return {static_cast<V>(greatest ? 1 : -1), last_index};
  }
  V of(V x) const {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(x ^ turn);
    else return x * turn;
  }
  /// Whether x replaces `best`. NaN beats every number; of equals, the first or the last wins.
  bool beats(V x, V best) const {
    return (x > best) | (last_index ? (x == best) | (x != x) : (x != x) & (best == best));
  }
};

/// The index in one contiguous line: finds the extremum first, then its index.
template <class Arch, bool greatest, class T>
int64_t arg_line(const T* x, int64_t n, bool last_index) {
  if constexpr (std::is_integral_v<T>) {
    T best = x[0];
    for (int64_t i = 1; i < n; ++i)
      best = greatest ? (x[i] > best ? x[i] : best) : (x[i] < best ? x[i] : best);
    int64_t at = last_index ? n - 1 : 0;
    while (x[at] != best) last_index ? --at : ++at;
    return at;
  } else {
    using C = compute_t<T>;
    using B = simd::batch<C, Arch>;
    constexpr int64_t width = simd::lanes<C, Arch>;
    using Join = std::conditional_t<greatest, Greatest, Least>;
    const B best(static_cast<C>(reduce_run<Arch, Join>(x, n, [](const B& v, auto...) { return v; })));
    const auto stands = [&](int64_t i, auto... count) {
      const B v = simd::load_wide<Arch>(x + i, count...);
      // If there is a NaN, it is the extremum.
      alignas(64) bool found[width];
      const auto here = (v == best) | (simd::isnan(v) & simd::isnan(best));
      if (!simd::any(here)) return int64_t{-1};
      here.store_unaligned(found);
      int64_t limit = width, at = -1;
      ((limit = count), ...);
      for (int64_t j = 0; j < limit; ++j)
        if (found[j] && (last_index || at < 0)) at = i + j;
      return at;
    };
    const int64_t whole = n / width * width;
    int64_t at = -1;
    if (last_index) {
      if (whole < n) at = stands(whole, n - whole);
      for (int64_t i = whole - width; at < 0 && i >= 0; i -= width) at = stands(i);
    } else {
      for (int64_t i = 0; at < 0 && i < whole; i += width) at = stands(i);
      if (at < 0) at = stands(whole, n - whole);
    }
    return at;
  }
}

/// The extremum of each of n <= reduce_tile columns, in the order's terms, and its row among `rows` rows.
template <class Arch, class V, class X>
TENON_NOINLINE void arg_rows(const X& x, int64_t stride, int64_t rows, int64_t n, ArgOrder<V> order, V* best,
                             int64_t* y) {
  // Vectors of V and of row numbers have equal lane counts.
  using Row = std::conditional_t<sizeof(V) == 8, int64_t, int32_t>;
  constexpr int64_t most = 1 << 30;
  Row at[reduce_tile];
  [[maybe_unused]] V converted[reduce_tile];
  const auto row = [&](int64_t i) -> const V* {
    if constexpr (std::is_pointer_v<X>) return x + i * stride;
    else return x.read((x + i * stride).at, converted, n), converted;
  };
  const V* const top = row(0);
  for (int64_t j = 0; j < n; ++j) best[j] = order.of(top[j]);
  std::fill_n(y, n, 0);
  for (int64_t begin = 0; begin < rows; begin += most) {
    std::fill_n(at, n, Row(-1));
    const int64_t end = std::min(rows, begin + most);
    for (int64_t i = begin; i < end; ++i) {
      const V* const from = row(i);
      const Row here = static_cast<Row>(i - begin);
      for (int64_t j = 0; j < n; ++j) {
        const V v = order.of(from[j]);
        const bool take = order.beats(v, best[j]);
        best[j] = take ? v : best[j];
        at[j] = take ? here : at[j];
      }
    }
    for (int64_t j = 0; j < n; ++j) y[j] = at[j] < 0 ? y[j] : begin + at[j];
  }
}

/// The index in each of n <= reduce_tile neighbouring lines whose elements are `inner` apart.
template <class Arch, class V, class X>
void arg_tile(const X& x, int64_t* y, int64_t axis, int64_t inner, int64_t n, ArgOrder<V> order) {
  const int64_t copies = n == inner ? rows_together<V, Arch>(axis, n) : 1, whole = axis / copies * copies;
  V best[reduce_tile], other[reduce_tile];
  int64_t at[reduce_tile];
  if (copies == 1) return arg_rows<Arch>(x, inner, axis, n, order, best, y);
  const auto join = [&](const V* value, const int64_t* row, int64_t step, int64_t first) {
    for (int64_t j = 0; j < n; ++j) {
      const int64_t index = row[j] * step + first;
      const V v = value[j], b = best[j];
      const bool equal = (v == b) | ((v != v) & (b != b));
      if (equal ? order.last_index == (index > y[j]) : (v > b) | (v != v)) best[j] = v, y[j] = index;
    }
  };
  arg_rows<Arch>(x, copies * inner, axis / copies, copies * n, order, other, at);
  for (int64_t j = 0; j < n; ++j) best[j] = other[j], y[j] = at[j] * copies;
  for (int64_t k = 1; k < copies; ++k) join(other + k * n, at + k * n, copies, k);
  if (whole == axis) return;
  arg_rows<Arch>(x + whole * inner, inner, axis - whole, n, order, other, at);
  join(other, at, 1, whole);
}

/// Lines shorter than this are turned into columns: finding a place in a line takes a branch that is
/// mispredicted.
template <class X>
inline constexpr int64_t arg_short_line = std::is_pointer_v<X> ? 2 * short_line : short_line;

/// The index in each of the lines [first, last), which are columns or short.
template <class Arch, class V, class X>
TENON_NOINLINE void arg_columns(const X& x, int64_t* y, int64_t axis, int64_t inner, int64_t first,
                                int64_t last, ArgOrder<V> order) {
  if (inner == 1) {
    V columns[arg_short_line<X> * reduce_tile], best[reduce_tile];
    for (int64_t n; first < last; first += n) {
      n = std::min<int64_t>(last - first, reduce_tile);
      turn_lines_of<Arch>(x + first * axis, columns, axis, n);
      arg_rows<Arch>(static_cast<const V*>(columns), n, axis, n, order, best, y + first);
    }
    return;
  }
  const int64_t together = lines_together(inner);
  for (int64_t n; first < last; first += n) {
    const int64_t column = first % inner;
    n = std::min({inner - column, last - first, together});
    arg_tile<Arch>(x + (first / inner * axis * inner + column), y + first, axis, inner, n, order);
  }
}

}  // namespace detail

template <class Arch, class T>
void arg_reduce_impl(bool greatest, bool last_index, const T* x, int64_t* y, int64_t axis, int64_t inner,
                     int64_t first, int64_t last) {
  using V = detail::arg_value<T>;
  const auto in_columns = [&]<class X>(const X& from) {
    if (inner == 1 && (axis >= detail::arg_short_line<X> || last - first == 1)) return false;
    const auto order = detail::ArgOrder<V>::of_type(std::is_unsigned_v<T>, greatest, last_index);
    detail::arg_columns<Arch>(from, y, axis, inner, first, last, order);
    return true;
  };
  bool done;
  if constexpr (simd::is_narrow<T>) done = in_columns(detail::ReadAs<V>::template of<Arch>(x));
  else done = in_columns(reinterpret_cast<const V*>(x));
  for (int64_t line = first; line < last && !done; ++line)
    y[line] = greatest ? detail::arg_line<Arch, true>(x + line * axis, axis, last_index)
                       : detail::arg_line<Arch, false>(x + line * axis, axis, last_index);
}

#ifdef TENON_INSTANTIATE
#define TENON_ARG_REDUCE(T)                                                                             \
  template void arg_reduce_impl<TENON_INSTANTIATE, T>(bool, bool, const T*, int64_t*, int64_t, int64_t, \
                                                      int64_t, int64_t);
TENON_ARG_REDUCE(float)
TENON_ARG_REDUCE(double)
TENON_ARG_REDUCE(float16)
TENON_ARG_REDUCE(bfloat16)
TENON_ARG_REDUCE(int8_t)
TENON_ARG_REDUCE(int16_t)
TENON_ARG_REDUCE(int32_t)
TENON_ARG_REDUCE(int64_t)
TENON_ARG_REDUCE(uint8_t)
TENON_ARG_REDUCE(uint16_t)
TENON_ARG_REDUCE(uint32_t)
TENON_ARG_REDUCE(uint64_t)
#undef TENON_ARG_REDUCE
#endif

}  // namespace tenon::TENON_ABI::kernels
