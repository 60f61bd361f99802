// ScatterElements and Scatter, its older name, share everything but the reductions.
#pragma once

#include "tenon/op/families/scatter.hpp"

namespace tenon::TENON_ABI::op {

/// The result has data's extents. updates has indices' extents, which on axes other than `axis` are at most
/// data's.
constexpr void infer_scatter_elements(Infer& i, int64_t axis) {
  const Dims& x = i.dims(0);
  i.out(0, x);
  if (!x.ranked()) return;
  const int along = i.axis(axis, x.rank());
  i.for_runs([&] {
    if (!i.expect_rank(1, x.rank()) || !i.expect_rank(2, x.rank())) return;
    const Dims u = i.unify(i.dims(1), i.dims(2), "extents of indices and updates");
    if (i.failed() || !u.ranked()) return;
    for (int d = 0; d < x.rank(); ++d)
      if (d != along && x[d].below(u[d])) return i.fail("indices ", u, " reach beyond axis ", d, " of ", x);
  });
}

/// output = data with the updates. Error{out_of_range} for an index outside of [-extent, extent).
inline void scatter_elements(std::string_view name, kernels::ScatterOp op, int64_t axis, AnyView data,
                             AnyView indices, AnyView updates, AnyOut output) {
  const int along = resolve_axis(axis, data.rank());
  check_indices(name, indices, data.extent(along));
  copy_elements(data, output);
  if (updates.empty() || output.empty()) return;
  with_indices(indices, [&](const auto* p) {
    if (op == kernels::ScatterOp::none)
      return kernels::scatter_elements(output.dtype(), output.data(), data.extents(), p, updates.data(),
                                       updates.extents(), along);
    dispatch_reduced(output.dtype(), [&]<class T>() {
      kernels::scatter_elements(op, static_cast<T*>(output.data()), data.extents(), p,
                                static_cast<const T*>(updates.data()), updates.extents(), along);
    });
  });
}

}  // namespace tenon::TENON_ABI::op
