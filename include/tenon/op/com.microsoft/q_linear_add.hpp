// QLinearAdd, QLinearMul: sums and products of quantised tensors.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QLinearAdd
#pragma once

#include "tenon/op/families/quantized_body.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mul.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

namespace q_linear_detail {

template <Str Name, class Of>
struct Binary {
  static constexpr Spec spec{.name = Name,
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"A", "T"},
                                        {"A_scale", "tensor(float)"},
                                        {"A_zero_point", "T", optional},
                                        {"B", "T"},
                                        {"B_scale", "tensor(float)"},
                                        {"B_zero_point", "T", optional},
                                        {"C_scale", "tensor(float)"},
                                        {"C_zero_point", "T", optional}},
                             .outputs = {{"C", "T"}},
                             .types = {{"T", signed_or_not_bytes}}};

  constexpr void infer(Infer& i) const {
    if (expect_ones(i, {1, 2, 4, 5, 6, 7})) i.out(0, i.broadcast(i.dims(0), i.dims(3)));
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    const int32_t y = to.add(Of{}, {dequantized(to, 0, 1, 2), dequantized(to, 3, 4, 5)});
    return quantized(to, y, 6, 7, to.in(0).type.element);
  }
  template <class L>
  void loops(L& l) const {
    l.each_stretched_axis();
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace q_linear_detail

/// C = quantised(A + B), of the numbers that the quantised A and B stand for, with numpy's broadcasting.
/// op::com_microsoft::QLinearAdd{}(a, 0.5f, uint8_t{0}, b, 0.5f, uint8_t{0}, 1.0f, uint8_t{0}) of (2,3) and
/// (3) gives (2,3).
using QLinearAdd = q_linear_detail::Binary<"QLinearAdd", Add>;
/// C = quantised(A * B), likewise.
/// op::com_microsoft::QLinearMul{}(a, 0.5f, uint8_t{0}, b, 0.5f, uint8_t{0}, 1.0f, uint8_t{0}) of (2,3) and
/// (3) gives (2,3).
using QLinearMul = q_linear_detail::Binary<"QLinearMul", Mul>;

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QLinearAdd, tenon::op::com_microsoft::QLinearMul)
