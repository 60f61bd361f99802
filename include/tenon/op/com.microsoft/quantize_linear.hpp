// QuantizeLinear: quantised by a scale.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QuantizeLinear
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/quantization/quantize_linear.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// y = saturate(round(x / y_scale) + y_zero_point), like the operator of ONNX, for files of opsets without
/// its types: 16-bit and 4-bit integers, 16-bit floats, and scales along `axis`.
/// op::com_microsoft::QuantizeLinear{}(1.0f, 0.5f, uint8_t{128}) gives 130.
struct QuantizeLinear {
  int64_t axis = 1;
  int64_t block_size = 0;

  static constexpr TypeSet bytes = types::int8 | types::uint8 | types::int16 | types::uint16 | types::int4s;
  static constexpr Spec spec{.name = "QuantizeLinear",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"x", "T1"}, {"y_scale", "T1"}, {"y_zero_point", "T2", optional}},
                             .outputs = {{"y", "T2"}},
                             .types = {{"T1", types::float32 | types::float16}, {"T2", bytes}}};
  static constexpr Attributes attributes{attr("axis", &QuantizeLinear::axis),
                                         attr("block_size", &QuantizeLinear::block_size)};

  constexpr void infer(Infer& i) const {
    infer_quantization(i, axis, block_size, 1);
    i.out(0).type = i.has(2) ? i.in(2).type : Type(DType::uint8);
  }
  template <class L>
  int32_t lower(L& to) const {
    return to.add(op::QuantizeLinear{.axis = axis, .block_size = block_size},
                  {to.input(0), to.input(1), to.input(2)});
  }
  template <class L>
  void loops(L& l) const {
    add_quantization_loops(l, axis, block_size);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QuantizeLinear)
