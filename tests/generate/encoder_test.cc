#include <doctest/doctest.h>

#include <array>

#include "tenon/graph/body.hpp"
#include "tenon/graph/passes.hpp"
#include "tenon/graph/state.hpp"
#include "tests/generate/models.hpp"

namespace tenon {
using namespace test;

namespace {

/// The products of the states that the decoder attends to.
void add_cross(Graph& g, ValueId states) {
  g.add_output("present.0.encoder.key", product(g, states, width, 30));
  g.add_output("present.0.encoder.value", product(g, states, width, 31));
}

/// The rows of an embedding; the mask is read, and has no effect.
Graph encoder(bool cross = false) {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps");
  const ValueId tokens = g.add_input("input_ids", DType::int64, {batch, steps});
  const ValueId mask = g.add_input("attention_mask", DType::int64, {batch, steps});
  const ValueId states = embedding(g, tokens, -1, 20);
  g.add_output("last_hidden_state", states);
  g.add_output("mask", node(g, op::Identity{}, {mask}));
  if (cross) add_cross(g, states);
  return g;
}

/// The features themselves.
Graph encoder_of_features(bool cross) {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps");
  const ValueId features = g.add_input("input_features", DType::float32, {batch, steps, width});
  const ValueId states = node(g, op::Identity{}, {features});
  g.add_output("last_hidden_state", states);
  if (cross) add_cross(g, states);
  return g;
}

enum class Step {
  cross_merged,  // the cross-attention's keys and values are in two branches of one file
  merged,        // the whole decoder is
  first,         // the file of first steps
  later,         // the file of later steps
};

/// What a decoder reads; -1: nothing.
struct Operands {
  ValueId tokens = -1, encoder_mask = -1, states = -1, key = -1, value = -1, cross_key = -1, cross_value = -1;
};

/// Adds the nodes of a decoder that attends to its own tokens and to the encoder's states, of which it caches
/// the products. Returns the logits, and the keys and values for the next step.
std::array<ValueId, 5> add_decoder(Graph& g, Operands in) {
  if (in.cross_key < 0)
    in.cross_key = product(g, in.states, width, 30), in.cross_value = product(g, in.states, width, 31);
  const ValueId x = embedding(g, in.tokens, -1, 40);
  const std::string results[3];
  const auto own = g.add_node(
      "self", AnyOperator::make(op::Attention{.is_causal = 1, .kv_num_heads = 2, .q_num_heads = 2}),
      {product(g, x, width, 41), product(g, x, width, 42), product(g, x, width, 43), -1, in.key, in.value},
      results);
  const ValueId y = node(g, op::Add{}, {x, own[0]});
  const ValueId seen =
      node(g, op::Attention{.kv_num_heads = 2, .q_num_heads = 2},
           {product(g, y, width, 44), in.cross_key, in.cross_value, allowed(g, in.encoder_mask)});
  return {product(g, node(g, op::Add{}, {y, seen}), vocabulary, 45), own[1], own[2], in.cross_key,
          in.cross_value};
}

Graph decoder(Step step) {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps"), encoded = g.symbol("encoded");
  Operands in;
  in.tokens = g.add_input("input_ids", DType::int64, {batch, steps});
  in.encoder_mask = g.add_input("encoder_attention_mask", DType::int64, {batch, encoded});
  if (step != Step::later)
    in.states = g.add_input("encoder_hidden_states", DType::float32, {batch, encoded, width});
  if (step != Step::first) {
    const Dims past = {batch, 2, g.symbol("past"), width / 2}, cross = {batch, encoded, width};
    in.key = g.add_input("past_key_values.0.decoder.key", DType::float32, past);
    in.value = g.add_input("past_key_values.0.decoder.value", DType::float32, past);
    in.cross_key = g.add_input("past_key_values.0.encoder.key", DType::float32, cross);
    in.cross_value = g.add_input("past_key_values.0.encoder.value", DType::float32, cross);
  }
  const auto choice = [&](std::size_t results, const auto& then, const auto& otherwise) {
    const ValueId again = g.add_input("use_cache_branch", DType::bool_, {1});
    const auto branch = [&](const auto& add) {
      Graph b = Graph::inside(g);
      for (const ValueId v : add(b)) b.add_output(std::to_string(v), v);
      return body(std::move(b));
    };
    return g.add_node(
        "choice", AnyOperator::make(op::If{.else_branch = branch(otherwise), .then_branch = branch(then)}),
        {again}, std::vector<std::string>(results));
  };
  std::vector<ValueId> out;
  if (step == Step::merged) {
    const auto captured = [&](Graph& b, bool with_past) {
      Operands of;
      for (ValueId Operands::* part :
           {&Operands::tokens, &Operands::encoder_mask, &Operands::states, &Operands::key, &Operands::value,
            &Operands::cross_key, &Operands::cross_value}) {
        const bool always = part == &Operands::tokens || part == &Operands::encoder_mask;
        if (!always && with_past == (part == &Operands::states)) continue;
        of.*part = b.capture(in.*part);
      }
      return of;
    };
    // Later steps return no keys and values of the states.
    const auto then = [&](Graph& b) {
      std::array<ValueId, 5> made = add_decoder(b, captured(b, true));
      for (const std::size_t cross : {3, 4})
        made[cross] = b.add_constant({}, AnyTensor(Tensor<float>(Extents{0, 1, width})));
      return made;
    };
    out = choice(5, then, [&](Graph& b) { return add_decoder(b, captured(b, false)); });
  } else {
    if (step == Step::cross_merged) {
      const auto made = choice(
          2,
          [&](Graph& b) {
            return std::array{node(b, op::Identity{}, {b.capture(in.cross_key)}),
                              node(b, op::Identity{}, {b.capture(in.cross_value)})};
          },
          [&](Graph& b) {
            const ValueId states = b.capture(in.states);
            return std::array{product(b, states, width, 30), product(b, states, width, 31)};
          });
      in.cross_key = made[0], in.cross_value = made[1];
    }
    const std::array<ValueId, 5> made = add_decoder(g, in);
    out.assign(made.begin(), made.end());
  }
  const char* const names[] = {"logits", "present.0.decoder.key", "present.0.decoder.value",
                               "present.0.encoder.key", "present.0.encoder.value"};
  for (std::size_t k = 0; k < (step == Step::later ? 3 : 5); ++k) g.add_output(names[k], out[k]);
  return g;
}

/// By the decoder of first steps, which reads the whole text each time.
std::vector<int> expected(const std::vector<int>& prompt, std::vector<int> text, int64_t count) {
  const Session e(encoder()), d(decoder(Step::first));
  const auto ids = [](const std::vector<int>& tokens) {
    return Tensor<int64_t>(Extents{1, static_cast<int64_t>(tokens.size())}, tokens.begin(), tokens.end());
  };
  const std::vector<int> ones(prompt.size(), 1);
  Outputs states = e.run({{"input_ids", ids(prompt)}, {"attention_mask", ids(ones)}});
  const std::size_t start = text.size();
  for (; count > 0; --count) {
    Outputs out = d.run({{"input_ids", ids(text)},
                         {"encoder_attention_mask", ids(ones)},
                         {"encoder_hidden_states", states["last_hidden_state"]}});
    const std::vector<float> logits = floats(out["logits"]);
    text.push_back(static_cast<int>(std::max_element(logits.end() - vocabulary, logits.end()) -
                                    (logits.end() - vocabulary)));
  }
  return {text.begin() + static_cast<std::ptrdiff_t>(start), text.end()};
}

}  // namespace

TEST_CASE("Generator: an encoder, and a decoder in one file or in two") {
  const Session e(encoder()), cross_merged(decoder(Step::cross_merged)), first(decoder(Step::first)),
      later(decoder(Step::later));
  const Session merged(decoder(Step::merged), {.passes = standard_passes()}), plain(decoder(Step::merged));
  const Generator one(cross_merged, {.encoder = {.session = &e}});
  const Generator whole(merged, {.encoder = {.session = &e}});
  const Generator without_passes(plain, {.encoder = {.session = &e}});
  const Generator two(later, {.first = {.session = &first}, .encoder = {.session = &e}});
  const std::vector<std::vector<int>> prompts = {{4, 5, 6}, {1}, {7, 7, 2, 9}};
  for (const Generator* g : {&one, &whole, &without_passes, &two}) {
    std::vector<std::vector<int>> texts;
    for (const auto& p : prompts) {
      texts.push_back(expected(p, {0, 3}, 8));
      CHECK(all(g->stream(p, {.max_tokens = 8, .decoder_start = {0, 3}})) == texts.back());
      CHECK(all(g->stream(p, {.max_tokens = 8, .decoder_start = {0, 3}, .draft_tokens = 2})) == texts.back());
    }
    for (const Padding padding : {Padding::left, Padding::right})
      CHECK(all(g->batch(prompts, {.max_tokens = 8, .padding = padding, .decoder_start = {0, 3}})) == texts);
    State unused({.pairs = {{"a", "b"}}});
    CHECK(all(g->stream(prompts[0], {.max_tokens = 8,
                                     .decoder_start = {0, 3},
                                     .run = {.state = &unused, .last = LastSteps("none")}})) == texts[0]);
    check_error([&] { (void)g->stream({1}); }, {"generator", "decoder_start is empty"});
  }
}

TEST_CASE("Generator: steps of a merged decoder copy no cache, and read the states' keys as they are") {
  const std::string of = "past_key_values.0.decoder.", to = "present.0.decoder.";
  State state({.pairs = {{of + "key", to + "key"}, {of + "value", to + "value"}}});
  const Session s(decoder(Step::merged), {.passes = standard_passes(), .state = &state, .explain = true});
  int reads = 0;
  for (const PassReport& r : s.reports()) {
    if (r.pass == "take_branches") CHECK_MESSAGE(r.applied, r.text);
    if (r.pass != "keep_caches") continue;
    CHECK_MESSAGE(r.applied, r.text);
    reads += r.text.find("reads the caches") != std::string::npos;
  }
  CHECK(reads == 1);
}

TEST_CASE("Generator: states that the caller has computed") {
  const Session e(encoder()), merged(decoder(Step::merged));
  const Tensor<int64_t> ids({1, 3}, {4, 5, 6}), ones({1, 3}, {1, 1, 1});
  const Value states = e.run({{"input_ids", ids}, {"attention_mask", ones}})["last_hidden_state"];
  const Generator g(merged);
  CHECK(all(g.stream({0, 3},
                     {.max_tokens = 8,
                      .inputs = {{"encoder_hidden_states", states}, {"encoder_attention_mask", ones}}})) ==
        expected({4, 5, 6}, {0, 3}, 8));
  check_error([&] { return all(g.stream({0, 3})); },
              {"generator", "input 'encoder_attention_mask' is missing"});
}

TEST_CASE("Generator: keys and values that the encoder computes") {
  const Session e(encoder(true)), d(decoder(Step::later));
  const Generator g(d, {.encoder = {.session = &e}});
  const std::vector<std::vector<int>> prompts = {{4, 5, 6}, {1}, {7, 7, 2, 9}};
  std::vector<std::vector<int>> texts;
  for (const auto& p : prompts) {
    texts.push_back(expected(p, {0, 3}, 8));
    CHECK(all(g.stream(p, {.max_tokens = 8, .decoder_start = {0, 3}})) == texts.back());
    CHECK(all(g.stream(p, {.max_tokens = 8, .decoder_start = {0, 3}, .draft_tokens = 2})) == texts.back());
  }
  CHECK(all(g.batch(prompts, {.max_tokens = 8, .decoder_start = {0, 3}})) == texts);
}

TEST_CASE("Generator: an encoder of features, and the decoder's prompt") {
  const Session words(encoder()), merged(decoder(Step::merged)), later(decoder(Step::later)),
      plain(encoder_of_features(false)), with_cross(encoder_of_features(true));
  const Tensor<int64_t> ids({1, 3}, {4, 5, 6}), ones({1, 3}, {1, 1, 1});
  const Value features = words.run({{"input_ids", ids}, {"attention_mask", ones}})["last_hidden_state"];
  for (const Generator& g : {Generator(merged, {.encoder = {.session = &plain}}),
                             Generator(later, {.encoder = {.session = &with_cross}})}) {
    const std::vector<NamedValue> inputs = {{"input_features", features}, {"encoder_attention_mask", ones}};
    CHECK(all(g.stream({0, 3}, {.max_tokens = 8, .inputs = inputs})) == expected({4, 5, 6}, {0, 3}, 8));
    check_error([&] { (void)g.stream({0}, {.decoder_start = {1}, .inputs = inputs}); },
                {"generator: decoder_start is given, but there is no encoder of tokens"});
    check_error([&] { return all(g.stream({0})); }, {"generator", "input 'input_features' is missing"});
  }
}

TEST_CASE("Generator: a batch of a decoder that could not tell the encoder's padding is refused") {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps");
  const ValueId tokens = g.add_input("input_ids", DType::int64, {batch, steps});
  const ValueId states = g.add_input("encoder_hidden_states", DType::float32, {batch, 1, width});
  g.add_output("logits",
               product(g, node(g, op::Add{}, {embedding(g, tokens, -1, 1), states}), vocabulary, 2));
  const Session e(encoder()), d(std::move(g));
  const Generator generator(d, {.encoder = {.session = &e}});
  check_error([&] { (void)generator.batch({{1}, {2, 3}}, {.decoder_start = {0}}); },
              {"generator: the decoder has no mask of the encoder's states"});
  CHECK(all(generator.batch({{1}, {2}}, {.max_tokens = 2, .decoder_start = {0}})).size() == 2);
}

TEST_CASE("Generator: the decoder of later steps alone is refused") {
  const Session later(decoder(Step::later));
  check_error([&] { Generator{later}; }, {"generator: input 'past_key_values.0.encoder.key'",
                                          "no model returns 'present.0.encoder.key'"});
}

}  // namespace tenon
