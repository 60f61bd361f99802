// block_channels: fused convolutions of float32, and the nodes between them, work on channels in blocks of a
// vector: (N, C, spatial...) becomes (N, C / block, spatial..., block), an ordinary tensor with one more
// axis. So elementwise nodes, pools, Concat, Split and Resize stay ordinary operators; only convolutions,
// global pools and the two ends of a blocked region get operators of their own.
#pragma once

#include <algorithm>
#include <map>

#include "tenon/base/lasting.hpp"
#include "tenon/graph/fused/blocked_conv.hpp"
#include "tenon/graph/passes/fuse_convolution.hpp"
#include "tenon/graph/passes/shared_layout.hpp"
#include "tenon/op/math/elu.hpp"
#include "tenon/op/math/gelu.hpp"
#include "tenon/op/math/hard_sigmoid.hpp"
#include "tenon/op/math/hard_swish.hpp"
#include "tenon/op/math/leaky_relu.hpp"
#include "tenon/op/math/mish.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/math/swish.hpp"
#include "tenon/op/math/tanh.hpp"
#include "tenon/op/nn/average_pool.hpp"
#include "tenon/op/nn/global_average_pool.hpp"
#include "tenon/op/nn/max_pool.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/resize.hpp"
#include "tenon/op/tensor/split.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

class ChannelBlocks {
 public:
  explicit ChannelBlocks(Program& program) : p_(program) {}

  void apply() {
    p_.for_each_node([&](int n, const Graph::Node& node) {
      if (const auto* conv = node.op.as<FusedConv>()) take_convolution(n, *conv);
      else if (std::ranges::any_of(node.inputs, [&](ValueId v) { return blocks(v) >= 0; })) follow(n);
    });
    p_.for_each<FromBlocks>([&](int n, const FromBlocks&) { leave_blocks(n); });
  }

 private:
  /// The blocked form of a value, or -1.
  ValueId blocks(ValueId v) const {
    const auto found = blocked_.find(v);
    return found == blocked_.end() ? -1 : found->second;
  }
  /// The same, made for node n if need be, which reads `channels` of them.
  ValueId to_blocks(int n, ValueId v, int64_t channels) {
    if (blocks(v) < 0) blocked_[v] = p_.add_node(n, AnyOperator::make(ToBlocks{block_, channels}), {v})[0];
    return blocks(v);
  }
  const Dims& dims(ValueId v) const { return p_.info(v).dims; }

  /// Replaces a result of node n with `blocked`.
  void give_value(int n, ValueId y, ValueId blocked) {
    const ValueId plain = p_.add_node(n, AnyOperator::make(FromBlocks{dims(y)[1].value()}), {blocked})[0];
    p_.redirect(y, plain);
    blocked_[plain] = blocked;
  }
  /// Replaces a node's only result with `blocked`.
  void give(int n, ValueId blocked, std::string_view text) {
    p_.applied(n, text);
    give_value(n, p_.node(n).outputs[0], blocked);
  }
  ValueId add(int n, AnyOperator op, std::vector<ValueId> inputs) {
    return p_.add_node(n, std::move(op), std::move(inputs))[0];
  }
  /// Whether the result has a known number of channels, and no body reads it.
  bool gives_channels(int n) const {
    const Graph::Node& node = p_.node(n);
    if (node.outputs.size() != 1 || p_.is_captured(node.outputs[0])) return false;
    const Dims& y = dims(node.outputs[0]);
    return y.ranked() && y.rank() >= 3 && y[1].known() && y[1].value() > 0;
  }

