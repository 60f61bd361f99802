// Texts of language models: those that ONNX Runtime generates, and the same in every way of computing them.
#include "tests/loader/decoders.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "tenon/generate.hpp"
#include "tests/loader/folder.hpp"

namespace tenon::TENON_ABI {
void register_com_microsoft(Registry& registry);  // generated
}

namespace tenon {
namespace {

using namespace test;

constexpr int64_t prompt_tokens = 8;

/// What rounding may move a logit, as a share of the greatest. Halves are rounded after each operator, or not
/// where a runtime fuses them; an integer that is rounded the other way moves the values that follow by a
/// step of quantisation.
double rounding_of(Weights weights) {
  switch (weights) {
    case Weights::float32:
    case Weights::four_bits: return 1e-5;
    case Weights::float16: return 1e-2;
    case Weights::dynamic:
    case Weights::qdq:
    case Weights::rounded: break;
  }
  return 5e-2;
}

/// How many of a text's tokens rounding may decide: with floats one, where a level adds in another order.
/// Nodes that no pass packs compute exactly what MatMulNBits permits to be rounded, and float products
/// between DequantizeLinear and QuantizeLinear are not those of integers.
int ties_allowed(Weights weights, bool passes = true) {
  return rounding_of(weights) < 1e-4 ? 1 : passes ? 6 : 20;
}

const Registry& registry() {
  static const Registry all = [] {
    Registry r = standard_registry();
    register_com_microsoft(r);
    return r;
  }();
  return all;
}

/// A decoder as a file of it is read.
Session decoder(const DecoderKind& kind, const SessionOptions& options = {}) {
  const Folder folder;
  save(decoder_model(kind), folder / "model.onnx");
  return load(folder / "model.onnx", options, {.registry = &registry()});
}

/// Prompts with what follows, by the names of kinds.
std::map<std::string, std::vector<int>> recorded() {
  std::ifstream in("tests/data/decoders.txt");
  std::map<std::string, std::vector<int>> texts;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (int token; words >> token;) texts[name].push_back(token);
  }
  return texts;
}

/// Compares the tokens that a generation would choose with known texts, and goes on with theirs. Another
/// token is a tie if rounding explains that its logit is the greater one.
class Follower {
 public:
  Follower(std::vector<std::vector<int>> texts, double rounding)
      : texts_(std::move(texts)), rounding_(rounding) {}

  /// The options of a greedy generation of `count` tokens that the follower watches.
  GenerateOptions options(int64_t count) {
    return {.max_tokens = count, .adjust = [this](std::span<float> logits, std::span<const int> tokens) {
              follow(logits, tokens);
            }};
  }
  [[nodiscard]] int ties() const { return ties_; }

  /// Compares the token that logits choose for the place `at` with the one that is wanted.
  void check(std::span<const float> logits, std::size_t wanted, int64_t at) {
    const auto most = std::max_element(logits.begin(), logits.end());
    if (*most == logits[wanted]) return;
    double greatest = 0;
    for (const float x : logits) greatest = std::max(greatest, std::abs(static_cast<double>(x)));
    INFO("token ", at, ": ", most - logits.begin(), " by ", *most, " instead of ", wanted, " by ",
         logits[wanted]);
    CHECK(*most - logits[wanted] <= rounding_ * greatest);
    ++ties_;
  }

 private:
  void follow(std::span<float> logits, std::span<const int> tokens) {
    for (const std::vector<int>& text : texts_) {
      if (text.size() <= tokens.size() || !std::equal(tokens.begin(), tokens.end(), text.begin())) continue;
      const auto wanted = static_cast<std::size_t>(text[tokens.size()]);
      check(logits, wanted, static_cast<int64_t>(tokens.size()));
      logits[wanted] = std::numeric_limits<float>::max();
      return;
    }
    FAIL("no text goes on like this one, at token ", tokens.size());
  }

  std::vector<std::vector<int>> texts_;
  double rounding_;
  int ties_ = 0;
};

std::vector<float> floats_of(const AnyTensor& t) {
  std::vector<float> floats(static_cast<std::size_t>(t.size()));
  const auto copy = [&](const auto* from) {
    std::transform(from, from + t.size(), floats.begin(), [](auto x) { return static_cast<float>(x); });
  };
  if (t.dtype() == DType::float16) copy(static_cast<const float16*>(t.data()));
  else copy(static_cast<const float*>(t.data()));
  return floats;
}

std::vector<int> all(TokenStream<int> stream) {
  std::vector<int> tokens;
  for (const int token : stream) tokens.push_back(token);
  return tokens;
}

}  // namespace

TEST_CASE("Decoders: the texts that ONNX Runtime generates") {
  const auto texts = recorded();
  for (const DecoderKind& kind : decoder_kinds()) {
    INFO(kind.name());
    const std::vector<int>& text = texts.at(kind.name());
    const std::vector<int> prompt(text.begin(), text.begin() + prompt_tokens);
    for (const bool passes : {true, false}) {
      INFO("passes: ", passes);
      SessionOptions options;
      if (!passes) options.passes.emplace();
      const Session s = decoder(kind, options);
      Follower follower({text}, rounding_of(kind.weights));
      const auto count = static_cast<int64_t>(text.size()) - prompt_tokens;
      CHECK(count == 256);
      all(Generator(s).stream(prompt, follower.options(count)));
      CHECK(follower.ties() <= ties_allowed(kind.weights, passes));
    }
  }
}

