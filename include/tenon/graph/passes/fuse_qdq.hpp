// fuse_qdq: nodes between DequantizeLinear and QuantizeLinear, and QLinearConv, become nodes over 8-bit
// integers.
//
// Covers convolutions and products with constant weights, products of two results (also elementwise), sums,
// global averages, functions of one tensor of bytes, and nodes that only move numbers. If the
// result of a product with constant weights is not quantised, the product dequantises its sums. Results are
// as ONNX's QLinear operators define them: sums are exact integers, multiplied once by the quotient of the
// scales. They differ from the replaced floats by at most one quantisation step, where a float lies close to
// the middle between two steps. Functions and moves do not differ at all.
#pragma once

#include <map>
#include <vector>

#include "tenon/graph/passes/floats_of_sums.hpp"
#include "tenon/graph/passes/quantized.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/q_linear_mat_mul.hpp"
#include "tenon/op/nn/global_average_pool.hpp"
#include "tenon/op/nn/q_linear_conv.hpp"
#include "tenon/op/quantization/dequantize_linear.hpp"
#include "tenon/op/quantization/quantize_linear.hpp"

namespace tenon::TENON_ABI::passes {

namespace qdq_detail {

using namespace quantized_detail;

/// 8-bit integers that are dequantised with one scale.
struct Bytes {
  ValueId v;
  ByteScale as;
};
inline std::optional<Bytes> bytes_behind(const Program& program, ValueId v) {
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
inline std::optional<Weights> weights_behind(const Program& program, ValueId v, int axis) {
  const Graph::Node* n = made_by<op::DequantizeLinear>(program, v);
  if (n == nullptr || program.info(v).type != Type(DType::float32)) return {};
  const auto* restored = n->op.as<op::DequantizeLinear>();
  const auto w = weights_of(program, n->inputs[0], n->inputs[1], input(*n, 2), axis);
  if (!w || restored->block_size != 0) return {};
  const int64_t at = restored->axis < 0 ? restored->axis + w->data->rank() : restored->axis;
  return w->scales.size() == 1 || at == axis ? w : std::nullopt;
}

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
  const auto x = bytes_behind(program, n.inputs[0]);
  if (!x) {
    if (is_restored(program, n.inputs[0]) || is_restored(program, n.inputs[1]))
      program.skipped(number, "X is not of 8 bits with one scale");
    return;
  }
  const auto w = weights_behind(program, n.inputs[1], 0);
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
  set_filter(q, *w);
  program.applied(number, "in integers", end->with);
  program.replace(end->node, AnyOperator::make(q), {x->v});
}

/// The zero point as a constant.
inline ValueId zero_point(Program& program, const ByteScale& s) {
  return program.add_constant(
      {}, s.is_signed() ? AnyTensor(Tensor<int8_t>(Extents{}, {static_cast<int8_t>(s.zero)}))
                        : AnyTensor(Tensor<uint8_t>(Extents{}, {static_cast<uint8_t>(s.zero)})));
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
  set_filter(q, *w);
  program.applied(number, "its weights are constant");
  program.replace(number, AnyOperator::make(q), {n.inputs[0]});
}

/// A product of 8-bit integers with constant ones that gives floats, because its result is not quantised.
inline void fuse_to_floats(Program& program, int number, const Bytes& a, const Weights& w, bool trans_b,
                           ValueId c) {
  PackedMatMulInteger q{.element = a.as.type};
  q.k = w.data->extents()[trans_b ? 1 : 0];
  q.n = w.data->extents()[trans_b ? 0 : 1];
  q.b = packed_matrix(*w.data, w.zero, trans_b);
  q.scales = scales_of(w, a.as, {}, q.n);
  std::vector<ValueId> operands{a.v, zero_point(program, a.as), -1, -1};
  FloatsOfSums floats(program, number, q, operands);
  if (c >= 0 && !floats.add(c))
    return program.skipped(number, "C is neither a row nor of the result's extents");
  floats.take_arithmetic();
  program.applied(number, "sums are integers", floats.report());
  program.replace(floats.last(), AnyOperator::make(q), std::move(operands));
}

/// A MatMul or Gemm; `bias` is Gemm's C.
inline void fuse_product(Program& program, int number, bool gemm, bool trans_b, ValueId bias) {
  const Graph::Node& n = program.node(number);
  const auto a = bytes_behind(program, n.inputs[0]);
  if (!a) {
    if (is_restored(program, n.inputs[0]) || is_restored(program, n.inputs[1]))
      program.skipped(number, "A is not of 8 bits with one scale");
    return;
  }
  const Dims& dims = program.info(n.outputs[0]).dims;
  if (!fits(program, number) || !dims.ranked())
    return program.skipped(number, "extents are not known, or do not fit");
  const auto w = weights_behind(program, n.inputs[1], trans_b ? 0 : 1);
  if (!w) {
    const auto end = end_of(program, n.outputs[0]);
    if (!end) return program.skipped(number, "the result is not quantised to 8 bits");
    const auto b = bytes_behind(program, n.inputs[1]);
    if (!b || gemm || end->y.lo != end->y.as.least() || end->y.hi != end->y.as.least() + 255)
      return program.skipped(number, "B is not of 8 bits with scales of columns");
    const auto scale = [&](float x) {
      return program.add_constant({}, AnyTensor(Tensor<float>(Extents{}, {x})));
    };
    program.applied(number, "in integers", end->with);
    return program.replace(
        end->node, AnyOperator::make(op::QLinearMatMul{}),
        {a->v, scale(a->as.scale), zero_point(program, a->as), b->v, scale(b->as.scale),
         zero_point(program, b->as), scale(end->y.as.scale), zero_point(program, end->y.as)});
  }
  if (w->data->rank() != 2) return program.skipped(number, "B is no matrix");
  if (dims.rank() < 2) return program.skipped(number, "A is a vector");
  QuantizedMatMul q{.a = a->as, .y = {}, .gemm = gemm};
  q.k = w->data->extents()[trans_b ? 1 : 0];
  q.n = w->data->extents()[trans_b ? 0 : 1];
  if (q.k > most_products) return program.skipped(number, "sums may leave the reach of 32 bits");
  auto end = end_of(program, n.outputs[0]);
  ValueId row = bias;
  const int sum = program.only_reader(n.outputs[0]);
  if (!end && bias < 0 && sum >= 0 && fits(program, sum) && is_sum(program.node(sum))) {
    // A bias per column lies between the product and its quantisation.
    const Graph::Node& add = program.node(sum);
    row = add.inputs[add.inputs[0] == n.outputs[0] ? 1 : 0];
    const Dims& c = program.info(row).dims;
    if (c.count().is(q.n) && c.rank() >= 1 && c.rank() <= dims.rank() && c[c.rank() - 1].is(q.n))
      end = end_of(program, add.outputs[0]);
    if (end) end->with = str_cat(", with ", program.label(sum), end->with);
  }
  if (end) q.y = end->y, q.scales = scales_of(*w, a->as, end->y.as, q.n);
  if (!end || !set_bias(program, *w, a->as, end->y.as, row, q.n, q.bias))
    return fuse_to_floats(program, number, *a, *w, trans_b, bias);
  q.b = packed_matrix(*w->data, w->zero, trans_b);
  program.applied(number, "in integers", end->with);
  program.replace(end->node, AnyOperator::make(q), {a->v});
}

inline void fuse_add(Program& program, int number) {
  const Graph::Node& n = program.node(number);
  const auto a = bytes_behind(program, n.inputs[0]), b = bytes_behind(program, n.inputs[1]);
  if (!a || !b) {
    if (is_restored(program, n.inputs[0]) || is_restored(program, n.inputs[1]))
      program.skipped(number, "not both operands are of 8 bits with one scale");
    return;
  }
  if (!program.info(a->v).dims.same(program.info(b->v).dims))
    return program.skipped(number, "the operands' extents differ, or are not known");
  const auto end = end_of(program, n.outputs[0]);
  if (!end) return program.skipped(number, "the result is not quantised to 8 bits");
  program.applied(number, "in integers", end->with);
  program.replace(end->node, AnyOperator::make(QuantizedAdd{a->as, b->as, end->y}), {a->v, b->v});
}

/// Whether a node only moves the numbers of its first input, or of all members of a variadic one, to its one
/// result, and also accepts bytes.
inline bool is_move(const Graph::Node& n, DType bytes) {
  const op::Elements e = n.op.elements();
  return (e == op::Elements::order || e == op::Elements::choice) && n.outputs.size() == 1 && takes(n, bytes);
}

/// Whether a node only reorders or reshapes the numbers of its first input, and also accepts bytes.
inline bool is_order(const Graph::Node& n, DType bytes) {
  return n.op.elements() == op::Elements::order && n.outputs.size() == 1 && takes(n, bytes);
}
inline ValueId one_number(Program& program, float x) {
  return program.add_constant({}, AnyTensor(Tensor<float>(Extents{}, {x})));
}

/// Moves a DequantizeLinear after a node that then reorders bytes instead of floats.
inline void restore_later(Program& program, int number) {
  const ValueId v = program.node(number).outputs[0];
  const auto x = bytes_behind(program, v);
  const int next = program.only_reader(v);
  if (!x || program.stored(x->v) || next < 0 || !fits(program, next) ||
      !is_order(program.node(next), x->as.type) || program.node(next).inputs[0] != v)
    return;
  const Graph::Node& n = program.node(next);
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = x->v;
  program.applied(next, "orders bytes");
  const ValueId moved = program.add_node(n.name, AnyOperator(n.op), std::move(inputs))[0];
  program.replace(next, AnyOperator::make(op::DequantizeLinear{}),
                  {moved, one_number(program, x->as.scale), zero_point(program, x->as)});
}

/// Moves a QuantizeLinear before nodes that then reorder bytes instead of floats.
inline void quantize_earlier(Program& program, int number) {
  while (number >= 0) {
    const auto as = quantized_as(program, program.node(number));
    if (!as || !fits(program, number)) return;
    const ValueId v = program.node(number).inputs[0];
    const int m = program.maker(v);
    if (m < 0 || program.only_reader(v) < 0 || !fits(program, m) || !is_order(program.node(m), as->type))
      return;
    const Graph::Node& n = program.node(m);
    std::vector<ValueId> inputs = n.inputs;
    if (program.info(inputs[0]).type != Type(DType::float32)) return;
    program.applied(m, "orders bytes");
    const AnyOperator order(n.op);
    const ValueId scale = one_number(program, as->scale), zero = zero_point(program, *as);
    inputs[0] = program.add_node(program.node(number).name, AnyOperator::make(op::QuantizeLinear{}),
                                 {inputs[0], scale, zero})[0];
    const int earlier = program.maker(inputs[0]);
    program.replace(number, order, std::move(inputs));
    number = earlier;
  }
}

/// A QuantizeLinear after a node that moves 8-bit numbers of the same scale.
inline void fuse_move(Program& program, int number, int mover, const ByteScale& as) {
  const Graph::Node& n = program.node(mover);
  std::vector<ValueId> inputs = n.inputs;
  const bool all = n.op.spec().input(0).arity == op::Arity::variadic;
  const std::size_t moved = all ? inputs.size() : 1;
  for (std::size_t k = 0; k < moved; ++k) {
    const auto x = bytes_behind(program, inputs[k]);
    if (!x || !(x->as == as)) {
      if (x) program.skipped(mover, "the scale before is not that behind");
      return;
    }
    inputs[k] = x->v;
  }
  program.applied(mover, "in integers");
  program.replace(number, AnyOperator(n.op), std::move(inputs));
}

/// The nodes between a tensor of 8-bit integers and a value whose elements each depend only on the integer at
/// the same place.
class FunctionsOfBytes {
 public:
  explicit FunctionsOfBytes(const Program& program) : program_(program) {}

