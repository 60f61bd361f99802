// QEmbedLayerNormalization: the normalised sum of embeddings of words, positions and segments, from bytes.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QEmbedLayerNormalization
#pragma once

#include "tenon/op/families/embeddings.hpp"
#include "tenon/op/quantization/dequantize_linear.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// EmbedLayerNormalization of (table - zero point) * scale for each of the five tables. Each scale and zero
/// point is one number; a model without segments has no table, scale and zero point for them. Results: the
/// normalised sum in float32, and the number of ones in each row of `mask`, 0 without one. From (2,3), (5,4),
/// (3,4), (4) and (4) it gives (2,3,4) and (2).
struct QEmbedLayerNormalization {
  float epsilon = 1e-12f;

  static constexpr Spec spec{
      .name = "QEmbedLayerNormalization",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{.name = "input_ids", .type = "T1", .looks_up = 2},
                 {.name = "segment_ids", .type = "T1", .arity = optional, .looks_up = 4},
                 {"word_embedding_quant", "T2"},
                 {"position_embedding_quant", "T2"},
                 {"segment_embedding", "T2", optional},
                 {"gamma_quant", "T2"},
                 {"beta_quant", "T2"},
                 {"mask", "T1", optional},
                 {"word_embedding_scale", "T"},
                 {"position_embedding_scale", "T"},
                 {"segment_embedding_scale", "T", optional},
                 {"gamma_scale", "T"},
                 {"beta_scale", "T"},
                 {"word_embedding_zero_point", "T2"},
                 {"position_embedding_zero_point", "T2"},
                 {"segment_embedding_zero_point", "T2", optional},
                 {"gamma_zero_point", "T2"},
                 {"beta_zero_point", "T2"}},
      .outputs = {{"layernorm_out", "T"}, {"mask_index_out", "T1"}},
      .types = {{"T", types::float32}, {"T1", types::int32}, {"T2", types::int8 | types::uint8}}};
  static constexpr Attributes attributes{attr("epsilon", &QEmbedLayerNormalization::epsilon)};

  constexpr void infer(Infer& i) const {
    for (int table = 2; table <= 6; ++table) {
      if (i.has(scale_of(table)) != i.has(table) || i.has(zero_of(table)) != i.has(table))
        return i.fail(i.name(table), ", its scale and its zero point come together");
      if (!i.expect_one(scale_of(table)) || !i.expect_one(zero_of(table))) return;
    }
    infer_embeddings(i, -1);
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    std::vector<int32_t> all = normalized_embeddings(to, epsilon, -1, [&](int table, int32_t rows) {
      const auto number = [&](int k) { return function_body::reshaped(to, to.input(k), {}); };
      return to.add(op::DequantizeLinear{}, {rows, number(scale_of(table)), number(zero_of(table))});
    });
    all.resize(2);
    return all;
  }
  template <class L>
  void loops(L& l) const {
    l.over({{0, 0}, {1, 0}, {7, 0}}, {{0, 0}, {1, 0}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static constexpr int scale_of(int table) { return table + 6; }
  static constexpr int zero_of(int table) { return table + 11; }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QEmbedLayerNormalization)
