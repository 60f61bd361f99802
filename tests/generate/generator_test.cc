#include <doctest/doctest.h>

#include <set>

#include "tests/generate/models.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Generator: step by step, the text that whole sequences give") {
  for (const uint32_t seed : {1, 2, 3}) {
    const Session s(language_model(seed));
    const Generator g(s);
    for (const std::vector<int>& prompt : {std::vector<int>{5}, {1, 2, 3}, {12, 0, 7, 7, 7, 2, 4}})
      CHECK(all(g.stream(prompt, {.max_tokens = 12})) == expected_text(seed, prompt, 12));
  }
}

TEST_CASE("Generator: caches of codes") {
  const Session s(language_model(1));
  const Generator g(s);
  const std::vector<int> prompt{12, 0, 7, 7, 7, 2, 4};
  CHECK(all(g.stream(prompt, {.max_tokens = 12, .cache_type = DType::int8})) == expected_text(1, prompt, 12));
  check_error([&] { all(g.stream(prompt, {.cache_type = DType::int4})); },
              {"cache: pages hold the type that is written, or int8, not int4"});
}

TEST_CASE("Generator: a prompt takes no logits but its last step's") {
  constexpr int64_t columns = 1 << 14, steps = 50, logits = steps * columns * 4;
  const Session s(language_model(1, {}, false, columns));
  const std::vector<int> prompt(steps, 5);
  const GenerateOptions o{.max_tokens = 1, .run = {.max_bytes = logits / 2}};
  CHECK(all(Generator(s).stream(prompt, o)).size() == 1);
}

TEST_CASE("Generator: integers of 32 bits, and other names") {
  const Session s(language_model(1, {.tokens = "t",
                                     .mask = "m",
                                     .positions = "p",
                                     .logits = "l",
                                     .past = "a.",
                                     .present = "b.",
                                     .integers = DType::int32}));
  const Generator g(s, {.parts = {.tokens = "t", .mask = "m", .positions = "p"}});
  CHECK(g.parts().caches.size() == 2);
  CHECK(all(g.stream({1, 2, 3}, {.max_tokens = 6})) == expected_text(1, {1, 2, 3}, 6));
}

TEST_CASE("Generator: a model without a cache reads the whole text") {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("sequence");
  const ValueId tokens = g.add_input("input_ids", DType::int64, {batch, steps});
  const ValueId mask = g.add_input("attention_mask", DType::int64, {batch, steps});
  const ValueId positions = g.add_input("position_ids", DType::int64, {batch, steps});
  const ValueId x = embedding(g, tokens, positions, 1);
  const ValueId attended =
      node(g, op::Attention{.is_causal = 1, .kv_num_heads = 2, .q_num_heads = 2},
           {product(g, x, width, 3), product(g, x, width, 4), product(g, x, width, 5), allowed(g, mask)});
  const ValueId y = node(g, op::Add{}, {x, product(g, attended, width, 6)});
  g.add_output("logits", product(g, y, vocabulary, 7));
  const Session s(std::move(g));
  CHECK(all(Generator(s).stream({1, 2, 3}, {.max_tokens = 6})) == expected_text(1, {1, 2, 3}, 6));
}

TEST_CASE("Generator: sampling depends on the seed alone") {
  const Session s(language_model(4));
  const Generator g(s);
  GenerateOptions o{.max_tokens = 20, .temperature = 30, .top_p = 0.95f, .seed = 7};
  const std::vector<int> text = all(g.stream({1, 2}, o));
  CHECK(text.size() == 20);
  CHECK(all(g.stream({1, 2}, o)) == text);
  std::set<std::vector<int>> texts{text};
  for (o.seed = 8; o.seed < 12; ++o.seed) texts.insert(all(g.stream({1, 2}, o)));
  CHECK(texts.size() == 5);
}

