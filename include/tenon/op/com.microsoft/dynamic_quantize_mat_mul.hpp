// DynamicQuantizeMatMul: matrix product of floats, quantised as the run needs, and bytes.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.DynamicQuantizeMatMul
#pragma once

#include "tenon/op/families/integer_product_body.hpp"
#include "tenon/op/quantization/dynamic_quantize_linear.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = A' (B - b_zero_point) * b_scale + bias, where A' is A by DynamicQuantizeLinear; b_scale and
/// b_zero_point are one number or one for each column of B.
/// op::com_microsoft::DynamicQuantizeMatMul{}(a, b, 0.5f) of (2,3) and (3,4) gives (2,4).
struct DynamicQuantizeMatMul {
  static constexpr Spec spec{.name = "DynamicQuantizeMatMul",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"A", "T1"},
                                        {"B", "T2"},
                                        {"b_scale", "T1"},
                                        {"b_zero_point", "T2", optional},
                                        {"bias", "T1", optional}},
                             .outputs = {{"Y", "T1"}},
                             .types = {{"T1", types::float32}, {"T2", types::int8 | types::uint8}}};

  constexpr void infer(Infer& i) const {
    const Dims y = infer_matmul(i, i.dims(0), i.dims(1));
    for (int k : {2, 3}) MatMulInteger::check_zeros(i, k, i.dims(1), false);
    if (y.ranked() && i.dims(2).rank() > y.rank())
      return i.fail(i.name(2), ": ", i.dims(2), " has more axes than ", y);
    function_body::check_column_bias(i, 4, y);
    i.out(0, y);
  }
  template <class L>
  int32_t lower(L& to) const {
    const std::vector<int32_t> a = to.add(DynamicQuantizeLinear{}, {to.input(0)}, 3);
    return function_body::scaled_product(to, {.a = a[0],
                                              .b = to.input(1),
                                              .a_zero = a[2],
                                              .b_zero = to.input(3),
                                              .a_scale = a[1],
                                              .b_scale = to.input(2),
                                              .bias = to.input(4)});
  }
  /// Over columns: the scale of each number of A depends on all of A.
  template <class L>
  void loops(L& l) const {
    if (l.dims(0).rank() > 1 && l.dims(1).rank() > 1)
      add_matmul_loops(l, {.more = {2, 3, 4}, .independent = false, .sums = false});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::DynamicQuantizeMatMul)
