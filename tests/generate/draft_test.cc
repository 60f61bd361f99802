#include <doctest/doctest.h>

#include "tests/generate/models.hpp"

namespace tenon {
using namespace test;

namespace {

const std::vector<std::vector<int>> prompts = {{5}, {1, 2, 3, 1, 2, 3, 1}, {12, 0, 7, 7, 7, 2, 4, 7}};

void check_draft(const Generator& g, const Generator& plain, GenerateOptions o) {
  for (const auto& prompt : prompts)
    for (const int64_t drafted : {1, 2, 5}) {
      GenerateOptions without = o;
      o.draft_tokens = drafted;
      CAPTURE(drafted);
      CHECK(all(g.stream(prompt, o)) == all(plain.stream(prompt, without)));
    }
}

void check_drafts(const Generator& g, const Generator& plain) {
  check_draft(g, plain, {.max_tokens = 17});
  check_draft(g, plain, {.max_tokens = 1});
  check_draft(g, plain, {.max_tokens = 25, .repetition_penalty = 1.3f});
  for (uint64_t seed = 0; seed < 4; ++seed)
    check_draft(g, plain,
                {.max_tokens = 15, .temperature = 20, .top_k = 4, .seed = seed, .stop_tokens = {9}});
}

}  // namespace

TEST_CASE("Generator: drafted by what the text has had before, the same texts") {
  const Session s(language_model(1));
  const Generator g(s);
  check_drafts(g, g);
}

TEST_CASE("Generator: drafted for a merged model, the same texts") {
  const Session s(language_model(1)), merged(language_model(1, {}, true));
  check_drafts(Generator(merged), Generator(s));
}

TEST_CASE("Generator: drafted by another model, the same texts") {
  const Session s(language_model(1)), other(language_model(2));
  check_drafts(Generator(s, {.draft = {.session = &other}}), Generator(s));
}

TEST_CASE("Generator: drafts of the model itself are all kept") {
  const Session s(language_model(3));
  const Generator plain(s), drafted(s, {.draft = {.session = &s}});
  int64_t runs = 0;
  GenerateOptions o{.max_tokens = 13, .temperature = 20, .seed = 5, .draft_tokens = 3};
  CHECK(all(drafted.stream({1, 2}, o)) ==
        all(plain.stream({1, 2}, {.max_tokens = 13, .temperature = 20, .seed = 5})));
  // The first token comes from the prompt, the others four at a time: each stop shows between two runs.
  StopSource source;
  o.run.stop = source.get_token();
  TokenStream<int> stream = drafted.stream({1, 2}, o);
  for (int k = 0; k < 2; ++k) (void)stream.next();
  source.request_stop();
  while (error_of([&] { (void)stream.next(); }) == "no error") ++runs;
  CHECK(runs == 3);
}

TEST_CASE("Generator: refused drafts of a cache that cannot be shortened are an error") {
  Graph g;
  const ValueId tokens = g.add_input("input_ids", DType::int64, {g.symbol("batch"), g.symbol("steps")});
  const ValueId state = g.add_input("past", DType::float32, {g.symbol("batch"), 1, width});
  const ValueId x = node(g, op::Add{}, {embedding(g, tokens, -1, 1), state});
  g.add_output("present",
               node(g, op::Gather{.axis = 1}, {x, g.add_constant({}, Tensor<int64_t>({1}, {-1}))}));
  g.add_output("logits", product(g, x, vocabulary, 2));
  const Session s(std::move(g));
  const Generator generator(s);
  CHECK(all(generator.stream({1, 2}, {.max_tokens = 9})).size() == 9);
  // What follows 3 in the prompt is not what the caller makes follow it.
  check_error(
      [&] {
        return all(generator.stream(
            {3, 4, 3}, {.adjust =
                            [](auto logits, auto tokens) {
                              logits[static_cast<std::size_t>(tokens.size() % 2 == 1 ? 3 : 5)] = 1e9f;
                            },
                        .draft_tokens = 1,
                        .ngram = 1}));
      },
      {"generator: input 'past'", "does not have a step for each token"});
  check_error([&] { (void)generator.stream({1}, {.draft_tokens = -1}); }, {"draft_tokens is out of range"});
  check_error([&] { (void)generator.stream({1}, {.ngram = 0}); }, {"ngram is out of range"});
}

}  // namespace tenon
