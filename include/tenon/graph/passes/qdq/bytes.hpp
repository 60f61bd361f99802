// What fuse_qdq recognises around a node: tensors of 8-bit integers, and the quantisation of a result.
#pragma once

#include "tenon/graph/passes/quantized.hpp"
#include "tenon/op/quantization/dequantize_linear.hpp"
#include "tenon/op/quantization/quantize_linear.hpp"

namespace tenon::TENON_ABI::passes::qdq_detail {

using namespace quantized_detail;

/// 8-bit integers that are dequantised with one scale.
struct Bytes {
  ValueId v;
  ByteScale as;
};
inline std::optional<Bytes> dequantized_bytes(const Program& program, ValueId v) {
  const Graph::Node* n = made_by<op::DequantizeLinear>(program, v);
  if (n == nullptr || program.info(v).type != Type(DType::float32)) return {};
  const auto as = scale_of(program, n->inputs[1], input(*n, 2), program.info(n->inputs[0]).type.element);
  if (!as) return {};
  return Bytes{n->inputs[0], *as};
}
inline bool is_restored(const Program& program, ValueId v) {
  return made_by<op::DequantizeLinear>(program, v) != nullptr;
}

/// A QuantizeLinear with one scale and 8-bit results; v is one of its results.
inline std::optional<ByteScale> quantized_as(const Program& program, const Graph::Node& n) {
  const auto* q = n.op.as<op::QuantizeLinear>();
  if (q == nullptr || q->precision != 0 || n.outputs.empty()) return {};
  return scale_of(program, n.inputs[1], input(n, 2), program.info(n.outputs[0]).type.element);
}

/// The nodes after a value: an optional Relu or Clip, and a QuantizeLinear.
struct End {
  int node;
  ByteRange y;
  std::string with;
};
inline std::optional<End> end_of(const Program& program, ValueId v) {
  int next = program.only_reader(v);
  if (next < 0 || !fits(program, next)) return {};
  Bounds bounds;
  std::string with;
  if (const auto b = bounds_of(program, program.node(next), v)) {
    bounds = *b;
    with = str_cat(", with ", program.label(next));
    v = program.node(next).outputs[0];
    next = program.only_reader(v);
    if (next < 0 || !fits(program, next)) return {};
  }
  if (program.node(next).inputs[0] != v) return {};
  const auto as = quantized_as(program, program.node(next));
  if (!as) return {};
  return End{next, ByteRange::of(*as, bounds), with};
}

/// Constant 8-bit weights that are dequantised.
inline std::optional<Weights> dequantized_weights(const Program& program, ValueId v, int axis) {
  const Graph::Node* n = made_by<op::DequantizeLinear>(program, v);
  if (n == nullptr || program.info(v).type != Type(DType::float32)) return {};
  const auto* restored = n->op.as<op::DequantizeLinear>();
  const auto w = weights_of(program, n->inputs[0], n->inputs[1], input(*n, 2), axis);
  if (!w || restored->block_size != 0) return {};
  const int64_t at = restored->axis < 0 ? restored->axis + w->data->rank() : restored->axis;
  return w->scales.size() == 1 || at == axis ? w : std::nullopt;
}

/// The zero point as a constant.
inline ValueId zero_point(Program& program, const ByteScale& s) {
  return program.add_constant(
      {}, s.is_signed() ? AnyTensor(Tensor<int8_t>(Extents{}, {static_cast<int8_t>(s.zero)}))
                        : AnyTensor(Tensor<uint8_t>(Extents{}, {static_cast<uint8_t>(s.zero)})));
}

inline ValueId one_number(Program& program, float x) {
  return program.add_constant({}, AnyTensor(Tensor<float>(Extents{}, {x})));
}

}  // namespace tenon::TENON_ABI::passes::qdq_detail
