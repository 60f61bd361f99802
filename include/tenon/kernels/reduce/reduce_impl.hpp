// Bodies of reduce.hpp. If the last axis is reduced, each contiguous run is reduced to a number. If it is
// kept, up to `reduce_tile` neighbouring results are computed at once from rows of that width. Loops are
// compiled for floats, narrow floats, double, int32_t and 64-bit integers; elements of other types are
// converted in panels.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/reduce/read_as.hpp"
#include "tenon/kernels/reduce/reduce.hpp"
#include "tenon/kernels/reduce/rows.hpp"
#include "tenon/simd/math.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// The join of a kind's partial results.
template <ReduceKind kind>
using reduce_join =
    std::conditional_t<kind == ReduceKind::greatest, Greatest,
                       std::conditional_t<kind == ReduceKind::least, Least,
                                          std::conditional_t<kind == ReduceKind::product, Multiply, Add>>>;

/// The type in which elements of type T are reduced: integers that stay integers in 64 bits, where all but
/// comparisons of uint64_t wrap alike. Products are kept in double, where no order of factors makes them
/// overflow.
template <ReduceKind kind, class T>
using reduce_lane = std::conditional_t<
    std::is_integral_v<T> && stays_integer(kind),
    std::conditional_t<std::is_same_v<T, uint64_t> &&
                           (kind == ReduceKind::greatest || kind == ReduceKind::least),
                       uint64_t, int64_t>,
    std::conditional_t<std::is_integral_v<T> || kind == ReduceKind::product, double, compute_t<T>>>;

/// The type of a total of elements of type T.
template <class T>
using reduce_total =
    std::conditional_t<std::is_integral_v<T>,
                       std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>, double>;

/// The map of each element before the join; V is a batch or a 64-bit integer.
template <ReduceKind kind>
struct ReduceMap {
  template <class V, class... At>
  V operator()(const V& x, At...) const {
    if constexpr (kind == ReduceKind::squares || kind == ReduceKind::real_squares) {
      return Multiply::join(x, x);
    } else if constexpr (kind == ReduceKind::magnitudes) {
      if constexpr (std::is_integral_v<V>) return x < V(0) ? Multiply::join(x, static_cast<V>(-1)) : x;
      else return simd::abs(x);
    } else {
      return x;
    }
  }
  /// The map of the columns from one on.
  ReduceMap from(int64_t) const { return {}; }
};
template <class Arch, class C>
struct ExponentialsBelow {
  simd::batch<C, Arch> shift;
  template <class V, class... At>
  V operator()(const V& x, At...) const {
    return simd::exp_flushed(x - shift);
  }
};
template <class Arch, class C>
struct ColumnExponentialsBelow {
  const C* shift;
  template <class V, class... At>
  V operator()(const V& x, int64_t column, At...) const {
    return simd::exp_flushed(x - simd::loadu<Arch>(shift + column));
  }
  ColumnExponentialsBelow from(int64_t column) const { return {shift + column}; }
};

/// The shift of exponents. It is never an infinity, so that inf - inf does not arise.
template <class Arch>
double exponent_shift(double greatest) {
  return greatest - greatest == 0 ? greatest : 0;
}

/// Reduces n contiguous elements; f maps a number or a batch.
template <class Arch, class Join, class T, class F>
  requires std::is_integral_v<T>
TENON_NOINLINE reduce_total<T> reduce_run_of(const T* x, int64_t n, const F& f) {
  using Total = reduce_total<T>;
  Total total = Join::template identity<Total>();
  for (int64_t i = 0; i < n; ++i) total = Join::join(f(static_cast<Total>(x[i])), total);
  return total;
}
template <class Arch, class Join, class T, class F>
double reduce_run_of(const T* x, int64_t n, const F& f) {
  return reduce_run<Arch, Join>(x, n, f);
}
template <class Arch, class Join, class C, class F>
reduce_total<C> reduce_run_of(const ReadAs<C>& x, int64_t n, const F& f) {
  constexpr int64_t panel = 1024;
  alignas(64) C converted[panel];
  auto total = Join::template identity<reduce_total<C>>();
  for (int64_t i = 0; i < n; i += panel) {
    const int64_t count = n - i < panel ? n - i : panel;
    x.read((x + i).at, converted, count);
    total = Join::join(total, reduce_run_of<Arch, Join>(static_cast<const C*>(converted), count, f));
  }
  return total;
}

