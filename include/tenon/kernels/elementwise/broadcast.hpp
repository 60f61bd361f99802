// Loop nests over up to three operands that broadcast to one dense row-major result: the axes that all
// operands walk alike are merged, so that most shapes end in one or two loops. Nothing here allocates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "tenon/base/inline_vector.hpp"

namespace tenon::kernels {

/// How N dense row-major operands walk along with a dense row-major result. `rank` is at least 1,
/// `strides[k][d]` is operand k's step along axis d in elements, 0 if it is broadcast there.
template <int N>
struct BroadcastPlan {
  int rank = 1;
  int64_t size = 1;  ///< elements of the result
  int64_t extents[max_rank] = {1};
  int64_t strides[N][max_rank] = {};

  /// n elements of operands and result side by side.
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

/// The plan for operands of these shapes, aligned at their last axes, whose extents are equal or 1 on each
/// axis. The caller has checked the extents, that ranks are at most max_rank, and that the result's element
/// count fits int64.
template <class... Shapes>
constexpr BroadcastPlan<sizeof...(Shapes)> broadcast_plan(const Shapes&... shapes) {
  constexpr int n = sizeof...(Shapes);
  const std::span<const int64_t> shape[n] = {std::span<const int64_t>(shapes)...};
  std::size_t rank = 0;
  for (const auto& s : shape) {
    rank = s.size() > rank ? s.size() : rank;
    for (const int64_t extent : s)
      if (extent == 0) return BroadcastPlan<n>::flat(0);  // other extents may overflow
  }

  if (((std::span<const int64_t>(shapes).size() == rank) && ...) &&
      (std::equal(shape[0].begin(), shape[0].end(), std::span<const int64_t>(shapes).begin()) && ...)) {
    int64_t size = 1;
    for (const int64_t extent : shape[0]) size *= extent;
    return size == 1 ? BroadcastPlan<n>() : BroadcastPlan<n>::flat(size);
  }

  // Built from the last axis to the first, and turned round at the end.
  BroadcastPlan<n> plan;
  int merged = 0;
  int64_t step[n];
  for (int64_t& s : step) s = 1;
  for (std::size_t back = 1; back <= rank; ++back) {
    int64_t extent = 1, stride[n];
    bool fits = merged > 0;
    for (int k = 0; k < n; ++k) {
      const int64_t own = back <= shape[k].size() ? shape[k][shape[k].size() - back] : 1;
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
  if (merged == 0) return {};
  plan.rank = merged;
  std::reverse(plan.extents, plan.extents + merged);
  for (auto& stride : plan.strides) std::reverse(stride, stride + merged);
  return plan;
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
    index[d] = rest % plan.extents[d];
    rest /= plan.extents[d];
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

}  // namespace tenon::kernels
