// The binary operators as they were before version 7, when B was stretched on request only.
#pragma once

#include "tenon/op/families/elementwise.hpp"

namespace tenon::TENON_ABI::op {

/// Op at the versions Since: with `broadcast` B is stretched over A, along A's axes from `axis` on or else
/// along the trailing ones; without it A and B have the same extents, or B is a scalar. InsertAxes is
/// Unsqueeze.
template <class Op, class InsertAxes, int... Since>
struct BeforeBroadcasting {
  Opt<int64_t> axis{};
  int64_t broadcast = 0;

  static constexpr Spec spec = [] {
    Spec s = Op::spec;
    s.since = {Since...};
    s.elements = Elements::any;  // extents are stretched differently from numpy's
    return s;
  }();
  // Version 6 removed a hint that the comparisons never had.
  static constexpr auto attributes = [] {
    constexpr auto along = attr("axis", &BeforeBroadcasting::axis);
    constexpr auto stretch = attr("broadcast", &BeforeBroadcasting::broadcast).flag();
    if constexpr (sizeof...(Since) > 1) return Attributes{along, stretch, consumed_inputs};
    else return Attributes{along, stretch};
  }();

  constexpr void infer(Infer& i) const {
    const Dims &a = i.dims(0), &b = i.dims(1);
    i.out(0, a);
    if (!a.ranked() || !b.ranked()) return;
    if (!broadcast) {
      // ONNX's Softplus relies on scalars (v1.13.1/node/test_softplus_expanded).
      i.for_runs([&] {
        if (b.rank() > 0) i.unify(a, b, "extents without broadcast");
      });
      return;
    }
    const int64_t first = first_axis(a.rank(), b.rank());
    if (first < 0 || first > a.rank() - b.rank())
      return i.fail("B ", b, " does not match the axes of A ", a, " from axis ", first);
    for (int k = 0; k < b.rank(); ++k)
      if (!b[k].is(1)) i.unify(a[first + k], b[k], "extents");
  }
  template <class A, class B, class C>
    requires requires(const Op& op, A a, B b, C c) { op.compute(a, b, c); }
  void compute(A a, B b, C c) const {
    Extents extents(b.extents());
    for (int64_t k = axes_after(a.rank(), b.rank()); k > 0; --k) extents.push_back(1);
    Op{}.compute(a, under(b, extents), c);
  }
  /// Today's broadcasting aligns B by its last axis: trailing extents of 1 move it to `axis`.
  template <class L>
  int32_t renew(L& to) const {
    const Dims &a = to.dims(0), &b = to.dims(1);
    if (!a.ranked() || !b.ranked()) return -1;
    const int64_t first = first_axis(a.rank(), b.rank());
    for (int k = 0; k < b.rank(); ++k)
      if (!b[k].same(a[first + k]) && !(broadcast && b[k].is(1)))
        return -1;  // whether they fit is known only at run time
    const int64_t more = axes_after(a.rank(), b.rank());
    if (more == 0) return to.add(Op{}, {to.input(0), to.input(1)});
    Tensor<int64_t> axes(Extents{more});
    for (int64_t k = 0; k < more; ++k) axes[k] = b.rank() + k;
    return to.add(Op{}, {to.input(0), to.add(InsertAxes{}, {to.input(1), to.constant(axes)})});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  template <class T>
  static TensorView<T> under(TensorView<T> v, const Extents& extents) {
    return {v.data(), extents};
  }
  static AnyView under(AnyView v, const Extents& extents) { return {v.dtype(), v.data(), extents}; }

  constexpr int64_t first_axis(int rank_a, int rank_b) const {
    if (!axis || !broadcast) return rank_a - rank_b;
    return *axis < 0 ? *axis + rank_a : *axis;
  }
  /// The number of A's axes that follow B's.
  constexpr int64_t axes_after(int rank_a, int rank_b) const {
    return rank_a - rank_b - first_axis(rank_a, rank_b);
  }
};

}  // namespace tenon::TENON_ABI::op
