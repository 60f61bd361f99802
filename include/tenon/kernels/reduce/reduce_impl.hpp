// Bodies of reduce.hpp. If the last axis is reduced, each contiguous run is reduced to a number. If it is
// kept, up to `reduce_tile` neighbouring results are made at once from rows of that width. Loops are compiled
// for floats, narrow floats, double, int32_t and 64-bit integers; elements of other types are converted in
// panels.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/kernels/reduce/reduce.hpp"
#include "tenon/kernels/reduce/rows.hpp"
#include "tenon/simd/math.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::kernels {

namespace detail {

/// The join of a kind's partial results.
template <ReduceKind kind>
using reduce_join =
    std::conditional_t<kind == ReduceKind::greatest, Greatest,
                       std::conditional_t<kind == ReduceKind::least, Least,
                                          std::conditional_t<kind == ReduceKind::product, Multiply, Add>>>;

/// The type in which elements of type T are reduced: integers that stay integers in 64 bits, where all but
/// comparisons of uint64_t wrap alike. Products are kept in double, in which no order of factors makes them
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
};

/// The shift of exponents. It is never an infinity, so that inf - inf does not arise.
template <class Arch>
double exponent_shift(double greatest) {
  return greatest - greatest == 0 ? greatest : 0;
}

/// Elements of another type, which `read` converts to type C; takes the place of a pointer to them.
template <class C>
struct ReadAs {
  const char* at;
  int64_t size;  // of an element
  void (*read)(const void* x, C* y, int64_t n);

  template <class Arch, class T>
  static ReadAs of(const T* x) {
    const auto read = [](const void* from, C* y, int64_t n) {
      const T* const elements = static_cast<const T*>(from);
      if constexpr (simd::is_narrow<T> && std::is_same_v<C, float>) {
        simd::widen<Arch>(elements, y, n);
      } else {
        for (int64_t i = 0; i < n; ++i) y[i] = static_cast<C>(elements[i]);
      }
    };
    return {reinterpret_cast<const char*>(x), sizeof(T), read};
  }
  ReadAs operator+(int64_t n) const { return {at + n * size, size, read}; }
};

/// Reduces n contiguous elements; f maps a number or a batch.
template <class Arch, class Join, class T, class F>
  requires std::is_integral_v<T>
[[gnu::noinline]] reduce_total<T> reduce_run_of(const T* x, int64_t n, const F& f) {
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

/// Reduces `rows` rows of n elements into n totals, in each of so many blocks, as reduce_rows does.
template <class Arch, class Join, class T, class F>
  requires std::is_integral_v<T>
[[gnu::noinline]] void reduce_rows_of(const T* x, int64_t stride, int64_t rows, int64_t n,
                                      reduce_total<T>* total, const F& f, int64_t blocks,
                                      int64_t block_stride) {
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
                                 f, 1, 0);
    }
}

/// columns[i * count + r] = lines[r * n + i], r < count, i < n, n * count <= short_line * reduce_tile, in the
/// type C.
template <class Arch, class T, class C>
[[gnu::noinline]] void turn_lines_of(const T* lines, C* columns, int64_t n, int64_t count) {
  simd::turn<Arch>(lines, n, count, n, columns, count);
}
template <class Arch, class C>
[[gnu::noinline]] void turn_lines_of(const ReadAs<C>& lines, C* columns, int64_t n, int64_t count) {
  C converted[short_line * reduce_tile];
  lines.read(lines.at, converted, n * count);
  simd::turn<Arch>(static_cast<const C*>(converted), n, count, n, columns, count);
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

/// One result, number 0 of p, from [begin, end) of the elements that make it; element 0 is at x. C is the
/// type of lanes.
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

/// The same for n results in each of so many blocks, at most reduce_tile, whose elements lie in columns: the
/// plan's last axis is kept. Several blocks are a plan's of rank 3. `copies` rows of one block are taken as
/// one.
template <class Arch, ReduceKind kind, class C, class X>
[[gnu::noinline]] void reduce_columns(const X& x, Partials p, const ReducePlan& plan, int64_t begin,
                                      int64_t end, int64_t n, int64_t copies, int64_t blocks) {
  const int64_t stride = plan.rank > 1 ? plan.strides[plan.rank - 2] : n;
  const int64_t results = blocks * n, columns = copies * results;
  reduce_total<C> room[reduce_tile + simd::lanes<C, Arch>];
  // The totals of several copies, or of a register in part, are more than the results.
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
[[gnu::noinline]] void turn_results(const V* from, V* to, int64_t rows, int64_t columns) {
  for (int64_t j = 0; j < rows; ++j)
    for (int64_t i = 0; i < columns; ++i) to[i * rows + j] = from[j * columns + i];
}

/// reduce_part of elements that are of type C, the type of lanes, or are read as such; columns are copied as
/// elements of type Copy.
template <class Arch, ReduceKind kind, class C, class Copy, class X>
void reduce_elements(const X& x, Partials partial, const ReducePlan& plan, int64_t first, int64_t last,
                     int64_t begin, int64_t end) {
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
      reduce_columns<Arch, kind, C>(static_cast<const Copy*>(columns), made, turned, 0, end, n, 1, 1);
      if (inner == 1) continue;
      if constexpr (std::is_integral_v<C>) turn_results<Arch>(made.value, to.value, inner, lines);
      else turn_results<Arch>(made.real, to.real, inner, lines);
      if constexpr (kind == ReduceKind::exponentials)
        turn_results<Arch>(made.greatest, to.greatest, inner, lines);
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
      reduce_columns<Arch, kind, C>(x + (row + column), partial + (o - first), plan, begin, end, n,
                                    n == inner ? copies : 1, blocks);
      o += blocks * n;
      column += n;
      if (column < inner) continue;
      column = 0;
      row = plan.rank <= 3 ? row + blocks * plan.strides[0] : result_offset<Arch>(plan, o);
    }
  } else {
    if constexpr (std::is_pointer_v<X> && !std::is_integral_v<C> && kind != ReduceKind::exponentials)
      if (plan.rank <= 2)
        return reduce_runs<Arch, reduce_join<kind>>(x + (first * plan.strides[0] + begin), end - begin,
                                                    ReduceMap<kind>{}, partial.real, last - first,
                                                    plan.strides[0]);
    for (int64_t o = first; o < last; ++o)
      reduce_line<Arch, kind, C>(x + result_offset<Arch>(plan, o), partial + (o - first), plan, begin, end);
  }
}

}  // namespace detail

