// Unsqueeze: axes of extent 1 inserted.   onnx.ai/onnx/operators/onnx__Unsqueeze.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::op {

namespace unsqueeze_detail {
constexpr void infer_unsqueeze(Infer& i, const Ints& axes) {
  propagate(i);
  const Dims& x = i.dims(0);
  if (!x.ranked()) return;
  const int rank = x.rank() + axes.size();
  if (rank > max_rank) return i.fail("rank ", rank, " is above ", max_rank);
  const uint32_t named = i.axes(axes, rank);
  if (i.failed()) return;
  Dims r = Dims::of_rank(rank, 1);
  for (int d = 0, from = 0; d < rank; ++d)
    if (!(named >> d & 1)) r[d] = x[from++];
  i.out(0, r);
}
}  // namespace unsqueeze_detail

/// `axes` are those of the result, in any order.
struct Unsqueeze {
  static constexpr Spec spec{.name = "Unsqueeze",
                             .since = {1, 11, 13, 21, 23, 24, 25},
                             .inputs = {{"data", "T"}, {.name = "axes", .type = "tensor(int64)", .since = 13}},
                             .outputs = {{"expanded", "T"}},
                             .types = {all_tensors},
                             .memory = Memory::alias};
  static constexpr Attributes attributes{
      attr_as_input<std::vector<int64_t>>("axes", 1).required().until(12)};

  constexpr void infer(Infer& i) const {
    Ints axes;
    if (i.ints(1, axes)) return unsqueeze_detail::infer_unsqueeze(i, axes);
    propagate(i);
    const Dims &x = i.dims(0), &a = i.dims(1);
    if (!x.ranked() || !a.ranked()) return;
    if (a.rank() > 1) return i.fail("axes have rank ", a.rank(), ", not 1");
    const Dim rank = Dim(x.rank()) + a.count();
    if (rank.known() && rank.value() <= max_rank) i.out(0, Dims::of_rank(static_cast<int>(rank.value())));
  }
  void compute(AnyView data, TensorView<const int64_t>, AnyOut expanded) const {
    copy_elements(data, expanded);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
