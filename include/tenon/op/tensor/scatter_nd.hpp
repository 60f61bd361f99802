// ScatterND: slices replaced by updates, or combined.   onnx.ai/onnx/operators/onnx__ScatterND.html
#pragma once

#include "tenon/op/families/scatter.hpp"

namespace tenon::TENON_ABI::op {

/// indices (…, k) name slices of data by their first k coordinates; coordinates below 0 count from the end.
/// updates (…, slice) go there in row-major order: a later one for the same place replaces an earlier one, or
/// is reduced after it. op::ScatterND{.reduction = "add"}(x, indices, updates) of (4,5), (2,1) and (2,5)
/// gives (4,5).
struct ScatterND {
  Str reduction = "none";  ///< none, add, mul; since 18 max, min

  static constexpr Spec spec{.name = "ScatterND",
                             .since = {11, 13, 16, 18},
                             .inputs = {{"data", "T"},
                                        {.name = "indices", .type = "tensor(int64)", .looks_up = 0},
                                        {"updates", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4}};
  static constexpr Attributes attributes{attr("reduction", &ScatterND::reduction).since(16)};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &indices = i.dims(1), &updates = i.dims(2);
    i.out(0, x);
    if (!check_reduction(i, reduction)) return;
    if (!i.expect_rank_at_least(0, 1) || !i.expect_rank_at_least(1, 1) || !i.ranked(0, 1)) return;
    const int outer = indices.rank() - 1;
    if (!indices[outer].known()) return;
    const int64_t depth = indices[outer].value();
    if (depth > x.rank()) return i.fail("indices ", indices, " name ", depth, " coordinates of data ", x);
    const int inner = x.rank() - static_cast<int>(depth);
    i.for_runs([&] {
      if (!i.expect_rank(2, outer + inner) || !updates.ranked()) return;
      for (int d = 0; d < outer; ++d) i.unify(indices[d], updates[d], "extents of indices and updates");
      for (int d = 0; d < inner; ++d)
        i.unify(x[depth + d], updates[outer + d], "extents of data and updates");
    });
  }
  /// Error{out_of_range} for an index outside of [-extent, extent).
  void compute(AnyView data, TensorView<const int64_t> indices, AnyView updates, AnyOut output) const {
    const int depth = static_cast<int>(indices.extent(-1));
    check_coordinates(spec.name, indices, data.extents());
    copy_elements(data, output);
    if (updates.empty() || output.empty()) return;
    const Extents strides = dense_strides(data.extents());
    const kernels::ScatterPlan plan{
        .indices = indices.data(),
        .count = extent_product(indices.extents().first(indices.extents().size() - 1)),
        .depth = depth,
        .extents = data.extents().data(),
        .strides = strides.data(),
        .inner = depth == 0 ? data.size() : strides[depth - 1]};
    const kernels::ScatterOp op = scatter_op(reduction);
    if (op == kernels::ScatterOp::none)
      return kernels::scatter_nd(output.dtype(), output.data(), updates.data(), plan);
    dispatch_reduced(output.dtype(), [&]<class T>() {
      kernels::scatter_nd(op, static_cast<T*>(output.data()), static_cast<const T*>(updates.data()), plan);
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ScatterND)