  /// Adds the nodes that compute a value. False if it depends on anything else, or on too many nodes.
  bool take(ValueId v, std::size_t depth = 0) {
    if (numbers_.contains(v)) return true;
    if (const auto x = bytes_behind(program_, v)) {
      numbers_[v] = -1;
      return leaves_.emplace_back(v, *x), reaches(x->v);
    }
    const int m = program_.maker(v);
    if (m < 0 || depth == most || nodes_.size() == most || !fits(program_, m)) return false;
    const Graph::Node& n = program_.node(m);
    const bool function = n.op.elements() == op::Elements::function;
    if (!is_elementwise(n)) return false;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const ValueId u = n.inputs[k];
      if (u >= 0 && program_.stored(u) ? !(function && k > 0) && !number(program_, u, v)
                                       : u >= 0 && !take(u, depth + 1))
        return false;
    }
    numbers_[v] = -1;
    nodes_.push_back(m);
    return true;
  }
  const std::vector<int>& nodes() const { return nodes_; }  ///< in order
  ValueId bytes() const { return root_; }                   ///< -1 without any

  /// The value for each of the bytes: a constant of 256 numbers.
  ValueId results(Program& program, ValueId of) {
    for (const auto& [v, x] : leaves_) {
      Tensor<float> restored{Extents{256}};
      const std::vector<const ByteTable*> path = tables_to(x.v);
      for (int k = 0; k < 256; ++k) {
        auto byte = static_cast<uint8_t>(k);
        for (auto t = path.rbegin(); t != path.rend(); ++t) byte = (*t)->table[byte];
        restored[k] = static_cast<float>((x.as.is_signed() ? static_cast<int8_t>(byte) : byte) - x.as.zero) *
                      x.as.scale;
      }
      numbers_[v] = program.add_constant({}, AnyTensor(std::move(restored)));
    }
    for (const int m : nodes_) {
      const AnyOperator op(program.node(m).op);
      std::vector<ValueId> inputs = program.node(m).inputs;
      for (ValueId& u : inputs)
        if (u >= 0 && numbers_.contains(u)) u = numbers_[u];
      numbers_[program.node(m).outputs[0]] = program.add_node({}, op, std::move(inputs))[0];
    }
    return numbers_[of];
  }

