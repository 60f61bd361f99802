// Bodies of reduce.hpp. If the last axis is reduced, each contiguous run is reduced to a number. If it is
// kept, up to `reduce_tile` neighbouring results are made at once from rows of that width.
#pragma once

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

/// Whether T is reduced as an integer.
template <ReduceKind kind, class T>
inline constexpr bool integral_reduce = std::is_integral_v<T> && stays_integer(kind);

/// The type in which all else is reduced. Products are kept in double, in which no order of factors makes
/// them overflow.
template <ReduceKind kind, class T>
using reduce_lane =
    std::conditional_t<std::is_integral_v<T> || kind == ReduceKind::product, double, compute_t<T>>;

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

/// x as numbers of type C.
template <class Arch, class C, class T>
void convert(const T* x, C* y, int64_t n) {
  if constexpr (simd::is_narrow<T> && std::is_same_v<C, float>) {
    simd::widen<Arch>(x, y, n);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<C>(x[i]);
  }
}

/// reduce_run of elements as C, converted in panels where they are not of that type.
template <class Arch, class Join, class C, class T, class F>
double reduce_run_as(const T* x, int64_t n, const F& f) {
  if constexpr (std::is_same_v<compute_t<T>, C>) {
    return reduce_run<Arch, Join>(x, n, f);
  } else {
    constexpr int64_t panel = 1024;
    alignas(64) C converted[panel];
    double total = Join::template identity<double>();
    for (int64_t i = 0; i < n; i += panel) {
      const int64_t count = n - i < panel ? n - i : panel;
      convert<Arch>(x + i, converted, count);
      total = Join::join(total, reduce_run<Arch, Join>(static_cast<const C*>(converted), count, f));
    }
    return total;
  }
}
template <class Arch, class Join, class C, class T, class F>
void reduce_rows_as(const T* x, int64_t stride, int64_t rows, int64_t n, double* total, const F& f) {
  if constexpr (std::is_same_v<compute_t<T>, C>) {
    reduce_rows<Arch, Join>(x, stride, rows, n, total, f);
  } else {
    constexpr int64_t some = 16;
    alignas(64) C converted[some * reduce_tile];
    for (int64_t row = 0; row < rows; row += some) {
      const int64_t count = rows - row < some ? rows - row : some;
      for (int64_t r = 0; r < count; ++r)
        convert<Arch>(x + (row + r) * stride, converted + r * reduce_tile, n);
      reduce_rows<Arch, Join>(static_cast<const C*>(converted), reduce_tile, count, n, total, f);
    }
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

/// One result from [begin, end) of the elements that make it; element 0 is at x.
template <class Arch, ReduceKind kind, class T>
Partial<T> reduce_line(const T* x, const ReducePlan& plan, int64_t begin, int64_t end) {
  using Join = reduce_join<kind>;
  Partial<T> p{};
  if constexpr (integral_reduce<kind, T>) {
    using Sum = typename ReduceSum<T>::type;
    p.value = static_cast<Sum>(Join::template identity<T>());
    for_each_segment<Arch>(plan, begin, end, [&](int64_t offset, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        p.value = Join::join(ReduceMap<kind>{}(static_cast<Sum>(x[offset + i])), p.value);
    });
  } else {
    using C = reduce_lane<kind, T>;
    const auto run = [&]<class J>(J, const auto& f) {
      double total = J::template identity<double>();
      for_each_segment<Arch>(plan, begin, end, [&](int64_t offset, int64_t n) {
        total = J::join(total, reduce_run_as<Arch, J, C>(x + offset, n, f));
      });
      return total;
    };
    if constexpr (kind == ReduceKind::exponentials) {
      p.greatest = run(Greatest{}, ReduceMap<ReduceKind::greatest>{});
      const simd::batch<C, Arch> shift(static_cast<C>(exponent_shift<Arch>(p.greatest)));
      p.real = run(Add{}, ExponentialsBelow<Arch, C>{shift});
    } else {
      p.real = run(Join{}, ReduceMap<kind>{});
    }
  }
  return p;
}

/// The same for n <= reduce_tile results whose elements lie in columns: the plan's last axis is kept.
template <class Arch, ReduceKind kind, class T>
void reduce_columns(const T* x, Partial<T>* p, const ReducePlan& plan, int64_t begin, int64_t end,
                    int64_t n) {
  using Join = reduce_join<kind>;
  const int64_t stride = plan.rank > 1 ? plan.strides[plan.rank - 2] : n;
  // Short rows without gaps are taken several at a time, which makes several copies of a column; their
  // partial results are joined at the end.
  const int64_t copies = stride == n ? reduce_tile / n : 1;
  const auto reduce_all = [&]<class J>(J, auto* total, auto identity, const auto& rows_into) {
    for (int64_t j = 0; j < copies * n; ++j) total[j] = identity;
    for_each_segment<Arch>(plan, begin, end, [&](int64_t offset, int64_t rows) {
      const int64_t together = rows / copies * copies;
      rows_into(x + offset, copies * stride, rows / copies, copies * n);
      rows_into(x + offset + together * stride, stride, rows - together, n);
    });
    for (int64_t j = n; j < copies * n; ++j) total[j % n] = J::join(total[j], total[j % n]);
  };
  if constexpr (integral_reduce<kind, T>) {
    using Sum = typename ReduceSum<T>::type;
    Sum total[reduce_tile];
    reduce_all(Join{}, total, static_cast<Sum>(Join::template identity<T>()),
               [&](const T* from, int64_t step, int64_t rows, int64_t columns) {
                 for (int64_t r = 0; r < rows; ++r)
                   for (int64_t j = 0; j < columns; ++j)
                     total[j] = Join::join(ReduceMap<kind>{}(static_cast<Sum>(from[r * step + j])), total[j]);
               });
    for (int64_t j = 0; j < n; ++j) p[j].value = total[j];
  } else {
    using C = reduce_lane<kind, T>;
    double total[reduce_tile];
    const auto pass = [&]<class J>(J, const auto& f) {
      reduce_all(J{}, total, J::template identity<double>(),
                 [&](const T* from, int64_t step, int64_t rows, int64_t columns) {
                   reduce_rows_as<Arch, J, C>(from, step, rows, columns, total, f);
                 });
    };
    if constexpr (kind == ReduceKind::exponentials) {
      alignas(64) C shift[reduce_tile + simd::lanes<C, Arch>] = {};
      pass(Greatest{}, ReduceMap<ReduceKind::greatest>{});
      for (int64_t j = 0; j < n; ++j) p[j].greatest = total[j];
      for (int64_t j = 0; j < copies * n; ++j)
        shift[j] = static_cast<C>(exponent_shift<Arch>(p[j % n].greatest));
      pass(Add{}, ColumnExponentialsBelow<Arch, C>{shift});
    } else {
      pass(Join{}, ReduceMap<kind>{});
    }
    for (int64_t j = 0; j < n; ++j) p[j].real = total[j];
  }
}

}  // namespace detail

template <class Arch, detail::ReduceKind kind, class T>
void reduce_part(const T* x, detail::Partial<T>* partial, const ReducePlan& plan, int64_t first, int64_t last,
                 int64_t begin, int64_t end) {
  constexpr int64_t tile = detail::reduce_tile;
  if (!plan.last_reduced) {
    const int64_t inner = plan.rank > 0 ? plan.extents[plan.rank - 1] : 1;
    for (int64_t o = first; o < last;) {
      const int64_t left = inner - o % inner;
      int64_t n = left < last - o ? left : last - o;
      if (n > tile) n = tile;
      detail::reduce_columns<Arch, kind>(x + detail::result_offset<Arch>(plan, o), partial + (o - first),
                                         plan, begin, end, n);
      o += n;
    }
  } else if (plan.rank <= 2 && begin == 0 && end == plan.reduced && end < detail::short_line &&
             last - first > 1) {
    T columns[detail::short_line * tile];
    ReducePlan turned;
    turned.rank = 2;
    turned.extents[0] = turned.reduced = end;
    turned.extents[1] = turned.kept = turned.strides[0] = tile;
    turned.strides[1] = 1;
    for (int64_t o = first; o < last; o += tile) {
      const int64_t n = last - o < tile ? last - o : tile;
      detail::turn_lines<Arch>(x + o * end, columns, end, n);
      detail::reduce_columns<Arch, kind>(static_cast<const T*>(columns), partial + (o - first), turned, 0,
                                         end, n);
    }
  } else {
    for (int64_t o = first; o < last; ++o)
      partial[o - first] =
          detail::reduce_line<Arch, kind>(x + detail::result_offset<Arch>(plan, o), plan, begin, end);
  }
}

template <class Arch, class T>
void reduce_finish_impl(ReduceOp op, const detail::Partial<T>* partial, int64_t parts, T* y, int64_t results,
                        int64_t reduced) {
  // Joins the parts. Exponentials are not joined here, because their shifts differ.
  const auto joined = [&](int64_t o, auto detail::Partial<T>::* member) {
    auto total = partial[o].*member;
    for (int64_t s = 1; s < parts; ++s) {
      const auto part = partial[s * results + o].*member;
      switch (detail::kind_of<T>(op)) {
        case detail::ReduceKind::greatest: total = detail::Greatest::join(part, total); break;
        case detail::ReduceKind::least: total = detail::Least::join(part, total); break;
        case detail::ReduceKind::product: total = detail::Multiply::join(part, total); break;
        default: total = detail::Add::join(part, total); break;  // as reduce_join has it
      }
    }
    return total;
  };
  for (int64_t o = 0; o < results; ++o) {
    double real = 0;
    if (op == ReduceOp::log_sum_exp) {
      double greatest = partial[o].greatest;
      for (int64_t s = 1; s < parts; ++s)
        greatest = detail::Greatest::join(partial[s * results + o].greatest, greatest);
      const double shift = detail::exponent_shift<Arch>(greatest);
      for (int64_t s = 0; s < parts; ++s) {
        const detail::Partial<T>& part = partial[s * results + o];
        if (part.real != 0) real += part.real * std::exp(detail::exponent_shift<Arch>(part.greatest) - shift);
      }
      real = greatest == std::numeric_limits<double>::infinity() ? greatest : std::log(real) + shift;
    } else if (std::is_integral_v<T> && detail::stays_integer(detail::kind_of<T>(op))) {
      auto value = joined(o, &detail::Partial<T>::value);
      if (op == ReduceOp::mean)
        value = reduced > 0 ? value / static_cast<decltype(value)>(reduced) : decltype(value)(0);
      y[o] = static_cast<T>(value);
      continue;
    } else {
      real = joined(o, &detail::Partial<T>::real);
      if (op == ReduceOp::mean) real /= static_cast<double>(reduced);
    }
    if (op == ReduceOp::l2) real = std::sqrt(real);
    if (op == ReduceOp::log_sum) real = std::log(real);
    if constexpr (std::is_integral_v<T>) {
      // The logarithm of a sum that is 0 or negative is no integer; a result out of T's range becomes the
      // nearest T.
      constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      if (!(real > static_cast<double>(low))) y[o] = low;
      else y[o] = real >= static_cast<double>(high) ? high : static_cast<T>(real);
    } else {
      y[o] = static_cast<T>(real);
    }
  }
}

template <class Arch, class T>
void reduce_part_impl(ReduceOp op, const T* x, detail::Partial<T>* partial, const ReducePlan& plan,
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

/// Whether x takes the place of `best`. NaN beats every number; of equals, the first or the last stands.
template <bool greatest, class V>
bool beats(V x, V best, bool last_index) {
  const bool better = greatest ? x > best : x < best;
  return better | (last_index ? (x == best) | (x != x) : (x != x) & (best == best));
}

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

template <class Arch, bool greatest, class T>
void arg_lines(const T* x, int64_t* y, int64_t axis, int64_t inner, int64_t first, int64_t last,
               bool last_index) {
  // Narrow floats are compared as floats.
  using V = std::conditional_t<std::is_integral_v<T>, T, compute_t<T>>;
  if (inner == 1) {
    for (int64_t line = first; line < last; ++line)
      y[line] = arg_line<Arch, greatest>(x + line * axis, axis, last_index);
    return;
  }
  V best[reduce_tile];
  for (int64_t line = first; line < last;) {
    const int64_t column = line % inner, left = inner - column;
    int64_t n = left < last - line ? left : last - line;
    if (n > reduce_tile) n = reduce_tile;
    const T* p = x + line / inner * axis * inner + column;
    for (int64_t j = 0; j < n; ++j) best[j] = static_cast<V>(p[j]), y[line + j] = 0;
    for (int64_t i = 1; i < axis; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const V v = static_cast<V>(p[i * inner + j]);
        const bool take = beats<greatest>(v, best[j], last_index);
        best[j] = take ? v : best[j];
        y[line + j] = take ? i : y[line + j];
      }
    }
    line += n;
  }
}

}  // namespace detail

template <class Arch, class T>
void arg_reduce_impl(bool greatest, bool last_index, const T* x, int64_t* y, int64_t axis, int64_t inner,
                     int64_t first, int64_t last) {
  if (greatest) detail::arg_lines<Arch, true>(x, y, axis, inner, first, last, last_index);
  else detail::arg_lines<Arch, false>(x, y, axis, inner, first, last, last_index);
}

#ifdef TENON_INSTANTIATE
#define TENON_REDUCE(T)                                                                                    \
  template void reduce_part_impl<TENON_INSTANTIATE, T>(                                                    \
      ReduceOp, const T*, detail::Partial<T>*, const ReducePlan&, int64_t, int64_t, int64_t, int64_t);     \
  template void reduce_finish_impl<TENON_INSTANTIATE, T>(ReduceOp, const detail::Partial<T>*, int64_t, T*, \
                                                         int64_t, int64_t);                                \
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
