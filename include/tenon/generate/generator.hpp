// Generator: texts from language models, as token ids. generate.hpp has the bodies as well.
#pragma once

#include <iterator>
#include <memory>
#include <optional>

#include "tenon/generate/options.hpp"
#include "tenon/generate/parts.hpp"

namespace tenon::TENON_ABI {

namespace detail {
struct GeneratorModels;
class Generation;
}  // namespace detail

/// A model that takes part in a generation. `parts` names what its names do not tell, see find_parts.
struct LanguageModel {
  const Session* session = nullptr;
  ModelParts parts{};
};

/// The models in addition to the one that makes each step. The sessions must outlive the generator's texts.
struct GeneratorOptions {
  ModelParts parts{};  ///< of the session itself
  /// Makes the first step if the session takes part only in later ones: a model that was exported in two
  /// files, of which this one has no pasts. Its presents have the names that the session's have, or would
  /// have.
  LanguageModel first{};
  /// Computes the states that the session, a decoder, reads, or the keys and values of these: outputs with
  /// the names that the session's presents of them would have. Runs once for each generation, on the prompt
  /// or, if it reads no tokens, on features in GenerateOptions::inputs. Its output `logits` is the first one
  /// unless stated otherwise.
  LanguageModel encoder{};
  LanguageModel draft{};  ///< a small model with the same tokens, for GenerateOptions::draft_tokens
};

namespace detail {
// A generation that its user advances.
class GenerationHandle {
 public:
  explicit GenerationHandle(std::unique_ptr<Generation> generation);
  GenerationHandle(GenerationHandle&&) noexcept;
  GenerationHandle& operator=(GenerationHandle&&) noexcept;
  ~GenerationHandle();

 protected:
  bool advance();
  std::span<const int> current() const;

 private:
  Generation& generation() const;
  std::unique_ptr<Generation> generation_;
};
}  // namespace detail

/// The tokens of a generation, computed as they are asked for: a range that is read once, or `next` until it
/// returns nothing. Item is int, a token of the only text; or std::span<const int>, a token of each text of
/// a batch, -1 for texts that have ended, valid until the next one.
///
/// Reading it runs the model, so that Errors of the model come from there: {cancelled} when RunOptions::stop
/// is requested, {limit} for its bounds. The run can be repeated by reading on. A stream that was moved from
/// has an Error{invalid_argument} in place of tokens.
template <class Item>
class TokenStream : detail::GenerationHandle {
 public:
  using detail::GenerationHandle::GenerationHandle;

  [[nodiscard]] std::optional<Item> next() {
    if (!advance()) return std::nullopt;
    return item();
  }

  class Iterator {
   public:
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(TokenStream& stream) : stream_(&stream) { ++*this; }
    Item operator*() const { return stream_->item(); }
    Iterator& operator++() {
      ended_ = !stream_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return ended_; }

   private:
    TokenStream* stream_ = nullptr;
    bool ended_ = false;
  };
  /// Computes the first token.
  [[nodiscard]] Iterator begin() { return Iterator(*this); }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  Item item() const {
    if constexpr (std::is_same_v<Item, int>) return current()[0];
    else return current();
  }
};

/// Generates texts with a language model: token ids in, token ids out. The program has a tokeniser for the
/// text.
///
///     Generator g(session);
///     for (int token : g.stream(prompt, {.max_tokens = 200, .temperature = 0.7f, .top_p = 0.9f, .seed = 7}))
///       print(tokeniser.text(token));
///
/// The model reads integers (batch, steps) and returns logits; presents of a step are the pasts of the next
/// one, without a copy. At the first step pasts have no steps: the model declares their other extents, and
/// caches with no open extent but the batch start with zeros. A model without caches reads the whole text at
/// each step.
///
/// A generator may be used by many threads at once; each of its streams belongs to one thread at a time.
/// where() of Errors begins with "generator".
class Generator {
 public:
  /// Error{invalid_argument, invalid_model} as from find_parts; {invalid_argument} for encoder's caches that
  /// no model computes.
  explicit Generator(const Session& session, GeneratorOptions options = {});
  explicit Generator(Session&&, GeneratorOptions = {}) = delete;  // the generator refers to it

  /// The session's parts, stated or found.
  [[nodiscard]] const ModelParts& parts() const;

  /// Continues the prompt; with an encoder of tokens, the prompt is the encoder's and `decoder_start` is
  /// continued. Error{invalid_argument} for options that are out of range, and for prompts without tokens or
  /// with negative ones.
  [[nodiscard]] TokenStream<int> stream(std::vector<int> prompt, GenerateOptions options = {}) const;
  /// Continues several prompts at once. Prompts of different lengths are filled up, for which the model has
  /// to have a mask; if it has no positions, it has to derive them from the mask. With a temperature, equal
  /// prompts have different random numbers.
  [[nodiscard]] TokenStream<std::span<const int>> batch(std::vector<std::vector<int>> prompts,
                                                        GenerateOptions options = {}) const;

 private:
  std::shared_ptr<const detail::GeneratorModels> models_;
};

}  // namespace tenon::TENON_ABI
