// IsInf: Y = whether X is infinite.   onnx.ai/onnx/operators/onnx__IsInf.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = whether X is an infinity of a sign that counts. Most float8 types have no infinity.
/// op::IsInf{.detect_negative = 0}(-INFINITY) gives false.
struct IsInf {
  int64_t detect_negative = 1;
  int64_t detect_positive = 1;

  static constexpr Spec spec{
      .name = "IsInf",
      .since = {10, 20},
      .inputs = {{"X", "T1"}},
      .outputs = {{"Y", "T2"}},
      .types = {{"T1", {{10, types::float32 | types::float64}, {20, types::floats_bf16 | types::float8s}}},
                {"T2", types::boolean}},
      .elements = Elements::function};
  static constexpr Attributes attributes{attr("detect_negative", &IsInf::detect_negative),
                                         attr("detect_positive", &IsInf::detect_positive)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<bool> y) const {
    using Limits = std::numeric_limits<T>;
    const bool up = detect_positive != 0, down = detect_negative != 0;
    if (!Limits::has_infinity || (!up && !down)) return void(std::fill(y.begin(), y.end(), false));
    constexpr uint64_t high = float_bits(Limits::infinity()),
                       sign = float_bits(T(-1.0f)) & ~float_bits(T(1.0f));
    const uint64_t infinity = up ? high : high | sign;
    kernels::within(x.data(), y.data(), x.size(), ~(up && down ? sign : 0), infinity, infinity);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::IsInf)
