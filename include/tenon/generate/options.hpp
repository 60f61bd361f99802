// What a generation is asked for.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/graph/run_options.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI {

/// An input of a model and its value.
using NamedValue = std::pair<std::string, Value>;

/// Where the shorter prompts of a batch are filled up. Models whose output has the logits of the last step
/// only need `left`. Models with GroupQueryAttention, which count the tokens of the mask and not their
/// places, need `right`: Error{invalid_argument} otherwise.
enum class Padding : uint8_t { left, right };

/// Options of a generation. Without a temperature it is greedy: the token with the greatest logit, of several
/// the lowest one.
///
/// Otherwise logits are changed and tokens left out in the order and by the definitions of Hugging Face's
/// Transformers (generation/logits_process.py): repetition penalty, `adjust`, temperature, top_k, top_p,
/// min_p. ONNX Runtime GenAI defines its part of them alike (search.cpp). Of equal logits the lower token
/// precedes. A number outside of its range is an Error{invalid_argument} of Generator::stream and batch.
struct GenerateOptions {
  int64_t max_tokens = 256;  ///< tokens to be generated, for each prompt; at least 0
  float temperature = 0;     ///< logits are divided by it; above 0 and finite, or 0: greedy
  int64_t top_k = 0;         ///< only the k most probable tokens; 0: all
  float top_p = 1;  ///< only the fewest most probable tokens whose probabilities add up to it; 0 to 1
  float min_p = 0;  ///< only tokens with this share of the greatest probability, or more; 0 to 1
  /// Logits of tokens that the prompt and the text so far have are divided by it, or multiplied if negative;
  /// above 0 and finite.
  float repetition_penalty = 1;
  /// Determines, with the number of the prompt in the batch and the number of the token, the random numbers.
  uint64_t seed = 0;
  std::vector<int> stop_tokens{};                  ///< the first of them ends a text, of which it is the last
  std::vector<std::vector<int>> stop_sequences{};  ///< likewise, when generated tokens end with one of them
  /// Changes the logits for the token after `tokens`, which are the prompt and the text so far. A token with
  /// -inf is not chosen. A token that is drafted and refused was not asked for.
  std::function<void(std::span<float> logits, std::span<const int> tokens)> adjust{};
  Padding padding = Padding::left;
  int pad_token = 0;                 ///< fills prompts up
  std::vector<int> decoder_start{};  ///< where an encoder reads the prompt: the decoder's first tokens
  /// Inputs with values of the caller's own for all steps: what the generator has no values for, such as an
  /// encoder's input features, or other values than it has.
  std::vector<NamedValue> inputs{};
  /// Tokens that are drafted for each step of the model, which then computes their logits in one run and
  /// keeps the ones that it would have chosen: the same text in fewer runs, up to the rounding of logits.
  /// They come from the generator's draft model, or else follow the latest earlier place of the text's last
  /// `ngram` tokens, or fewer. For one prompt, and for models whose caches have a step for each token.
  int64_t draft_tokens = 0;
  int64_t ngram = 3;
  DType cache_type = DType::undefined;  ///< StateOptions::cache_type of the caches
  /// Of each run of a model; outputs, state, last and profile are not used.
  RunOptions run{};
};

}  // namespace tenon::TENON_ABI