  void take_convolution(int n, const FusedConv& conv) {
    const std::vector<ValueId> in = p_.node(n).inputs;
    if (conv.element != DType::float32) return p_.skipped(n, "the weights are no float32");
    if (conv.extents.size() != 3 && conv.extents.size() != 4)
      return p_.skipped(n, "it does not have one or two spatial axes");
    if (!dims(in[0]).ranked() || !gives_channels(n))
      return p_.skipped(n, "the ranks are not known, or a body reads Y");
    const bool line = conv.extents.size() == 3;
    const int64_t kernel[2] = {line ? 1 : conv.extents[2], conv.extents[line ? 2 : 3]};
    const auto windows = conv.conv.window();
    const int64_t strides[2] = {line ? 1 : windows.stride(0), windows.stride(line ? 0 : 1)};
    const int64_t dilations[2] = {line ? 1 : windows.dilation(0), windows.dilation(line ? 0 : 1)};
    kernels::ConvGeometry g;
    g.rank = 2;
    g.groups = conv.conv.group;
    g.in_channels = conv.extents[1] * g.groups;
    g.out_channels = conv.extents[0];
    g.kernel = kernel;
    g.strides = strides;
    g.dilations = dilations;
    if (!kernels::blockable_conv<float>(g)) return p_.skipped(n, "its groups are no whole blocks");
    if (g.groups > 1 && 2 * g.groups >= g.in_channels && kernel[0] * kernel[1] <= 9 && blocks(in[0]) < 0)
      return p_.skipped(n, "it would take longer to lay X out in blocks");
    if (2 * g.out_channels < block_)
      return p_.skipped(n, g.out_channels, " output channels would leave a block almost empty");

    // If the channels of X are not known, another node may expect others.
    if (const auto* made = made_by<ToBlocks>(p_, blocks(in[0]));
        made != nullptr && made->op.as<ToBlocks>()->channels != g.in_channels)
      return p_.skipped(n, "another node reads X with other channels");

    const bool x_is_plain = blocks(in[0]) < 0;
    BlockedConv blocked{.conv = conv.conv, .bounds = conv.bounds, .block = block_, .extents = conv.extents};
    blocked.plain_x = x_is_plain && g.groups == 1 && g.in_channels <= 4;
    if (conv.winograd) blocked.winograd = winograd_for(g, blocked.plain_x, dims(p_.node(n).outputs[0]));
    const auto key = [&](ConstantKey& of) {
      add_weights(of, DType::float32, conv.extents, g.groups, conv.weights.data());
      add_numbers(of, conv.factors);
      of.add(blocked.winograd);
    };
    blocked.weights = shared_weights(p_, "blocked filter", key, [&] {
      Storage weights = Storage::make<float>(kernels::blocked_conv_weight_size<float>(g, blocked.winograd),
                                             lasting_allocator());
      kernels::blocked_conv_pack_weights<float>(g, blocked.winograd,
                                                {static_cast<const float*>(conv.weights.data()),
                                                 conv.factors.empty() ? nullptr : conv.factors.data()},
                                                weights.as<float>());
      return weights;
    });
    if (conv.bias) blocked.bias = in_blocks(static_cast<const float*>(conv.bias.data()), g.out_channels);
    std::vector<ValueId> inputs{blocked.plain_x ? in[0] : to_blocks(n, in[0], g.in_channels)};
    if (in.size() > 1) inputs.push_back(to_blocks(n, in[1], g.out_channels));
    std::string text = blocked.winograd ? "blocked, by Winograd" : "blocked";
    int last = n;
    if (const int next = p_.only_reader(p_.node(n).outputs[0]);
        next >= 0 && fits(p_, next) && gives_channels(next)) {
      blocked.activation = activation_of(p_.node(next).op);
      if (blocked.activation) last = next, text += ", with " + p_.label(next);
    }
    const bool product = x_is_plain && better_as_product(conv, in[0], dims(p_.node(n).outputs[0]));
    const ValueId y = add(n, AnyOperator::make(blocked), std::move(inputs));
    if (product) products_.emplace(y, conv);
    give(last, y, text);
  }
  /// Lets the convolution before a FromBlocks give a plain result, if that is its only reader.
  void leave_blocks(int n) {
    const int maker = p_.maker(p_.node(n).inputs[0]);
    const auto* conv = maker < 0 ? nullptr : p_.node(maker).op.as<BlockedConv>();
    if (conv == nullptr || p_.only_reader(p_.node(maker).outputs[0]) != n) return;
    std::vector<ValueId> in = p_.node(maker).inputs;
    kernels::ConvGeometry g;
    g.groups = conv->conv.group;
    g.in_channels = conv->extents[1] * g.groups, g.out_channels = conv->extents[0];
    const Graph::Node* x = made_by<ToBlocks>(p_, in[0]);
    const bool own_x = x != nullptr && p_.only_reader(in[0]) == maker;
    const bool keeps = own_x && kernels::keeps_planes(g, conv->winograd);
    if (in.size() > 1 || !(keeps || kernels::gives_planes<float>(g, conv->winograd))) return;
    const ValueId y = p_.node(n).outputs[0];
    const auto product = products_.find(p_.node(maker).outputs[0]);
    if (product != products_.end() && own_x && !conv->activation) {
      p_.skipped(maker, "X and Y are plain");
      return p_.redirect(y, add(maker, AnyOperator::make(product->second), x->inputs));
    }
    BlockedConv plain = *conv;
    plain.plain_y = true;
    if (keeps) plain.plain_x = true, in = x->inputs;
    p_.redirect(y, add(maker, AnyOperator::make(plain), std::move(in)));
  }
  /// Whether a convolution has 1x1 windows, and images so large that converting them to blocks would cost
  /// more than a matrix product loses.
  bool better_as_product(const FusedConv& conv, ValueId x, const Dims& y) const {
    bool product = conv.conv.group == 1;
    for (int k = 2; k < y.rank(); ++k)
      product =
          product && conv.extents[k] == 1 && dims(x)[k].same(y[k]) && conv.conv.window().stride(k - 2) == 1;
    const Dim cells = y.product(2, y.rank());
    return product && !(cells.known() && cells.value() < 256);
  }
  /// The unary function that an operator computes, if its operands cannot change it.
  static kernels::Activation<float> activation_of(const AnyOperator& op) {
    using enum kernels::UnaryOp;
    using kernels::activation;
    if (op.as<op::HardSwish>()) return activation<hard_swish, float>();
    if (op.as<op::Mish>()) return activation<mish, float>();
    if (op.as<op::Sigmoid>()) return activation<sigmoid, float>();
    if (op.as<op::Tanh>()) return activation<tanh, float>();
    if (const auto* f = op.as<op::Elu>()) return activation<elu, float>({.alpha = f->alpha});
    if (const auto* f = op.as<op::LeakyRelu>()) return activation<leaky_relu, float>({.alpha = f->alpha});
    if (const auto* f = op.as<op::Swish>()) return activation<swish, float>({.alpha = f->alpha});
    if (const auto* f = op.as<op::HardSigmoid>())
      return activation<hard_sigmoid, float>({.alpha = f->alpha, .beta = f->beta});
    if (const auto* f = op.as<op::Gelu>())
      return f->approximate == "tanh" ? activation<gelu_tanh, float>() : activation<gelu, float>();
    return {};
  }
  /// The outputs on a side of Winograd's tiles, or 0, for a y of these extents. An unknown batch counts as
  /// one image.
  static int winograd_for(kernels::ConvGeometry g, bool plain_x, const Dims& y) {
    int64_t out[2];
    if (y.rank() == 4 && y[2].known() && y[3].known()) {
      out[0] = y[2].value(), out[1] = y[3].value();
      g.out = out;
    }
    g.batch = y[0].known() ? y[0].value() : 1;
    return kernels::winograd_outputs(g, plain_x);
  }

