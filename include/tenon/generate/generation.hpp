// The course of a generation.
#pragma once

#include "tenon/base/narrow_float.hpp"
#include "tenon/generate/cached_model.hpp"
#include "tenon/generate/sampler.hpp"

namespace tenon::TENON_ABI::detail {

struct GeneratorModels {
  LanguageModel model, first, encoder, draft;
};

/// The logits of step `steps` - `from_end` of text b, as floats.
inline void read_logits(const AnyTensor& logits, int64_t batch, int64_t b, int64_t from_end,
                        std::vector<float>& into) {
  const int rank = logits.rank();
  const int64_t steps = rank == 3 ? logits.extents()[1] : 1;
  if ((rank != 2 && rank != 3) || logits.extents()[0] != batch)
    raise(ErrorCode::invalid_shape, generator_place, "logits of ", to_string(logits.extents()),
          " for a batch of ", batch);
  if (from_end > steps)
    raise(ErrorCode::not_supported, generator_place, "the model returns logits of ", steps,
          " steps, too few for padding on the right and for drafted tokens");
  const int64_t count = logits.extents()[rank - 1];
  const int64_t at = (b * steps + steps - from_end) * count;
  into.resize(static_cast<std::size_t>(count));
  const auto read = [&]<class T>(std::type_identity<T>) {
    const T* const from = static_cast<const T*>(logits.data()) + at;
    std::transform(from, from + count, into.begin(), [](T x) { return static_cast<float>(x); });
  };
  if (logits.dtype() == DType::float32) read(std::type_identity<float>());
  else if (logits.dtype() == DType::float16) read(std::type_identity<float16>());
  else if (logits.dtype() == DType::bfloat16) read(std::type_identity<bfloat16>());
  else
    raise(ErrorCode::not_supported, generator_place, "logits of type tensor(", name_of(logits.dtype()),
          "): float, float16 and bfloat16 are known");
}

/// Prompts of one length, and which of their tokens count.
struct PaddedPrompts {
  int64_t steps = 0;
  std::vector<int> tokens;
  std::vector<char> counts;

  PaddedPrompts(std::span<const std::vector<int>> prompts, const GenerateOptions& options) {
    for (const auto& p : prompts) steps = std::max(steps, static_cast<int64_t>(p.size()));
    for (const auto& p : prompts) {
      const std::size_t fill = static_cast<std::size_t>(steps) - p.size();
      const auto pad = [&] {
        tokens.insert(tokens.end(), fill, options.pad_token);
        counts.insert(counts.end(), fill, 0);
      };
      if (options.padding == Padding::left) pad();
      tokens.insert(tokens.end(), p.begin(), p.end());
      counts.insert(counts.end(), p.size(), 1);
      if (options.padding == Padding::right) pad();
    }
  }
  [[nodiscard]] bool padded() const { return std::ranges::find(counts, 0) != counts.end(); }
};

class Generation {
 public:
  Generation(std::shared_ptr<const GeneratorModels> models, std::vector<std::vector<int>> prompts,
             GenerateOptions options)
      : models_(std::move(models)),
        options_(std::move(options)),
        prompts_(std::move(prompts)),
        sampler_(options_) {
    check();
    for (std::size_t b = 0; b < prompts_.size(); ++b) {
      Text text;
      text.tokens = encodes_prompts() ? options_.decoder_start : prompts_[b];
      text.prompt = text.tokens.size();
      text.ended = options_.max_tokens == 0;
      texts_.push_back(std::move(text));
    }
    current_.resize(texts_.size());
  }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Moves on to the next token of each text; false if there is none.
  bool advance() {
    const auto more = [&](const Text& t) { return t.generated() > shown_; };
    if (std::ranges::none_of(texts_, more)) {
      if (std::ranges::all_of(texts_, [](const Text& t) { return t.ended; })) return false;
      step();
    }
    for (std::size_t b = 0; b < texts_.size(); ++b)
      current_[b] = more(texts_[b]) ? texts_[b].tokens[texts_[b].prompt + shown_] : -1;
    ++shown_;
    return true;
  }
  [[nodiscard]] std::span<const int> current() const { return current_; }

 private:
  struct Text {
    std::vector<int> tokens;  // the prompt, then what was generated
    std::size_t prompt = 0;
    bool ended = false;
    SeenTokens seen;

    [[nodiscard]] std::size_t generated() const { return tokens.size() - prompt; }
  };

  [[nodiscard]] int64_t batch() const { return static_cast<int64_t>(texts_.size()); }
  /// Whether the prompts are an encoder's, and not the texts' first tokens.
  [[nodiscard]] bool encodes_prompts() const {
    return models_->encoder.session != nullptr && !models_->encoder.parts.tokens.empty();
  }

  [[noreturn]] static void refuse(const auto&... why) {
    raise(ErrorCode::invalid_argument, generator_place, why...);
  }

