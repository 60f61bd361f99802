#include <doctest/doctest.h>

#include "tests/generate/models.hpp"

namespace tenon {
using namespace test;

namespace {

/// A graph with inputs and outputs of these names, each output an input of its own.
Graph named(std::initializer_list<std::string_view> inputs, std::initializer_list<std::string_view> outputs) {
  Graph g;
  for (const std::string_view name : inputs)
    g.add_input(std::string(name), name.starts_with("past") ? DType::float32 : DType::int64,
                {g.symbol("batch"), g.symbol("steps")});
  const ValueId x = g.add_input("x", DType::float32, {1}, Tensor<float>(Extents{1}));
  for (const std::string_view name : outputs) g.add_output(std::string(name), x);
  return g;
}

}  // namespace

TEST_CASE("find_parts: usual names") {
  const ModelParts p =
      find_parts(named({"input_ids", "attention_mask", "position_ids", "cache_position", "num_logits_to_keep",
                        "past_key_values.0.key", "past_key_values.0.value", "past_key_values.1.key"},
                       {"logits", "present.0.key", "present.0.value", "present.1.key", "attentions"}));
  CHECK(p.tokens == "input_ids");
  CHECK(p.mask == "attention_mask");
  CHECK(p.positions == "position_ids");
  CHECK(p.places == "cache_position");
  CHECK(p.logits_to_keep == "num_logits_to_keep");
  CHECK(p.logits == "logits");
  CHECK(p.encoder_states.empty());
  CHECK(p.caches == std::vector<Cache>{{"past_key_values.0.key", "present.0.key"},
                                       {"past_key_values.0.value", "present.0.value"},
                                       {"past_key_values.1.key", "present.1.key"}});
}

TEST_CASE("find_parts: decoders of an encoder's states") {
  const ModelParts p =
      find_parts(named({"encoder_attention_mask", "input_ids", "encoder_hidden_states",
                        "past_key_values.0.decoder.key", "past_key_values.0.encoder.key", "use_cache_branch"},
                       {"logits", "present.0.decoder.key", "present.0.encoder.key"}));
  CHECK(p.mask.empty());
  CHECK(p.encoder_mask == "encoder_attention_mask");
  CHECK(p.encoder_states == "encoder_hidden_states");
  CHECK(p.use_cache == "use_cache_branch");
  CHECK(p.caches == std::vector<Cache>{{"past_key_values.0.decoder.key", "present.0.decoder.key"},
                                       {"past_key_values.0.encoder.key", "present.0.encoder.key", true}});
  // The decoder of later steps does not return the encoder's keys.
  const ModelParts later =
      find_parts(named({"input_ids", "past_key_values.0.decoder.key", "past_key_values.0.encoder.key"},
                       {"logits", "present.0.decoder.key"}));
  CHECK(later.caches == p.caches);
}

TEST_CASE("find_parts: names of older exports") {
  CHECK(find_parts(named({"input_ids", "past_0", "past_1"}, {"logits", "present_0", "present_1"})).caches ==
        std::vector<Cache>{{"past_0", "present_0"}, {"past_1", "present_1"}});
  CHECK(find_parts(named({"decoder_input_ids", "past_key_self_0", "past_key_cross_0"},
                         {"logits", "present_key_self_0", "present_key_cross_0"}))
            .caches == std::vector<Cache>{{"past_key_self_0", "present_key_self_0"},
                                          {"past_key_cross_0", "present_key_cross_0", true}});
  CHECK(find_parts(named({"input_ids", "past_key_values.0.key"}, {"logits", "present_key_values.0.key"}))
            .caches == std::vector<Cache>{{"past_key_values.0.key", "present_key_values.0.key"}});
}

TEST_CASE("find_parts: stated names and patterns") {
  const Graph g = named({"a", "b", "k0", "k1", "input_ids"}, {"y", "r0", "r1"});
  const ModelParts p = find_parts(g, {.tokens = "a", .mask = "b", .logits = "y", .caches = {{"k%d", "r%d"}}});
  CHECK(p.tokens == "a");
  CHECK(p.mask == "b");
  CHECK(p.caches == std::vector<Cache>{{"k0", "r0"}, {"k1", "r1"}});
  check_error([&] { return find_parts(g, {.mask = "c"}); }, {"generator", "the model has no input 'c'"});
  check_error([&] { return find_parts(g, {.logits = "z"}); }, {"generator", "the model has no output 'z'"});
  check_error([&] { return find_parts(g, {.logits = "y", .caches = {{"q%d", "r%d"}}}); },
              {"the model has no input 'q%d'"});
  check_error([&] { return find_parts(g, {.logits = "y", .caches = {{"k%d", "s%d"}}}); },
              {"the model has no output 's0'"});
}

TEST_CASE("find_parts: caches by the operands of nodes") {
  const ModelParts p =
      find_parts(language_model(1, {.tokens = "t", .logits = "l", .past = "a.", .present = "b."}));
  CHECK(p.tokens == "t");
  CHECK(p.logits == "l");
  CHECK(p.caches == std::vector<Cache>{{"a.key", "b.key"}, {"a.value", "b.value"}});
}

TEST_CASE("find_parts: caches that nodes extend by joining") {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps");
  const ValueId tokens = g.add_input("words", DType::int64, {batch, steps});
  const ValueId before = g.add_input("state", DType::float32, {batch, g.symbol("past"), width});
  const ValueId x = embedding(g, tokens, -1, 1);
  g.add_output("longer", node(g, op::Concat{.axis = 1}, {before, x}));
  g.add_output("scores", product(g, x, vocabulary, 2));
  const ModelParts p = find_parts(g);
  CHECK(p.tokens == "words");
  CHECK(p.logits == "scores");
  CHECK(p.caches == std::vector<Cache>{{"state", "longer"}});
}

TEST_CASE("find_parts: models without tokens or logits") {
  check_error([] { return find_parts(named({}, {"logits"})); },
              {"generator", "0 inputs of the model may be its tokens"});
  check_error([] { return find_parts(named({"a", "b"}, {"logits"})); },
              {"generator", "2 inputs of the model may be its tokens"});
  Graph embedded;
  const ValueId x = embedded.add_input("inputs_embeds", DType::float32, {1, 1, 1});
  embedded.add_output("logits", x);
  check_error([&] { return find_parts(embedded); },
              {"generator", "0 inputs of the model may be its tokens; 'inputs_embeds' is tensor(float)"});
  check_error([] { return find_parts(named({"input_ids"}, {"a", "b"})); },
              {"generator", "2 outputs of the model may be its logits"});
}

}  // namespace tenon
