// Layers of attention whose keys and values are kept from run to run, in the forms in which graphs state it.
#pragma once

#include "tenon/graph/state.hpp"
#include "tenon/op/com.microsoft/attention.hpp"
#include "tenon/op/com.microsoft/group_query_attention.hpp"
#include "tenon/op/com.microsoft/multi_head_attention.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/reduction/reduce_sum_square.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/devices/sharded.hpp"

namespace tenon::devices {

/// `grouped`, `stacked` (keys and values in one cache) and `multi_head` are com.microsoft's.
enum class Form { attention, grouped, concat, stacked, multi_head };

/// y: x (batch, steps, 24) through two layers of attention, causal but for `concat`; `held`: the extents of
/// the first past, unless runs write rows into it.
struct Decoder {
  static constexpr int64_t heads = 6, size = 4, width = heads * size, layers = 2;

  /// `others`: nodes that read pasts and presents too, and have results that do not depend on unused rows.
  explicit Decoder(Form of, bool others = false) : form(of) {
    const Dim batch = g.symbol("batch"), past = g.symbol("past");
    ValueId x = g.add_input("x", DType::float32, {batch, g.symbol("steps"), width});
    if (form == Form::grouped) {
      last_ = g.add_input("last", DType::int32, {batch});
      total_ = g.add_input("total", DType::int32, {1});
    }
    for (int l = 0; l < layers; ++l) {
      const std::string of_layer = std::to_string(l);
      const std::vector<std::string> whats =
          form == Form::stacked ? std::vector<std::string>{"both"} : std::vector<std::string>{"key", "value"};
      std::vector<ValueId> pasts;
      std::vector<std::string> names{"a" + of_layer};
      for (const std::string& what : whats) {
        const Dims dims =
            form == Form::stacked ? Dims{2, batch, heads, past, size} : Dims{batch, heads, past, size};
        pasts.push_back(g.add_input("past_" + what + of_layer, DType::float32, dims));
        names.push_back("present_" + what + of_layer);
        pairs.push_back({"past_" + what + of_layer, names.back()});
      }
      if (l == 0 && !writes_rows()) held = add(op::Shape{}, {pasts[0]}, "held");
      const std::vector<ValueId> made = attend(of_layer, x, pasts, names);
      x = add(op::Add{}, {x, product("o" + of_layer, made[0], l)}, "x" + of_layer);
      for (std::size_t k = 0; k < pasts.size(); ++k) {
        g.add_output(names[k + 1], made[k + 1]);
        if (!others) continue;
        add_sum("sum_" + pairs[pairs.size() - pasts.size() + k].past, pasts[k]);
        add_sum("sum_" + names[k + 1], made[k + 1]);
      }
    }
    if (held >= 0) g.add_output("held", held);
    g.add_output("y", x);
  }

  /// Whether runs write rows into pasts, instead of joining steps to them.
  bool writes_rows() const { return form == Form::grouped; }
  /// GroupQueryAttention reads several tokens after others in a batch of 1 only.
  int64_t batch() const { return form == Form::grouped ? 1 : 2; }

  /// Products by columns of whole heads, and the sums after attention by rows.
  Placement tensors(int devices) const {
    Placement placement{.devices = devices};
    Ranks ranks;
    for (int r = 0; r < devices; ++r) ranks.push_back(r);
    for (const std::string l : {"0", "1"}) {
      for (const std::string what : {"q", "k", "v", "o"})
        if (what == "o" || form != Form::stacked)
          placement.nodes[what + l].tensors[what + l + "w"] = cut(what == "o" ? 0 : 1, ranks, heads);
      if (form == Form::stacked) placement.nodes["a" + l].tensors["w" + l] = cut(1, ranks, heads, 3);
    }
    return placement;
  }
  Feeds feeds(const Tensor<float>& all, int64_t from, int64_t to) const {
    const int64_t entries = all.extent(0), steps = to - from;
    Tensor<float> x(Extents{entries, steps, width});
    for (int64_t b = 0; b < entries; ++b)
      std::copy_n(all.data() + (b * all.extent(1) + from) * width, steps * width,
                  x.data() + b * steps * width);
    const auto number = [](int64_t count, int64_t n) {
      Tensor<int32_t> t(Extents{count});
      std::fill_n(t.data(), count, static_cast<int32_t>(n));
      return t;
    };
    Feeds feeds{{"x", std::move(x)}};
    if (last_ >= 0) feeds.emplace_back("last", number(entries, to - 1));
    if (total_ >= 0) feeds.emplace_back("total", number(1, to));
    return feeds;
  }

