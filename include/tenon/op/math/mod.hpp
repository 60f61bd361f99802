// Mod: C = the remainder of A / B.   onnx.ai/onnx/operators/onnx__Mod.html
#pragma once

#include "tenon/op/families/elementwise.hpp"

namespace tenon::TENON_ABI::op {

/// C = A mod B with numpy's broadcasting: with the sign of B, as Python's %, or with `fmod` the sign of A, as
/// C's. Floats need fmod. Error{invalid_argument} when an integer is divided by zero. op::Mod{}(-7, 3) gives
/// 2.
struct Mod {
  int64_t fmod = 0;

  static constexpr Spec spec{.name = "Mod",
                             .since = {10, 13},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T"}},
                             .types = {{"T", {{10, types::numeric}, {13, types::numeric_bf16}}}},
                             .elements = Elements::arithmetic};
  static constexpr Attributes attributes{attr("fmod", &Mod::fmod)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("fmod", fmod, {0, 1})) return;
    i.for_runs([&] {
      if (fmod == 0 && is_float(i.dtype(0))) i.fail_type("fmod: 0, expected 1 for ", i.dtype(0));
    });
    infer_broadcast(i);
  }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> c) const {
    if constexpr (std::is_integral_v<T>)
      if (fmod == 0) return binary<kernels::BinaryOp::mod>(spec.name, a, b, c);
    binary<kernels::BinaryOp::fmod>(spec.name, a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Mod)
