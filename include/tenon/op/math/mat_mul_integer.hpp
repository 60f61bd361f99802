// MatMulInteger: matrix product of 8-bit integers, in 32 bits.
// onnx.ai/onnx/operators/onnx__MatMulInteger.html
#pragma once

#include "tenon/kernels/gemm/quant_gemm.hpp"
#include "tenon/op/families/matmul.hpp"

namespace tenon::TENON_ABI::op {

/// Y = (A - a_zero_point) (B - b_zero_point) in int32, which wraps, with the extents of MatMul. A zero point
/// is one number, one for each row of A (column of B), or with A's (B's) rank one for each row (column) of
/// each matrix. op::MatMulInteger{}(a, b, uint8_t{128}) of (2,3) and (3,4) gives (2,4).
struct MatMulInteger {
  static constexpr Spec spec{
      .name = "MatMulInteger",
      .since = {10},
      .inputs = {{"A", "T1"},
                 {"B", "T2"},
                 {"a_zero_point", "T1", optional},
                 {"b_zero_point", "T2", optional}},
      .outputs = {{"Y", "T3"}},
      .types = {
          {"T1", types::int8 | types::uint8}, {"T2", types::int8 | types::uint8}, {"T3", types::int32}}};

  constexpr void infer(Infer& i) const {
    check_zeros(i, 2, i.dims(0), true);
    check_zeros(i, 3, i.dims(1), false);
    i.out(0, infer_matmul(i, i.dims(0), i.dims(1)));
  }
  void compute(AnyView a, AnyView b, AnyView a_zero, AnyView b_zero, TensorView<int32_t> y) const {
    if (y.empty()) return;
    const MatMulPlan plan(a.extents(), b.extents());
    const int64_t rows = a.rank() > 1 ? a.extent(-2) : 1;
    kernels::QuantGemmArgs args;
    args.a = matrix(a, a_zero, plan.k);
    args.b = matrix(b, b_zero, plan.n);
    args.n = plan.n;
    args.k = plan.k;
    args.c = y.data();
    args.c_row = plan.n;
    const bool rows_stacked = plan.m != rows && args.a.zero_step != 0;
    if (!rows_stacked && a_zero.size() <= rows && b_zero.size() <= plan.n) {
      args.m = plan.m;
      args.batch = plan.batch();
      return kernels::quant_gemm(args);
    }
    // One product at a time, each with zero points of its own.
    args.m = rows;
    const auto at_matrix = [](AnyView v, int64_t elements) {
      return static_cast<const uint8_t*>(v.data()) + elements;
    };
    for_each_product(a.extents(), b.extents(), [&](int64_t k, int64_t ia, int64_t ib) {
      args.a.data = at_matrix(a, ia * rows * plan.k);
      args.b.data = at_matrix(b, ib * plan.k * plan.n);
      if (a_zero.size() > rows) args.a.zero = at_matrix(a_zero, ia * rows);
      if (b_zero.size() > plan.n) args.b.zero = at_matrix(b_zero, ib * plan.n);
      args.c = y.data() + k * rows * plan.n;
      kernels::quant_gemm(args);
    });
  }
  /// Zero points of rows lie along A, not along Y.
  template <class L>
  void loops(L& l) const {
    const bool one = !l.has(2) || l.dims(2).count().is(1);
    if (l.dims(0).rank() > 1 && l.dims(1).rank() > 1) add_matmul_loops(l, {.more = {3}, .independent = one});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

  static kernels::QuantMatrix matrix(AnyView v, AnyView zero, int64_t row) {
    return {.data = v.data(),
            .row = row,
            .is_signed = v.dtype() == DType::int8,
            .zero = zero.data(),
            .zero_step = zero.size() > 1};
  }
  /// Refuses zero points that are neither one number, nor one for each row (column) of x or of each of its
  /// matrices.
  static constexpr void check_zeros(Infer& i, int input, const Dims& x, bool of_rows) {
    const Dims& z = i.dims(input);
    if (!i.has(input) || !z.ranked() || !x.ranked() || z.count().is(1)) return;
    const int axis = of_rows ? x.rank() - 2 : x.rank() - 1;
    bool fits = x.rank() > 1 && (z.rank() == 1 || z.rank() == x.rank());
    if (fits && z.rank() == 1) fits = !z[0].differs(x[axis]);
    else if (fits)
      for (int k = 0; k < x.rank(); ++k) fits &= !z[k].differs(k == axis || k < x.rank() - 2 ? x[k] : Dim(1));
    if (!fits) i.fail("zero points ", z, " do not fit ", x);
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::MatMulInteger)
