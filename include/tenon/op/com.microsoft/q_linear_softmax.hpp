// QLinearSoftmax: softmax of a quantised tensor.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QLinearSoftmax
#pragma once

#include "tenon/op/families/quantized_body.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/flatten.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = quantised(Softmax(X)), of the numbers that the quantised X stands for, along `axis`; with `opset`
/// below 13, over all axes from `axis` on. op::com_microsoft::QLinearSoftmax{.opset = 13}(x, 0.5f,
/// uint8_t{0}, 0.004f, uint8_t{0}) of (2,3) gives (2,3).
struct QLinearSoftmax {
  int64_t axis = -1;
  Opt<int64_t> opset{};

  static constexpr Spec spec{.name = "QLinearSoftmax",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"},
                                        {"X_scale", "tensor(float)"},
                                        {"x_zero_point", "T", optional},
                                        {"y_scale", "tensor(float)"},
                                        {"y_zero_point", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", signed_or_not_bytes}}};
  static constexpr Attributes attributes{attr("axis", &QLinearSoftmax::axis),
                                         attr("opset", &QLinearSoftmax::opset).required()};

  constexpr void infer(Infer& i) const {
    if (!i.expect_at_least("opset", opset.value_or(0), 1)) return;
    if (!expect_ones(i, {1, 2, 3, 4})) return;
    if (i.ranked(0)) i.axis(axis, i.dims(0).rank());
    i.out(0, i.dims(0));
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    const int32_t x = dequantized(to, 0, 1, 2);
    int32_t y = -1;
    if (*opset >= 13) {
      y = to.add(Softmax{.axis = axis}, {x});
    } else {
      const int32_t rows = to.add(Softmax{.axis = 1}, {to.add(Flatten{.axis = axis}, {x})});
      y = to.add(Reshape{}, {rows, to.add(Shape{}, {x})});
    }
    return quantized(to, y, 3, 4, to.in(0).type.element);
  }
  template <class L>
  void loops(L& l) const {
    if (!l.dims(0).ranked()) return;
    const int rank = l.dims(0).rank(), along = resolve_axis(axis, rank);
    l.each_axis(0, *opset >= 13 ? rank : along, along);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QLinearSoftmax)
