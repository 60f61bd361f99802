// ScatterND: slices replaced by updates, or combined.   onnx.ai/onnx/operators/onnx__ScatterND.html
#pragma once

#include "tenon/kernels/move/scatter.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::op {

namespace scatter_nd_detail {

/// The reduction that a name stands for.
constexpr Opt<kernels::ScatterOp> scatter_op(std::string_view name) {
  using enum kernels::ScatterOp;
  if (name == "none") return none;
  if (name == "add") return add;
  if (name == "mul") return mul;
  if (name == "max") return max;
  if (name == "min") return min;
  return {};
}

constexpr void infer_scatter_nd(Infer& i, const Str& reduction, bool order) {
  const Dims &x = i.dims(0), &indices = i.dims(1), &updates = i.dims(2);
  i.out(0, x);
  const bool known = order ? i.expect_choice("reduction", reduction, {"none", "add", "mul", "max", "min"})
                           : i.expect_choice("reduction", reduction, {"none", "add", "mul"});
  if (!known) return;
  const auto op = scatter_op(reduction);
  if (*op != kernels::ScatterOp::none && i.dtype(0) == DType::string)
    return i.fail("strings have no '", reduction, "'");
  if ((*op == kernels::ScatterOp::max || *op == kernels::ScatterOp::min) && is_complex(i.dtype(0)))
    return i.fail("complex numbers have no '", reduction, "'");
  if (x.ranked() && x.rank() == 0) return i.fail("data has no axes");
  if (!indices.ranked()) return;
  if (indices.rank() == 0) return i.fail("indices have no axes");
  const int outer = indices.rank() - 1;
  if (!indices[outer].known() || !x.ranked()) return;
  const int64_t depth = indices[outer].value();
  if (depth > x.rank()) return i.fail("indices ", indices, " name ", depth, " coordinates of data ", x);
  if (!updates.ranked()) return;
  const int inner = x.rank() - static_cast<int>(depth);
  if (updates.rank() != outer + inner)
    return i.fail("updates have rank ", updates.rank(), ", not ", outer + inner);
  for (int d = 0; d < outer; ++d) i.unify(indices[d], updates[d], "extents of indices and updates");
  for (int d = 0; d < inner; ++d)
    i.unify(x[static_cast<int>(depth) + d], updates[outer + d], "extents of data and updates");
}

inline void scatter_nd(std::string_view name, const Str& reduction, AnyView x,
                       TensorView<const int64_t> indices, AnyView updates, AnyOut y) {
  const int depth = static_cast<int>(indices.extent(-1));
  for (int64_t k = 0; k < indices.size(); ++k) {
    const int64_t extent = x.extent(static_cast<int>(k % depth));
    if (indices[k] < -extent || indices[k] >= extent)
      raise(ErrorCode::out_of_range, name, "index ", indices[k], " outside of [", -extent, ", ", extent - 1,
            "] on axis ", k % depth);
  }
  copy_elements(x, y);
  if (updates.empty() || y.empty()) return;
  const Extents strides = dense_strides(x.extents());
  const kernels::ScatterPlan plan{.indices = indices.data(),
                                  .count = product(indices.extents().first(indices.extents().size() - 1)),
                                  .depth = depth,
                                  .extents = x.extents().data(),
                                  .strides = strides.data(),
                                  .inner = depth == 0 ? x.size() : strides[depth - 1]};
  const kernels::ScatterOp op = *scatter_op(reduction);
  if (op == kernels::ScatterOp::none) return kernels::scatter_nd(y.dtype(), y.data(), updates.data(), plan);
  dispatch<float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
           uint64_t, bool, complex64, complex128>(y.dtype(), [&]<class T>() {
    kernels::scatter_nd(op, static_cast<T*>(y.data()), static_cast<const T*>(updates.data()), plan);
  });
}

}  // namespace scatter_nd_detail

/// indices (…, k) name slices of data by their first k coordinates, from the end where below 0; updates (…,
/// slice) go there in row-major order: of two to one place the second replaces the first, or is reduced after
/// it.
struct ScatterND {
  Str reduction = "none";  ///< none, add, mul; since 18 max, min

  static constexpr Spec spec{.name = "ScatterND",
                             .since = {11, 13, 16, 18},
                             .inputs = {{"data", "T"}, {"indices", "tensor(int64)"}, {"updates", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4}};
  static constexpr Attributes attributes{attr("reduction", &ScatterND::reduction).since(16)};

  constexpr void infer(Infer& i) const { scatter_nd_detail::infer_scatter_nd(i, reduction, i.version() >= 18); }
  /// Error{out_of_range} for an index outside of [-extent, extent).
  void compute(AnyView data, TensorView<const int64_t> indices, AnyView updates, AnyOut output) const {
    scatter_nd_detail::scatter_nd(spec.name, reduction, data, indices, updates, output);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
