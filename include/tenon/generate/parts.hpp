// The inputs and outputs of a language model by what they are for.
#pragma once

#include <string>
#include <vector>

#include "tenon/graph/session_decl.hpp"

namespace tenon::TENON_ABI {

/// An input that takes what earlier steps have computed, and the output that returns it for the next step.
struct Cache {
  std::string past, present;
  bool cross = false;  ///< keys or values of the encoder's states: the first step computes them for all
  bool operator==(const Cache&) const = default;
};

/// The names of a model's inputs and outputs; empty for what it does not have.
struct ModelParts {
  std::string tokens{};          ///< input (batch, steps): the new tokens
  std::string mask{};            ///< input (batch, past + steps): 1 for tokens, 0 for padding
  std::string positions{};       ///< input (batch, steps): the number of tokens before each one
  std::string places{};          ///< input (steps): the places of the new tokens in the caches
  std::string encoder_states{};  ///< input (batch, encoder's steps, size)
  std::string encoder_mask{};    ///< input (batch, encoder's steps), as `mask`
  std::string use_cache{};       ///< input (1): whether there was an earlier step
  std::string logits_to_keep{};  ///< input () or (1): of how many of the last steps to return logits
  std::string logits{};          ///< output (batch, steps, vocabulary) or (batch, vocabulary)
  std::vector<Cache> caches{};
};

/// The parts of a model. What `stated` names is taken from there; if it names caches, the model has no
/// others. The names of a stated cache may be patterns, as in genai_config.json: {"past_key_values.%d.key",
/// "present.%d.key"} is a cache for each number from 0 on for which the model has the input.
///
/// Other parts are found by the names that Optimum, transformers.js and ONNX Runtime GenAI give them:
/// input_ids, attention_mask, position_ids, cache_position, encoder_hidden_states, encoder_attention_mask,
/// use_cache_branch, num_logits_to_keep, logits; past_key_values.0.key and present.0.key, past_0 and
/// present_0, and others that differ in "past" and "present" only; caches are an encoder's if the name has
/// "encoder" or "cross". Caches with other names are found by the nodes that read them: an operator with
/// operands past_… and present_…, or one that joins the input with others into an output. Tokens and logits
/// with other names are found if only one integer input of two axes, or one output, is left.
///
/// Error{invalid_argument} for a stated name that the model does not have, {invalid_model} for a model in
/// which there are no tokens or no logits to be found.
[[nodiscard]] ModelParts find_parts(const Graph& graph, const ModelParts& stated = {});

}  // namespace tenon::TENON_ABI
