// Bodies of reduce.hpp. Where the last axis is reduced, contiguous runs are reduced to a number each; where
// it is kept, up to `reduce_tile` neighbouring results are made at once from rows of that width.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/kernels/reduce.hpp"
#include "tenon/kernels/rows.hpp"
#include "tenon/simd/math.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::kernels {

namespace detail {

/// The arithmetic of an op: each element is mapped, what comes out is joined.
template <ReduceOp op>
struct ReduceStep {
  using enum ReduceOp;
  using Join =
      std::conditional_t<op == max, Greatest,
                         std::conditional_t<op == min, Least, std::conditional_t<op == prod, Multiply, Add>>>;
  /// Whether integers are reduced as doubles: the result is not made by ring arithmetic.
  static constexpr bool real = op == l2 || op == log_sum || op == log_sum_exp;

  template <class V>
  static V map(const V& x) {
    if constexpr (op == sum_square || op == l2) {
      return Multiply::join(x, x);
    } else if constexpr (op == l1) {
      if constexpr (std::is_integral_v<V>) return x < V(0) ? Multiply::join(x, static_cast<V>(-1)) : x;
      else return xsimd::abs(x);
    } else {
      return x;
    }
  }
};

/// What floats, and integers that are reduced as reals, are computed in by an op. Products are kept in
/// double, where their order cannot make them overflow.
template <class T, ReduceOp op>
using reduce_lane = std::conditional_t<std::is_integral_v<T> || op == ReduceOp::prod, double, simd::wide<T>>;

/// The number exponents are shifted by: no infinity, so that inf - inf does not arise.
template <class Arch>
double exponent_shift(double greatest) {
  return greatest - greatest == 0 ? greatest : 0;
}

/// Calls f(offset, count) for the pieces of the reduced elements [begin, end) that lie on the last reduced
/// axis.
template <class Arch, class F>
void for_each_segment(const ReducePlan& plan, int64_t begin, int64_t end, const F& f) {
  const int last = plan.last_reduced ? plan.rank - 1 : plan.rank - 2;
  if (last < 0) {
    f(int64_t{0}, end - begin);
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
  for (int d = plan.last_reduced ? plan.rank - 2 : plan.rank - 1; d >= 0; d -= 2) {
    offset += o % plan.extents[d] * plan.strides[d];
    o /= plan.extents[d];
  }
  return offset;
}

}  // namespace detail

namespace detail {

/// Whether T is reduced by batches; else integers one by one.
template <ReduceOp op, class T>
inline constexpr bool by_batch = !std::is_integral_v<T> || ReduceStep<op>::real;

/// One result from contiguous runs, which run_through(f) names by f(from, n).
template <class Arch, ReduceOp op, class T, class Runs>
Partial<T> reduce_runs(const Runs& run_through) {
  using Step = ReduceStep<op>;
  using Join = typename Step::Join;
  using C = reduce_lane<T, op>;
  using B = simd::batch<C, Arch>;
  Partial<T> p{};
  if constexpr (op == ReduceOp::log_sum_exp) {
    p.greatest = Greatest::identity<double>();
    run_through([&](const T* x, int64_t n) {
      const double most = reduce_run<Arch, Greatest, C>(x, n, [](const B& v, auto...) { return v; });
      p.greatest = Greatest::join(p.greatest, most);
    });
    const B shift(static_cast<C>(exponent_shift<Arch>(p.greatest)));
    run_through([&](const T* x, int64_t n) {
      p.real +=
          reduce_run<Arch, Add, C>(x, n, [&](const B& v, auto...) { return simd::exp_flushed(v - shift); });
    });
  } else if constexpr (by_batch<op, T>) {
    p.real = Join::template identity<double>();
    run_through([&](const T* x, int64_t n) {
      p.real = Join::join(p.real,
                          reduce_run<Arch, Join, C>(x, n, [](const B& v, auto...) { return Step::map(v); }));
    });
  } else {
    auto value = static_cast<typename ReduceSum<T>::type>(Join::template identity<T>());
    run_through([&](const T* x, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        value = Join::join(Step::map(static_cast<decltype(value)>(x[i])), value);
    });
    p.value = value;
  }
  return p;
}

/// n <= reduce_tile results from rows of n elements `stride` apart, which row_through(f) names by f(from,
/// rows).
template <class Arch, ReduceOp op, class T, class Rows>
void reduce_columns(Partial<T>* p, int64_t stride, int64_t n, const Rows& row_through) {
  using Step = ReduceStep<op>;
  using C = reduce_lane<T, op>;
  using B = simd::batch<C, Arch>;
  // Short rows without gaps are taken several at a time; what the copies of a column come to is joined at the
  // end.
  const int64_t copies = stride == n && n > 0 ? reduce_tile / n : 1;
  const auto reduce_all = [&]<class Join>(Join, auto* total, const auto& rows_into) {
    for (int64_t j = 0; j < copies * n; ++j)
      total[j] = static_cast<std::decay_t<decltype(*total)>>(
          Join::template identity<std::conditional_t<by_batch<op, T>, double, T>>());
    row_through([&](const T* x, int64_t rows) {
      const int64_t whole = rows / copies;
      rows_into(x, copies * stride, whole, copies * n);
      rows_into(x + whole * copies * stride, stride, rows - whole * copies, n);
    });
    for (int64_t j = n; j < copies * n; ++j) total[j % n] = Join::join(total[j], total[j % n]);
  };
  if constexpr (by_batch<op, T>) {
    double total[reduce_tile];
    const auto reduce_mapped = [&]<class Join>(Join, const auto& f) {
      reduce_all(Join{}, total, [&](const T* x, int64_t step, int64_t rows, int64_t columns) {
        reduce_rows<Arch, Join, C>(x, step, rows, columns, total, f);
      });
    };
    if constexpr (op == ReduceOp::log_sum_exp) {
      alignas(64) C shift[reduce_tile + simd::lanes<C, Arch>] = {};
      reduce_mapped(Greatest{}, [](const B& v, auto...) { return v; });
      for (int64_t j = 0; j < n; ++j) p[j].greatest = total[j];
      for (int64_t j = 0; j < copies * n; ++j)
        shift[j] = static_cast<C>(exponent_shift<Arch>(p[j % n].greatest));
      reduce_mapped(Add{}, [&](const B& v, int64_t j, auto...) {
        return simd::exp_flushed(v - simd::loadu<Arch>(shift + j));
      });
    } else {
      reduce_mapped(typename Step::Join{}, [](const B& v, auto...) { return Step::map(v); });
    }
    for (int64_t j = 0; j < n; ++j) p[j].real = total[j];
  } else {
    using Sum = typename ReduceSum<T>::type;
    using Join = typename Step::Join;
    Sum total[reduce_tile];
    reduce_all(Join{}, total, [&](const T* x, int64_t step, int64_t rows, int64_t columns) {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t j = 0; j < columns; ++j)
          total[j] = Join::join(Step::map(static_cast<Sum>(x[r * step + j])), total[j]);
    });
    for (int64_t j = 0; j < n; ++j) p[j].value = total[j];
  }
}

}  // namespace detail

