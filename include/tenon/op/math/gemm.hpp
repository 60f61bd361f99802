// Gemm: matrix product with an addend.   onnx.ai/onnx/operators/onnx__Gemm.html
#pragma once

#include <cmath>

#include "tenon/base/convert.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

namespace gemm_detail {

/// (M,N) from A (M,K) and B (K,N), either transposed, and C, which is stretched to (M,N), with `exact` has
/// these extents, or is left out.
constexpr void infer_gemm(Infer& i, bool trans_a, bool trans_b, const Dims& a, const Dims& b, const Dims& c,
                          bool exact = false) {
  if ((a.ranked() && a.rank() != 2) || (b.ranked() && b.rank() != 2))
    return i.fail("A ", a, " and B ", b, " are not matrices");
  Dims y = Dims::of_rank(2);
  if (a.ranked()) y[0] = a[trans_a ? 1 : 0];
  if (b.ranked()) y[1] = b[trans_b ? 0 : 1];
  if (a.ranked() && b.ranked()) i.unify(a[trans_a ? 0 : 1], b[trans_b ? 1 : 0], "inner extents");
  if (c.ranked()) {
    bool fits = c.rank() <= 2 && (!exact || c.rank() == 2);
    for (int k = 1; fits && k <= c.rank(); ++k) {
      Dim& d = y[2 - k];
      const Dim e = c[c.rank() - k];
      fits = !e.differs(d) || (e.is(1) && !exact);
      // An extent above 1 is not stretched.
      if (!d.known() && e.known() && (exact || Dim(1).below(e))) d = e;
    }
    if (!fits) return i.fail("C ", c, exact ? " is not " : " does not stretch to ", y);
  }
  i.out(0, y);
}

/// Whether integers can be multiplied by a factor before they are summed: sums of products wrap alike then.
inline bool is_whole(float factor) { return std::trunc(factor) == factor && std::abs(factor) < 0x1p31f; }

/// Makes C, if present, the addend of a product.
template <class T>
void set_addend(kernels::GemmArgs<compute_t<T>>& args, Scratch& scratch, TensorView<const T> c) {
  if (!c) return;
  args.d = widen(scratch, c.data(), c.size());
  args.d_row = c.rank() == 2 && c.extent(0) != 1 ? c.extent(1) : 0;
  args.d_col = c.rank() > 0 && c.extent(-1) != 1;
}

/// y = alpha A B + beta C; C may be absent.
template <class T>
void gemm(TensorView<const T> a, TensorView<const T> b, TensorView<const T> c, TensorView<T> y, float alpha,
          float beta, bool trans_a, bool trans_b) {
  if (y.empty()) return;
  Scratch scratch;
  kernels::GemmArgs<compute_t<T>> args;
  args.m = y.extent(0);
  args.n = y.extent(1);
  args.k = a.extent(trans_a ? 0 : 1);
  args.a = widen(scratch, a.data(), a.size());
  args.a_row = trans_a ? 1 : args.k;
  args.a_col = trans_a ? args.m : 1;
  args.b = widen(scratch, b.data(), b.size());
  args.b_row = trans_b ? 1 : args.n;
  args.b_col = trans_b ? args.k : 1;
  args.c = wide_result(scratch, y.data(), y.size());
  args.c_row = args.n;
  if (beta != 0) set_addend(args, scratch, c);
  if constexpr (std::is_integral_v<T>) {
    if (!is_whole(alpha) || !is_whole(beta)) {
      // Factors with fractions: the product wraps as T, the rest is computed in double and truncated.
      const T* d = std::exchange(args.d, nullptr);
      kernels::gemm(args);
      for (int64_t r = 0; r < args.m; ++r)
        for (int64_t s = 0; s < args.n; ++s) {
          T& out = args.c[r * args.n + s];
          const double addend = d ? static_cast<double>(d[r * args.d_row + s * args.d_col]) * beta : 0.0;
          out = convert<T>(static_cast<double>(out) * alpha + addend);
        }
      return;
    }
    args.alpha = static_cast<T>(static_cast<int64_t>(alpha));
    args.beta = static_cast<T>(static_cast<int64_t>(beta));
  } else {
    args.alpha = alpha;
    args.beta = beta;
    args.parts = parts_of<T>;
  }
  kernels::gemm(args);
  narrow(args.c, y.data(), y.size());
}

/// The loops over columns, rows and, with `sums`, the inner extents. Inputs A, B and C have these numbers,
/// and `more` inputs stretch over Y like C.
template <class L>
void add_gemm_loops(L& l, bool trans_a, bool trans_b, bool sums, int a = 0, int b = 1, int c = 2,
                    std::initializer_list<int> more = {}) {
  const auto over = [&](typename L::Axis of_factor, int axis) {
    typename L::Axes in{of_factor, {c, l.stretched(c, axis, 2)}};
    for (const int k : more) in.push_back({k, l.stretched(k, axis, 2)});
    l.over(std::move(in), {{0, axis}});
  };
  over({b, trans_b ? 0 : 1}, 1);
  over({a, trans_a ? 1 : 0}, 0);
  if (sums) l.sum({{a, trans_a ? 0 : 1}, {b, trans_b ? 1 : 0}}).once = {c};
}

}  // namespace gemm_detail