  /// Numbers per channel, zero-padded to whole blocks.
  Storage in_blocks(const float* from, int64_t channels) const {
    const int64_t count = (channels + block_ - 1) / block_ * block_;
    Storage s = Storage::make<float>(count);
    std::fill_n(std::copy_n(from, channels, s.as<float>()), count - channels, 0.0f);
    return s;
  }

  void follow(int n) {
    const Graph::Node& node = p_.node(n);
    if (node.op.as<op::Split>()) return part(n);
    if (!fits(p_, n) || !gives_channels(n) || !node.captures.empty()) return;
    const ValueId x = node.inputs[0] < 0 ? -1 : blocks(node.inputs[0]);
    if (x >= 0 && (node.op.as<op::MaxPool>() || node.op.as<op::AveragePool>())) {
      give(n, add(n, with_lanes(node.op), {x}), "blocked");
    } else if (x >= 0 && node.op.as<op::GlobalAveragePool>()) {
      give(n, add(n, AnyOperator::make(BlockedMean{}), {x}), "blocked");
    } else if (std::ranges::any_of(node.inputs, [&](ValueId v) { return blocks(v) >= 0 && scale(n, v); })) {
      return;
    } else if (const auto* concat = node.op.as<op::Concat>()) {
      join(n, *concat);
    } else if (const auto* resize = node.op.as<op::Resize>(); resize && x >= 0) {
      enlarge(n, *resize, x);
    } else if (is_elementwise(node) && p_.info(node.outputs[0]).type == Type(DType::float32)) {
      const bool function = node.op.elements() == op::Elements::function;
      std::vector<ValueId> inputs;
      for (ValueId v : node.inputs) {
        const bool parameter = function && !inputs.empty();
        const ValueId b = v < 0 || parameter ? v : operand(v, dims(node.outputs[0]));
        if (v >= 0 && b < 0) return;
        inputs.push_back(b);
      }
      give(n, add(n, node.op, std::move(inputs)), "blocked");
    }
  }