/// Reduces `rows` rows of n elements into n totals, in each of several blocks, as reduce_rows does.
template <class Arch, class Join, class T, class F>
  requires std::is_integral_v<T>
TENON_NOINLINE void reduce_rows_of(const T* x, int64_t stride, int64_t rows, int64_t n,
                                   reduce_total<T>* total, const F& f, int64_t blocks, int64_t block_stride) {
  for (int64_t block = 0; rows > 0 && block < blocks; ++block, total += n) {
    const T* row = x + block * block_stride;
    const auto mapped = [&](int64_t i) { return f(static_cast<reduce_total<T>>(row[i])); };
    int64_t r = 0;
    for (; r + 2 <= rows; r += 2, row += 2 * stride)
      for (int64_t j = 0; j < n; ++j)
        total[j] = Join::join(Join::join(mapped(j), mapped(stride + j)), total[j]);
    if (r < rows)
      for (int64_t j = 0; j < n; ++j) total[j] = Join::join(mapped(j), total[j]);
  }
}
template <class Arch, class Join, class T, class F>
void reduce_rows_of(const T* x, int64_t stride, int64_t rows, int64_t n, double* total, const F& f,
                    int64_t blocks, int64_t block_stride) {
  reduce_rows<Arch, Join>(x, stride, rows, n, total, f, blocks, block_stride);
}
template <class Arch, class Join, class C, class F>
void reduce_rows_of(const ReadAs<C>& x, int64_t stride, int64_t rows, int64_t n, reduce_total<C>* total,
                    const F& f, int64_t blocks, int64_t block_stride) {
  constexpr int64_t some = 16;
  alignas(64) C converted[some * reduce_tile];
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t row = 0; row < rows; row += some) {
      const int64_t count = rows - row < some ? rows - row : some;
      for (int64_t r = 0; r < count; ++r)
        x.read((x + (block * block_stride + (row + r) * stride)).at, converted + r * reduce_tile, n);
      reduce_rows_of<Arch, Join>(static_cast<const C*>(converted), reduce_tile, count, n, total + block * n,
                                 f.from(block * n), 1, 0);
    }
}

/// Calls f(offset, count) for the pieces of the reduced elements [begin, end) that lie on the last reduced
/// axis.
template <class Arch, class F>
void for_each_segment(const ReducePlan& plan, int64_t begin, int64_t end, const F& f) {
  const int last = plan.last_reduced ? plan.rank - 1 : plan.rank - 2;
  if (last < 2) {
    f(last < 0 ? 0 : begin * plan.strides[last], end - begin);
    return;
  }
  for (int64_t at = begin; at < end;) {
    const int64_t index = at % plan.extents[last];
    const int64_t left = plan.extents[last] - index, count = left < end - at ? left : end - at;
    int64_t offset = index * plan.strides[last];
    int64_t rest = at / plan.extents[last];
    for (int d = last - 2; d >= 0; d -= 2) {
      offset += rest % plan.extents[d] * plan.strides[d];
      rest /= plan.extents[d];
    }
    f(offset, count);
    at += count;
  }
}

/// Where result o starts in the input.
template <class Arch>
int64_t result_offset(const ReducePlan& plan, int64_t o) {
  int64_t offset = 0;
  int d = plan.last_reduced ? plan.rank - 2 : plan.rank - 1;
  for (; d >= 2; d -= 2) {
    offset += o % plan.extents[d] * plan.strides[d];
    o /= plan.extents[d];
  }
  return d < 0 ? offset : offset + o * plan.strides[d];
}

