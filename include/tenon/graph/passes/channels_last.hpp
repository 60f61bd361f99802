// channels_last: quantised convolutions, and the nodes between them, work on bytes with channels last: (N, C,
// spatial...) becomes (N, 1, spatial..., C), an ordinary tensor of unsigned bytes. So tables, pools, sums and
// Concat stay ordinary nodes, and a sum after a convolution fuses into it.
#pragma once

#include <map>

#include "tenon/base/lasting.hpp"
#include "tenon/graph/fused/last_conv.hpp"
#include "tenon/graph/passes/quantized.hpp"
#include "tenon/op/nn/max_pool.hpp"
#include "tenon/op/tensor/concat.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

class ChannelsLast {
 public:
  explicit ChannelsLast(Program& program) : p_(program) {}

  void apply() {
    if (!kernels::fast_conv_last()) return;
    p_.for_each_node([&](int n, const Graph::Node& node) {
      if (const auto* conv = node.op.as<QuantizedConv>()) take_convolution(n, *conv);
      else if (std::ranges::all_of(node.inputs, [&](ValueId v) { return last(v) >= 0; })) follow(n);
    });
  }

 private:
  /// The form of a value with its channels last, or -1.
  ValueId last(ValueId v) const {
    const auto found = last_.find(v);
    return found == last_.end() ? -1 : found->second;
  }
  ValueId to_last(int n, ValueId v) {
    if (last(v) < 0)
      last_[v] = p_.add_node(n, AnyOperator::make(MoveChannels{p_.info(v).type.element}), {v})[0];
    return last(v);
  }
  /// Replaces a node's result with `to`, whose bytes are raised and have their channels last.
  void give(int n, ValueId to, std::string_view text) {
    const ValueId y = p_.node(n).outputs[0];
    p_.applied(n, text);
    const ValueId plain =
        p_.add_node(n, AnyOperator::make(MoveChannels{p_.info(y).type.element, true}), {to})[0];
    p_.redirect(y, plain);
    last_[plain] = to;
  }
  ValueId add(int n, AnyOperator op, std::vector<ValueId> inputs) {
    return p_.add_node(n, std::move(op), std::move(inputs))[0];
  }

  void take_convolution(int n, const QuantizedConv& q) {
    const ValueId x = p_.node(n).inputs[0], y = p_.node(n).outputs[0];
    const auto windows = q.conv.window();
    const int rank = q.extents.size() - 2;
    if (rank != 2) return p_.skipped(n, "it does not have two spatial axes");
    const int64_t dilations[] = {windows.dilation(0), windows.dilation(1)};
    kernels::ConvGeometry g;
    g.rank = rank;
    g.groups = q.conv.group;
    g.in_channels = q.extents[1] * g.groups;
    g.out_channels = q.extents[0];
    g.kernel = &q.extents[2];
    g.dilations = dilations;
    // Bounded, because a padded copy grows with them.
    const auto near = [](int64_t step) { return -64 <= step && step <= 64; };
    for (int d = 0; d < rank; ++d)
      if (!near(windows.stride(d)) || !near(dilations[d]) || !near((g.kernel[d] - 1) * dilations[d]))
        return p_.skipped(n, "strides or dilations are large");
    if (!std::ranges::all_of(q.conv.pads, near)) return p_.skipped(n, "pads are large");
    LastConv c{.conv = q.conv, .x = q.x, .y = raised(q.y), .extents = q.extents, .scales = q.scales};
    c.plain_x = last(x) < 0 && kernels::fits_conv_last(g, true);
    if (!c.plain_x && !kernels::fits_conv_last(g, false))
      return p_.skipped(n, "groups or channels are no words");
    if (!p_.info(x).dims.ranked() || !fits(p_, n) || p_.is_captured(y))
      return p_.skipped(n, "the ranks are not known, or a body reads Y");
    const auto* scales = static_cast<const float*>(q.scales.data());
    if (!std::all_of(scales, scales + g.out_channels, [](float s) { return s < 1; }))
      return p_.skipped(n, "scales are large");
    if (!q.plain) return p_.skipped(n, "weights have zero points");
    const auto* const w = static_cast<const int8_t*>(q.plain.data());
    const auto* const bias = q.bias ? static_cast<const int32_t*>(q.bias.data()) : nullptr;
    const int32_t zero = raised(q.x).zero;
    const auto key = [&](ConstantKey& of) {
      add_weights(of, DType::int8, q.extents, g.groups, w);
      of.add_content(bias, bias == nullptr ? 0 : q.bias.size_bytes()).add(zero, c.plain_x);
    };
    c.weights = shared_weights(p_, "filter with channels last", key, [&] {
      Storage weights =
          Storage::make<int32_t>(kernels::quant_conv_last_weight_size(g, c.plain_x, w), lasting_allocator());
      kernels::quant_conv_last_pack(g, c.plain_x, w, bias, zero, weights.as<int32_t>());
      return weights;
    });
    if (!c.plain_x) c.x = raised(c.x);
    give(n, add(n, AnyOperator::make(c), {c.plain_x ? x : to_last(n, x)}), "channels last");
  }