template <class Arch, ReduceOp op, class T>
void reduce_part(const T* x, detail::Partial<T>* partial, const ReducePlan& plan, int64_t first, int64_t last,
                 int64_t begin, int64_t end) {
  constexpr int64_t tile = detail::reduce_tile;
  const auto segments = [&](const T* from) {
    return [&plan, begin, end, from](const auto& f) {
      detail::for_each_segment<Arch>(plan, begin, end,
                                     [&](int64_t offset, int64_t n) { f(from + offset, n); });
    };
  };
  if (plan.last_reduced) {
    const bool lines = plan.rank <= 2 && begin == 0 && end == plan.reduced;
    if (lines && end < detail::short_line && last - first > 1) {
      T columns[detail::short_line * tile];
      for (int64_t o = first; o < last; o += tile) {
        const int64_t n = last - o < tile ? last - o : tile;
        detail::turn_lines<Arch>(x + o * end, columns, end, n);
        detail::reduce_columns<Arch, op>(partial + (o - first), tile, n,
                                         [&](const auto& f) { f(static_cast<const T*>(columns), end); });
      }
      return;
    }
    for (int64_t o = first; o < last; ++o) {
      detail::Partial<T>& p = partial[o - first];
      if (lines) p = detail::reduce_runs<Arch, op, T>([&](const auto& f) { f(x + o * end, end); });
      else p = detail::reduce_runs<Arch, op, T>(segments(x + detail::result_offset<Arch>(plan, o)));
    }
    return;
  }
  const int64_t inner = plan.rank > 0 ? plan.extents[plan.rank - 1] : 1;
  for (int64_t o = first; o < last;) {
    const int64_t left = inner - o % inner;
    int64_t n = left < last - o ? left : last - o;
    if (n > tile) n = tile;
    detail::reduce_columns<Arch, op>(partial + (o - first), inner, n,
                                     segments(x + detail::result_offset<Arch>(plan, o)));
    o += n;
  }
}

