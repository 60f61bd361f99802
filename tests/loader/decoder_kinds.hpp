// The kinds of language models that tests decode with: forms of attention, and of weights.
#pragma once

#include <string>
#include <vector>

#include "tenon/base/error.hpp"

namespace tenon::test {

/// How a decoder adds steps to its caches, and attends to them.
enum class Form : uint8_t {
  concat,              // Concat, keys repeated for the heads that share them, elementary attention
  attention,           // Attention of version 23 with pasts, heads apart
  packed_attention,    // the same with heads side by side
  scatter,             // TensorScatter into caches of fixed rows, Attention of version 24
  group_query,         // GroupQueryAttention into rows of the pasts, rotation within
  packed_group_query,  // the same with one product for queries, keys and values, and a window
  mixed,               // Concat and elementary attention, in each layer as another exporter writes it
  indexed,             // ScatterND into caches of fixed rows between Transposes, elementary attention
};
/// What the products' weights are.
enum class Weights : uint8_t {
  float32,
  float16,    // as everything else in the model
  dynamic,    // int8; activations get their scale in the run
  qdq,        // int8 and activations with constant scales, between DequantizeLinear and QuantizeLinear
  four_bits,  // MatMulNBits
  rounded,    // MatMulNBits that may round activations to bytes
};
struct DecoderKind {
  Form form;
  Weights weights;

  /// Whether the caches have as many rows as the file states, which are written by their places.
  [[nodiscard]] bool has_fixed_rows() const { return form == Form::scatter || form == Form::indexed; }
  [[nodiscard]] bool groups_queries() const {
    return form == Form::group_query || form == Form::packed_group_query;
  }
  [[nodiscard]] std::string name() const {
    constexpr std::string_view of_forms[] = {"concat",  "attention",   "packed_attention",
                                             "scatter", "group_query", "packed_group_query",
                                             "mixed",   "indexed"};
    constexpr std::string_view of_weights[] = {"float32", "float16",   "dynamic",
                                               "qdq",     "four_bits", "rounded"};
    return str_cat(of_forms[static_cast<int>(form)], "/", of_weights[static_cast<int>(weights)]);
  }
};

/// Every form with all weights.
inline std::vector<DecoderKind> decoder_kinds() {
  std::vector<DecoderKind> kinds;
  for (int f = 0; f <= static_cast<int>(Form::indexed); ++f)
    for (int w = 0; w <= static_cast<int>(Weights::rounded); ++w)
      kinds.push_back({static_cast<Form>(f), static_cast<Weights>(w)});
  return kinds;
}

}  // namespace tenon::test
