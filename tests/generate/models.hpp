// Small language models that are built in code: an embedding, one attention over a cache, a projection.
#pragma once

#include "tenon/generate.hpp"
#include "tenon/graph/body.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"
#include "tests/graph/build.hpp"

namespace tenon::test {

inline constexpr int64_t vocabulary = 13, width = 8;

/// Numbers between -2 and 2.
inline Tensor<float> weights(const Extents& extents, uint32_t seed) {
  Tensor<float> t = numbers(extents, seed);
  for (float& x : t) x *= 2;
  return t;
}

struct ModelNames {
  std::string tokens = "input_ids", mask = "attention_mask", positions = "position_ids", logits = "logits",
              past = "past_key_values.0.", present = "present.0.";
  DType integers = DType::int64;
};

/// A true for each key that the mask (batch, keys) allows, (batch, 1, 1, keys).
inline ValueId allowed(Graph& g, ValueId mask) {
  const ValueId truth = node(g, op::Cast{.to = static_cast<int64_t>(DType::bool_)}, {mask});
  return node(g, op::Unsqueeze{}, {truth, g.add_constant({}, Tensor<int64_t>({2}, {1, 2}))});
}

/// (batch, steps) to the sum of the tokens' and the positions' rows, (batch, steps, width).
inline ValueId embedding(Graph& g, ValueId tokens, ValueId positions, uint32_t seed) {
  const ValueId words =
      node(g, op::Gather{}, {g.add_constant({}, weights({vocabulary, width}, seed)), tokens});
  if (positions < 0) return words;
  return node(
      g, op::Add{},
      {words, node(g, op::Gather{}, {g.add_constant({}, weights({64, width}, seed + 1)), positions})});
}

inline ValueId product(Graph& g, ValueId x, int64_t columns, uint32_t seed) {
  return node(g, op::MatMul{}, {x, g.add_constant({}, weights({width, columns}, seed))});
}

/// A decoder with a mask, positions and a cache of two heads; `merged` has branches for the first step and
/// for later ones.
inline Graph language_model(uint32_t seed = 1, const ModelNames& names = {}, bool merged = false,
                            int64_t columns = vocabulary) {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("sequence"), total = g.symbol("total");
  const ValueId tokens = g.add_input(names.tokens, names.integers, {batch, steps});
  const ValueId mask = g.add_input(names.mask, names.integers, {batch, total});
  const ValueId positions = g.add_input(names.positions, names.integers, {batch, steps});
  const Dims past = {batch, 2, g.symbol("past"), width / 2};
  const ValueId key = g.add_input(names.past + "key", DType::float32, past);
  const ValueId value = g.add_input(names.past + "value", DType::float32, past);
  const ValueId x = embedding(g, tokens, positions, seed);
  const std::vector<std::string> results(3);
  std::vector<ValueId> operands{product(g, x, width, seed + 2),
                                product(g, x, width, seed + 3),
                                product(g, x, width, seed + 4),
                                allowed(g, mask),
                                key,
                                value};
  const auto attend = [&](Graph& to, std::vector<ValueId> in) {
    return to.add_node("attention",
                       AnyOperator::make(op::Attention{.is_causal = 1, .kv_num_heads = 2, .q_num_heads = 2}),
                       std::move(in), results);
  };
  std::vector<ValueId> attended;
  if (merged) {
    const ValueId later = g.add_input("use_cache_branch", DType::bool_, {1});
    const auto branch = [&](std::size_t count) {
      Graph b = Graph::inside(g);
      std::vector<ValueId> in;
      for (std::size_t k = 0; k < count; ++k) in.push_back(b.capture(operands[k]));
      for (const ValueId v : attend(b, std::move(in))) b.add_output(std::to_string(v), v);
      return body(std::move(b));
    };
    attended =
        g.add_node("choice", AnyOperator::make(op::If{.else_branch = branch(4), .then_branch = branch(6)}),
                   {later}, results);
  } else {
    attended = attend(g, operands);
  }
  const ValueId y = node(g, op::Add{}, {x, product(g, attended[0], width, seed + 5)});
  g.add_output(names.logits, product(g, y, columns, seed + 6));
  g.add_output(names.present + "key", attended[1]);
  g.add_output(names.present + "value", attended[2]);
  return g;
}

/// The most probable tokens after a text, by runs over all of it with these empty pasts and without a state.
inline std::vector<int> by_whole_texts(const Session& s, const Feeds& pasts, std::vector<int> text,
                                       int64_t count) {
  const std::size_t prompt = text.size();
  for (; count > 0; --count) {
    const auto n = static_cast<int64_t>(text.size());
    Tensor<int64_t> tokens(Extents{1, n}), mask(Extents{1, n}), positions(Extents{1, n});
    for (int64_t k = 0; k < n; ++k)
      tokens[k] = text[static_cast<std::size_t>(k)], mask[k] = 1, positions[k] = k;
    Feeds feeds{{"input_ids", tokens}, {"attention_mask", mask}, {"position_ids", positions}};
    feeds.insert(feeds.end(), pasts.begin(), pasts.end());
    Outputs out = s.run(feeds);
    const AnyTensor& all = out["logits"].tensor();
    std::vector<float> logits(static_cast<std::size_t>(all.size()));
    convert_n(DType::float32, logits.data(), all.dtype(), all.data(), all.size());
    text.push_back(static_cast<int>(std::max_element(logits.end() - vocabulary, logits.end()) -
                                    (logits.end() - vocabulary)));
  }
  return {text.begin() + static_cast<std::ptrdiff_t>(prompt), text.end()};
}

/// The same model without a cache, which reads a whole text, for one text without padding.
inline std::vector<int> expected_text(uint32_t seed, std::vector<int> text, int64_t count) {
  const Tensor<float> none(Extents{1, 2, 0, width / 2});
  return by_whole_texts(Session(language_model(seed)),
                        {{"past_key_values.0.key", none}, {"past_key_values.0.value", none}}, std::move(text),
                        count);
}

/// All tokens of a stream.
inline std::vector<int> all(TokenStream<int> stream) {
  std::vector<int> tokens;
  for (const int token : stream) tokens.push_back(token);
  return tokens;
}
/// The tokens of each text of a batch.
inline std::vector<std::vector<int>> all(TokenStream<std::span<const int>> stream) {
  std::vector<std::vector<int>> texts;
  for (const std::span<const int> tokens : stream) {
    texts.resize(tokens.size());
    for (std::size_t b = 0; b < tokens.size(); ++b)
      if (tokens[b] >= 0) texts[b].push_back(tokens[b]);
  }
  return texts;
}

}  // namespace tenon::test