/// Y = alpha A' B' + beta C, where A' (M,K) is A or with transA its transpose, B' (K,N) likewise, and C is
/// stretched to (M,N). Integers wrap; factors with fractions truncate them.
/// op::Gemm{.transB = 1}(x, w, b) of (2,3), (4,3) and (4) gives (2,4).
struct Gemm {
  float alpha = 1.0f;
  float beta = 1.0f;
  int64_t transA = 0;
  int64_t transB = 0;

  static constexpr Spec spec{
      .name = "Gemm",
      .since = {7, 9, 11, 13},
      .inputs = {{"A", "T"}, {"B", "T"}, {"C", "T", optional}},
      .outputs = {{"Y", "T"}},
      .types = {{"T", {{1, types::floats}, {9, types::wide_numeric}, {13, types::wide_numeric_bf16}}}},
      .old_inputs = {{10, 2, {"C", "T"}}}};
  static constexpr Attributes attributes{attr("alpha", &Gemm::alpha), attr("beta", &Gemm::beta),
                                         attr("transA", &Gemm::transA).flag(),
                                         attr("transB", &Gemm::transB).flag()};

  constexpr void infer(Infer& i) const {
    gemm_detail::infer_gemm(i, transA != 0, transB != 0, i.dims(0), i.dims(1), i.dims(2));
  }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<const T> c, TensorView<T> y) const {
    gemm_detail::gemm(a, b, c, y, alpha, beta, transA != 0, transB != 0);
  }
  template <class L>
  void loops(L& l) const {
    // Other factors round integers, parts each by themselves.
    const bool whole = gemm_detail::is_whole(alpha) && gemm_detail::is_whole(beta);
    gemm_detail::add_gemm_loops(l, transA != 0, transB != 0,
                                types::floats_bf16.contains(l.in(0).type) || whole);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// C is stretched only if `broadcast` says so.
struct Gemm_1 {
  float alpha = 1.0f;
  float beta = 1.0f;
  int64_t broadcast = 0;
  int64_t transA = 0;
  int64_t transB = 0;

  static constexpr Spec spec{.name = "Gemm",
                             .since = {1, 6},
                             .inputs = {{"A", "T"}, {"B", "T"}, {"C", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  static constexpr Attributes attributes{attr("alpha", &Gemm_1::alpha), attr("beta", &Gemm_1::beta),
                                         attr("broadcast", &Gemm_1::broadcast).flag(),
                                         attr("transA", &Gemm_1::transA).flag(),
                                         attr("transB", &Gemm_1::transB).flag()};

  constexpr void infer(Infer& i) const {
    gemm_detail::infer_gemm(i, transA != 0, transB != 0, i.dims(0), i.dims(1), i.dims(2), broadcast == 0);
  }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<const T> c, TensorView<T> y) const {
    gemm_detail::gemm(a, b, c, y, alpha, beta, transA != 0, transB != 0);
  }
  template <class L>
  int32_t renew(L& to) const {
    const Dims &a = to.dims(0), &b = to.dims(1), &c = to.dims(2);
    if (!a.ranked() || !b.ranked() || !c.ranked()) return -1;
    const bool exact = c.rank() == 2 && c[0].same(a[transA ? 1 : 0]) && c[1].same(b[transB ? 0 : 1]);
    if (broadcast == 0 && !exact) return -1;  // whether C is Y's size is known only at run time
    return to.add(Gemm{alpha, beta, transA, transB}, {to.input(0), to.input(1), to.input(2)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Gemm, tenon::op::Gemm_1)
