// QLinearSigmoid, QLinearLeakyRelu: functions of quantised tensors.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QLinearSigmoid
#pragma once

#include "tenon/op/families/quantized_body.hpp"
#include "tenon/op/math/leaky_relu.hpp"
#include "tenon/op/math/sigmoid.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

namespace q_linear_detail {

constexpr Spec unary_spec(std::string_view name) {
  return {.name = name,
          .domain = "com.microsoft",
          .since = {1},
          .inputs = {{"X", "T"},
                     {"X_scale", "tensor(float)"},
                     {"X_zero_point", "T", optional},
                     {"Y_scale", "tensor(float)"},
                     {"Y_zero_point", "T", optional}},
          .outputs = {{"Y", "T"}},
          .types = {{"T", signed_or_not_bytes}},
          .elements = Elements::function};
}

constexpr void infer_unary(Infer& i) {
  if (expect_ones(i, {1, 2, 3, 4})) i.out(0, i.dims(0));
}

}  // namespace q_linear_detail

/// Y = quantised(1 / (1 + exp(-X))), of the numbers that the quantised X stands for.
/// op::com_microsoft::QLinearSigmoid{}(x, 0.5f, uint8_t{0}, 1.0f, uint8_t{0}) of (2,3) gives (2,3).
struct QLinearSigmoid {
  static constexpr Spec spec = q_linear_detail::unary_spec("QLinearSigmoid");

  constexpr void infer(Infer& i) const { q_linear_detail::infer_unary(i); }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    return quantized(to, to.add(Sigmoid{}, {dequantized(to, 0, 1, 2)}), 3, 4, to.in(0).type.element);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Y = quantised(X if X is not negative, else alpha X), of the numbers that the quantised X stands for.
/// op::com_microsoft::QLinearLeakyRelu{}(x, 0.5f, uint8_t{0}, 1.0f, uint8_t{0}) of (2,3) gives (2,3).
struct QLinearLeakyRelu {
  float alpha = 0.01f;

  static constexpr Spec spec = q_linear_detail::unary_spec("QLinearLeakyRelu");
  static constexpr Attributes attributes{attr("alpha", &QLinearLeakyRelu::alpha)};

  constexpr void infer(Infer& i) const { q_linear_detail::infer_unary(i); }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    return quantized(to, to.add(LeakyRelu{.alpha = alpha}, {dequantized(to, 0, 1, 2)}), 3, 4,
                     to.in(0).type.element);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QLinearSigmoid, tenon::op::com_microsoft::QLinearLeakyRelu)