/// One result, number 0 of p, from elements [begin, end) of its elements; element 0 is at x. C is the type of
/// lanes.
template <class Arch, ReduceKind kind, class C, class X>
void reduce_line(const X& x, Partials p, const ReducePlan& plan, int64_t begin, int64_t end) {
  const auto run = [&]<class J>(J, const auto& f) {
    auto total = J::template identity<reduce_total<C>>();
    for_each_segment<Arch>(plan, begin, end, [&](int64_t offset, int64_t n) {
      total = J::join(total, reduce_run_of<Arch, J>(x + offset, n, f));
    });
    return total;
  };
  if constexpr (kind == ReduceKind::exponentials) {
    *p.greatest = run(Greatest{}, ReduceMap<ReduceKind::greatest>{});
    const simd::batch<C, Arch> shift(static_cast<C>(exponent_shift<Arch>(*p.greatest)));
    *p.real = run(Add{}, ExponentialsBelow<Arch, C>{shift});
  } else if constexpr (std::is_integral_v<C>) {
    *p.value = static_cast<int64_t>(run(reduce_join<kind>{}, ReduceMap<kind>{}));
  } else {
    *p.real = run(reduce_join<kind>{}, ReduceMap<kind>{});
  }
}

/// The same for n results in each of `blocks` blocks, at most reduce_tile in all, whose elements lie in
/// columns: the plan's last axis is kept. Several blocks occur in plans of rank 3 only. `copies` rows of one
/// block are treated as one.
template <class Arch, ReduceKind kind, class C, class X>
TENON_NOINLINE void reduce_columns(const X& x, Partials p, const ReducePlan& plan, int64_t begin, int64_t end,
                                   int64_t n, int64_t copies, int64_t blocks) {
  const int64_t stride = plan.rank > 1 ? plan.strides[plan.rank - 2] : n;
  const int64_t results = blocks * n, columns = copies * results;
  reduce_total<C> room[reduce_tile + simd::lanes<C, Arch>];
  // The totals of several copies, or of a partial register, are more than the results.
  const bool apart = copies > 1 || n % simd::lanes<C, Arch> != 0;
  const auto pass = [&]<class J>(J, const auto& f, auto* result) {
    auto* const total = apart ? room : reinterpret_cast<reduce_total<C>*>(result);
    if constexpr (std::is_integral_v<C>) std::fill_n(total, columns, J::template identity<reduce_total<C>>());
    else begin_totals<Arch, J>(total, columns);
    for_each_segment<Arch>(plan, begin, end, [&](int64_t offset, int64_t rows) {
      const int64_t wide = copies == 1 ? rows : rows / copies, whole = wide * copies;
      reduce_rows_of<Arch, J>(x + offset, copies * stride, wide, copies * n, total, f, blocks,
                              plan.strides[0]);
      if (whole < rows)
        reduce_rows_of<Arch, J>(x + (offset + whole * stride), stride, rows - whole, n, total, f, 1, 0);
    });
    if (!apart) return;
    join_copies<J>(total, n, copies);
    std::copy_n(total, results, result);
  };
  if constexpr (kind == ReduceKind::exponentials) {
    alignas(64) C shift[reduce_tile + simd::lanes<C, Arch>] = {};
    pass(Greatest{}, ReduceMap<ReduceKind::greatest>{}, p.greatest);
    for (int64_t j = 0; j < results; ++j) shift[j] = static_cast<C>(exponent_shift<Arch>(p.greatest[j]));
    for (int64_t j = results; j < columns; ++j) shift[j] = shift[j - n];
    pass(Add{}, ColumnExponentialsBelow<Arch, C>{shift}, p.real);
  } else if constexpr (std::is_integral_v<C>) {
    pass(reduce_join<kind>{}, ReduceMap<kind>{}, p.value);
  } else {
    pass(reduce_join<kind>{}, ReduceMap<kind>{}, p.real);
  }
}

