// Where: elements of X or of Y, as a condition says.   onnx.ai/onnx/operators/onnx__Where.html
#pragma once

#include "tenon/op/families/elementwise.hpp"

namespace tenon::TENON_ABI::op {

/// output = condition ? X : Y, with numpy's broadcasting of all three. op::Where{}(true, 1.0f, 2.0f) gives 1.
struct Where {
  static constexpr Spec spec{.name = "Where",
                             .since = {9, 16},
                             .inputs = {{"condition", "B"}, {"X", "T"}, {"Y", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"B", types::boolean}, {"T", {{9, types::all}, {16, types::all_ir4}}}},
                             .elements = Elements::arithmetic};

  constexpr void infer(Infer& i) const {
    infer_broadcast(i);
    if (i.failed()) return;
    propagate_elements(i, [](auto value) {
      const Dim condition = value(0), x = value(1), y = value(2);
      return condition.known() ? (condition.is(0) ? y : x) : x.same(y) ? x : Dim();
    });
  }
  void compute(TensorView<const bool> condition, AnyView x, AnyView y, AnyOut output) const {
    const auto plan = kernels::broadcast_plan(condition.extents(), x.extents(), y.extents());
    if (x.dtype() != DType::string) {
      const auto bytes = static_cast<std::size_t>(bits_of(x.dtype()) / 8);
      return kernels::where(condition.data(), x.data(), y.data(), output.data(), bytes, plan);
    }
    const auto* a = static_cast<const std::string*>(x.data());
    const auto* b = static_cast<const std::string*>(y.data());
    auto* c = static_cast<std::string*>(output.data());
    const auto step = [&](int k) { return plan.strides[k][plan.rank - 1]; };
    kernels::for_each_run(plan, 0, plan.size, [&](int64_t at, const int64_t* offsets, int64_t count) {
      for (int64_t k = 0; k < count; ++k)
        c[at + k] =
            condition[offsets[0] + k * step(0)] ? a[offsets[1] + k * step(1)] : b[offsets[2] + k * step(2)];
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Where)