  /// Consecutive channel maps, with a following Relu or Clip, as a depthwise convolution with one cell. False
  /// if there are none.
  bool scale(int n, ValueId v) {
    const int64_t channels = dims(v)[1].known() ? dims(v)[1].value() : 0;
    BlockedConv scale{.conv = {.group = channels}, .block = block_, .extents = {channels, 1}};
    for (int k = 2; k < dims(v).rank(); ++k) scale.extents.push_back(1);
    if (channels == 0 || scale.extents.size() > 4) return false;
    const ValueId x = blocks(v);
    ChannelMap map = ChannelMap::identity(channels);
    int last = -1;
    for (int next = n; next >= 0 && fits(p_, next) && gives_channels(next); next = p_.only_reader(v)) {
      const auto step = channel_map(p_, p_.node(next), v, channels);
      const auto both = step ? map.then(*step) : std::nullopt;
      const auto bounds = last < 0 ? std::nullopt : bounds_of(p_, p_.node(next), v);
      if (!both && !bounds) break;
      if (both) map = *both;
      else scale.bounds = *bounds;
      last = next;
      if (bounds) break;
      v = p_.node(last).outputs[0];
    }
    if (last < 0) return false;
    scale.weights = in_blocks(std::vector<float>(map.scale.begin(), map.scale.end()).data(), channels);
    scale.bias = in_blocks(std::vector<float>(map.shift.begin(), map.shift.end()).data(), channels);
    give(last, add(n, AnyOperator::make(scale), {x}), "blocked");
    return true;
  }

  /// A Concat of channels. Only the last operand may end within a block.
  void join(int n, const op::Concat& concat) {
    const Graph::Node& node = p_.node(n);
    const int64_t axis = concat.axis.value_or(1);
    if (axis != 1 && axis != 1 - dims(node.outputs[0]).rank()) return;
    std::vector<ValueId> inputs;
    for (ValueId v : node.inputs) {
      const bool last = inputs.size() + 1 == node.inputs.size();
      const bool whole = last || (dims(v)[1].known() && dims(v)[1].value() % block_ == 0);
      if (blocks(v) < 0 || !whole) return;
      inputs.push_back(blocks(v));
    }
    give(n, add(n, along(node.op, 1), std::move(inputs)), "blocked");
  }

  /// A Split of channels. Only the last part may end within a block.
  void part(int n) {
    const Graph::Node& node = p_.node(n);
    const ValueId x = blocks(node.inputs[0]);
    const int64_t axis = node.op.as<op::Split>()->axis;
    if (x < 0 || !fits(p_, n) || (axis != 1 && axis != 1 - dims(node.inputs[0]).rank())) return;
    const auto count = static_cast<int>(node.outputs.size());
    Tensor<int64_t> lengths{Extents{count}};
    for (int k = 0; k < count; ++k) {
      const ValueId y = node.outputs[static_cast<std::size_t>(k)];
      const Dim channels = dims(y)[1];
      const bool whole = channels.known() && (k == count - 1 || channels.value() % block_ == 0);
      if (!whole || channels.value() == 0 || p_.is_captured(y)) return;
      lengths[k] = (channels.value() + block_ - 1) / block_;
    }
    const ValueId split = p_.add_constant({}, AnyTensor(std::move(lengths)));
    const std::vector<ValueId> parts =
        p_.add_node(n, AnyOperator::make(op::Split{.axis = 1}), {x, split}, count);
    p_.applied(n, "blocked");
    for (std::size_t k = 0; k < parts.size(); ++k) give_value(n, node.outputs[k], parts[k]);
  }