template <class Arch, detail::ReduceKind kind, class T>
void reduce_part(const T* x, detail::Partials partial, const ReducePlan& plan, int64_t first, int64_t last,
                 int64_t begin, int64_t end) {
  using C = detail::reduce_lane<kind, T>;
  const auto reduce_as = [&]<class Copy>(Copy, const auto& from) {
    detail::reduce_elements<Arch, kind, C, Copy>(from, partial, plan, first, last, begin, end);
  };
  // Integers are converted as they are loaded where they are of the usual width.
  if constexpr (std::is_same_v<compute_t<T>, C> || (std::is_same_v<T, int32_t> && std::is_integral_v<C>))
    reduce_as(T{}, x);
  else if constexpr (std::is_same_v<T, uint64_t> && std::is_integral_v<C>)
    reduce_as(C{}, reinterpret_cast<const C*>(x));
  else reduce_as(C{}, detail::ReadAs<C>::template of<Arch>(x));
}

namespace detail {

/// total[o] = numbers s * results + o of `total`, s < parts, joined.
template <class Arch, class V>
[[gnu::noinline]] void join_parts(ReduceKind kind, V* total, int64_t results, int64_t parts) {
  if (parts == 1) return;
  switch (kind) {
    case ReduceKind::greatest: return join_copies<Greatest>(total, results, parts);
    case ReduceKind::least: return join_copies<Least>(total, results, parts);
    case ReduceKind::product: return join_copies<Multiply>(total, results, parts);
    default: return join_copies<Add>(total, results, parts);  // as reduce_join has it
  }
}

/// Joins the parts of reduced doubles, and applies the op's final step.
template <class Arch>
[[gnu::noinline]] void finish_real(ReduceOp op, ReduceKind kind, const Partials& partial, int64_t parts,
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
      // The logarithm of a sum that is 0 or negative is no integer; a result out of T's range becomes the
      // nearest T.
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

namespace detail {

/// The type in which columns of type T are compared: unsigned integers as the signed ones of their bits.
template <class T>
using arg_value = typename std::conditional_t<std::is_integral_v<T>, std::make_signed<T>,
                                              std::type_identity<compute_t<T>>>::type;

/// An order of elements: the greatest of `of(x)` is the extremum that is looked for.
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
  /// Whether x takes the place of `best`. NaN beats every number; of equals, the first or the last stands.
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

/// The extremum of each of n <= reduce_tile columns, in the order's terms, and the row that it is in, of
/// `rows` rows.
template <class Arch, class V, class X>
[[gnu::noinline]] void arg_rows(const X& x, int64_t stride, int64_t rows, int64_t n, ArgOrder<V> order,
                                V* best, int64_t* y) {
  // Vectors of V and of rows have equally many lanes.
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

/// Lines that are shorter than this are turned into columns: to find a place in a line takes a jump that is
/// not foreseen.
template <class X>
inline constexpr int64_t arg_short_line = std::is_pointer_v<X> ? 2 * short_line : short_line;

/// The index in each of the lines [first, last), which are columns or short.
template <class Arch, class V, class X>
[[gnu::noinline]] void arg_columns(const X& x, int64_t* y, int64_t axis, int64_t inner, int64_t first,
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
#define TENON_REDUCE(T)                                                                                    \
  template void reduce_part_impl<TENON_INSTANTIATE, T>(                                                    \
      ReduceOp, const T*, detail::Partials, const ReducePlan&, int64_t, int64_t, int64_t, int64_t);        \
  template void reduce_finish_impl<TENON_INSTANTIATE, T>(ReduceOp, detail::Partials, int64_t, T*, int64_t, \
                                                         int64_t);                                         \
  template void arg_reduce_impl<TENON_INSTANTIATE, T>(bool, bool, const T*, int64_t*, int64_t, int64_t,    \
                                                      int64_t, int64_t);
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

}  // namespace tenon::kernels
