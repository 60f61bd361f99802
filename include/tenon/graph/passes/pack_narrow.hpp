// pack_narrow: a MatMul or Gemm whose right side is a DequantizeLinear of a constant matrix of integers of 8
// bits or fewer becomes one node, together with the following nodes that pack_matmul fuses. It keeps the
// integers, and dequantises them while it multiplies.
#pragma once

#include "tenon/graph/passes/pack_matmul.hpp"
#include "tenon/graph/passes/quantized.hpp"
#include "tenon/op/quantization/dequantize_linear.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

/// Keeps the integers that the DequantizeLinear `from` reads as the matrix B of a product, (N,K) if trans_b.
inline void pack_restored(Program& program, int number, PackedMatMul packed, const Graph::Node& from,
                          bool trans_b) {
  using quantized_detail::constant_tensor, quantized_detail::input;
  const auto& restored = *from.op.as<op::DequantizeLinear>();
  const AnyTensor *codes = constant_tensor(program, from.inputs[0]),
                  *scale = constant_floats(program, from.inputs[1]),
                  *zero = constant_tensor(program, input(from, 2));
  if (codes == nullptr || scale == nullptr || (input(from, 2) >= 0 && zero == nullptr))
    return program.skipped(number, "the integers of B, its scales or its zero points are not constant");
  if (kernels::narrow_depth(codes->dtype()) == 1 || codes->rank() != 2 || codes->size() == 0)
    return program.skipped(number, "B is no matrix of integers of 8 bits or fewer");
  if (!program.info(from.outputs[0]).present() || !fits(program, number) ||
      (zero != nullptr && zero->size() != scale->size()))
    return program.skipped(number, "the operands do not fit");
  if (!has_rows(program, number)) return;
  const int k_axis = trans_b ? 1 : 0;
  kernels::NarrowSource s{.type = codes->dtype(),
                          .k = codes->extents()[k_axis],
                          .n = codes->extents()[1 - k_axis],
                          .codes = codes->data(),
                          .transposed = trans_b};
  s.block = s.k;
  if (scale->size() > 1) {
    const bool along_k = resolve_axis(restored.axis, 2) == k_axis;
    if (along_k != (restored.block_size > 0))
      return program.skipped(number, "B's scales are neither per column nor per block of rows");
    if (along_k) s.block = restored.block_size;
    const int64_t blocks = (s.k - 1) / s.block + 1;
    s.scale_row = trans_b ? 1 : s.n, s.scale_col = trans_b ? blocks : 1;
  }
  if (!kernels::narrow_fits(s)) return program.skipped(number, "blocks of ", s.block, " are too ragged");
  Scratch scratch;
  s.scale = op::numbers<float>(scratch, scale->view());
  if (!std::all_of(s.scale, s.scale + scale->size(), [](float x) { return std::isfinite(x); }))
    return program.skipped(number, "a scale of B is not finite");
  if (zero != nullptr) s.zero = zero->data();

  packed.element = program.info(from.outputs[0]).type.element;
  pack_narrow_matrix(program, packed, s, {codes, scale, zero});
  packed.narrow.round_activations = restored.round_activations;
  replace_product(program, number, std::move(packed));
}

}  // namespace detail

inline void apply_pack_narrow(Program& program) {
  for_each_product(program, [&](int number, PackedMatMul packed, bool trans_b) {
    const ValueId b = detail::before_transpose(program, program.node(number).inputs[1], trans_b);
    if (const Graph::Node* n = made_by<op::DequantizeLinear>(program, b))
      detail::pack_restored(program, number, std::move(packed), *n, trans_b);
  });
}

/// Dequantised constants of few bits are not folded. Dequantised biases, which have more bits, are, and fuse
/// as floats.
inline constexpr Pass pack_narrow{
    "pack_narrow", apply_pack_narrow, [](const Program& program, const Graph::Node& n) {
      if (n.op.as<op::DequantizeLinear>() == nullptr) return false;
      const AnyTensor* codes = quantized_detail::constant_tensor(program, n.inputs[0]);
      return codes != nullptr && kernels::narrow_depth(codes->dtype()) > 1;
    }};

}  // namespace tenon::TENON_ABI::passes
