// EmbedLayerNormalization: the sum of embeddings of words, positions and segments, normalised.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.EmbedLayerNormalization
#pragma once

#include "tenon/op/families/embeddings.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = LayerNormalization(S, gamma, beta) of the sum S of rows of word_embedding, position_embedding and
/// segment_embedding, which input_ids, position_ids and segment_ids (batch, steps) choose; positions are 0,
/// 1, … without position_ids. mask_index is the number of ones in each row of `mask`, and 0 without one; S is
/// the last result. op::com_microsoft::EmbedLayerNormalization{}(ids, none, words, positions, none, gamma,
/// beta) of (2,3), (5,4), (3,4), (4) and (4) gives (2,3,4) and (2).
struct EmbedLayerNormalization {
  float epsilon = 1e-12f;

  static constexpr Spec spec{
      .name = "EmbedLayerNormalization",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{.name = "input_ids", .type = "T1", .looks_up = 2},
                 {.name = "segment_ids", .type = "T1", .arity = optional, .looks_up = 4},
                 {"word_embedding", "T"},
                 {"position_embedding", "T"},
                 {"segment_embedding", "T", optional},
                 {"gamma", "T"},
                 {"beta", "T"},
                 {"mask", "T1", optional},
                 {.name = "position_ids", .type = "T1", .arity = optional, .looks_up = 3}},
      .outputs = {{"output", "T"}, {"mask_index", "T1", optional}, {"embedding_sum", "T", optional}},
      .types = {{"T", types::float32 | types::float16}, {"T1", types::int32}}};
  static constexpr Attributes attributes{attr("epsilon", &EmbedLayerNormalization::epsilon),
                                         ignored<int64_t>("mask_index_type")};

  constexpr void infer(Infer& i) const { infer_embeddings(i, 8); }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    return normalized_embeddings(to, epsilon, to.input(8), [](int, int32_t rows) { return rows; });
  }
  /// Over the batch, and over steps whose positions are stated, unless their mask is counted.
  template <class L>
  void loops(L& l) const {
    for (const int axis : {0, 1}) {
      if (axis == 1 && !l.has(8)) return;
      const int of_index = axis == 0 ? 0 : -1;
      l.over({{0, axis}, {1, axis}, {7, axis}, {8, l.stretched(8, axis, 2)}},
             {{0, axis}, {1, of_index}, {2, axis}});
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::EmbedLayerNormalization)
