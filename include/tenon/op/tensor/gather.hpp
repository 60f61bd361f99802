// Gather: slices of an axis by their indices.   onnx.ai/onnx/operators/onnx__Gather.html
#pragma once

#include "tenon/kernels/move/gather.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The result has data's extents with indices' extents in place of `axis`. Indices below 0 count from the
/// end. op::Gather{.axis = 1}(x, indices) of (2,3) and (5) gives (2,5).
struct Gather {
  int64_t axis = 0;

  static constexpr Spec spec{.name = "Gather",
                             .since = {1, 11, 13},
                             .inputs = {{"data", "T"}, {.name = "indices", .type = "Tind", .looks_up = 0}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4, {"Tind", types::indices}},
                             .elements = Elements::choice,
                             .memory = Memory::moved};
  static constexpr Attributes attributes{attr("axis", &Gather::axis)};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &indices = i.dims(1);
    if (!x.ranked()) return;
    const int along = i.axis(axis, x.rank());
    if (i.failed() || !indices.ranked()) return;
    Dims r = i.of_rank(x.rank() - 1 + indices.rank());
    for (int d = 0; d < r.rank(); ++d) {
      const int after = d - along - indices.rank();
      r[d] = d < along ? x[d] : after < 0 ? indices[d - along] : x[along + 1 + after];
    }
    i.out(0, r);
    if (x.rank() != 1 || !i.propagates(1) || !i.propagates(0)) return;
    const int64_t extent = i.element_count(0);
    propagate(i, 0, 0, i.element_count(1), [&](int64_t k) {
      const Dim index = i.propagated(1, k);
      return !index.known() ? -1 : index.below(0) ? index.value() + extent : index.value();
    });
  }
  /// Error{out_of_range} for an index outside of [-extent, extent).
  void compute(AnyView data, AnyView indices, AnyOut output) const {
    const int along = resolve_axis(axis, data.rank());
    check_indices(spec.name, indices, data.extent(along));
    if (output.empty()) return;
    const AxisSplit s = split_at(data.extents(), along);
    with_indices(indices, [&](const auto* p) {
      kernels::gather(data.dtype(), output.data(), data.data(), p, indices.size(), s.outer, s.extent,
                      s.inner);
    });
  }
  template <class L>
  void loops(L& l) const {
    const int rank = l.dims(0).rank(), indices = l.dims(1).rank();
    if (!l.dims(0).ranked() || !l.dims(1).ranked()) return;
    const int along = resolve_axis(axis, rank);
    for (int d = 0; d < rank; ++d)
      if (d != along) l.over({{0, d}}, {{0, d < along ? d : d + indices - 1}});
    for (int d = 0; d < indices; ++d) l.over({{1, d}}, {{0, along + d}});
    if (types::numeric_bf16.contains(l.in(0).type)) l.sum({{0, along}}).lookup = {1, along};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Gather)
