// TopK: the greatest or least elements along an axis, and where they are.
// onnx.ai/onnx/operators/onnx__TopK.html
#pragma once

#include "tenon/kernels/top_k.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::op {

namespace top_k_detail {
/// Both results have K in place of the axis.
constexpr void infer_top_k(Infer& i, int64_t axis, Dim k) {
  i.out(1).type = DType::int64;
  if (k.known() && k.value() < 0) return i.fail("K ", k, " is negative");
  if (!i.ranked(0)) return;
  Dims r = i.dims(0);
  const int a = i.axis(axis, r.rank());
  if (i.failed()) return;
  if (k.known() && r[a].known() && k.value() > r[a].value())
    return i.fail("K ", k, " is above the extent ", r[a]);
  r[a] = k;
  i.out(0, r);
  i.out(1, r);
}

inline void top_k(AnyView x, AnyOut values, TensorView<int64_t> indices, int64_t axis, bool largest) {
  const int a = resolve_axis(axis, x.rank());
  const auto [outer, extent, inner] = split_at(x.extents(), a);
  const int64_t k = values ? values.extent(a) : indices ? indices.extent(a) : 0;
  kernels::top_k(x.dtype(), x.data(), outer, extent, inner, k, largest, values.data(), indices.data());
}
}  // namespace top_k_detail

/// The `largest` (or least) K elements along `axis`, always in order, even where `sorted` does not ask for
/// it; among equals the one of lower index goes first. NaN counts as greater than every number.
struct TopK {
  int64_t axis = -1;
  int64_t largest = 1;
  int64_t sorted = 1;

  static constexpr Spec spec{
      .name = "TopK",
      .since = {1, 10, 11, 24},
      .inputs = {{"X", "T"}, {.name = "K", .type = "tensor(int64)", .since = 10}},
      .outputs = {{"Values", "T"}, {"Indices", "I"}},
      .types = {{"T", {{1, types::floats}, {11, types::numeric}, {24, types::numeric_bf16}}}, {"I", types::int64}}};
  static constexpr Attributes attributes{attr("axis", &TopK::axis), attr_as_input<int64_t>("k", 1).required().until(9),
                                         attr("largest", &TopK::largest).since(11),
                                         attr("sorted", &TopK::sorted).since(11)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_one(1)) return;
    top_k_detail::infer_top_k(i, axis, i.has_elements(1) && i.element_count(1) == 1 ? i.element(1, 0) : Dim());
  }
  void compute(AnyView x, TensorView<const int64_t>, AnyOut values, TensorView<int64_t> indices) const {
    top_k_detail::top_k(x, values, indices, axis, largest != 0);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
