#include <doctest/doctest.h>

#include <set>

#include "tests/generate/models.hpp"

namespace tenon {
using namespace test;

namespace {

const std::vector<std::vector<int>> prompts = {{5}, {1, 2, 3}, {12, 0, 7, 7, 7, 2, 4}, {3, 3, 3}};

/// A model that returns logits of the last step only, as it is asked by num_logits_to_keep.
Graph with_logits_to_keep(Dims kept, int64_t expected) {
  Graph g;
  const ValueId tokens = g.add_input("input_ids", DType::int64, {g.symbol("batch"), g.symbol("steps")});
  const ValueId keep = g.add_input("num_logits_to_keep", DType::int64, kept);
  // A row for each number that may be asked for: refused by Gather otherwise.
  const ValueId asked =
      node(g, op::Gather{},
           {g.add_constant({}, weights({expected + 1, width}, 5)), node(g, op::Identity{}, {keep})});
  g.add_output("logits", product(g, node(g, op::Add{}, {embedding(g, tokens, -1, 1), asked}), vocabulary, 2));
  return g;
}

}  // namespace

TEST_CASE("Generator: the texts of a batch are the ones of its prompts alone") {
  for (const uint32_t seed : {1, 2}) {
    const Session s(language_model(seed));
    const Generator g(s);
    for (const Padding padding : {Padding::left, Padding::right}) {
      const auto texts = all(g.batch(prompts, {.max_tokens = 10, .padding = padding}));
      REQUIRE(texts.size() == prompts.size());
      for (std::size_t b = 0; b < prompts.size(); ++b) CHECK(texts[b] == expected_text(seed, prompts[b], 10));
    }
  }
}

TEST_CASE("Generator: texts of a batch end one by one") {
  const Session s(language_model(2));
  const Generator g(s);
  std::vector<std::vector<int>> expected;
  for (const auto& p : prompts) expected.push_back(expected_text(2, p, 10));
  const int stop = expected[1][2];
  for (auto& text : expected)
    if (const auto at = std::ranges::find(text, stop); at != text.end()) text.erase(at + 1, text.end());
  CHECK(all(g.batch(prompts, {.max_tokens = 10, .stop_tokens = {stop}})) == expected);
}

TEST_CASE("Generator: equal prompts of a batch have different random numbers, the first one a stream's") {
  const Session s(language_model(3));
  const Generator g(s);
  const GenerateOptions o{.max_tokens = 12, .temperature = 30, .seed = 3};
  const auto texts = all(g.batch({{1, 2}, {1, 2}, {1, 2}}, o));
  CHECK(std::set<std::vector<int>>(texts.begin(), texts.end()).size() == 3);
  CHECK(texts[0] == all(g.stream({1, 2}, o)));
}

TEST_CASE("Generator: the number of logits that are needed") {
  for (const Dims& kept : {Dims{}, Dims{1}}) {
    const Session s(with_logits_to_keep(kept, 1));
    CHECK(all(Generator(s).stream({1, 2}, {.max_tokens = 3})).size() == 3);
  }
}

TEST_CASE("Generator: batches that the model cannot pad are refused") {
  const Session s(with_logits_to_keep({1}, 1));
  const Generator g(s);
  check_error([&] { (void)g.batch({{1}, {1, 2}}); }, {"generator", "the model has no attention mask"});
  CHECK(all(g.batch({{1}, {2}}, {.max_tokens = 2})).size() == 2);
  // Nor may the model of the first step lack the mask.
  Graph of_first;
  const ValueId tokens = of_first.add_input("input_ids", DType::int64, {Dim(), Dim()});
  for (const char* const name : {"logits", "present.0.key", "present.0.value"})
    of_first.add_output(name, embedding(of_first, tokens, -1, 1));
  const Session first(std::move(of_first)), later(language_model(1));
  const Generator two(later, {.first = {.session = &first}});
  check_error([&] { (void)two.batch({{1}, {1, 2}}); }, {"generator", "the model has no attention mask"});
  check_error([&] { (void)g.batch({{1}, {2}}, {.draft_tokens = 2}); }, {"draft_tokens are for one prompt"});
}

TEST_CASE("Generator: logits of the last step alone, of 16 bits") {
  for (const DType type : {DType::float16, DType::bfloat16}) {
    Graph g;
    const ValueId tokens = g.add_input("input_ids", DType::int64, {g.symbol("batch"), g.symbol("steps")});
    const ValueId mask = g.add_input("attention_mask", DType::int64, {g.symbol("batch"), g.symbol("total")});
    const ValueId all_steps = product(g, embedding(g, tokens, -1, 1), vocabulary, 2);
    const ValueId last =
        node(g, op::Gather{.axis = 1}, {all_steps, g.add_constant({}, Tensor<int64_t>({}, {-1}))});
    g.add_output("logits", node(g, op::Cast{.to = static_cast<int64_t>(type)}, {last}));
    g.add_output("mask", node(g, op::Identity{}, {mask}));
    const Session s(std::move(g));
    const Generator generator(s);
    const auto text = all(generator.stream({1, 2}, {.max_tokens = 3}));
    CHECK(text.size() == 3);
    CHECK(all(generator.batch({{4, 2}, {2}}, {.max_tokens = 3})) ==
          std::vector<std::vector<int>>{text, text});
    check_error([&] { return all(generator.batch({{4, 2}, {2}}, {.padding = Padding::right})); },
                {"generator", "returns logits of 1 steps"});
    check_error(
        [&] {
          return all(generator.stream(
              {1, 1, 1},
              {.adjust = [](auto logits, auto) { logits[1] = 1e9f; }, .draft_tokens = 1, .ngram = 1}));
        },
        {"generator", "returns logits of 1 steps"});
  }
}

}  // namespace tenon
