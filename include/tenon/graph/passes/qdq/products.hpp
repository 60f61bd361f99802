// Convolutions and products of 8-bit integers with constant weights, and products of two results.
#pragma once

#include "tenon/graph/passes/floats_of_sums.hpp"
#include "tenon/graph/passes/qdq/bytes.hpp"
#include "tenon/op/math/q_linear_mat_mul.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/nn/q_linear_conv.hpp"

namespace tenon::TENON_ABI::passes::qdq_detail {

/// The bias in units of the products' scales: rounded to integers if that changes no result by more than a
/// quarter of a step. False if it is not constant or too large.
inline bool set_bias(const Program& program, const Weights& w, const ByteScale& x, const ByteScale& y,
                     ValueId bias, int64_t channels, Storage& sums) {
  if (bias < 0) return true;
  sums = Storage::make<int32_t>(channels);
  auto* whole = sums.as<int32_t>();
  const AnyTensor* floats = constant_floats(program, bias);
  const int maker = program.maker(bias);
  const AnyTensor *ints = nullptr, *scale = nullptr;
  if (floats == nullptr && maker >= 0) {
    const Graph::Node& n = program.node(maker);
    const auto* restored = n.op.as<op::DequantizeLinear>();
    if (restored == nullptr || restored->block_size != 0) return false;
    ints = constant_tensor(program, n.inputs[0]);
    scale = constant_floats(program, n.inputs[1]);
    if (ints == nullptr || ints->dtype() != DType::int32 || scale == nullptr ||
        scale->dtype() != DType::float32)
      return false;
    if (scale->size() != 1 && scale->size() != ints->size()) return false;
    const AnyTensor* zero = constant_tensor(program, input(n, 2));
    if (input(n, 2) >= 0 && zero == nullptr) return false;
    for (int64_t k = 0; zero != nullptr && k < zero->size(); ++k)
      if (zero->dtype() != DType::int32 || zero->view().as<int32_t>()[k] != 0) return false;
  }
  const AnyTensor* from = floats != nullptr ? floats : ints;
  if (from == nullptr || from->size() != channels || (floats != nullptr && floats->dtype() != DType::float32))
    return false;
  for (int64_t c = 0; c < channels; ++c) {
    const double unit = static_cast<double>(x.scale) * static_cast<double>(w.scale(c));
    const double real = floats != nullptr
                            ? static_cast<double>(floats->view().as<float>()[c])
                            : static_cast<double>(ints->view().as<int32_t>()[c]) *
                                  static_cast<double>(scale->view().as<float>()[scale->size() > 1 ? c : 0]);
    const double near = std::nearbyint(real / unit);
    if (!(std::abs(near) < 0x1p31) || std::abs(near * unit - real) > 0.25 * static_cast<double>(y.scale))
      return false;
    whole[c] = static_cast<int32_t>(near);
  }
  return true;
}

/// The number of products of two bytes whose sum always fits into 32 bits.
inline constexpr int64_t most_products = (int64_t{1} << 31) / (255 * 128);

inline void fuse_conv(Program& program, int number, const op::Conv& conv) {
  const Graph::Node& n = program.node(number);
  const auto x = dequantized_bytes(program, n.inputs[0]);
  if (!x) {
    if (is_restored(program, n.inputs[0]) || is_restored(program, n.inputs[1]))
      program.skipped(number, "X is not of 8 bits with one scale");
    return;
  }
  const auto w = dequantized_weights(program, n.inputs[1], 0);
  if (!w) return program.skipped(number, "the weights are not constants of 8 bits with scales of channels");
  if (!fits(program, number)) return program.skipped(number, "the operands do not fit");
  const auto end = end_of(program, n.outputs[0]);
  if (!end) return program.skipped(number, "the result is not quantised to 8 bits");
  QuantizedConv q{.conv = conv, .x = x->as, .y = end->y, .extents = w->data->extents()};
  const int64_t channels = q.extents[0];
  if (w->data->size() > channels * most_products)
    return program.skipped(number, "sums may leave the reach of 32 bits");
  q.scales = scales_of(*w, x->as, end->y.as, channels);
  if (!set_bias(program, *w, x->as, end->y.as, input(n, 2), channels, q.bias))
    return program.skipped(number, "the bias is not constant, or not in reach of 32 bits");
  set_filter(program, q, *w);
  program.applied(number, "in integers", end->with);
  program.replace(end->node, AnyOperator::make(q), {x->v}, number);
}

/// A convolution that already takes integers.
inline void fuse_linear_conv(Program& program, int number, const op::QLinearConv& conv) {
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
    std::copy_n(b->view().as<int32_t>().data(), b->size(), q.bias.as<int32_t>());
  }
  set_filter(program, q, *w);
  program.applied(number, "its weights are constant");
  program.replace(number, AnyOperator::make(q), {n.inputs[0]});
}