 private:
  static constexpr std::size_t most = 64;

  /// Whether these bytes are the root, or are computed from it by tables.
  bool reaches(ValueId v) {
    while (const Graph::Node* n = made_by<ByteTable>(program_, v)) v = n->inputs[0];
    if (root_ < 0) root_ = v;
    return root_ == v;
  }
  /// Last first.
  std::vector<const ByteTable*> tables_to(ValueId v) const {
    std::vector<const ByteTable*> path;
    for (; v != root_; v = program_.node(program_.maker(v)).inputs[0])
      path.push_back(program_.node(program_.maker(v)).op.as<ByteTable>());
    return path;
  }

  const Program& program_;
  std::map<ValueId, ValueId> numbers_;  // the 256 numbers of a value, once computed
  std::vector<std::pair<ValueId, Bytes>> leaves_;
  std::vector<int> nodes_;
  ValueId root_ = -1;
};

/// A QuantizeLinear after functions of one byte: a table of 256 results. Without functions, the table changes
/// the scale.
inline void fuse_functions(Program& program, int number, const ByteScale& as) {
  const ValueId v = program.node(number).inputs[0];
  FunctionsOfBytes functions(program);
  if (!functions.take(v)) {
    const int m = program.maker(v);  // sums and products are reported elsewhere
    if (functions.bytes() >= 0 && m >= 0 && !is_sum(program.node(m)) && !program.node(m).op.as<op::Mul>())
      program.skipped(number, "it quantises no function of one tensor of 8 bits");
    return;
  }
  if (functions.bytes() < 0) return;
  const AnyTensor* results = constant_floats(program, functions.results(program, v));
  if (results == nullptr || results->dtype() != DType::float32 || results->size() != 256) return;
  ByteTable t{.x = program.info(functions.bytes()).type.element, .y = as.type};
  for (int k = 0; k < 256; ++k) {
    const float least = static_cast<float>(as.least() - as.zero), most = least + 255;
    float q = results->view().as<float>()[k] / as.scale;
    q = q > least ? q : least;  // NaN too
    q = std::nearbyint(q < most ? q : most) + static_cast<float>(as.zero);
    t.table[static_cast<std::size_t>(k)] = static_cast<uint8_t>(static_cast<int32_t>(q));
  }
  const ValueId y = program.node(number).outputs[0];
  bool same = t.x == t.y && !program.is_output(y) && !program.is_captured(y);
  for (std::size_t k = 0; k < 256; ++k) same &= t.table[k] == k;
  if (same) {
    program.applied(number, "the bytes are there already");
    return program.redirect(y, functions.bytes());
  }
  program.applied(functions.nodes().empty() ? number : functions.nodes().front(), "a table of 256 results");
  program.replace(number, AnyOperator::make(t), {functions.bytes()});
}

inline void fuse_mul(Program& program, int number) {
  const Graph::Node& n = program.node(number);
  auto a = bytes_behind(program, n.inputs[0]), b = bytes_behind(program, n.inputs[1]);
  if (!a || !b) return;
  const auto end = end_of(program, n.outputs[0]);
  if (!end) return program.skipped(number, "the result is not quantised to 8 bits");
  const auto spreads = [&](const Bytes& small, const Bytes& large) {
    Dims channels = program.info(large.v).dims;
    if (!channels.ranked() || channels.rank() < 3) return false;
    for (int k = 2; k < channels.rank(); ++k) channels[k] = 1;
    return channels.same(program.info(small.v).dims);
  };
  QuantizedMul q{.a = a->as, .b = b->as, .y = end->y};
  if (!program.info(a->v).dims.same(program.info(b->v).dims)) {
    if (spreads(*a, *b)) std::swap(a, b), std::swap(q.a, q.b);
    else if (!spreads(*b, *a))
      return program.skipped(number, "neither operand has the other's extents, or a number for each channel");
    q.spread = true;
  }
  program.applied(number, "in integers", end->with);
  program.replace(end->node, AnyOperator::make(q), {a->v, b->v});
}

inline void fuse_average(Program& program, int number, int pool, const ByteScale& as) {
  const auto x = bytes_behind(program, program.node(pool).inputs[0]);
  if (!x) return;
  program.applied(pool, "in integers");
  program.replace(number, AnyOperator::make(QuantizedGlobalAverage{x->as, ByteRange::of(as)}), {x->v});
}

}  // namespace qdq_detail