template <class Arch, ReduceOp op, class T>
void reduce_finish(const detail::Partial<T>* partial, int64_t parts, T* y, int64_t results, int64_t reduced) {
  using Step = detail::ReduceStep<op>;
  using Join = typename Step::Join;
  using Sum = typename detail::ReduceSum<T>::type;
  for (int64_t o = 0; o < results; ++o) {
    if constexpr (std::is_integral_v<T> && !Step::real) {
      Sum value = partial[o].value;
      for (int64_t s = 1; s < parts; ++s) value = Join::join(partial[s * results + o].value, value);
      if (op == ReduceOp::mean) value = reduced > 0 ? value / static_cast<Sum>(reduced) : Sum(0);
      y[o] = static_cast<T>(value);
    } else {
      double value = partial[o].real;
      if constexpr (op == ReduceOp::log_sum_exp) {
        double greatest = partial[o].greatest;
        for (int64_t s = 1; s < parts; ++s)
          greatest = detail::Greatest::join(partial[s * results + o].greatest, greatest);
        const double shift = detail::exponent_shift<Arch>(greatest);
        value = 0;
        for (int64_t s = 0; s < parts; ++s) {
          const detail::Partial<T>& part = partial[s * results + o];
          if (part.real != 0)
            value += part.real * std::exp(detail::exponent_shift<Arch>(part.greatest) - shift);
        }
        value = greatest == std::numeric_limits<double>::infinity() ? greatest : std::log(value) + shift;
      } else {
        for (int64_t s = 1; s < parts; ++s) value = Join::join(partial[s * results + o].real, value);
        if (op == ReduceOp::mean) value /= static_cast<double>(reduced);
        if (op == ReduceOp::l2) value = std::sqrt(value);
        if (op == ReduceOp::log_sum) value = std::log(value);
      }
      if constexpr (std::is_integral_v<T>) {
        // Logarithms of sums that are 0 or negative have no integer; out of range, the nearest stands in.
        constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
        if (!(value > static_cast<double>(low))) y[o] = low;
        else y[o] = value >= static_cast<double>(high) ? high : static_cast<T>(value);
      } else {
        y[o] = static_cast<T>(value);
      }
    }
  }
}

template <class Arch, ReduceOp op, class T>
void reduce_results(const T* x, T* y, const ReducePlan& plan, int64_t first, int64_t last) {
  detail::Partial<T> partial[detail::reduce_tile];
  for (int64_t o = first; o < last;) {
    const int64_t n = last - o < detail::reduce_tile ? last - o : detail::reduce_tile;
    reduce_part<Arch, op>(x, partial, plan, o, o + n, 0, plan.reduced);
    reduce_finish<Arch, op>(partial, 1, y + o, n, plan.reduced);
    o += n;
  }
}

namespace detail {
// Calls f<op>() for the op known at run time.
template <class Arch, class F>
void with_reduce_op(ReduceOp op, F f) {
  using enum ReduceOp;
  switch (op) {
    case sum: return f.template operator()<sum>();
    case mean: return f.template operator()<mean>();
    case max: return f.template operator()<max>();
    case min: return f.template operator()<min>();
    case prod: return f.template operator()<prod>();
    case sum_square: return f.template operator()<sum_square>();
    case l1: return f.template operator()<l1>();
    case l2: return f.template operator()<l2>();
    case log_sum: return f.template operator()<log_sum>();
    case log_sum_exp: return f.template operator()<log_sum_exp>();
  }
}
}  // namespace detail

template <class Arch, class T>
void reduce_part_impl(ReduceOp op, const T* x, detail::Partial<T>* partial, const ReducePlan& plan,
                      int64_t first, int64_t last, int64_t begin, int64_t end) {
  detail::with_reduce_op<Arch>(
      op, [&]<ReduceOp known>() { reduce_part<Arch, known>(x, partial, plan, first, last, begin, end); });
}

