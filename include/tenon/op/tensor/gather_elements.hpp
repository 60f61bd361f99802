// GatherElements: elements of an axis by their indices.   onnx.ai/onnx/operators/onnx__GatherElements.html
#pragma once

#include "tenon/kernels/move/gather.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// Each element of the result is data's at the same coordinates, except on `axis`, where indices give it. The
/// result has the extents of indices, which on other axes are at most data's.
/// op::GatherElements{.axis = 1}(x, indices) of (2,3) and (2,1) gives (2,1).
struct GatherElements {
  int64_t axis = 0;

  static constexpr Spec spec{.name = "GatherElements",
                             .since = {11, 13},
                             .inputs = {{"data", "T"}, {.name = "indices", .type = "Tind", .looks_up = 0}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4, {"Tind", types::indices}},
                             .elements = Elements::choice};
  static constexpr Attributes attributes{attr("axis", &GatherElements::axis)};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &indices = i.dims(1);
    i.out(0, indices);
    if (!x.ranked()) return;
    const int along = i.axis(axis, x.rank());
    if (!indices.ranked()) return i.out(0, Dims::of_rank(x.rank()));
    i.for_runs([&] {
      if (x.rank() != indices.rank()) return i.fail("ranks of ", x, " and indices ", indices, " differ");
      for (int d = 0; d < x.rank(); ++d)
        if (d != along && x[d].below(indices[d]))
          return i.fail("indices ", indices, " reach beyond axis ", d, " of ", x);
    });
  }
  /// Error{out_of_range} for an index outside of [-extent, extent).
  void compute(AnyView data, AnyView indices, AnyOut output) const {
    const int along = resolve_axis(axis, data.rank());
    with_indices(indices, [&](const auto* p) {
      if (!kernels::gather_elements(data.dtype(), output.data(), data.data(), data.extents(), p,
                                    indices.extents(), along))
        check_indices(spec.name, indices, data.extent(along));
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::GatherElements)