inline void apply_fuse_qdq(Program& program) {
  using namespace qdq_detail;
  program.for_each<op::DequantizeLinear>(
      [&](int n, const op::DequantizeLinear&) { restore_later(program, n); });
  program.for_each<op::QuantizeLinear>(
      [&](int n, const op::QuantizeLinear&) { quantize_earlier(program, n); });
  program.for_each<op::Conv>([&](int n, const op::Conv& conv) { fuse_conv(program, n, conv); });
  program.for_each<op::QLinearConv>(
      [&](int n, const op::QLinearConv& conv) { fuse_linear_conv(program, n, conv); });
  program.for_each<op::MatMul>([&](int n, const op::MatMul&) { fuse_product(program, n, false, false, -1); });
  program.for_each<op::Gemm>([&](int n, const op::Gemm& g) {
    if (g.alpha != 1 || g.beta != 1 || g.transA != 0) {
      if (is_restored(program, program.node(n).inputs[0]))
        program.skipped(n, "it has factors or a transposed A");
      return;
    }
    fuse_product(program, n, true, g.transB != 0, input(program.node(n), 2));
  });
  program.for_each<op::Add>([&](int n, const op::Add&) { fuse_add(program, n); });
  program.for_each<op::QuantizeLinear>([&](int n, const op::QuantizeLinear&) {
    const ValueId v = program.node(n).inputs[0];
    const auto as = quantized_as(program, program.node(n));
    if (!as || !fits(program, n)) return;
    const int m = program.maker(v);
    if (m >= 0 && program.only_reader(v) >= 0 && fits(program, m)) {
      if (is_move(program.node(m), as->type)) return fuse_move(program, n, m, *as);
      if (program.node(m).op.as<op::GlobalAveragePool>()) return fuse_average(program, n, m, *as);
    }
    fuse_functions(program, n, *as);
  });
  // Products that are not functions of one tensor.
  program.for_each<op::Mul>([&](int n, const op::Mul&) { fuse_mul(program, n); });
}

/// Dequantised constants are not folded: they are the weights.
inline constexpr Pass fuse_qdq{"fuse_qdq", apply_fuse_qdq, [](const Program&, const Graph::Node& n) {
                                 return n.op.as<op::DequantizeLinear>() != nullptr;
                               }};

}  // namespace tenon::TENON_ABI::passes
