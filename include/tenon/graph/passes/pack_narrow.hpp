// pack_narrow: a MatMul or Gemm whose right side is a DequantizeLinear of a constant matrix of integers of 8
// bits or fewer, or a Cast of one of 16-bit floats, becomes one node, together with the following nodes that
// pack_matmul fuses. It keeps the integers or the 16-bit floats, and restores them while it multiplies.
#pragma once

#include "tenon/graph/passes/pack_matmul.hpp"
#include "tenon/graph/passes/quantized.hpp"
#include "tenon/op/quantization/dequantize_linear.hpp"
#include "tenon/op/tensor/cast.hpp"

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

/// Whether a node makes float what may be 16-bit floats.
inline bool widens(const Graph::Node& n) {
  const auto* cast = n.op.as<op::Cast>();
  return cast != nullptr && cast->to == static_cast<int64_t>(DType::float32);
}
/// The value's tensor if it is a constant matrix of 16-bit floats, else null.
inline const AnyTensor* stored_halves(const Program& program, ValueId v) {
  const AnyTensor* b = stored_floats(program, v);
  const bool narrow = b != nullptr && compute_dtype(b->dtype()) != b->dtype();
  return narrow && b->rank() == 2 && b->size() > 0 ? b : nullptr;
}

/// Keeps the 16-bit floats that the Cast `from` reads as the matrix B of a product, (N,K) if trans_b.
inline void pack_widened(Program& program, int number, PackedMatMul packed, const Graph::Node& from,
                         bool trans_b) {
  const AnyTensor* b = stored_halves(program, before_transpose(program, from.inputs[0], trans_b));
  if (b == nullptr || !widens(from) || !fits(program, number) || !has_rows(program, number)) return;
  packed.element = DType::float32;
  pack_narrow_matrix(program, packed,
                     {.type = b->dtype(),
                      .k = b->extents()[trans_b ? 1 : 0],
                      .n = b->extents()[trans_b ? 0 : 1],
                      .codes = b->data(),
                      .transposed = trans_b},
                     {b});
  replace_product(program, number, std::move(packed));
}

}  // namespace detail

inline void apply_pack_narrow(Program& program) {
  for_each_product(program, [&](int number, PackedMatMul packed, bool trans_b) {
    const ValueId b = detail::before_transpose(program, program.node(number).inputs[1], trans_b);
    if (const Graph::Node* n = made_by<op::DequantizeLinear>(program, b))
      detail::pack_restored(program, number, std::move(packed), *n, trans_b);
    else if (const Graph::Node* cast = made_by<op::Cast>(program, b))
      detail::pack_widened(program, number, std::move(packed), *cast, trans_b);
  });
}

/// Dequantised constants of few bits, and widened matrices, are not folded. Dequantised biases, which have
/// more bits, are, and fuse as floats.
inline constexpr Pass pack_narrow{
    "pack_narrow", apply_pack_narrow, [](const Program& program, const Graph::Node& n) {
      if (n.op.as<op::DequantizeLinear>() == nullptr)
        return detail::widens(n) && detail::stored_halves(program, n.inputs[0]) != nullptr;
      const AnyTensor* codes = quantized_detail::constant_tensor(program, n.inputs[0]);
      return codes != nullptr && kernels::narrow_depth(codes->dtype()) > 1;
    }};

}  // namespace tenon::TENON_ABI::passes