/// to[i * rows + j] = from[j * columns + i] for j < rows, i < columns.
template <class Arch, class V>
TENON_NOINLINE void turn_results(const V* from, V* to, int64_t rows, int64_t columns) {
  for (int64_t j = 0; j < rows; ++j)
    for (int64_t i = 0; i < columns; ++i) to[i * rows + j] = from[j * columns + i];
}

/// reduce_line for the results [first, last).
template <class Arch, ReduceKind kind, class C, class X>
void reduce_lines(const X& x, Partials partial, const ReducePlan& plan, int64_t first, int64_t last,
                  int64_t begin, int64_t end) {
  if constexpr (std::is_pointer_v<X> && !std::is_integral_v<C> && kind != ReduceKind::exponentials)
    if (plan.rank <= 2)
      return reduce_runs<Arch, reduce_join<kind>>(x + (first * plan.strides[0] + begin), end - begin,
                                                  ReduceMap<kind>{}, partial.real, last - first,
                                                  plan.strides[0]);
  for (int64_t o = first; o < last; ++o)
    reduce_line<Arch, kind, C>(x + result_offset<Arch>(plan, o), partial + (o - first), plan, begin, end);
}

/// The loops of a kind over elements X, and over columns that have been copied. The walk through a tensor is
/// shared by all kinds.
template <class Copy, class X>
struct ReduceLoops {
  template <class From>
  using Columns = void (*)(const From&, Partials, const ReducePlan&, int64_t begin, int64_t end, int64_t n,
                           int64_t copies, int64_t blocks);

  void (*lines)(const X&, Partials, const ReducePlan&, int64_t first, int64_t last, int64_t begin,
                int64_t end);
  Columns<X> columns;
  Columns<const Copy*> copied;
  bool exponentials;
};

/// reduce_part for elements of type C, the type of lanes, or read as such; columns are copied as elements of
/// type Copy.
template <class Arch, class C, class Copy, class X>
TENON_NOINLINE void reduce_elements(const X& x, Partials partial, const ReducePlan& plan, int64_t first,
                                    int64_t last, int64_t begin, int64_t end,
                                    const ReduceLoops<Copy, X>& loops) {
  constexpr int64_t tile = reduce_tile;
  const int64_t inner = plan.rank > 0 && !plan.last_reduced ? plan.extents[plan.rank - 1] : 1;
  if (plan.rank <= (plan.last_reduced ? 2 : 3) && inner <= narrow_columns && begin == 0 &&
      end == plan.reduced && end < short_line && last - first > inner) {
    // Lines of end * inner elements become columns.
    Copy columns[short_line * tile];
    ReducePlan turned;
    turned.rank = 2;
    turned.extents[0] = turned.reduced = end;
    turned.strides[1] = 1;
    for (int64_t o = first, n; o < last; o += n) {
      const int64_t lines = std::min(tile / inner / 16 * 16, (last - o) / inner);
      n = lines * inner;
      turned.extents[1] = turned.kept = turned.strides[0] = n;
      turn_lines_of<Arch>(x + o * end, columns, end * inner, lines);
      PartialArrays<tile> rows;
      const Partials to = partial + (o - first), made = inner == 1 ? to : Partials(rows);
      loops.copied(columns, made, turned, 0, end, n, 1, 1);
      if (inner == 1) continue;
      if constexpr (std::is_integral_v<C>) turn_results<Arch>(made.value, to.value, inner, lines);
      else turn_results<Arch>(made.real, to.real, inner, lines);
      if (loops.exponentials) turn_results<Arch>(made.greatest, to.greatest, inner, lines);
    }
  } else if (!plan.last_reduced) {
    // Rows without gaps between them.
    const bool dense = inner <= tile && (plan.rank < 2 || plan.strides[plan.rank - 2] == inner);
    const int64_t copies = dense && (plan.rank < 3 || end - begin >= short_line)
                               ? rows_together<C, Arch>(end - begin, inner)
                               : 1;
    int64_t column = first % inner, row = result_offset<Arch>(plan, first - column);
    for (int64_t o = first; o < last;) {
      const int64_t n = std::min({inner - column, last - o, tile});
      const int64_t blocks =
          plan.rank == 3 && n == inner && copies == 1 ? std::min(last - o, tile) / inner : 1;
      loops.columns(x + (row + column), partial + (o - first), plan, begin, end, n, n == inner ? copies : 1,
                    blocks);
      o += blocks * n;
      column += n;
      if (column < inner) continue;
      column = 0;
      row = plan.rank <= 3 ? row + blocks * plan.strides[0] : result_offset<Arch>(plan, o);
    }
  } else {
    loops.lines(x, partial, plan, first, last, begin, end);
  }
}

}  // namespace detail