  /// A Resize of spatial axes. If it lists all axes, the axis of lanes is added, and the blocks' axis must
  /// keep its extent.
  void enlarge(int n, const op::Resize& resize, ValueId x) {
    const Graph::Node& node = p_.node(n);
    const int rank = dims(node.outputs[0]).rank();
    const int64_t channels = dims(node.inputs[0])[1].value();
    if (resize.coordinate_transformation_mode == "tf_crop_and_resize") return;  // roi lists axes as well
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = x;
    if (!resize.axes.empty()) {
      const auto from_front = [&](std::string_view name, op::AttributeValue& value) {
        auto* axes = std::get_if<std::vector<int64_t>>(&value);
        if (name != "axes" || axes == nullptr) return false;
        for (int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
        return true;
      };
      for (int64_t axis : resize.axes)
        if (axis < 0 ? axis < 2 - rank : axis < 2) return;
      return give(n, add(n, node.op.with_attributes(from_front), std::move(inputs)), "blocked");
    }
    if (resize.keep_aspect_ratio_policy != "stretch") return;
    for (std::size_t k = 2; k < inputs.size(); ++k) {
      if (inputs[k] < 0) continue;
      const Value& constant = p_.constant(inputs[k]);
      if (!constant.is_tensor()) return;
      const AnyTensor& by = constant.tensor();
      if (by.size() != rank) continue;  // empty: the other one applies
      const auto more = [&]<class T>(T whole, T blocks, T lanes) {
        Tensor<T> list{Extents{rank + 1}};
        std::copy_n(by.view().as<T>().data(), rank, list.data());
        if (list[1] != whole) return false;
        list[1] = blocks, list[rank] = lanes;
        inputs[k] = p_.add_constant({}, AnyTensor(std::move(list)));
        return true;
      };
      if (by.dtype() == DType::float32 ? !more(1.0f, 1.0f, 1.0f)
                                       : !more(channels, (channels + block_ - 1) / block_, block_))
        return;
    }
    give(n, add(n, node.op, std::move(inputs)), "blocked");
  }

  /// An operand of an elementwise node: a blocked value with as many channels as the result, a number, or a
  /// constant number per channel. Else -1.
  ValueId operand(ValueId v, const Dims& y) {
    const Dims& d = dims(v);
    if (!d.ranked()) return -1;
    if (blocks(v) >= 0) return d.rank() == y.rank() && d[1].same(y[1]) ? blocks(v) : -1;
    const Value& constant = p_.constant(v);
    if (!constant.is_tensor() || d.rank() > y.rank()) return -1;
    const AnyTensor& t = constant.tensor();
    if (t.size() == 1) return v;
    const int at = d.rank() - (y.rank() - 1);  // the axis of channels
    if (t.dtype() != DType::float32 || at < 0 || t.size() != y[1].value() || !d[at].same(y[1])) return -1;
    Extents extents{(t.size() + block_ - 1) / block_};
    for (int k = 2; k < y.rank(); ++k) extents.push_back(1);
    extents.push_back(block_);
    return p_.add_constant(
        {}, AnyTensor(DType::float32, extents, in_blocks(static_cast<const float*>(t.data()), t.size())));
  }

  Program& p_;
  const int64_t block_ = kernels::channel_block<float>();
  std::map<ValueId, ValueId> blocked_;
  std::map<ValueId, FusedConv> products_;  // replace blocked values if all their neighbours are plain
};

}  // namespace detail

inline void apply_block_channels(Program& program) { detail::ChannelBlocks(program).apply(); }

inline constexpr Pass block_channels{"block_channels", apply_block_channels};

}  // namespace tenon::TENON_ABI::passes
