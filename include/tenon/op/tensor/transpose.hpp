// Transpose: the axes in another order.   onnx.ai/onnx/operators/onnx__Transpose.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// Axis d of the result is axis perm[d] of data; without `perm` the axes are reversed.
/// op::Transpose{.perm = {0, 2, 1}}(x) of (4,2,3) gives (4,3,2).
struct Transpose {
  Ints perm{};

  static constexpr Spec spec{.name = "Transpose",
                             .since = {1, 13, 21, 23, 24, 25},
                             .inputs = {{"data", "T"}},
                             .outputs = {{"transposed", "T"}},
                             .types = {all_tensors},
                             .elements = Elements::order};
  static constexpr Attributes attributes{attr("perm", &Transpose::perm)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (!x.ranked() && perm.empty()) return;
    Dims r = x.ranked() ? x : i.of_rank(perm.size());
    if (!r.ranked() || (!perm.empty() && !i.expect_entries("perm", perm.size(), r.rank()))) return;
    uint32_t seen = 0;
    for (int d = 0; d < r.rank(); ++d) {
      const int64_t from = source(d, r.rank());
      if (from < 0 || from >= r.rank() || (seen >> from & 1)) return i.fail("perm is no permutation: ", from);
      seen |= 1u << from;
      if (x.ranked()) r[d] = x[from];
    }
    i.out(0, r);
    if (!propagates_array(i)) return;
    const Extents steps = dense_strides(x.extents());
    Extents from = steps;
    for (int d = 0; d < x.rank(); ++d) from[d] = steps[source(d, x.rank())];
    propagate_strided(i, 0, from);
  }
  void compute(AnyView data, AnyOut transposed) const {
    Extents order;
    for (int d = 0; d < data.rank(); ++d) order.push_back(source(d, data.rank()));
    kernels::transpose(data.dtype(), transposed.data(), data.data(), data.extents(), order);
  }
  template <class L>
  void loops(L& l) const {
    const int rank = l.dims(0).rank();
    for (int d = 0; d < rank; ++d) l.over({{0, static_cast<int>(source(d, rank))}}, {{0, d}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

  /// The axis of data that becomes axis d.
  constexpr int64_t source(int d, int rank) const { return perm.empty() ? rank - 1 - d : perm[d]; }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Transpose)
