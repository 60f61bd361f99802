// Loop nests over up to three operands that broadcast to one dense row-major result: axes that all operands
// walk alike are merged, so that most shapes end in one or two loops. Nothing here allocates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "tenon/base/inline_vector.hpp"

namespace tenon::TENON_ABI::kernels {

/// How N dense row-major operands are walked along with a dense row-major result. `rank` is at least 1,
/// `strides[k][d]` is operand k's step along axis d in elements, 0 if it is broadcast there. Only `rank`
/// elements of the arrays are set: a plan is made in each call of an operator, however few its elements.
template <int N>
struct BroadcastPlan {
  int rank = 1;
  int64_t size = 1;  ///< elements of the result
  int64_t extents[max_rank];
  int64_t strides[N][max_rank];

  /// One element.
  constexpr BroadcastPlan() {
    extents[0] = 1;
    for (auto& stride : strides) stride[0] = 0;
    if (std::is_constant_evaluated()) {  // constants need all elements initialised
      for (int d = 1; d < max_rank; ++d) {
        extents[d] = 0;
        for (auto& stride : strides) stride[d] = 0;
      }
    }
  }

  /// n elements of operands and result, all contiguous.
  static constexpr BroadcastPlan flat(int64_t n) {
    BroadcastPlan plan;
    plan.size = plan.extents[0] = n;
    for (auto& stride : plan.strides) stride[0] = 1;
    return plan;
  }

  /// The plan with the first two operands in the other order.
  constexpr BroadcastPlan swapped() const {
    BroadcastPlan plan = *this;
    for (int d = 0; d < rank; ++d) {
      plan.strides[0][d] = strides[1][d];
      plan.strides[1][d] = strides[0][d];
    }
    return plan;
  }

  constexpr int64_t inner() const { return extents[rank - 1]; }

  /// Whether operand k has the result's extents, so that both share their offsets.
  constexpr bool dense(int k) const {
    int64_t step = 1;
    for (int d = rank; d-- > 0; step *= extents[d])
      if (strides[k][d] != step && extents[d] != 1) return false;
    return true;
  }

  /// Whether operand k is one element throughout.
  constexpr bool constant(int k) const {
    for (int d = 0; d < rank; ++d)
      if (strides[k][d] != 0) return false;
    return true;
  }
};

namespace detail {
/// broadcast_plan for shapes that differ.
template <int n>
constexpr BroadcastPlan<n> stretched_plan(const int64_t* const (&shape)[n], const int (&ranks)[n]) {
  // All returns yield this variable, which is constructed in place in the caller: GCC would copy it by an
  // instruction that waits until memory has taken what was written past the caches.
  BroadcastPlan<n> plan;
  for (int k = 0; k < n; ++k)
    for (int d = 0; d < ranks[k]; ++d)
      if (shape[k][d] == 0) {  // other extents may overflow
        plan.size = plan.extents[0] = 0;
        for (auto& stride : plan.strides) stride[0] = 1;
        return plan;
      }

  // Built from the last axis to the first, and reversed at the end.
  const int rank = *std::max_element(ranks, ranks + n);
  int merged = 0;
  int64_t step[n];
  for (int64_t& s : step) s = 1;
  for (int back = 1; back <= rank; ++back) {
    int64_t extent = 1, stride[n];
    bool fits = merged > 0;
    for (int k = 0; k < n; ++k) {
      const int64_t own = back <= ranks[k] ? shape[k][ranks[k] - back] : 1;
      if (own != 1) extent = own;
      stride[k] = own == 1 ? 0 : step[k];
      step[k] *= own;
      if (merged > 0) fits &= stride[k] == plan.strides[k][merged - 1] * plan.extents[merged - 1];
    }
    plan.size *= extent;
    if (extent == 1) continue;
    if (fits) {
      plan.extents[merged - 1] *= extent;
      continue;
    }
    plan.extents[merged] = extent;
    for (int k = 0; k < n; ++k) plan.strides[k][merged] = stride[k];
    ++merged;
  }
  if (merged == 0) return plan;
  plan.rank = merged;
  std::reverse(plan.extents, plan.extents + merged);
  for (auto& stride : plan.strides) std::reverse(stride, stride + merged);
  return plan;
}
}  // namespace detail

/// The plan for operands of these shapes, aligned at their last axes, with extents that are equal or 1 on
/// each axis. The caller has checked the extents, that ranks are at most max_rank, and that the result's
/// element count fits int64.
template <class Shape, class... Others>
constexpr BroadcastPlan<1 + sizeof...(Others)> broadcast_plan(const Shape& shape, const Others&... others) {
  constexpr int n = 1 + sizeof...(Others);
  const int rank = static_cast<int>(std::size(shape));
  bool same = ((static_cast<int>(std::size(others)) == rank) && ...);
  uint64_t size = 1;  // wraps, if another extent is 0
  for (int d = 0; same && d < rank; ++d) {
    const int64_t extent = std::data(shape)[d];
    same = ((std::data(others)[d] == extent) && ...);
    size *= static_cast<uint64_t>(extent);
  }
  if (same) return size == 1 ? BroadcastPlan<n>() : BroadcastPlan<n>::flat(static_cast<int64_t>(size));
  return detail::stretched_plan<n>({std::data(shape), std::data(others)...},
                                   {rank, static_cast<int>(std::size(others))...});
}

/// Calls run(at, offsets, count) for the pieces of the result's elements [begin, end) that lie on one
/// innermost row: elements at .. at + count, where operand k starts at offsets[k] and advances by
/// plan.strides[k][plan.rank - 1].
template <int N, class F>
constexpr void for_each_run(const BroadcastPlan<N>& plan, int64_t begin, int64_t end, F&& run) {
  if (begin >= end) return;
  const int inner = plan.rank - 1;
  int64_t index[max_rank], offsets[N] = {};
  int64_t rest = begin;
  for (int d = inner; d >= 0; --d) {
    index[d] = d > 0 ? rest % plan.extents[d] : rest;
    if (d > 0) rest /= plan.extents[d];
    for (int k = 0; k < N; ++k) offsets[k] += index[d] * plan.strides[k][d];
  }
  for (int64_t at = begin;;) {
    const int64_t left = plan.extents[inner] - index[inner];
    const int64_t count = left < end - at ? left : end - at;
    run(at, static_cast<const int64_t*>(offsets), count);
    at += count;
    if (at >= end) return;
    for (int k = 0; k < N; ++k) offsets[k] -= index[inner] * plan.strides[k][inner];
    index[inner] = 0;
    for (int d = inner - 1;; --d) {
      for (int k = 0; k < N; ++k) offsets[k] += plan.strides[k][d];
      if (++index[d] < plan.extents[d]) break;
      for (int k = 0; k < N; ++k) offsets[k] -= index[d] * plan.strides[k][d];
      index[d] = 0;
    }
  }
}

}  // namespace tenon::TENON_ABI::kernels
