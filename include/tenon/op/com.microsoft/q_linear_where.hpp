// QLinearWhere: a choice between quantised tensors.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QLinearWhere
#pragma once

#include "tenon/op/families/quantized_body.hpp"
#include "tenon/op/tensor/where.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Z = quantised(condition ? X : Y), of the numbers that the quantised X and Y stand for, with numpy's
/// broadcasting. op::com_microsoft::QLinearWhere{}(c, x, 0.5f, uint8_t{0}, y, 0.5f, uint8_t{0}, 1.0f,
/// uint8_t{0}) of (2,1), (2,3) and (3) gives (2,3).
struct QLinearWhere {
  static constexpr Spec spec{
      .name = "QLinearWhere",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"condition", "B"},
                 {"X", "T"},
                 {"x_scale", "TF"},
                 {"x_zero_point", "T"},
                 {"Y", "T"},
                 {"y_scale", "TF"},
                 {"y_zero_point", "T"},
                 {"z_scale", "TF"},
                 {"z_zero_point", "T"}},
      .outputs = {{"Z", "T"}},
      .types = {{"T", signed_or_not_bytes}, {"B", types::boolean}, {"TF", types::float32}}};

  constexpr void infer(Infer& i) const {
    if (expect_ones(i, {2, 3, 5, 6, 7, 8}))
      i.out(0, i.broadcast(i.dims(0), i.broadcast(i.dims(1), i.dims(4))));
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    const int32_t z = to.add(Where{}, {to.input(0), dequantized(to, 1, 2, 3), dequantized(to, 4, 5, 6)});
    return quantized(to, z, 7, 8, to.in(1).type.element);
  }
  template <class L>
  void loops(L& l) const {
    l.each_stretched_axis();
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QLinearWhere)
