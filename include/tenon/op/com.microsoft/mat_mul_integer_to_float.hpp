// MatMulIntegerToFloat: matrix product of quantised tensors, as floats.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulIntegerToFloat
#pragma once

#include "tenon/op/families/integer_product_body.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = (A - a_zero_point) (B - b_zero_point) * a_scale * b_scale + bias; B's scale and zero point are one
/// number or one for each column.
/// op::com_microsoft::MatMulIntegerToFloat{}(a, b, 0.5f, 0.5f) of (2,3) and (3,4) gives (2,4).
struct MatMulIntegerToFloat {
  static constexpr Spec spec{
      .name = "MatMulIntegerToFloat",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"A", "T1"},
                 {"B", "T2"},
                 {"a_scale", "T3"},
                 {"b_scale", "T3"},
                 {"a_zero_point", "T1", optional},
                 {"b_zero_point", "T2", optional},
                 {"bias", "T3", optional}},
      .outputs = {{"Y", "T3"}},
      .types = {
          {"T3", types::float32}, {"T1", types::int8 | types::uint8}, {"T2", types::int8 | types::uint8}}};

  constexpr void infer(Infer& i) const {
    const Dims y = infer_matmul(i, i.dims(0), i.dims(1));
    if (!i.expect_one(2) || !i.expect_one(4)) return;
    for (int k : {3, 5}) MatMulInteger::check_zeros(i, k, i.dims(1), false);
    for (int k : {2, 3})
      if (y.ranked() && i.dims(k).rank() > y.rank())
        return i.fail(i.name(k), ": ", i.dims(k), " has more axes than ", y);
    function_body::check_column_bias(i, 6, y);
    i.out(0, y);
  }
  template <class L>
  int32_t lower(L& to) const {
    return function_body::scaled_product(to, {.a = to.input(0),
                                              .b = to.input(1),
                                              .a_zero = to.input(4),
                                              .b_zero = to.input(5),
                                              .a_scale = to.input(2),
                                              .b_scale = to.input(3),
                                              .bias = to.input(6)});
  }
  template <class L>
  void loops(L& l) const {
    if (l.dims(0).rank() > 1 && l.dims(1).rank() > 1) add_matmul_loops(l, {.more = {3, 5, 6}, .once = {6}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MatMulIntegerToFloat)