  void check() const {
    const auto expect_tokens = [](const std::vector<int>& tokens, const auto&... where) {
      for (const int token : tokens)
        if (token < 0) refuse(where..., " has the token ", token);
    };
    const bool encodes = encodes_prompts();
    if (prompts_.empty()) refuse("there are no prompts");
    for (std::size_t b = 0; b < prompts_.size(); ++b) {
      if (prompts_[b].empty()) refuse("prompt ", b, " has no tokens");
      expect_tokens(prompts_[b], "prompt ", b);
      if (prompts_[b].size() != prompts_[0].size()) check_padding();
    }
    if (encodes && options_.decoder_start.empty()) refuse("decoder_start is empty");
    if (!encodes && !options_.decoder_start.empty())
      refuse("decoder_start is given, but there is no encoder of tokens");
    expect_tokens(options_.decoder_start, "decoder_start");
    if (prompts_.size() > 1 && options_.pad_token < 0) refuse("pad_token is out of range");
    if (options_.max_tokens < 0) refuse("max_tokens is out of range");
    if (options_.draft_tokens < 0) refuse("draft_tokens is out of range");
    if (options_.ngram < 1) refuse("ngram is out of range");
    if (options_.draft_tokens > 0 && prompts_.size() > 1) refuse("draft_tokens are for one prompt");
    for (const auto& s : options_.stop_sequences)
      if (s.empty()) refuse("a stop sequence has no tokens");
    for (const auto& [name, value] : options_.inputs) {
      const auto has = [&name = name](const LanguageModel& m) {
        return m.session != nullptr && find_input(m.session->graph(), name) != nullptr;
      };
      if (!has(models_->model) && !has(models_->first) && !has(models_->encoder) && !has(models_->draft))
        refuse("no model has an input '", name, "'");
    }
  }
  // Refuses prompts of different lengths if a model that reads them could not tell their padding.
  void check_padding() const {
    constexpr std::string_view end = ", so prompts of a batch have to have one length";
    if (encodes_prompts() && models_->encoder.parts.mask.empty())
      refuse("the encoder has no attention mask", end);
    for (const LanguageModel* m : {&models_->model, &models_->first}) {
      if (m->session == nullptr) continue;
      if (encodes_prompts()) {
        if (m->parts.encoder_mask.empty()) refuse("the decoder has no mask of the encoder's states", end);
        continue;
      }
      if (m->parts.mask.empty()) refuse("the model has no attention mask", end);
      if (options_.padding == Padding::left && counts_tokens(m->session->graph(), m->parts.mask))
        refuse("the model counts the tokens of its attention mask, so shorter prompts need Padding::right");
    }
  }

  void step() {
    if (broken_) raise(ErrorCode::invalid_argument, generator_place, "an earlier error ended the generation");
    if (!model_) start();
    if (model_->held() == 0) return read_prompts();
    if (options_.draft_tokens > 0) return step_with_draft();
    std::vector<int> tokens;
    for (const Text& t : texts_) tokens.push_back(t.ended ? options_.pad_token : t.tokens.back());
    const AnyTensor& logits = model_->run(tokens, std::vector<char>(tokens.size(), 1), 1, options_.run);
    broken_ = true;
    for (int64_t b = 0; b < batch(); ++b) extend(logits, b, 1);
    broken_ = false;
  }

  // Runs the encoder, and makes the models that read its states.
  void start() {
    inputs_ = options_.inputs;
    if (models_->encoder.session != nullptr) encode();
    const DType caches = options_.cache_type;
    if (models_->draft.session != nullptr)
      draft_.emplace(models_->draft, LanguageModel{}, batch(), inputs_, caches);
    model_.emplace(models_->model, models_->first, batch(), inputs_, caches);
  }
  void encode() {
    ModelRunner encoder(models_->encoder, inputs_);
    std::optional<PaddedPrompts> prompts;  // that it reads
    if (encodes_prompts()) prompts.emplace(prompts_, options_);
    const Extents extents{batch(), prompts ? prompts->steps : 0};
    const auto counts = [&](int64_t k) { return prompts->counts[static_cast<std::size_t>(k)]; };
    if (prompts) {
      encoder.feed_numbers(encoder.parts().tokens, extents,
                           [&](int64_t k) { return prompts->tokens[static_cast<std::size_t>(k)]; });
      encoder.feed_numbers(encoder.parts().mask, extents, counts);
    }
    const Outputs& made = encoder.run(plain_run(options_.run));
    for (const LanguageModel* m : {&models_->model, &models_->first, &models_->draft}) {
      if (m->session == nullptr) continue;
      const ModelParts& parts = m->parts;
      const auto give = [&](const std::string& name, auto value) {
        if (name.empty() ||
            std::ranges::any_of(inputs_, [&](const NamedValue& v) { return v.first == name; }))
          return;
        inputs_.emplace_back(name, value(*find_input(m->session->graph(), name)));
      };
      give(parts.encoder_states, [&](const Graph::ValueEntry&) { return made[encoder.parts().logits]; });
      for (const Cache& c : parts.caches)
        if (makes_cross(models_->encoder, c))
          give(c.past, [&](const Graph::ValueEntry&) { return made[c.present]; });
      if (!prompts) continue;
      give(parts.encoder_mask,
           [&](const Graph::ValueEntry& input) { return numbers_for(input, extents, counts); });
    }
  }