  Form form;
  Graph g{};
  std::vector<StatePair> pairs{};
  ValueId held = -1;

 private:
  ValueId add(const auto& op, std::vector<ValueId> in, std::string name = {}) {
    if (name.empty()) name = "v" + std::to_string(g.values().size());
    return g.add_node(name, AnyOperator::make(op), std::move(in), std::vector{name})[0];
  }
  // Sums over the steps.
  void add_sum(const std::string& name, ValueId of) {
    g.add_output(name, add(op::ReduceSumSquare{.keepdims = 0}, {of, g.add_constant({}, list({-2}))}, name));
  }
  ValueId product(const std::string& name, ValueId of, int layer) {
    const uint32_t seed = static_cast<uint32_t>(10 * layer) + static_cast<uint32_t>(name[0]);
    return add(op::MatMul{}, {of, g.add_constant(name + "w", numbers({width, width}, seed))}, name);
  }
  std::vector<ValueId> attend(const std::string& l, ValueId x, const std::vector<ValueId>& pasts,
                              const std::vector<std::string>& names) {
    using namespace op::com_microsoft;
    const auto node = [&](const auto& op, std::vector<ValueId> in) {
      return g.add_node(names[0], AnyOperator::make(op), std::move(in), names);
    };
    const int layer = l[0] - '0';
    if (form == Form::stacked) {
      const ValueId w = g.add_constant("w" + l, numbers({width, 3 * width}, static_cast<uint32_t>(layer)));
      return node(Attention{.num_heads = heads, .unidirectional = 1}, {x, w, -1, -1, pasts[0]});
    }
    const ValueId q = product("q" + l, x, layer), k = product("k" + l, x, layer),
                  v = product("v" + l, x, layer);
    switch (form) {
      case Form::attention:
        return node(op::Attention{.is_causal = 1, .kv_num_heads = heads, .q_num_heads = heads},
                    {q, k, v, -1, pasts[0], pasts[1]});
      case Form::grouped:
        return node(GroupQueryAttention{.kv_num_heads = heads, .num_heads = heads},
                    {q, k, v, pasts[0], pasts[1], last_, total_});
      case Form::concat: return attend_without_softmax(q, k, v, pasts, names);
      default:
        return node(MultiHeadAttention{.num_heads = heads, .unidirectional = 1},
                    {q, k, v, -1, -1, -1, pasts[0], pasts[1]});
    }
  }
  // (q keys') values
  std::vector<ValueId> attend_without_softmax(ValueId q, ValueId k, ValueId v,
                                              const std::vector<ValueId>& pasts,
                                              const std::vector<std::string>& names) {
    const auto split = [&](ValueId of) {
      const ValueId apart = add(op::Reshape{}, {of, g.add_constant({}, list({0, 0, heads, size}))});
      return add(op::Transpose{.perm = {0, 2, 1, 3}}, {apart});
    };
    const ValueId keys = add(op::Concat{.axis = 2}, {pasts[0], split(k)}, names[1]),
                  values = add(op::Concat{.axis = 2}, {pasts[1], split(v)}, names[2]);
    const ValueId scores = add(op::MatMul{}, {split(q), add(op::Transpose{.perm = {0, 1, 3, 2}}, {keys})});
    const ValueId joined = add(op::Transpose{.perm = {0, 2, 1, 3}}, {add(op::MatMul{}, {scores, values})});
    return {add(op::Reshape{}, {joined, g.add_constant({}, list({0, 0, width}))}, names[0]), keys, values};
  }

  ValueId last_ = -1, total_ = -1;
};

}  // namespace tenon::devices