TEST_CASE("Generator: stop tokens and stop sequences are the text's last tokens") {
  const Session s(language_model(2));
  const Generator g(s);
  const std::vector<int> prompt = {1, 2, 3}, text = expected_text(2, prompt, 12);
  const auto first_part = [&](std::size_t n) {
    return std::vector<int>(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(n));
  };
  for (std::size_t n = 1; n <= text.size(); ++n) {
    const auto first = std::find(text.begin(), text.end(), text[n - 1]);
    CHECK(all(g.stream(prompt, {.max_tokens = 12, .stop_tokens = {100, text[n - 1]}})) ==
          std::vector<int>(text.begin(), first + 1));
    CHECK(all(g.stream(prompt, {.max_tokens = 12, .stop_sequences = {{text[0], 99}, first_part(n)}})) ==
          first_part(n));
  }
  // The prompt is no part of a stop sequence.
  CHECK(all(g.stream(prompt, {.max_tokens = 1, .stop_sequences = {{3, text[0]}}})).size() == 1);
  CHECK(all(g.stream(prompt, {.max_tokens = 4, .stop_sequences = {{3, text[0]}}})) == first_part(4));
  CHECK(all(g.stream(prompt, {.max_tokens = 0})).empty());
}

TEST_CASE("Generator: changed logits decide what may follow") {
  const Session s(language_model(3));
  const Generator g(s);
  // Only even tokens, and none twice.
  std::vector<std::vector<int>> asked;
  const std::vector<int> text =
      all(g.stream({1}, {.max_tokens = 7, .adjust = [&](auto logits, auto tokens) {
                           asked.emplace_back(tokens.begin(), tokens.end());
                           for (std::size_t k = 0; k < logits.size(); ++k)
                             if (k % 2 == 1 || std::ranges::find(tokens, static_cast<int>(k)) != tokens.end())
                               logits[k] = -std::numeric_limits<float>::infinity();
                         }}));
  CHECK(std::set<int>(text.begin(), text.end()) == std::set<int>{0, 2, 4, 6, 8, 10, 12});
  REQUIRE(asked.size() == 7);
  CHECK(asked[0] == std::vector<int>{1});
  CHECK(asked[2] == std::vector<int>{1, text[0], text[1]});
}

TEST_CASE("Generator: a stream is computed as it is read") {
  const Session s(language_model(1));
  const std::vector<int> text = expected_text(1, {1, 2, 3}, 5);
  std::optional<Generator> g(s);
  TokenStream<int> stream = g->stream({1, 2, 3}, {.max_tokens = 5});
  g.reset();  // streams go on
  CHECK(stream.next() == text[0]);
  const auto second = stream.begin();
  CHECK(*second == text[1]);
  TokenStream<int> moved = std::move(stream);
  std::vector<int> rest;
  for (const int token : moved) rest.push_back(token);
  CHECK(rest == std::vector<int>(text.begin() + 2, text.end()));
  CHECK_FALSE(moved.next().has_value());
  check_error([&] { return stream.next(); }, {"generator", "moved from"});
  check_error([&] { return *second; }, {"generator", "moved from"});
}

TEST_CASE("Generator: a stopped run") {
  const Session s(language_model(1));
  const Generator g(s);
  StopSource source;
  TokenStream<int> stream =
      g.stream({1, 2, 3}, {.max_tokens = 5, .run = {.outputs = {"none"}, .stop = source.get_token()}});
  const std::vector<int> text = expected_text(1, {1, 2, 3}, 5);
  CHECK(stream.next() == text[0]);
  CHECK(stream.next() == text[1]);
  source.request_stop();
  for (int k = 0; k < 2; ++k) {
    try {
      (void)stream.next();
      CHECK(false);
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::cancelled);
      CHECK(e.where().starts_with("generator"));
    }
  }
}

