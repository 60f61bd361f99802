// The matrix products share the rule of numpy's matmul and the layout of its batches in memory.
#pragma once

#include "tenon/kernels/elementwise/broadcast.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The extents of matmul(a, b): the last two axes are matrices, all before them broadcast; a vector is a row
/// on the left, a column on the right, and leaves no axis. Unranked if a rank is unknown.
constexpr Dims infer_matmul(Infer& i, const Dims& a, const Dims& b) {
  if (!a.ranked() || !b.ranked()) return {};
  if (a.rank() == 0 || b.rank() == 0) return i.fail("a scalar is no matrix: ", a, " and ", b), Dims{};
  i.unify(a[a.rank() - 1], b[std::max(0, b.rank() - 2)], "inner extents");
  const auto batch = [](const Dims& d) {
    Dims r = Dims::of_rank(0);
    for (int k = 0; k + 2 < d.rank(); ++k) r.push_back(d[k]);
    return r;
  };
  Dims y = i.broadcast(batch(a), batch(b));
  if (i.failed()) return {};
  if (a.rank() > 1) y.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) y.push_back(b[b.rank() - 1]);
  return y;
}

/// How an operator's work on inputs 0 and 1 differs from matmul's.
struct MatMulLoops {
  Ints order[2]{};          ///< the axes of each factor as they are stored; empty: in matmul's order
  std::vector<int> more{};  ///< inputs that stretch over the result
  std::vector<int> once{};  ///< the inputs of `more` that are added to the result
  bool independent = true;  ///< rows and batches of A do not depend on each other
  bool sums = true;         ///< the result is a sum over the inner extents
};

/// The loops of matmul(a, b): batches, rows and columns, and the sum over the inner extents.
template <class L>
void add_matmul_loops(L& l, const MatMulLoops& m = {}) {
  const int a = l.dims(0).rank(), b = l.dims(1).rank(), y = l.out(0).rank();
  if (!l.dims(0).ranked() || !l.dims(1).ranked() || a == 0 || b == 0) return;
  const int matrix = (a > 1) + (b > 1);  // axes of y that are no batch
  const auto stored = [&](int k, int axis) {
    return axis < 0 || m.order[k].empty() ? axis : static_cast<int>(m.order[k][axis]);
  };
  const auto of_batch = [&](int k, int axis) {
    const Dims& d = l.dims(k);
    const int own = stored(k, axis - (y - matrix + 2) + d.rank());
    return own < 0 || d[own].is(1) ? -1 : d[own].known() ? own : -2;
  };
  const auto over = [&](typename L::Axes in, int axis) {
    for (const int k : m.more) in.push_back({k, l.stretched(k, axis, y)});
    l.over(std::move(in), {{0, axis}});
  };
  if (b > 1) over({{1, stored(1, b - 1)}}, y - 1);
  if (a > 1 && m.independent) over({{0, stored(0, a - 2)}}, y - matrix);
  for (int axis = 0; axis + matrix < y && m.independent; ++axis)
    over({{0, of_batch(0, axis)}, {1, of_batch(1, axis)}}, axis);
  if (m.sums) l.sum({{0, stored(0, a - 1)}, {1, stored(1, std::max(0, b - 2))}}).once = m.once;
}

/// Calls f(k, i, j) for each product of matmul(a, b) of these extents: matrix k of the result comes from
/// matrix i of a and matrix j of b.
template <class F>
void for_each_product(std::span<const int64_t> a, std::span<const int64_t> b, F f) {
  const auto outer = [](std::span<const int64_t> e) {
    return e.first(e.size() - std::min<std::size_t>(e.size(), 2));
  };
  const auto plan = kernels::broadcast_plan(outer(a), outer(b));
  const int64_t step_a = plan.strides[0][plan.rank - 1], step_b = plan.strides[1][plan.rank - 1];
  kernels::for_each_run(plan, 0, plan.size, [&](int64_t first, const int64_t* offsets, int64_t count) {
    for (int64_t k = 0; k < count; ++k) f(first + k, offsets[0] + k * step_a, offsets[1] + k * step_b);
  });
}

/// matmul as products of (M,K) and (K,N), and strides of their batches in elements.
struct MatMulPlan {
  int64_t m = 1, n = 1, k = 1;
  int rank = 0;
  int64_t extents[max_rank] = {}, a[max_rank] = {}, b[max_rank] = {}, c[max_rank] = {};

  /// The operands' extents fit each other, and the product is not empty.
  MatMulPlan(std::span<const int64_t> x, std::span<const int64_t> y) {
    const auto matrix = [](std::span<const int64_t> e) {
      return e.size() - std::min<std::size_t>(e.size(), 2);
    };
    k = x.back();
    if (x.size() > 1) m = x[x.size() - 2];
    if (y.size() > 1) n = y.back();
    const auto plan = kernels::broadcast_plan(x.first(matrix(x)), y.first(matrix(y)));
    bool shared = x.size() > 1;
    for (int d = 0; d < plan.rank; ++d) shared &= plan.strides[1][d] == 0;
    if (shared && plan.dense(0)) {
      // The left matrices are contiguous: one matrix of more rows.
      m *= plan.size;
      return;
    }
    rank = plan.rank;
    int64_t step = m * n;
    for (int d = rank; d-- > 0; step *= plan.extents[d]) {
      extents[d] = plan.extents[d];
      a[d] = plan.strides[0][d] * (m * k);
      b[d] = plan.strides[1][d] * (k * n);
      c[d] = step;
    }
  }
  /// Points into this object.
  kernels::GemmBatch batch() const { return {.rank = rank, .extents = extents, .a = a, .b = b, .c = c}; }
};

}  // namespace tenon::TENON_ABI::op
