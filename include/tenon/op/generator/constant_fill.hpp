// ConstantFill: one number throughout; experimental, withdrawn with opset 10.
// github.com/onnx/onnx/blob/v1.4.1/docs/Operators.md#experimental-constantfill
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/op/families/fill.hpp"

namespace tenon::TENON_ABI::op {

/// Elements of type `dtype` (ONNX's number), all equal to `value`. The extents are `shape`, or `input`'s
/// extents, or with input_as_shape its elements, the latter two followed by extra_shape.
/// op::ConstantFill{.value = 3, .shape = {2}}(none) gives (3, 3).
struct ConstantFill {
  float value = 0;
  int64_t dtype = tenon::dtype<float>;
  Ints shape{};
  Ints extra_shape{};
  int64_t input_as_shape = 0;

 private:
  static constexpr TypeSet filled = types::float32 | types::int32 | types::int64 | types::boolean;

 public:
  static constexpr Spec spec{.name = "ConstantFill",
                             .since = {1},
                             .inputs = {{"input", "T1", optional}},
                             .outputs = {{"output", "T2"}},
                             .types = {{"T1", filled}, {"T2", filled}},
                             .until = 9};
  static constexpr Attributes attributes{
      attr("value", &ConstantFill::value), attr("dtype", &ConstantFill::dtype),
      attr("shape", &ConstantFill::shape), attr("extra_shape", &ConstantFill::extra_shape),
      attr("input_as_shape", &ConstantFill::input_as_shape).flag()};

  constexpr void infer(Infer& i) const {
    i.out(0).type = i.element_type("dtype", dtype);
    infer_filled(i, shape, extra_shape, input_as_shape != 0);
  }
  void compute(AnyView, AnyOut output) const {
    alignas(16) char one[16];
    convert_n(output.dtype(), one, DType::float32, &value, 1);
    kernels::fill(output.dtype(), output.data(), one, output.size());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ConstantFill)
