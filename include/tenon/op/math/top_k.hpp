// TopK: the greatest or least elements along an axis, and where they are.
// onnx.ai/onnx/operators/onnx__TopK.html
#pragma once

#include "tenon/kernels/top_k.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The `largest` (or least) K elements along `axis`, always in order, even if `sorted` does not request it;
/// among equals the one of lower index goes first. NaN counts as greater than every number.
/// op::TopK{.axis = 0}(x, constant<int64_t, 2>) of (1,3,2) gives (3,2) and (1,2).
struct TopK {
  int64_t axis = -1;
  int64_t largest = 1;
  int64_t sorted = 1;

  static constexpr Spec spec{
      .name = "TopK",
      .since = {1, 10, 11, 24},
      .inputs = {{"X", "T"}, {.name = "K", .type = "tensor(int64)", .since = 10}},
      .outputs = {{"Values", "T"}, {"Indices", "I"}},
      .types = {{"T", {{1, types::floats}, {11, types::numeric}, {24, types::numeric_bf16}}},
                {"I", types::int64}},
      .elements = Elements::choice};
  static constexpr Attributes attributes{
      attr("axis", &TopK::axis), attr_as_input<int64_t>("k", 1).required().until(9),
      attr("largest", &TopK::largest).flag().since(11), attr("sorted", &TopK::sorted).flag().since(11)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_one(1)) return;
    const Dim k = i.item(1);
    if (!i.expect_at_least("K", k, 0) || !i.ranked(0)) return;
    i.for_files([&] {
      if (i.version() < 10) i.expect_at_least("k", k, 1);
      else if (k.known()) i.expect_rank(1, 1);
    });
    Dims r = i.dims(0);
    const int a = i.axis(axis, r.rank());
    if (i.failed()) return;
    if (r[a].below(k)) return i.fail("K ", k, " is above the extent ", r[a]);
    r[a] = k;
    i.out(0, r);
    i.out(1, r);
  }
  void compute(AnyView x, TensorView<const int64_t>, AnyOut values, TensorView<int64_t> indices) const {
    if (x.empty()) return;  // other extents may overflow
    const int a = resolve_axis(axis, x.rank());
    const auto [outer, extent, inner] = split_at(x.extents(), a);
    const int64_t k = values ? values.extent(a) : indices ? indices.extent(a) : 0;
    kernels::top_k(x.dtype(), x.data(), outer, extent, inner, k, largest != 0, values.data(), indices.data());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::TopK)
