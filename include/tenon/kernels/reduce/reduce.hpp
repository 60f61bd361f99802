// Reductions over any set of axes of a dense row-major tensor. Floats are summed in short float blocks that
// are added up in double; narrow floats are read as float; integers are summed in 64 bits and wrap. The cuts
// of sums depend on the extents alone, so results do not depend on threads.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/inline_vector.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/reduce/lines.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// Results over no elements: sum, sum_square, l1 and l2 give 0; prod gives 1; mean gives NaN (integers 0);
/// max and min give the type's least and greatest value (infinities for floats); log_sum and log_sum_exp give
/// -infinity (integers: the least value).
enum class ReduceOp : uint8_t {
  sum,
  mean,  // integers: towards zero
  max,   // NaN if any element is
  min,   // NaN if any element is
  prod,
  sum_square,
  l1,
  l2,
  log_sum,
  log_sum_exp,  // does not overflow
};

/// The input's axes as the loops walk them: axes of extent 1 are dropped, and neighbours that are both kept
/// or both reduced are merged, so that the two kinds alternate.
struct ReducePlan {
  int rank = 0;
  bool last_reduced = false;  ///< the kind of the last axis
  int64_t kept = 1;           ///< elements of the result
  int64_t reduced = 1;        ///< elements per element of the result
  int64_t extents[max_rank] = {};
  int64_t strides[max_rank] = {};  ///< of the input, in elements
};

/// The plan for a dense tensor of these extents; bit d of `axes` says that axis d is reduced.
constexpr ReducePlan reduce_plan(std::span<const int64_t> extents, uint32_t axes) {
  ReducePlan reversed;
  int64_t step = 1;
  bool kind = false;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const bool reduced = (axes >> d) & 1;
    (reduced ? reversed.reduced : reversed.kept) *= extents[d];
    if (extents[d] == 1) continue;
    if (reversed.rank == 0) reversed.last_reduced = reduced;
    if (reversed.rank > 0 && kind == reduced) {
      reversed.extents[reversed.rank - 1] *= extents[d];
    } else {
      reversed.extents[reversed.rank] = extents[d];
      reversed.strides[reversed.rank++] = step;
    }
    kind = reduced;
    step *= extents[d];
  }
  ReducePlan plan = reversed;
  for (int d = 0; d < plan.rank; ++d) {
    plan.extents[d] = reversed.extents[plan.rank - 1 - d];
    plan.strides[d] = reversed.strides[plan.rank - 1 - d];
  }
  return plan;
}

namespace detail {

/// Partial results, in arrays: in `value` if integers stay integers, else in `real`. For exponentials `real`
/// is the sum of exp(x - greatest).
struct Partials {
  int64_t* value;  ///< of uint64_t: the bits
  double *real, *greatest;
  Partials operator+(int64_t n) const { return {value + n, real + n, greatest + n}; }
};
template <int n>
struct PartialArrays {
  int64_t value[n];
  double real[n], greatest[n];
  operator Partials() { return {value, real, greatest}; }
};

/// The map and the join of a reduction's elements. Ops that differ only in the final step on the joined value
/// share a kind.
enum class ReduceKind : uint8_t {
  sum,
  product,
  greatest,
  least,
  squares,
  magnitudes,
  real_sum,      // of integers as doubles
  real_squares,  // of integers as doubles
  exponentials,
};

/// Whether integers are reduced as integers, not as doubles.
constexpr bool stays_integer(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::product:
    case ReduceKind::greatest:
    case ReduceKind::least:
    case ReduceKind::squares:
    case ReduceKind::magnitudes: return true;
    case ReduceKind::real_sum:
    case ReduceKind::real_squares:
    case ReduceKind::exponentials: break;
  }
  return false;
}

template <class T>
constexpr ReduceKind kind_of(ReduceOp op) {
  constexpr bool integer = std::is_integral_v<T>;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean: return ReduceKind::sum;
    case ReduceOp::max: return ReduceKind::greatest;
    case ReduceOp::min: return ReduceKind::least;
    case ReduceOp::prod: return ReduceKind::product;
    case ReduceOp::sum_square: return ReduceKind::squares;
    case ReduceOp::l1: return std::is_unsigned_v<T> ? ReduceKind::sum : ReduceKind::magnitudes;
    case ReduceOp::l2: return integer ? ReduceKind::real_squares : ReduceKind::squares;
    case ReduceOp::log_sum: return integer ? ReduceKind::real_sum : ReduceKind::sum;
    case ReduceOp::log_sum_exp: break;
  }
  return ReduceKind::exponentials;
}