template <class Arch, class T>
void reduce_results_impl(ReduceOp op, const T* x, T* y, const ReducePlan& plan, int64_t first, int64_t last) {
  detail::with_reduce_op<Arch>(
      op, [&]<ReduceOp known>() { reduce_results<Arch, known>(x, y, plan, first, last); });
}

template <class Arch, class T>
void reduce_finish_impl(ReduceOp op, const detail::Partial<T>* partial, int64_t parts, T* y, int64_t results,
                        int64_t reduced) {
  detail::with_reduce_op<Arch>(
      op, [&]<ReduceOp known>() { reduce_finish<Arch, known>(partial, parts, y, results, reduced); });
}

namespace detail {

/// Whether x takes the place of `best`. NaN beats every number; of equals, the first or the last stands.
template <bool greatest, bool last_index, class V>
bool beats(V x, V best) {
  if (greatest ? x > best : x < best) return true;
  if constexpr (last_index) return x == best || x != x;
  else return x != x && best == best;
}

/// The index in one contiguous line: the extremum is found first, then where it stands.
template <class Arch, bool greatest, bool last_index, class T>
int64_t arg_line(const T* x, int64_t n) {
  if constexpr (std::is_integral_v<T>) {
    T best = x[0];
    for (int64_t i = 1; i < n; ++i)
      best = greatest ? (x[i] > best ? x[i] : best) : (x[i] < best ? x[i] : best);
    int64_t at = last_index ? n - 1 : 0;
    while (x[at] != best) last_index ? --at : ++at;
    return at;
  } else {
    using C = simd::wide<T>;
    using B = simd::batch<C, Arch>;
    constexpr int64_t width = simd::lanes<C, Arch>;
    using Join = std::conditional_t<greatest, Greatest, Least>;
    const B best(static_cast<C>(reduce_run<Arch, Join, C>(x, n, [](const B& v, auto...) { return v; })));
    const auto stands = [&](int64_t i, auto... count) {
      const B v = load_as<Arch, C>(x + i, count...);
      // NaN is the extremum where there is one.
      alignas(64) bool found[width];
      const auto here = (v == best) | (xsimd::isnan(v) & xsimd::isnan(best));
      if (!xsimd::any(here)) return int64_t{-1};
      here.store_unaligned(found);
      int64_t limit = width, at = -1;
      ((limit = count), ...);
      for (int64_t j = 0; j < limit; ++j)
        if (found[j] && (last_index || at < 0)) at = i + j;
      return at;
    };
    const int64_t whole = n / width * width;
    int64_t at = -1;
    if constexpr (last_index) {
      if (whole < n) at = stands(whole, n - whole);
      for (int64_t i = whole - width; at < 0 && i >= 0; i -= width) at = stands(i);
    } else {
      for (int64_t i = 0; at < 0 && i < whole; i += width) at = stands(i);
      if (at < 0) at = stands(whole, n - whole);
    }
    return at;
  }
}

template <class Arch, bool greatest, bool last_index, class T>
void arg_lines(const T* x, int64_t* y, int64_t axis, int64_t inner, int64_t first, int64_t last) {
  // Narrow floats are compared as floats.
  using V = std::conditional_t<std::is_integral_v<T>, T, simd::wide<T>>;
  if (inner == 1) {
    for (int64_t line = first; line < last; ++line)
      y[line] = arg_line<Arch, greatest, last_index>(x + line * axis, axis);
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
        const bool take = beats<greatest, last_index>(v, best[j]);
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
  if (greatest && last_index) detail::arg_lines<Arch, true, true>(x, y, axis, inner, first, last);
  else if (greatest) detail::arg_lines<Arch, true, false>(x, y, axis, inner, first, last);
  else if (last_index) detail::arg_lines<Arch, false, true>(x, y, axis, inner, first, last);
  else detail::arg_lines<Arch, false, false>(x, y, axis, inner, first, last);
}

#ifdef TENON_INSTANTIATE
#define TENON_REDUCE(T)                                                                                    \
  template void reduce_part_impl<TENON_INSTANTIATE, T>(                                                    \
      ReduceOp, const T*, detail::Partial<T>*, const ReducePlan&, int64_t, int64_t, int64_t, int64_t);     \
  template void reduce_results_impl<TENON_INSTANTIATE, T>(ReduceOp, const T*, T*, const ReducePlan&,       \
                                                          int64_t, int64_t);                               \
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