template <class Arch, detail::ReduceKind kind, class T>
void reduce_part(const T* x, detail::Partials partial, const ReducePlan& plan, int64_t first, int64_t last,
                 int64_t begin, int64_t end) {
  using C = detail::reduce_lane<kind, T>;
  const auto reduce_as = [&]<class Copy, class X>(Copy, const X& from) {
    const detail::ReduceLoops<Copy, X> loops{
        detail::reduce_lines<Arch, kind, C, X>, detail::reduce_columns<Arch, kind, C, X>,
        detail::reduce_columns<Arch, kind, C, const Copy*>, kind == detail::ReduceKind::exponentials};
    detail::reduce_elements<Arch, C>(from, partial, plan, first, last, begin, end, loops);
  };
  // Integers of the usual width are converted as they are loaded.
  if constexpr (std::is_same_v<compute_t<T>, C> || (std::is_same_v<T, int32_t> && std::is_integral_v<C>))
    reduce_as(T{}, x);
  else if constexpr (std::is_same_v<T, uint64_t> && std::is_integral_v<C>)
    reduce_as(C{}, reinterpret_cast<const C*>(x));
  else reduce_as(C{}, detail::ReadAs<C>::template of<Arch>(x));
}

namespace detail {

/// Joins elements s * results + o of `total`, s < parts, into total[o].
template <class Arch, class V>
TENON_NOINLINE void join_parts(ReduceKind kind, V* total, int64_t results, int64_t parts) {
  if (parts == 1) return;
  switch (kind) {
    case ReduceKind::greatest: return join_copies<Greatest>(total, results, parts);
    case ReduceKind::least: return join_copies<Least>(total, results, parts);
    case ReduceKind::product: return join_copies<Multiply>(total, results, parts);
    default: return join_copies<Add>(total, results, parts);  // as in reduce_join
  }
}

/// Joins the parts of reduced doubles, and applies the op's final step.
template <class Arch>
TENON_NOINLINE void finish_real(ReduceOp op, ReduceKind kind, const Partials& partial, int64_t parts,
                                int64_t results, int64_t reduced) {
  double* const real = partial.real;
  if (op == ReduceOp::log_sum_exp) {
    // The parts' shifts differ.
    for (int64_t o = 0; o < results; ++o) {
      double greatest = partial.greatest[o], sum = 0;
      for (int64_t s = 1; s < parts; ++s)
        greatest = Greatest::join(partial.greatest[s * results + o], greatest);
      const double shift = exponent_shift<Arch>(greatest);
      for (int64_t s = o; s < parts * results; s += results)
        if (real[s] != 0) sum += real[s] * std::exp(exponent_shift<Arch>(partial.greatest[s]) - shift);
      real[o] = greatest == std::numeric_limits<double>::infinity() ? greatest : std::log(sum) + shift;
    }
    return;
  }
  join_parts<Arch>(kind, real, results, parts);
  if (op == ReduceOp::mean)
    for (int64_t o = 0; o < results; ++o) real[o] /= static_cast<double>(reduced);
  if (op == ReduceOp::l2)
    map_row<Arch>(real, real, results, [](const auto& v, auto...) { return simd::sqrt(v); });
  if (op == ReduceOp::log_sum)
    for (int64_t o = 0; o < results; ++o) real[o] = std::log(real[o]);
}

}  // namespace detail

