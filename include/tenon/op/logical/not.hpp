// Not: Y = !X.   onnx.ai/onnx/operators/onnx__Not.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = !X. op::Not{}(true) gives false.
struct Not {
  static constexpr Spec spec{.name = "Not",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::boolean}},
                             .elements = Elements::function};

  constexpr void infer(Infer& i) const {
    infer_unary(i, [](Dim x) { return Dim(1) - x; });
  }
  void compute(TensorView<const bool> x, TensorView<bool> y) const {
    constexpr bool all = true;
    auto plan = kernels::BroadcastPlan<2>::flat(x.size());
    plan.strides[1][0] = 0;
    kernels::logic(kernels::LogicOp::logical_xor, x.data(), &all, y.data(), plan);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Not)
