// QLinearConcat: quantised tensors joined along an axis.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QLinearConcat
#pragma once

#include "tenon/op/families/quantized_body.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = quantised(Concat(X...)), of the numbers that the quantised X stand for. `inputs` are threes of X, its
/// scale and its zero point. op::com_microsoft::QLinearConcat{.axis = 1}(1.0f, uint8_t{0}, a, 0.5f,
/// uint8_t{0}, b, 0.5f, uint8_t{0}) of (2,3) and (2,1) gives (2,4).
struct QLinearConcat {
  Opt<int64_t> axis{};

  static constexpr Spec spec{
      .name = "QLinearConcat",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"Y_scale", "TF"},
                 {"Y_zero_point", "T8"},
                 {.name = "inputs", .type = "TV", .arity = variadic, .min_arity = 3, .heterogeneous = true}},
      .outputs = {{"Y", "T8"}},
      .types = {
          {"T8", signed_or_not_bytes}, {"TF", types::float32}, {"TV", signed_or_not_bytes | types::float32}}};
  static constexpr Attributes attributes{attr("axis", &QLinearConcat::axis).required()};

  constexpr void infer(Infer& i) const {
    if (!axis) return i.fail("axis is missing");
    if (!expect_ones(i, {0, 1})) return;
    if ((i.inputs() - 2) % 3 != 0)
      return i.fail("inputs are not threes of a tensor, a scale and a zero point");
    Dims y;
    for (int k = 2; k < i.inputs(); k += 3) {
      if (!expect_ones(i, {k + 1, k + 2})) return;
      if (i.dtype(k) == DType::float32 || i.dtype(k + 1) != DType::float32 || i.dtype(k + 2) != i.dtype(k))
        return i.fail_type("inputs ", k, " to ", k + 2, ": ", i.dtype(k), ", ", i.dtype(k + 1), " and ",
                           i.dtype(k + 2), ", expected bytes, float and the bytes' type");
      const Dims& x = i.dims(k);
      if (!x.ranked()) return;
      const int a = i.axis(*axis, x.rank());
      if (i.failed()) return;
      if (k == 2) {
        y = x;
        continue;
      }
      if (x.rank() != y.rank()) return i.fail("ranks differ: ", y, " and ", x);
      for (int d = 0; d < x.rank(); ++d) y[d] = d == a ? y[d] + x[d] : i.unify(y[d], x[d], "extents");
    }
    i.out(0, y);
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    std::vector<int32_t> parts;
    for (int k = 2; to.input(k) >= 0; k += 3) parts.push_back(dequantized(to, k, k + 1, k + 2));
    return quantized(to, to.add(Concat{.axis = axis}, std::span<const int32_t>(parts)), 0, 1,
                     to.in(1).type.element);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QLinearConcat)
