// Unique: the distinct elements of a vector.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.Unique
#pragma once

#include "tenon/kernels/move/gather.hpp"
#include "tenon/kernels/unique.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// y holds each element of x (N) once, in x's order. idx tells where in y each element of x is, counts how
/// often each of y occurs in x. No NaN equals another one, unlike in ONNX's operator.
/// op::com_microsoft::Unique{}(x) of (3,1,3) gives (3,1), (0,1,0) and (2,1).
struct Unique {
  static constexpr Spec spec{.name = "Unique",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"x", "T"}},
                             .outputs = {{"y", "T"}, {"idx", "tensor(int64)"}, {"counts", "tensor(int64)"}},
                             .types = {{"T", types::all}}};
  static constexpr Attributes<> attributes{};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank(0, 1)) return;
    i.out(0, Dims::of_rank(1));
    i.out(1, Dims{i.dims(0).count()});
    i.out(2, Dims::of_rank(1));
  }
  std::tuple<Value, Tensor<int64_t>, Tensor<int64_t>> compute(Context& c, AnyView x) const {
    const int64_t n = x.size();
    Scratch scratch;
    int64_t *first = scratch.take<int64_t>(n), *number = scratch.take<int64_t>(n);
    auto idx = Tensor<int64_t>::uninitialized({{n}}, c.allocator());
    const int64_t groups = kernels::unique(
        x.dtype(), x.data(), 1, n, 1, kernels::GroupOrder::first_and_each_nan, first, idx.data(), number);
    AnyTensor y = AnyTensor::uninitialized(x.dtype(), Extents{groups}, c.allocator());
    kernels::gather(x.dtype(), y.out().data(), x.data(), first, groups, 1, n, 1);
    auto counts = Tensor<int64_t>::uninitialized({{groups}}, c.allocator());
    std::copy_n(number, groups, counts.data());
    return {std::move(y), std::move(idx), std::move(counts)};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::Unique)
