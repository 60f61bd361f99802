// LinearAttention: attention through a state instead of scores.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.LinearAttention
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/nn/linear_attention.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// ONNX's LinearAttention. State windows, and more KV heads than query heads, are refused.
/// op::com_microsoft::LinearAttention{.kv_num_heads = 2, .q_num_heads = 4, .update_rule = "linear"}(q, k, v)
/// of (1,5,12), (1,5,6) and (1,5,8) gives (1,5,16).
struct LinearAttention {
  int64_t chunk_size = 64;
  Opt<int64_t> kv_num_heads{};
  Opt<int64_t> q_num_heads{};
  float scale = 0;
  int64_t state_window = 0;  ///< only 0
  Str update_rule = "gated_delta";

  static constexpr TypeSet floats = types::float32 | types::float16 | types::bfloat16;
  static constexpr Spec spec{.name = "LinearAttention",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"query", "T"},
                                        {"key", "T"},
                                        {"value", "T"},
                                        {"past_state", "S", optional},
                                        {"decay", "T", optional},
                                        {"beta", "T", optional}},
                             .outputs = {{"output", "T"}, {"present_state", "S"}},
                             .types = {{"T", floats}, {"S", floats}}};
  static constexpr Attributes attributes{attr("chunk_size", &LinearAttention::chunk_size),
                                         attr("kv_num_heads", &LinearAttention::kv_num_heads).required(),
                                         attr("q_num_heads", &LinearAttention::q_num_heads).required(),
                                         attr("scale", &LinearAttention::scale),
                                         attr("state_window", &LinearAttention::state_window),
                                         attr("update_rule", &LinearAttention::update_rule)};

  constexpr void infer(Infer& i) const {
    if (i.expect_choice("state_window", state_window, {0})) of_onnx().infer(i);
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    return to.add(of_onnx(), {to.input(0), to.input(1), to.input(2), to.input(3), to.input(4), to.input(5)},
                  2);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr op::LinearAttention of_onnx() const {
    return {chunk_size, kv_num_heads, q_num_heads, scale, update_rule};
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::LinearAttention)
