// GatherND: slices by their first coordinates.   onnx.ai/onnx/operators/onnx__GatherND.html
#pragma once

#include "tenon/kernels/move/gather_nd.hpp"
#include "tenon/op/families/scatter.hpp"

namespace tenon::TENON_ABI::op {

/// indices (…, k) name slices of data by their first k coordinates after the `batch_dims` axes that data and
/// indices share; coordinates below 0 count from the end. op::GatherND{.batch_dims = 1}(x, indices) of
/// (2,3,4) and (2,1) gives (2,4).
struct GatherND {
  int64_t batch_dims = 0;

  static constexpr Spec spec{
      .name = "GatherND",
      .since = {11, 12, 13},
      .inputs = {{"data", "T"}, {.name = "indices", .type = "tensor(int64)", .looks_up = 0}},
      .outputs = {{"output", "T"}},
      .types = {all_tensors_ir4},
      .elements = Elements::choice};
  static constexpr Attributes attributes{attr("batch_dims", &GatherND::batch_dims).since(12)};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &indices = i.dims(1);
    if (!i.expect_at_least("batch_dims", batch_dims, 0)) return;
    if (!i.expect_rank_at_least(0, 1) || !i.expect_rank_at_least(1, 1)) return;
    if (x.ranked() && batch_dims >= x.rank()) return i.fail("batch_dims ", batch_dims, " takes all of ", x);
    if (indices.ranked() && batch_dims >= indices.rank())
      return i.fail("batch_dims ", batch_dims, " takes all of indices ", indices);
    if (!i.ranked(0, 1)) return;
    const int batch = static_cast<int>(batch_dims), outer = indices.rank() - 1;
    Dims y = indices;
    y.erase(outer);
    for (int d = 0; d < batch; ++d) y[d] = i.unify(x[d], indices[d], "extents of batches");
    const Dim depth = indices[outer];
    if (!i.expect_at_least("coordinates in indices", depth, 1) || !depth.known()) return;
    if (depth.value() > x.rank() - batch)
      return i.fail("indices ", indices, " name ", depth, " coordinates of data ", x);
    const int first = batch + static_cast<int>(depth.value());
    if (outer + x.rank() - first > max_rank) return i.fail("the result has a rank above ", max_rank);
    for (int d = first; d < x.rank(); ++d) y.push_back(x[d]);
    i.out(0, y);
  }
  /// Error{out_of_range} for an index outside of [-extent, extent).
  void compute(AnyView data, TensorView<const int64_t> indices, AnyOut output) const {
    if (output.empty()) return;
    const int batch = static_cast<int>(batch_dims), depth = static_cast<int>(indices.extent(-1));
    check_coordinates(spec.name, indices, data.extents().subspan(static_cast<std::size_t>(batch)), batch);
    const Extents strides = dense_strides(data.extents());
    const int64_t count = indices.size() / depth;
    const int64_t batches = extent_product(indices.extents().first(static_cast<std::size_t>(batch)));
    const kernels::ScatterPlan plan{.indices = indices.data(),
                                    .count = count,
                                    .depth = depth,
                                    .extents = data.extents().data() + batch,
                                    .strides = strides.data() + batch,
                                    .inner = strides[batch + depth - 1]};
    kernels::gather_nd(data.dtype(), output.data(), data.data(), plan, count / batches,
                       batch == 0 ? 0 : strides[batch - 1]);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::GatherND)