template <class Arch, class T>
void reduce_finish_impl(ReduceOp op, detail::Partials partial, int64_t parts, T* y, int64_t results,
                        int64_t reduced) {
  const detail::ReduceKind kind = detail::kind_of<T>(op);
  if constexpr (std::is_integral_v<T>) {
    if (detail::stays_integer(kind)) {
      if (reduced == 0 && op == ReduceOp::max)
        return void(std::fill_n(y, results, std::numeric_limits<T>::min()));
      if (reduced == 0 && op == ReduceOp::min)
        return void(std::fill_n(y, results, std::numeric_limits<T>::max()));
      using Value = std::conditional_t<std::is_unsigned_v<T>, uint64_t, int64_t>;
      Value* const value = reinterpret_cast<Value*>(partial.value);
      detail::join_parts<Arch>(kind, value, results, parts);
      if (op == ReduceOp::mean)
        for (int64_t o = 0; o < results; ++o)
          value[o] = reduced > 0 ? value[o] / static_cast<Value>(reduced) : Value{0};
      for (int64_t o = 0; o < results; ++o) y[o] = static_cast<T>(value[o]);
      return;
    }
  }
  detail::finish_real<Arch>(op, kind, partial, parts, results, reduced);
  const double* const real = partial.real;
  for (int64_t o = 0; o < results; ++o) {
    if constexpr (std::is_integral_v<T>) {
      // The logarithm of a sum that is 0 or negative is not an integer; a result outside T's range becomes
      // the nearest T.
      constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      if (!(real[o] > static_cast<double>(low))) y[o] = low;
      else y[o] = real[o] >= static_cast<double>(high) ? high : static_cast<T>(real[o]);
    } else {
      y[o] = static_cast<T>(real[o]);
    }
  }
}

template <class Arch, class T>
void reduce_part_impl(ReduceOp op, const T* x, detail::Partials partial, const ReducePlan& plan,
                      int64_t first, int64_t last, int64_t begin, int64_t end) {
  const auto part = [&]<detail::ReduceKind kind>() {
    reduce_part<Arch, kind>(x, partial, plan, first, last, begin, end);
  };
  using enum detail::ReduceKind;
  constexpr bool integer = std::is_integral_v<T>;
  switch (detail::kind_of<T>(op)) {
    case sum: return part.template operator()<sum>();
    case product: return part.template operator()<product>();
    case greatest: return part.template operator()<greatest>();
    case least: return part.template operator()<least>();
    case squares: return part.template operator()<squares>();
    case magnitudes: return part.template operator()<magnitudes>();
    case real_sum: return part.template operator()<integer ? real_sum : sum>();
    case real_squares: return part.template operator()<integer ? real_squares : squares>();
    case exponentials: return part.template operator()<exponentials>();
  }
}

#ifdef TENON_INSTANTIATE
#define TENON_REDUCE(T)                                                                                    \
  template void reduce_part_impl<TENON_INSTANTIATE, T>(                                                    \
      ReduceOp, const T*, detail::Partials, const ReducePlan&, int64_t, int64_t, int64_t, int64_t);        \
  template void reduce_finish_impl<TENON_INSTANTIATE, T>(ReduceOp, detail::Partials, int64_t, T*, int64_t, \
                                                         int64_t);
TENON_REDUCE(float)
TENON_REDUCE(double)
TENON_REDUCE(float16)
TENON_REDUCE(bfloat16)
TENON_REDUCE(int8_t)
TENON_REDUCE(int16_t)
TENON_REDUCE(int32_t)
TENON_REDUCE(int64_t)
TENON_REDUCE(uint8_t)
TENON_REDUCE(uint16_t)
TENON_REDUCE(uint32_t)
TENON_REDUCE(uint64_t)
#undef TENON_REDUCE
#endif

}  // namespace tenon::TENON_ABI::kernels