  /// A node whose inputs all exist with channels last.
  void follow(int n) {
    const Graph::Node& node = p_.node(n);
    if (!fits(p_, n) || node.outputs.size() != 1 || p_.is_captured(node.outputs[0])) return;
    std::vector<ValueId> in;
    for (ValueId v : node.inputs) in.push_back(last(v));
    if (const auto* sum = node.op.as<QuantizedAdd>()) {
      const QuantizedAdd bytes{raised(sum->a), raised(sum->b), raised(sum->y)};
      if (add_to(n, 1, bytes.y) || add_to(n, 0, bytes.y)) return;
      give(n, add(n, AnyOperator::make(bytes), std::move(in)), "channels last");
    } else if (const auto* product = node.op.as<QuantizedMul>()) {
      const QuantizedMul bytes{raised(product->a), raised(product->b), raised(product->y), product->spread,
                               true};
      give(n, add(n, AnyOperator::make(bytes), std::move(in)), "channels last");
    } else if (const auto* table = node.op.as<ByteTable>()) {
      ByteTable bytes{DType::uint8, DType::uint8};
      const std::size_t flip_x = table->x == DType::int8 ? 128 : 0,
                        flip_y = table->y == DType::int8 ? 128 : 0;
      for (std::size_t k = 0; k < 256; ++k)
        bytes.table[k ^ flip_x] = static_cast<uint8_t>(table->table[k] ^ flip_y);
      give(n, add(n, AnyOperator::make(bytes), std::move(in)), "channels last");
    } else if (node.op.as<op::MaxPool>()) {
      give(n, add(n, with_lanes(node.op), std::move(in)), "channels last");
    } else if (const auto* mean = node.op.as<QuantizedGlobalAverage>()) {
      p_.applied(n, "channels last");
      p_.replace(n, AnyOperator::make(QuantizedGlobalAverage{raised(mean->x), mean->y, true}), std::move(in));
    } else if (const auto* concat = node.op.as<op::Concat>()) {
      const int rank = p_.info(node.outputs[0]).dims.rank();
      if (concat->axis == 1 || concat->axis == 1 - rank)
        give(n, add(n, along(node.op, -1), std::move(in)), "channels last");
    }
  }

  /// Fuses the sum n into the convolution that makes its operand 1 - other, which has no other readers.
  bool add_to(int n, std::size_t other, const ByteRange& y) {
    const Graph::Node& node = p_.node(n);
    const ValueId plain = node.inputs[1 - other], own = last(plain), z = last(node.inputs[other]);
    const int maker = p_.maker(own);
    if (maker < 0 || p_.only_reader(plain) != n || p_.only_reader(own) != p_.maker(plain)) return false;
    const auto* conv = p_.node(maker).op.as<LastConv>();
    if (conv == nullptr || conv->sum || conv->conv.group != 1) return false;
    LastConv with = *conv;
    const auto* sum = node.op.as<QuantizedAdd>();
    with.sum = {raised(other == 0 ? sum->a : sum->b), y};
    give(n, add(n, AnyOperator::make(with), {p_.node(maker).inputs[0], z}), "part of a convolution");
    return true;
  }

  Program& p_;
  std::map<ValueId, ValueId> last_;
};

}  // namespace detail

inline void apply_channels_last(Program& program) { detail::ChannelsLast(program).apply(); }

inline constexpr Pass channels_last{"channels_last", apply_channels_last};

}  // namespace tenon::TENON_ABI::passes