  void read_prompts() {
    std::vector<std::vector<int>> rows;
    for (const Text& t : texts_) rows.push_back(t.tokens);
    const PaddedPrompts prompts(rows, options_);
    const bool right = options_.padding == Padding::right && prompts.padded();
    const AnyTensor& logits =
        model_->run(prompts.tokens, prompts.counts, right ? prompts.steps : 1, options_.run);
    broken_ = true;
    for (int64_t b = 0; b < batch(); ++b) {
      const auto length = static_cast<int64_t>(rows[static_cast<std::size_t>(b)].size());
      extend(logits, b, right ? prompts.steps - length + 1 : 1);
    }
    broken_ = false;
  }

  // Runs the model on the text's last token and drafted ones, and keeps the latter as far as the model would
  // have chosen them, and the token after them.
  void step_with_draft() {
    Text& text = texts_[0];
    const int64_t held = static_cast<int64_t>(text.tokens.size()) - 1;
    model_->truncate(held);
    std::vector<int> tokens{text.tokens.back()};
    const auto left = options_.max_tokens - static_cast<int64_t>(text.generated());
    const auto most = static_cast<std::size_t>(std::min(options_.draft_tokens, left - 1));
    if (draft_) {
      draft_->truncate(held);
      draft_by_model(tokens, most);
    } else {
      draft_by_ngram(tokens, most);
    }
    const auto count = static_cast<int64_t>(tokens.size());
    const AnyTensor& logits = model_->run(tokens, std::vector<char>(tokens.size(), 1), count, options_.run);
    broken_ = true;
    for (int64_t k = 0; k < count && !text.ended; ++k) {
      extend(logits, 0, count - k);
      if (k + 1 < count && text.tokens.back() != tokens[static_cast<std::size_t>(k) + 1]) break;
    }
    broken_ = false;
  }
  void draft_by_model(std::vector<int>& tokens, std::size_t most) {
    Text& text = texts_[0];
    std::vector<int> fresh(text.tokens.begin() + static_cast<std::ptrdiff_t>(draft_->held()),
                           text.tokens.end());
    while (tokens.size() <= most) {
      const AnyTensor& logits = draft_->run(fresh, std::vector<char>(fresh.size(), 1), 1, options_.run);
      read_logits(logits, 1, 0, 1, logits_);
      sampler_.penalise(logits_, text.seen, text.tokens);
      const int token = sampler_.choose(
          logits_, sampler_.random(0, static_cast<int64_t>(text.generated() + tokens.size()) - 1));
      if (token >= vocabulary_) break;
      tokens.push_back(token);
      fresh.assign(1, token);
    }
  }
  void draft_by_ngram(std::vector<int>& tokens, std::size_t most) const {
    const std::vector<int>& text = texts_[0].tokens;
    const auto length = std::min(static_cast<std::size_t>(options_.ngram), text.size() - 1);
    for (std::size_t n = length; n > 0; --n) {
      const auto last = text.end() - static_cast<std::ptrdiff_t>(n);
      const auto found = std::find_end(text.begin(), text.end() - 1, last, text.end());
      if (found == text.end() - 1) continue;
      for (auto at = found + static_cast<std::ptrdiff_t>(n); at != text.end() && tokens.size() <= most; ++at)
        tokens.push_back(*at);
      return;
    }
  }

  // Chooses the next token of text b, unless it has ended.
  void extend(const AnyTensor& logits, int64_t b, int64_t from_end) {
    Text& text = texts_[static_cast<std::size_t>(b)];
    if (text.ended) return;
    read_logits(logits, batch(), b, from_end, logits_);
    vocabulary_ = static_cast<int64_t>(logits_.size());
    sampler_.penalise(logits_, text.seen, text.tokens);
    if (options_.adjust) options_.adjust(logits_, text.tokens);
    const int token = sampler_.choose(logits_, sampler_.random(b, static_cast<int64_t>(text.generated())));
    text.tokens.push_back(token);
    text.ended = ends(text);
  }
  [[nodiscard]] bool ends(const Text& text) const {
    if (static_cast<int64_t>(text.generated()) >= options_.max_tokens) return true;
    if (std::ranges::find(options_.stop_tokens, text.tokens.back()) != options_.stop_tokens.end())
      return true;
    return std::ranges::any_of(options_.stop_sequences, [&](const std::vector<int>& s) {
      return s.size() <= text.generated() && std::equal(s.rbegin(), s.rend(), text.tokens.rbegin());
    });
  }

  const std::shared_ptr<const GeneratorModels> models_;
  const GenerateOptions options_;
  const std::vector<std::vector<int>> prompts_;
  std::vector<NamedValue> inputs_;
  Sampler sampler_;
  std::optional<CachedModel> model_, draft_;
  std::vector<Text> texts_;
  std::vector<float> logits_;
  std::vector<int> current_;
  std::size_t shown_ = 0;
  int64_t vocabulary_ = 0;
  bool broken_ = false;  // a text has not got its token of a step that the model has made
};

}  // namespace tenon::TENON_ABI::detail