/// A product of 8-bit integers with constant ones that gives floats, because its result is not quantised.
inline void fuse_to_floats(Program& program, int number, const Bytes& a, const Weights& w, bool trans_b,
                           ValueId c) {
  PackedMatMulInteger q{.element = a.as.type};
  q.k = w.data->extents()[trans_b ? 1 : 0];
  q.n = w.data->extents()[trans_b ? 0 : 1];
  q.b = packed_matrix(program, *w.data, w.zero, trans_b);
  q.scales = scales_of(w, a.as, {}, q.n);
  std::vector<ValueId> operands{a.v, zero_point(program, a.as), -1, -1};
  FloatsOfSums floats(program, number, q, operands);
  if (c >= 0 && !floats.add(c))
    return program.skipped(number, "C is neither a row nor of the result's extents");
  floats.take_arithmetic();
  program.applied(number, "sums are integers", floats.report());
  program.replace(floats.last(), AnyOperator::make(q), std::move(operands), number);
}

/// A MatMul or Gemm; `bias` is Gemm's C.
inline void fuse_product(Program& program, int number, bool gemm, bool trans_b, ValueId bias) {
  const Graph::Node& n = program.node(number);
  const auto a = dequantized_bytes(program, n.inputs[0]);
  if (!a) {
    if (is_restored(program, n.inputs[0]) || is_restored(program, n.inputs[1]))
      program.skipped(number, "A is not of 8 bits with one scale");
    return;
  }
  const Dims& dims = program.info(n.outputs[0]).dims;
  if (!fits(program, number) || !dims.ranked())
    return program.skipped(number, "extents are not known, or do not fit");
  const auto w = dequantized_weights(program, n.inputs[1], trans_b ? 0 : 1);
  if (!w) {
    const auto end = end_of(program, n.outputs[0]);
    if (!end) return program.skipped(number, "the result is not quantised to 8 bits");
    const auto b = dequantized_bytes(program, n.inputs[1]);
    if (!b || gemm || end->y.lo != end->y.as.least() || end->y.hi != end->y.as.least() + 255)
      return program.skipped(number, "B is not of 8 bits with scales of columns");
    const auto scale = [&](float x) {
      return program.add_constant({}, AnyTensor(Tensor<float>(Extents{}, {x})));
    };
    program.applied(number, "in integers", end->with);
    return program.replace(
        end->node, AnyOperator::make(op::QLinearMatMul{}),
        {a->v, scale(a->as.scale), zero_point(program, a->as), b->v, scale(b->as.scale),
         zero_point(program, b->as), scale(end->y.as.scale), zero_point(program, end->y.as)},
        number);
  }
  if (w->data->rank() != 2) return program.skipped(number, "B is no matrix");
  if (dims.rank() < 2) return program.skipped(number, "A is a vector");
  QuantizedMatMul q{.a = a->as, .y = {}, .gemm = gemm};
  q.k = w->data->extents()[trans_b ? 1 : 0];
  q.n = w->data->extents()[trans_b ? 0 : 1];
  if (q.k > most_products) return program.skipped(number, "sums may leave the reach of 32 bits");
  const auto is_row = [&](ValueId v) {
    const Dims& c = program.info(v).dims;
    return c.count().is(q.n) && c.rank() >= 1 && c.rank() <= dims.rank() && c[c.rank() - 1].is(q.n);
  };
  auto end = end_of(program, n.outputs[0]);
  ValueId row = bias;
  const int sum = program.only_reader(n.outputs[0]);
  if (!end && bias < 0 && sum >= 0 && fits(program, sum) && is_sum(program.node(sum))) {
    // A bias per column lies between the product and its quantisation.
    const Graph::Node& add = program.node(sum);
    row = add.inputs[add.inputs[0] == n.outputs[0] ? 1 : 0];
    if (is_row(row)) end = end_of(program, add.outputs[0]);
    if (end) end->with = str_cat(", with ", program.label(sum), end->with);
  }
  if (end) q.y = end->y, q.scales = scales_of(*w, a->as, end->y.as, q.n);
  if (!end || (row >= 0 && !is_row(row)) || !set_bias(program, *w, a->as, end->y.as, row, q.n, q.bias))
    return fuse_to_floats(program, number, *a, *w, trans_b, bias);
  q.b = packed_matrix(program, *w->data, w->zero, trans_b);
  program.applied(number, "in integers", end->with);
  program.replace(end->node, AnyOperator::make(q), {a->v}, number);
}

}  // namespace tenon::TENON_ABI::passes::qdq_detail
