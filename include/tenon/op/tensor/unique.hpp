// Unique: the distinct elements, or slices along an axis.   onnx.ai/onnx/operators/onnx__Unique.html
#pragma once

#include "tenon/kernels/move/gather.hpp"
#include "tenon/kernels/unique.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Y holds each element of X once, or each slice along `axis`: in ascending order, or with `sorted` 0 in X's
/// order. indices tell where in X each stands first, inverse_indices where in Y each element of X is, counts
/// how often each occurs. NaNs are equal to one another and greater than all else. op::Unique{}(x) of (3,1,3)
/// gives (1,3).
struct Unique {
  Opt<int64_t> axis{};
  int64_t sorted = 1;

  static constexpr Spec spec{.name = "Unique",
                             .since = {11},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"},
                                         {"indices", "tensor(int64)", optional},
                                         {"inverse_indices", "tensor(int64)", optional},
                                         {"counts", "tensor(int64)", optional}},
                             .types = {{"T", types::all}}};
  static constexpr Attributes attributes{attr("axis", &Unique::axis), attr("sorted", &Unique::sorted).flag()};

  constexpr void infer(Infer& i) const {
    Dims y = Dims::of_rank(1);
    Dim n = i.dims(0).count();
    if (axis) {
      y = i.dims(0);
      if (y.ranked()) {
        const int a = i.axis(*axis, y.rank());
        if (i.failed()) return;
        n = y[a];
        y[a] = Dim();
      }
    }
    i.out(0, y);
    i.out(1, Dims::of_rank(1));
    i.out(2, Dims{n});
    i.out(3, Dims::of_rank(1));
  }
  std::tuple<Value, Tensor<int64_t>, Tensor<int64_t>, Tensor<int64_t>> compute(Context& c, AnyView x) const {
    const int a = axis ? resolve_axis(*axis, x.rank()) : 0;
    const auto [outer, n, inner] = axis ? split_at(x.extents(), a) : AxisSplit{1, x.size(), 1};
    Scratch scratch;
    int64_t *first = scratch.take<int64_t>(n), *counts = scratch.take<int64_t>(n);
    auto inverse = Tensor<int64_t>::uninitialized({{n}}, c.allocator());
    const int64_t groups = kernels::unique(
        x.dtype(), x.data(), outer, n, inner,
        sorted ? kernels::GroupOrder::ascending : kernels::GroupOrder::first, first, inverse.data(), counts);
    Extents extents{groups};
    if (axis) {
      extents = Extents(x.extents());
      extents[a] = groups;
    }
    AnyTensor y = AnyTensor::uninitialized(x.dtype(), extents, c.allocator());
    kernels::gather(x.dtype(), y.out().data(), x.data(), first, groups, outer, n, inner);
    const auto tensor = [&](const int64_t* values) {
      auto t = Tensor<int64_t>::uninitialized({{groups}}, c.allocator());
      std::copy_n(values, groups, t.data());
      return t;
    };
    return {std::move(y), tensor(first), std::move(inverse), tensor(counts)};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Unique)
