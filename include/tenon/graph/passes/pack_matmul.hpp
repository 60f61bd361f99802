// pack_matmul: a MatMul or Gemm whose right side is a constant matrix, with the Relu or Clip behind it, becomes one node
// whose matrix is laid out for the kernel.
#pragma once

#include "tenon/graph/passes/packed.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"

namespace tenon::passes {

/// Y (..., M, N) = min(max(alpha A' B + beta C, lo), hi), where A' is A (..., M, K) or with trans_a its transpose, and C
/// stretches to a matrix Y, or is left out.
struct PackedMatMul {
  float alpha = 1, beta = 1;
  bool trans_a = false;
  Bounds bounds{};
  DType element = DType::undefined;  ///< of A
  int64_t k = 0, n = 0;
  Storage b{};  ///< (K, N), as pack_b writes it

  static constexpr op::Spec spec{.name = "PackedMatMul",
                                 .domain = "tenon",
                                 .since = {1},
                                 .inputs = {{"A", "T"}, {"C", "T", op::optional}},
                                 .outputs = {{"Y", "T"}},
                                 .types = {{"T", types::floats_bf16}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != element) return i.fail("A is ", i.dtype(0), ", B is ", element);
    const Dims matrix{k, n};
    if (trans_a || i.has(1)) op::detail::infer_gemm(i, trans_a, false, i.dims(0), matrix, i.dims(1));
    else i.out(0, op::infer_matmul(i, i.dims(0), matrix));
  }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> c, TensorView<T> y) const {
    using W = op::wide_t<T>;
    if (y.empty()) return;
    op::WideScratch scratch;
    kernels::GemmArgs<W> args;
    args.m = y.size() / n;
    args.n = n;
    args.k = k;
    args.a = op::widen(scratch, a.data(), a.size());
    args.a_row = trans_a ? 1 : k;
    args.a_col = trans_a ? args.m : 1;
    args.packed_b = static_cast<const W*>(b.data());
    args.alpha = alpha;
    args.beta = beta;
    if (beta != 0) op::detail::set_addend(args, scratch, c);
    args.c = op::wide_result(scratch, y.data(), y.size());
    args.c_row = n;
    args.lo = static_cast<W>(bounds.lo);
    args.hi = static_cast<W>(bounds.hi);
    kernels::gemm(args);
    op::narrow(args.c, y.data(), y.size());
  }
};

inline void apply_pack_matmul(Program& program) {
  // A row or two read the matrix once, where it lies: laying it out would cost memory and gain nothing.
  constexpr int64_t few_rows = 4;
  const std::vector<int> readers = program.only_readers();
  const std::vector<Graph::Node>& nodes = program.nodes();
  std::vector<int> gone;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const Graph::Node& n = nodes[node];
    const auto* gemm = n.op.as<op::Gemm>();
    const auto* gemm_7 = n.op.as<op::Gemm_7>();
    if (!n.op.as<op::MatMul>() && !gemm && !gemm_7) continue;
    const AnyTensor* b = constant_floats(program, n.inputs[1]);
    const Dims& y = program.info(n.outputs[0]).dims;  // unranked where the operands do not fit
    if (b == nullptr || b->rank() != 2 || b->size() == 0 || !y.ranked() || y.rank() < 2) continue;
    if (const Dim rows = y.product(0, y.rank() - 1); rows.known() && rows.value() <= few_rows) continue;

    PackedMatMul packed{.element = b->dtype()};
    std::vector<ValueId> operands{n.inputs[0]};
    bool trans_b = false;
    const auto take = [&](const auto& g) {
      packed.alpha = g.alpha, packed.beta = g.beta, packed.trans_a = g.transA != 0, trans_b = g.transB != 0;
      if (n.inputs.size() > 2) operands.push_back(n.inputs[2]);
    };
    if (gemm) take(*gemm);
    if (gemm_7) take(*gemm_7);
    packed.k = b->extents()[trans_b ? 1 : 0];
    packed.n = b->extents()[trans_b ? 0 : 1];
    dispatch_wide(b->dtype(), [&]<class C>() {
      std::vector<C> own;
      kernels::GemmArgs<C> args;
      args.k = packed.k;
      args.n = packed.n;
      args.b = static_cast<const C*>(b->data());
      if (b->dtype() != dtype_of<C>) own = numbers<C>(*b), args.b = own.data();
      args.b_row = trans_b ? 1 : args.n;
      args.b_col = trans_b ? args.k : 1;
      packed.b = Storage::make<C>(kernels::packed_b_size<C>(args.k, args.n));
      kernels::pack_b(args, static_cast<C*>(packed.b.data()));
    });
    int last = static_cast<int>(node);
    if (const int next = readers[static_cast<std::size_t>(n.outputs[0])]; next >= 0)
      if (const auto bounds = bounds_of(program, nodes[static_cast<std::size_t>(next)], n.outputs[0]);
          bounds && program.info(nodes[static_cast<std::size_t>(next)].outputs[0]).present()) {
        packed.bounds = *bounds;
        gone.push_back(last);
        last = next;
      }
    program.replace(last, AnyOperator::make(packed), std::move(operands));
  }
  program.remove(gone);
}

inline constexpr Pass pack_matmul{"pack_matmul", apply_pack_matmul};

}  // namespace tenon::passes
