// GatherElements: elements of an axis by their indices.   onnx.ai/onnx/operators/onnx__GatherElements.html
#pragma once

#include "tenon/kernels/move/gather.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::op {

/// The element at a place is that of data at the same place, but with the coordinate on `axis` taken from
/// indices, whose extents the result has: on other axes at most those of data.
struct GatherElements {
  int64_t axis = 0;

  static constexpr Spec spec{.name = "GatherElements",
                             .since = {11, 13},
                             .inputs = {{"data", "T"}, {"indices", "Tind"}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4, {"Tind", types::indices}}};
  static constexpr Attributes attributes{attr("axis", &GatherElements::axis)};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &indices = i.dims(1);
    i.out(0, indices);
    if (!x.ranked()) return;
    const int along = i.axis(axis, x.rank());
    if (!indices.ranked()) return i.out(0, Dims::of_rank(x.rank()));
    if (x.rank() != indices.rank()) return i.fail("ranks of ", x, " and indices ", indices, " differ");
    for (int d = 0; d < x.rank(); ++d)
      if (d != along && x[d].known() && indices[d].known() && indices[d].value() > x[d].value())
        return i.fail("indices ", indices, " reach beyond axis ", d, " of ", x);
  }
  /// Error{out_of_range} for an index outside of [-extent, extent).
  void compute(AnyView data, AnyView indices, AnyOut output) const {
    const int along = resolve_axis(axis, data.rank());
    check_indices(spec.name, indices, data.extent(along));
    if (output.empty()) return;
    with_indices(indices, [&](const auto* p) {
      kernels::gather_elements(data.dtype(), output.data(), data.data(), data.extents(), p, indices.extents(),
                               along);
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
