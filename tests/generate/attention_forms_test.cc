// The texts of a model do not depend on how its attention is written, on batches, drafts and threads.
#include <doctest/doctest.h>

#include "tenon/graph/passes.hpp"
#include "tenon/op/com.microsoft/attention.hpp"
#include "tenon/op/com.microsoft/multi_head_attention.hpp"
#include "tenon/op/generator/range.hpp"
#include "tenon/op/logical/and.hpp"
#include "tenon/op/logical/less_or_equal.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/math/sub.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tenon/op/tensor/where.hpp"
#include "tests/generate/models.hpp"

namespace tenon {
using namespace test;

namespace {

enum class Form { attention, multihead, concat };

struct Decoder {
  Form form;
  DType type;
  float filter;  // of masked keys
};

/// A decoder of two heads. Attention and Concat have one past of five axes.
Graph model(const Decoder& kind) {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("sequence"), past_steps = g.symbol("past");
  const ValueId tokens = g.add_input("input_ids", DType::int64, {batch, steps}),
                mask = g.add_input("attention_mask", DType::int64, {batch, g.symbol("total")}),
                positions = g.add_input("position_ids", DType::int64, {batch, steps});
  const auto cast = [&](ValueId x, DType to) {
    return node(g, op::Cast{.to = static_cast<int64_t>(to)}, {x});
  };
  const auto ints = [&](std::vector<int64_t> list) {
    const Extents extents{std::ssize(list)};
    Tensor<int64_t> t(extents);
    std::copy(list.begin(), list.end(), t.begin());
    return g.add_constant({}, t);
  };
  const auto scalar = [&](int64_t n) { return g.add_constant({}, Tensor<int64_t>({}, {n})); };
  const auto weighted = [&](ValueId x, int64_t columns, uint32_t seed) {
    return node(g, op::MatMul{}, {x, cast(g.add_constant({}, weights({width, columns}, seed)), kind.type)});
  };
  const std::vector<std::string> results(3);
  const ValueId x = cast(embedding(g, tokens, positions, 5), kind.type), whole = cast(mask, DType::int32);
  ValueId y = -1;
  if (kind.form == Form::multihead) {
    const Dims past{batch, 2, past_steps, width / 2};
    const ValueId key = g.add_input("past_key_values.0.key", kind.type, past),
                  value = g.add_input("past_key_values.0.value", kind.type, past);
    const auto out = g.add_node(
        "attention",
        AnyOperator::make(op::com_microsoft::MultiHeadAttention{
            .mask_filter_value = kind.filter, .num_heads = 2, .unidirectional = 1}),
        {weighted(x, width, 7), weighted(x, width, 8), weighted(x, width, 9), -1, whole, -1, key, value},
        results);
    y = out[0];
    g.add_output("present.0.key", out[1]);
    g.add_output("present.0.value", out[2]);
  } else {
    const ValueId past = g.add_input("past_0", kind.type, {2, batch, 2, past_steps, width / 2});
    if (kind.form == Form::attention) {
      const auto out = g.add_node(
          "attention",
          AnyOperator::make(op::com_microsoft::Attention{
              .mask_filter_value = kind.filter, .num_heads = 2, .unidirectional = 1}),
          {x, cast(g.add_constant({}, weights({width, 3 * width}, 7)), kind.type), -1, whole, past},
          std::span(results).first(2));
      y = out[0];
      g.add_output("present_0", out[1]);
    } else {
      const auto by_heads = [&](ValueId v) {
        return node(g, op::Transpose{{0, 2, 1, 3}},
                    {node(g, op::Reshape{}, {v, ints({0, 0, 2, width / 2})})});
      };
      const auto joined = [&](int64_t half, ValueId v) {
        return node(g, op::Concat{.axis = -2}, {node(g, op::Gather{}, {past, scalar(half)}), by_heads(v)});
      };
      const ValueId q = by_heads(weighted(x, width, 7)), k = joined(0, weighted(x, width, 8)),
                    v = joined(1, weighted(x, width, 9));
      const auto count = [&](ValueId of) {
        return node(g, op::Gather{}, {node(g, op::Shape{}, {of}), scalar(1)});
      };
      const ValueId keys = count(mask), first = node(g, op::Sub{}, {keys, count(tokens)});
      const ValueId places = node(g, op::Range{}, {scalar(0), keys, scalar(1)}),
                    own = node(g, op::Range{}, {first, keys, scalar(1)});
      const ValueId earlier =
          node(g, op::LessOrEqual{}, {places, node(g, op::Unsqueeze{}, {own, ints({1})})});
      const auto number = [&](float n) {
        return cast(g.add_constant({}, Tensor<float>({}, {n})), kind.type);
      };
      const ValueId addend = node(
          g, op::Where{}, {node(g, op::And{}, {earlier, allowed(g, mask)}), number(0), number(kind.filter)});
      const ValueId scores =
          node(g, op::Mul{},
               {node(g, op::MatMul{}, {q, node(g, op::Transpose{{0, 1, 3, 2}}, {k})}), number(0.5f)});
      const ValueId weight = node(g, op::Softmax{}, {node(g, op::Add{}, {scores, addend})});
      y = node(
          g, op::Reshape{},
          {node(g, op::Transpose{{0, 2, 1, 3}}, {node(g, op::MatMul{}, {weight, v})}), ints({0, 0, width})});
      const auto one = [&](ValueId half) { return node(g, op::Unsqueeze{}, {half, ints({0})}); };
      g.add_output("present_0", node(g, op::Concat{.axis = 0}, {one(k), one(v)}));
    }
  }
  g.add_output("logits", weighted(node(g, op::Add{}, {x, weighted(y, width, 10)}), vocabulary, 11));
  return g;
}

std::vector<Decoder> decoders() {
  std::vector<Decoder> all;
  for (const Form form : {Form::attention, Form::multihead, Form::concat})
    for (const DType type : {DType::float32, DType::float16}) {
      all.push_back({form, type, -10000});
      if (form != Form::concat || type == DType::float32)
        all.push_back({form, type, std::numeric_limits<float>::lowest()});
    }
  return all;
}

Feeds empty_pasts(const Decoder& kind) {
  const auto none = [&](const Extents& e) { return AnyTensor::uninitialized(kind.type, e); };
  if (kind.form != Form::multihead) return {{"past_0", none({2, 1, 2, 0, width / 2})}};
  const AnyTensor half = none({1, 2, 0, width / 2});
  return {{"past_key_values.0.key", half}, {"past_key_values.0.value", half}};
}

}  // namespace

TEST_CASE("Generator: attention in every form") {
  const std::vector<std::vector<int>> prompts = {{5}, {1, 2, 3}, {12, 0, 7, 7, 7, 2, 4}};
  std::vector<std::vector<int>> of_first;
  for (const Decoder& kind : decoders()) {
    CAPTURE(static_cast<int>(kind.form));
    CAPTURE(name_of(kind.type));
    CAPTURE(kind.filter);
    const Session s(model(kind), {.passes = standard_passes()});
    const Generator g(s);
    std::vector<std::vector<int>> expected;
    for (const auto& prompt : prompts) {
      expected.push_back(by_whole_texts(s, empty_pasts(kind), prompt, 12));
      CHECK(all(g.stream(prompt, {.max_tokens = 12})) == expected.back());
      CHECK(all(g.stream(prompt, {.max_tokens = 12, .draft_tokens = 3})) == expected.back());
    }
    for (const Padding padding : {Padding::left, Padding::right})
      CHECK(all(g.batch(prompts, {.max_tokens = 12, .padding = padding})) == expected);
    std::vector<float> logits_of_one;
    for (const int threads : {1, 2, 5}) {
      const Session t(model(kind), {.threads = threads, .passes = standard_passes()});
      std::vector<float> all_logits;
      (void)all(Generator(t).stream(prompts[2],
                                    {.max_tokens = 12, .adjust = [&](std::span<float> logits, auto) {
                                       all_logits.insert(all_logits.end(), logits.begin(), logits.end());
                                     }}));
      if (threads == 1) logits_of_one = all_logits;
      CHECK(all_logits == logits_of_one);
    }
  }
}

}  // namespace tenon
