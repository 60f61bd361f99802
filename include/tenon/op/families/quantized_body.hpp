// Functions of quantised operators: floats between DequantizeLinear and QuantizeLinear, which fusions compute
// in integers.
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/quantization/dequantize_linear.hpp"
#include "tenon/op/quantization/quantize_linear.hpp"

namespace tenon::TENON_ABI::op::function_body {

/// The floats of operand x by the scale and the zero point that other operands are.
template <class L>
int32_t dequantized(L& to, int x, int scale, int zero) {
  return to.add(DequantizeLinear{}, {to.input(x), to.input(scale), to.input(zero)});
}

/// Bytes of type `type` by a scale and a zero point that operands are; without a zero point it is 0.
template <class L>
int32_t quantized(L& to, int32_t y, int scale, int zero, DType type) {
  const int32_t z = to.input(zero) >= 0 ? to.input(zero) : number(to, type, 0);
  return to.add(QuantizeLinear{}, {y, to.input(scale), z});
}

}  // namespace tenon::TENON_ABI::op::function_body

namespace tenon::TENON_ABI::op {

inline constexpr TypeSet signed_or_not_bytes = types::int8 | types::uint8;

/// Each of these inputs has one element, if it is present; false after a failure.
constexpr bool expect_ones(Infer& i, std::initializer_list<int> inputs) {
  for (const int k : inputs)
    if (!i.expect_one(k)) return false;
  return true;
}

}  // namespace tenon::TENON_ABI::op