TEST_CASE("Decoders: steps copy no cache") {
  for (const DecoderKind& kind : decoder_kinds()) {
    INFO(kind.name());
    StateOptions options;
    for (const Cache& c : find_parts(decoder(kind).graph()).caches)
      options.pairs.push_back({c.past, c.present});
    State state(options);
    const Session s = decoder(kind, {.state = &state, .explain = true});
    std::size_t kept = 0;
    for (const PassReport& r : s.reports()) {
      if (r.pass != "keep_caches") continue;
      CHECK_MESSAGE(r.applied, r.text);
      kept += r.applied && r.text.find("reads the caches of '") != std::string::npos ? 2 : 0;
      kept += r.applied && r.text.find("in place") != std::string::npos;
    }
    CHECK(kept == options.pairs.size());
  }
}

TEST_CASE("Decoders: threads compute the same logits") {
  for (const DecoderKind& kind : decoder_kinds()) {
    INFO(kind.name());
    std::vector<float> expected;
    for (const int threads : {1, 2, 5}) {
      INFO("threads: ", threads);
      const Session s = decoder(kind, {.threads = threads});
      std::vector<float> all_logits;
      GenerateOptions options{.max_tokens = 48};
      options.adjust = [&](std::span<float> logits, std::span<const int>) {
        all_logits.insert(all_logits.end(), logits.begin(), logits.end());
      };
      all(Generator(s).stream({3, 141, 59, 26, 53, 58, 97, 93}, options));
      if (threads == 1) expected = all_logits;
      CHECK(all_logits == expected);
    }
  }
}

// DynamicQuantizeLinear gives all rows of an operand one scale, so that the rows of a batch and of a run of
// several steps are not rounded as they are alone.
bool rows_are_apart(const DecoderKind& kind) { return kind.weights != Weights::dynamic; }

TEST_CASE("Decoders: a batch has the texts of its prompts") {
  for (const DecoderKind& kind : decoder_kinds()) {
    if (!rows_are_apart(kind)) continue;
    INFO(kind.name());
    const Session s = decoder(kind);
    const Generator g(s);
    std::vector<std::vector<int>> prompts = {{5, 9, 100}, {1, 2, 3}, {40, 41, 159}, {0, 0, 0}};
    // Prompts of different lengths need a mask.
    if (!kind.has_fixed_rows()) prompts[1] = {12, 0, 7, 7, 7, 2, 4}, prompts[3] = {8};
    std::vector<std::vector<int>> texts = prompts;
    for (std::vector<int>& text : texts) {
      const std::vector<int> tokens = all(g.stream(text, {.max_tokens = 64}));
      text.insert(text.end(), tokens.begin(), tokens.end());
    }
    Follower follower(texts, rounding_of(kind.weights));
    GenerateOptions options = follower.options(64);
    // GroupQueryAttention counts the mask's tokens and not their places.
    if (kind.groups_queries()) options.padding = Padding::right;
    auto stream = g.batch(prompts, options);
    while (stream.next()) {
    }
    CHECK(follower.ties() <= ties_allowed(kind.weights));
  }
}

TEST_CASE("Decoders: step by step, in pieces and at once") {
  const auto texts = recorded();
  for (const DecoderKind& kind : decoder_kinds()) {
    if (!rows_are_apart(kind)) continue;
    INFO(kind.name());
    const std::vector<int>& text = texts.at(kind.name());
    const Session s = decoder(kind);
    const ModelParts parts = find_parts(s.graph());
    const auto steps = static_cast<int64_t>(text.size()) - 1;
    for (const int64_t piece : {int64_t{1}, int64_t{7}, int64_t{100}, steps}) {
      INFO("pieces of ", piece);
      StateOptions options;
      for (const Cache& c : parts.caches) options.pairs.push_back({c.past, c.present});
      State state(options);
      Outputs outputs;
      Follower follower({text}, rounding_of(kind.weights));
      for (int64_t from = 0; from < steps; from += piece) {
        const int64_t to = std::min(from + piece, steps);
        const auto numbers = [&](const Extents& extents, auto number) {
          Tensor<int64_t> t = Tensor<int64_t>::uninitialized(extents);
          for (int64_t k = 0; k < t.size(); ++k) t[k] = number(k);
          return Value(std::move(t));
        };
        Feeds feeds{{parts.tokens, numbers({1, to - from}, [&](int64_t k) { return text[from + k]; })}};
        const auto place = [&](int64_t k) { return from + k; };
        if (!parts.mask.empty()) feeds.emplace_back(parts.mask, numbers({1, to}, [](int64_t) { return 1; }));
        if (!parts.positions.empty()) feeds.emplace_back(parts.positions, numbers({1, to - from}, place));
        if (!parts.places.empty()) feeds.emplace_back(parts.places, numbers({to - from}, place));
        s.run(feeds, outputs, {.state = &state});
        const std::vector<float> logits = floats_of(outputs[parts.logits].tensor());
        const std::size_t words = logits.size() / static_cast<std::size_t>(to - from);
        for (int64_t k = std::max(from, prompt_tokens - 1); k < to; ++k)
          follower.check(std::span(logits).subspan(static_cast<std::size_t>(k - from) * words, words),
                         static_cast<std::size_t>(text[k + 1]), k + 1);
      }
      CHECK(follower.ties() <= ties_allowed(kind.weights));
    }
  }
}

}  // namespace tenon
