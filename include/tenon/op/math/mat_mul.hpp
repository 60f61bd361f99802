// MatMul: matrix product like numpy.matmul.   onnx.ai/onnx/operators/onnx__MatMul.html
#pragma once

#include "tenon/op/families/matmul.hpp"
#include "tenon/op/families/wide.hpp"

namespace tenon::TENON_ABI::op {

/// Y (batch..., M, N) = A (batch..., M, K) B (batch..., K, N). Batches broadcast; a vector is a row on the
/// left, a column on the right, and leaves no axis. Integers wrap. op::MatMul{}(x, w) of (5,2,3) and (3,4)
/// gives (5,2,4).
struct MatMul {
  static constexpr Spec spec{
      .name = "MatMul",
      .since = {1, 9, 13},
      .inputs = {{"A", "T"}, {"B", "T"}},
      .outputs = {{"Y", "T"}},
      .types = {{"T", {{1, types::floats}, {9, types::wide_numeric}, {13, types::wide_numeric_bf16}}}}};

  constexpr void infer(Infer& i) const { i.out(0, infer_matmul(i, i.dims(0), i.dims(1))); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> y) const {
    if (y.empty()) return;
    const MatMulPlan plan(a.extents(), b.extents());
    Scratch scratch;
    kernels::GemmArgs<compute_t<T>> args;
    args.m = plan.m;
    args.n = plan.n;
    args.k = plan.k;
    args.a = widen(scratch, a.data(), a.size());
    args.a_row = plan.k;
    args.b = widen(scratch, b.data(), b.size());
    args.b_row = plan.n;
    args.c = wide_result(scratch, y.data(), y.size());
    args.c_row = plan.n;
    args.batch = plan.batch();
    args.parts = parts_of<T>;
    kernels::gemm(args);
    narrow(args.c, y.data(), y.size());
  }
  template <class L>
  void loops(L& l) const {
    add_matmul_loops(l);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::MatMul)
