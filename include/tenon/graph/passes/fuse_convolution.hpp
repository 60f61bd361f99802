// fuse_convolution: a Conv with constant weights, and the following BatchNormalization (or sums and products
// with constants per channel), residual and Relu or Clip become one node. Later passes lay out its weights
// for a kernel.
#pragma once

#include "tenon/graph/fused/fused_conv.hpp"
#include "tenon/graph/passes/packed.hpp"
#include "tenon/op/nn/batch_normalization.hpp"
#include "tenon/op/nn/conv.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

/// y = x * scale + shift, channel by channel.
struct ChannelMap {
  std::vector<double> scale, shift;

  /// The map, and then `next`. Nothing if a factor is not finite: an infinite one would turn zero weights
  /// into NaN.
  std::optional<ChannelMap> then(const ChannelMap& next) const {
    ChannelMap both = next;
    for (std::size_t c = 0; c < scale.size(); ++c) {
      both.scale[c] = scale[c] * next.scale[c];
      both.shift[c] = shift[c] * next.scale[c] + next.shift[c];
      if (!std::isfinite(both.scale[c]) || !std::isfinite(both.shift[c])) return {};
    }
    return both;
  }
  static ChannelMap identity(int64_t channels) {
    const auto c = static_cast<std::size_t>(channels);
    return {std::vector<double>(c, 1), std::vector<double>(c, 0)};
  }
};

/// A constant's numbers, one per channel of x: the constant has one number, or one per channel and otherwise
/// axes of extent 1.
inline std::optional<std::vector<double>> channel_numbers(const Program& program, ValueId v, ValueId x,
                                                          int64_t channels) {
  const AnyTensor* t = constant_floats(program, v);
  const Dims& dims = program.info(x).dims;
  if (t == nullptr || !dims.ranked() || t->rank() > dims.rank()) return {};
  const int at = t->rank() - (dims.rank() - 1);  // the axis of channels
  if (t->size() != 1 && (t->size() != channels || at < 0 || t->extents()[at] != channels)) return {};
  Scratch scratch;
  const double* from = op::numbers<double>(scratch, t->view());
  std::vector<double> numbers(static_cast<std::size_t>(channels), from[0]);
  if (t->size() == channels) numbers.assign(from, from + channels);
  return numbers;
}

/// The map that a node applies to x with `channels` channels: a BatchNormalization over constants, or a sum
/// or product with a constant, an alternative export of normalisations.
inline std::optional<ChannelMap> channel_map(const Program& program, const Graph::Node& n, ValueId x,
                                             int64_t channels) {
  ChannelMap map = ChannelMap::identity(channels);
  if (const auto* normalization = n.op.as<op::BatchNormalization>()) {
    if (normalization->training_mode != 0 || n.outputs.size() != 1 || n.inputs[0] != x) return {};
    std::array<std::vector<double>, 4> p;  // scale, B, mean, variance
    for (std::size_t k = 0; k < 4; ++k) {
      const AnyTensor* t = constant_floats(program, n.inputs[k + 1]);
      if (t == nullptr || t->size() != channels) return {};
      Scratch scratch;
      const double* from = op::numbers<double>(scratch, t->view());
      p[k].assign(from, from + channels);
    }
    for (std::size_t c = 0; c < p[0].size(); ++c) {
      map.scale[c] = p[0][c] / std::sqrt(p[3][c] + normalization->epsilon);
      map.shift[c] = p[1][c] - p[2][c] * map.scale[c];
    }
  } else if (n.op.as<op::Add>() || n.op.as<op::Mul>()) {
    if ((n.inputs[0] == x) == (n.inputs[1] == x)) return {};
    const auto other = channel_numbers(program, n.inputs[n.inputs[0] == x ? 1 : 0], x, channels);
    if (!other || !program.info(n.outputs[0]).dims.same(program.info(x).dims)) return {};
    (n.op.as<op::Add>() ? map.shift : map.scale) = *other;
  } else {
    return {};
  }
  return ChannelMap::identity(channels).then(map);
}

/// Gives the node its weights (M, C/group, kernel...) and bias, with the map applied to the output channels.
template <class C>
void set_weights(FusedConv& op, const Program& program, ValueId w, const AnyTensor* b,
                 const ChannelMap* map) {
  const auto m = static_cast<std::size_t>(op.extents[0]);
  Scratch scratch;
  if (b || map) {
    op.bias = Storage::make<C>(op.extents[0]);
    C* bias = op.bias.as<C>();
    if (b) std::copy_n(op::numbers<C>(scratch, b->view()), m, bias);
    else std::fill_n(bias, m, C{0});
    for (std::size_t c = 0; map && c < m; ++c)
      bias[c] = static_cast<C>(bias[c] * map->scale[c] + map->shift[c]);
  }
  if (map) op.factors = map->scale;
  op.weights = program.stored(w).tensor().storage();
  if (op.element != dtype_of<C>) op.weights = columns(program.constant(w).tensor());
}

}  // namespace detail

inline void apply_fuse_convolution(Program& program) {
  program.for_each<op::Conv>([&](int n, const op::Conv& conv) {
    const std::vector<ValueId>& in = program.node(n).inputs;
    const AnyTensor* w = stored_floats(program, in[1]);
    const ValueId b_id = in.size() > 2 ? in[2] : -1;
    const AnyTensor* b = constant_floats(program, b_id);
    if (w == nullptr || w->size() == 0) return program.skipped(n, "the weights are not constant");
    if (b_id >= 0 && b == nullptr) return program.skipped(n, "the bias is not constant");
    if (!fits(program, n)) return program.skipped(n, "the operands do not fit");

    FusedConv fused{.conv = conv, .element = w->dtype(), .extents = w->extents()};
    std::optional<detail::ChannelMap> map;
    std::vector<ValueId> operands{in[0]};
    // Fuses the node that reads y into the packed one. False when that node cannot be fused, which ends the
    // chain.
    const auto take = [&](const Graph::Node& reader, ValueId y) {
      if (operands.size() > 1) return false;
      if (const auto next = detail::channel_map(program, reader, y, fused.extents[0])) {
        const auto both = map ? map->then(*next) : next;
        if (both) map = both;
        return both.has_value();
      }
      if (!is_sum(reader)) return false;
      const ValueId z = reader.inputs[reader.inputs[0] == y ? 1 : 0];
      if (!program.info(y).dims.same(program.info(z).dims)) return false;
      operands.push_back(z);
      return true;
    };
    std::string with;
    int last = n;
    for (bool ends = false; !ends;) {
      const ValueId y = program.node(last).outputs[0];
      const int next = program.only_reader(y);
      if (next < 0 || !fits(program, next)) break;
      const auto bounds = bounds_of(program, program.node(next), y);
      if (!bounds && !take(program.node(next), y)) break;
      if (bounds) fused.bounds = *bounds;
      ends = bounds.has_value();
      last = next;
      with += str_cat(with.empty() ? "" : ", ", program.label(next));
    }
    visit_types<float, double>(compute_dtype(w->dtype()), [&]<class C>() {
      detail::set_weights<C>(fused, program, in[1], b, map ? &*map : nullptr);
    });
    program.applied(n, with.empty() ? "alone" : "fused with " + with);
    program.replace(last, AnyOperator::make(fused), std::move(operands), n);
  });
}

inline constexpr Pass fuse_convolution{"fuse_convolution", apply_fuse_convolution};

}  // namespace tenon::TENON_ABI::passes