TEST_CASE("Generator: an error leaves the text as it was, and the step can be repeated") {
  const Session s(language_model(1));
  const Generator g(s);
  const std::vector<int> text = expected_text(1, {1, 2, 3}, 5);
  // A budget that the first tokens' runs keep and a later one exceeds.
  int64_t bytes = 0;
  for (int64_t limit = 256; bytes == 0; limit += 256) {
    TokenStream<int> stream = g.stream({1, 2, 3}, {.max_tokens = 5, .run = {.max_bytes = limit}});
    if (error_of([&] { (void)stream.next(); }) == "no error") bytes = limit;
  }
  TokenStream<int> stream = g.stream({1, 2, 3}, {.max_tokens = 5, .run = {.max_bytes = bytes}});
  std::vector<int> got;
  for (int k = 0; k < 5; ++k)
    for (int again = 0; again < 2; ++again)
      if (const std::string e = error_of([&] { got.push_back(*stream.next()); }); e == "no error") break;
  CHECK(got == std::vector<int>(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(got.size())));
  // The caller's own error ends the text.
  TokenStream<int> ended = g.stream({1, 2, 3}, {.adjust = [](auto logits, auto) {
                                      std::ranges::fill(logits, -std::numeric_limits<float>::infinity());
                                    }});
  check_error([&] { (void)ended.next(); }, {"generator", "no token is left to choose"});
  check_error([&] { (void)ended.next(); }, {"generator", "an earlier error ended the generation"});
}

TEST_CASE("Generator: what does not fit is refused, with the input's name") {
  const Session s(language_model(1));
  const Generator g(s);
  check_error([&] { (void)g.stream({}); }, {"generator", "prompt 0 has no tokens"});
  check_error([&] { (void)g.batch({}); }, {"generator", "there are no prompts"});
  check_error([&] { (void)g.batch({{1}, {}}); }, {"generator", "prompt 1 has no tokens"});
  check_error([&] { (void)g.batch({{1}, {2, -1}}); }, {"generator", "prompt 1 has the token -1"});
  check_error([&] { (void)g.batch({{1}, {2}}, {.pad_token = -1}); }, {"pad_token is out of range"});
  check_error([&] { (void)g.stream({1}, {.max_tokens = -1}); }, {"max_tokens is out of range"});
  check_error([&] { (void)g.stream({1}, {.temperature = -1}); }, {"temperature is out of range"});
  check_error([&] { (void)g.stream({1}, {.stop_sequences = {{}}}); }, {"a stop sequence has no tokens"});
  check_error([&] { (void)g.stream({1}, {.decoder_start = {1}}); }, {"there is no encoder"});
  check_error([&] { (void)g.stream({1}, {.inputs = {{"z", Tensor<float>(Extents{1})}}}); },
              {"no model has an input 'z'"});
  check_error([&] { return all(g.stream({vocabulary})); }, {"generator: node", "Gather"});
  check_error(
      [&] { return all(g.stream({1}, {.inputs = {{"attention_mask", Tensor<float>(Extents{1, 1})}}})); },
      {"generator: input 'attention_mask'"});
}

TEST_CASE("Generator: models that cannot be run step by step are refused, with the input's name") {
  const auto refused = [](const Dims& past, std::string_view why) {
    Graph g;
    const ValueId tokens = g.add_input("input_ids", DType::int64, {g.symbol("batch"), g.symbol("steps")});
    const ValueId before = g.add_input("past", DType::float32, past);
    const ValueId x = embedding(g, tokens, -1, 1);
    g.add_output("present", node(g, op::Concat{.axis = 1}, {before, x}));
    g.add_output("logits", product(g, x, vocabulary, 2));
    const Session s(std::move(g));
    check_error([&] { return all(Generator(s).stream({1})); }, {"generator: input 'past'", why});
  };
  refused(Dims(), "does not declare its extents");
  refused({Dim(), Dim(), Dim()}, "are open");
  Graph g;
  const ValueId tokens = g.add_input("input_ids", DType::int64, {Dim(), Dim()});
  const ValueId scale = g.add_input("scale", DType::float32, {width});
  g.add_output("logits", product(g, node(g, op::Add{}, {embedding(g, tokens, -1, 1), scale}), vocabulary, 2));
  const Session s(std::move(g));
  check_error([&] { return all(Generator(s).stream({1})); }, {"generator", "input 'scale' is missing"});
  CHECK(all(Generator(s).stream({1}, {.max_tokens = 3, .inputs = {{"scale", weights({width}, 3)}}})).size() ==
        3);
}

}  // namespace tenon
