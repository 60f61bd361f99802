// pack_quantized: QLinearConv, QLinearMatMul and MatMulInteger with constant weights become nodes whose
// weights are laid out for the kernels.
#pragma once

#include "tenon/graph/passes/quantized.hpp"
#include "tenon/op/math/mat_mul_integer.hpp"
#include "tenon/op/math/q_linear_mat_mul.hpp"
#include "tenon/op/nn/q_linear_conv.hpp"

namespace tenon::passes {

/// Y (..., M, N) = (A - a_zero_point) times a constant 8-bit matrix, in int32. Zero points as
/// MatMulInteger's.
struct PackedMatMulInteger {
  DType element = DType::undefined;  ///< of A
  int64_t k = 0, n = 0;
  Storage b{};  ///< (K, N), as quant_pack_b writes it

  static constexpr op::Spec spec{.name = "PackedMatMulInteger",
                                 .domain = "tenon",
                                 .since = {1},
                                 .inputs = {{"A", "T1"}, {"a_zero_point", "T1", op::optional}},
                                 .outputs = {{"Y", "T2"}},
                                 .types = {{"T1", byte_types}, {"T2", types::int32}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != element) return i.fail("A is ", i.dtype(0), ", not ", element);
    op::MatMulInteger::check_zeros(i, 1, i.dims(0), true);
    i.out(0, op::infer_matmul(i, i.dims(0), Dims{k, n}));
  }
  void compute(AnyView a, AnyView a_zero, TensorView<int32_t> y) const {
    if (y.empty()) return;
    kernels::QuantGemmArgs args;
    args.m = y.size() / n, args.n = n, args.k = k;
    args.a = op::MatMulInteger::matrix(a, a_zero, k);
    args.packed_b = static_cast<const int32_t*>(b.data());
    args.c = y.data(), args.c_row = n;
    if (a_zero.size() <= 1 || a_zero.size() == args.m) return kernels::quant_gemm(args);
    // The rows of each matrix have the same zero points.
    const int64_t matrices = args.m / a_zero.size();
    args.m = a_zero.size();
    for (int64_t matrix = 0; matrix < matrices; ++matrix) {
      kernels::quant_gemm(args);
      args.a.data = static_cast<const uint8_t*>(args.a.data) + args.m * k;
      args.c += args.m * n;
    }
  }
};

inline void apply_pack_quantized(Program& program) {
  using namespace quantized_detail;
  program.for_each<op::MatMulInteger>([&](int number, const op::MatMulInteger&) {
    const Graph::Node& n = program.node(number);
    const AnyTensor *b = constant_tensor(program, n.inputs[1]), *zero = constant_tensor(program, input(n, 3));
    if (b == nullptr || (input(n, 3) >= 0 && zero == nullptr))
      return program.skipped(number, "B or its zero point is not constant");
    if (b->rank() != 2 || b->size() == 0) return program.skipped(number, "B is no matrix");
    const Dims& y = program.info(n.outputs[0]).dims;
    if (!fits(program, number) || !y.ranked() || y.rank() < 2)
      return program.skipped(number, "A is a vector, or of unknown rank");
    PackedMatMulInteger q{program.info(n.inputs[0]).type.element, b->extents()[0], b->extents()[1]};
    q.b = packed_matrix(*b, zero, false);
    std::vector<ValueId> operands{n.inputs[0]};
    if (input(n, 2) >= 0) operands.push_back(n.inputs[2]);
    program.applied(number, "packed");
    program.replace(number, AnyOperator::make(q), std::move(operands));
  });
  program.for_each<op::QLinearMatMul>([&](int number, const op::QLinearMatMul&) {
    const Graph::Node& n = program.node(number);
    const auto a = scale_of(program, n.inputs[1], n.inputs[2], program.info(n.inputs[0]).type.element);
    const auto y = scale_of(program, n.inputs[6], n.inputs[7], program.info(n.outputs[0]).type.element);
    const auto w = weights_of(program, n.inputs[3], n.inputs[4], n.inputs[5], 1);
    const Dims& dims = program.info(n.outputs[0]).dims;
    if (!a || !y || !w || w->data->rank() != 2)
      return program.skipped(number, "not of 8 bits with constant scales and a constant matrix B");
    if (!fits(program, number) || !dims.ranked() || dims.rank() < 2)
      return program.skipped(number, "A is a vector, or of unknown rank");
    QuantizedMatMul q{
        .a = *a, .y = ByteRange::of(*y), .k = w->data->extents()[0], .n = w->data->extents()[1]};
    q.scales = scales_of(*w, *a, *y, q.n);
    q.b = packed_matrix(*w->data, w->zero, false);
    program.applied(number, "packed");
    program.replace(number, AnyOperator::make(q), {n.inputs[0]});
  });
  program.for_each<op::QLinearConv>([&](int number, const op::QLinearConv& conv) {
    const Graph::Node& n = program.node(number);
    const auto x = scale_of(program, n.inputs[1], n.inputs[2], program.info(n.inputs[0]).type.element);
    const auto y = scale_of(program, n.inputs[6], n.inputs[7], program.info(n.outputs[0]).type.element);
    const auto w = weights_of(program, n.inputs[3], n.inputs[4], n.inputs[5], 0);
    const AnyTensor* b = constant_tensor(program, input(n, 8));
    if (!x || !y || !w || (input(n, 8) >= 0 && b == nullptr))
      return program.skipped(number, "scales, weights or bias are not constant");
    if (!fits(program, number)) return program.skipped(number, "the operands do not fit");
    QuantizedConv q{.conv = {}, .x = *x, .y = ByteRange::of(*y), .extents = w->data->extents()};
    q.conv.auto_pad = conv.auto_pad, q.conv.dilations = conv.dilations, q.conv.group = conv.group;
    q.conv.kernel_shape = conv.kernel_shape, q.conv.pads = conv.pads, q.conv.strides = conv.strides;
    q.scales = scales_of(*w, *x, *y, q.extents[0]);
    if (b != nullptr) {
      q.bias = Storage::make<int32_t>(b->size());
      std::copy_n(b->view().as<int32_t>().data(), b->size(), static_cast<int32_t*>(q.bias.data()));
    }
    q.weights = packed_filter(*w->data, w->zero, conv.group);
    program.applied(number, "packed");
    program.replace(number, AnyOperator::make(q), {n.inputs[0]});
  });
}

inline constexpr Pass pack_quantized{"pack_quantized", apply_pack_quantized};

}  // namespace tenon::passes