inline constexpr int64_t reduce_grain = task_work::cheap;  // input elements a task takes
inline constexpr int reduce_partials = 512;                // maximum of partial results kept on the stack

}  // namespace detail

/// Serial bodies, in reduce_impl.hpp. Sets element o - first of `partial` for each result o in [first, last),
/// over elements [begin, end) of its plan.reduced elements.
template <class Arch, detail::ReduceKind kind, class T>
void reduce_part(const T* x, detail::Partials partial, const ReducePlan& plan, int64_t first, int64_t last,
                 int64_t begin, int64_t end);
template <class Arch, class T>
void reduce_part_impl(ReduceOp op, const T* x, detail::Partials partial, const ReducePlan& plan,
                      int64_t first, int64_t last, int64_t begin, int64_t end);
/// y[o] from elements s * results + o of `partial`, s < parts, which are joined in element o.
template <class Arch, class T>
void reduce_finish_impl(ReduceOp op, const detail::Partials partial, int64_t parts, T* y, int64_t results,
                        int64_t reduced);

namespace detail {

// Divides the work among tasks: by results if there are many, else by the elements of each result.
// part(partial, first, last, begin, end) is reduce_part.
template <class T, class Part>
void reduce_cut(ReduceOp op, T* y, const ReducePlan& plan, const Part& part) {
  if (plan.kept == 0) return;
  const auto finish = [&](Partials partial, int64_t parts, T* to, int64_t results) {
    simd::dispatch(
        [&]<class Arch>(Arch) { reduce_finish_impl<Arch>(op, partial, parts, to, results, plan.reduced); });
  };
  constexpr int64_t some = reduce_partials / 4;
  if (plan.kept > some || plan.reduced / 4 * plan.kept < reduce_grain) {
    const int64_t work = plan.reduced > 0 ? plan.reduced : 1;
    int64_t grain = work >= reduce_grain ? 1 : reduce_grain / work;
    // Results in columns are read row by row; a task takes pieces of rows long enough to be worth fetching.
    if (!plan.last_reduced && grain < some) grain = some;
    // Tasks of equal size; in columns, whole rows or whole cache lines.
    const int64_t inner = plan.rank > 0 ? plan.extents[plan.rank - 1] : 1;
    const int64_t line = plan.last_reduced ? 1 : inner <= some ? inner : 16;
    const int64_t tasks = (plan.kept + grain - 1) / grain;
    grain = (plan.kept + tasks * line - 1) / (tasks * line) * line;
    parallel_for(plan.kept, grain, [&](int64_t first, int64_t last) {
      PartialArrays<some> partial;
      const int64_t together = some / line * line;
      for (int64_t o = first; o < last; o += together) {
        const int64_t n = last - o < together ? last - o : together;
        part(partial, o, o + n, 0, plan.reduced);
        finish(partial, 1, y + o, n);
      }
    });
    return;
  }
  PartialArrays<reduce_partials> partial;
  const int64_t most_parts = reduce_partials / plan.kept;
  int64_t slice = (plan.reduced + most_parts - 1) / most_parts;
  if (slice * plan.kept < reduce_grain) slice = reduce_grain / plan.kept;
  parallel_for(plan.reduced, slice, [&](int64_t begin, int64_t end) {
    part(Partials(partial) + begin / slice * plan.kept, 0, plan.kept, begin, end);
  });
  finish(partial, (plan.reduced + slice - 1) / slice, y, plan.kept);
}

}  // namespace detail

/// y = op over the reduced axes of x; y holds plan.kept elements. T: every number type.
template <class T>
void reduce(ReduceOp op, const T* x, T* y, const ReducePlan& plan) {
  detail::reduce_cut(
      op, y, plan, [&](detail::Partials partial, int64_t first, int64_t last, int64_t begin, int64_t end) {
        simd::dispatch(
            [&]<class Arch>(Arch) { reduce_part_impl<Arch>(op, x, partial, plan, first, last, begin, end); });
      });
}

/// The same with an op known at compile time: a header-only build then instantiates that op alone.
template <ReduceOp op, class T>
void reduce(const T* x, T* y, const ReducePlan& plan) {
#ifdef TENON_COMPILED
  reduce(op, x, y, plan);
#else
  detail::reduce_cut(op, y, plan,
                     [&](detail::Partials partial, int64_t first, int64_t last, int64_t begin, int64_t end) {
                       simd::dispatch([&]<class Arch>(Arch) {
                         reduce_part<Arch, detail::kind_of<T>(op)>(x, partial, plan, first, last, begin, end);
                       });
                     });
#endif
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/reduce/reduce_impl.hpp"
#endif
