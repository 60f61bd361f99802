// The network in ONNX's text, as it is trained and as it is saved, and the weights that it starts with.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array/random.hpp"

namespace writer {

constexpr int64_t layers = 3, size = 64, hidden = 160;

// The network, where # is the number of a layer and @ of the next one. Heads are turned by angles that grow
// with the place of the letter, so that the products of two depend on their distance.
constexpr std::string_view first_nodes = R"(
  place = Cast <to = 1> (position_ids)
  column = Unsqueeze (place, last)
  angle = Mul (column, frequency)
  cos = Cos (angle)
  sin = Sin (angle)
  x_0 = Gather (embedding, input_ids)
)";
constexpr std::string_view before_attention = R"(
  n_# = RMSNormalization (x_#, scale_#)
  q_# = MatMul (n_#, queries_#)
  k_# = MatMul (n_#, keys_#)
  v_# = MatMul (n_#, values_#)
)";
constexpr std::string_view after_attention = R"(
  a_# = MatMul (y_#, mix_#)
  b_# = Add (x_#, a_#)
  m_# = RMSNormalization (b_#, scale2_#)
  u_# = MatMul (m_#, up_#)
  r_# = Relu (u_#)
  d_# = MatMul (r_#, down_#)
  x_@ = Add (b_#, d_#)
)";
constexpr std::string_view last_nodes = R"(
  n = RMSNormalization (x_#, scale)
  logits = MatMul (n, choice)
)";

// Four heads' attention to a letter and the 63 before it: as the file has it, with caches, and made of
// operators that have derivatives.
constexpr std::string_view attention = R"(
  p_# = RotaryEmbedding <num_heads = 4> (q_#, cos, sin)
  s_# = RotaryEmbedding <num_heads = 4> (k_#, cos, sin)
  y_#, present_key_#, present_value_# =
      Attention <is_causal = 1, left_window_size = 63, q_num_heads = 4, kv_num_heads = 4>
      (p_#, s_#, v_#, , past_key_#, past_value_#)
)";
constexpr std::string_view attention_in_training = R"(
  y_# = writer.Attend (q_#, k_#, v_#, cos, sin, mask)
)";
constexpr std::string_view functions = R"(
<opset_import: ["" : 25], domain: "writer">
Turned (x, cos, sin) => (y) {
  split = Constant <value_ints = [0, 0, 4, 16]> ()
  axis = Constant <value_ints = [1]> ()
  c = Unsqueeze (cos, axis)
  s = Unsqueeze (sin, axis)
  in_heads = Reshape (x, split)
  by_heads = Transpose <perm = [0, 2, 1, 3]> (in_heads)
  a, b = Split <axis = 3, num_outputs = 2> (by_heads)
  ac = Mul (a, c)
  bs = Mul (b, s)
  as = Mul (a, s)
  bc = Mul (b, c)
  first = Sub (ac, bs)
  second = Add (as, bc)
  y = Concat <axis = 3> (first, second)
}
<opset_import: ["" : 25, "writer" : 1], domain: "writer">
Attend (q, k, v, cos, sin, mask) => (y) {
  split = Constant <value_ints = [0, 0, 4, 16]> ()
  join = Constant <value_ints = [0, 0, 64]> ()
  quarter = Constant <value_float = 0.25> ()
  p = writer.Turned (q, cos, sin)
  s = writer.Turned (k, cos, sin)
  t = Transpose <perm = [0, 1, 3, 2]> (s)
  in_heads = Reshape (v, split)
  w = Transpose <perm = [0, 2, 1, 3]> (in_heads)
  products = MatMul (p, t)
  scaled = Mul (products, quarter)
  masked = Add (scaled, mask)
  share = Softmax <axis = 3> (masked)
  mixed = MatMul (share, w)
  by_steps = Transpose <perm = [0, 2, 1, 3]> (mixed)
  y = Reshape (by_steps, join)
}
)";

inline std::string of_layer(std::string_view text, int64_t layer) {
  std::string result;
  for (const char c : text) {
    if (c == '#' || c == '@') result += std::to_string(layer + (c == '@' ? 1 : 0));
    else result += c;
  }
  return result;
}
inline std::string nodes(std::string_view of_attention) {
  std::string text(first_nodes);
  for (int64_t k = 0; k < layers; ++k)
    for (const std::string_view part : {before_attention, of_attention, after_attention})
      text += of_layer(part, k);
  return text + of_layer(last_nodes, layers);
}
struct Weight {
  std::string name;
  tenon::Tensor<float> start;
};
inline std::vector<Weight> weights(int64_t letters) {
  const double root = 1 / std::sqrt(static_cast<double>(size));
  std::vector<Weight> list;
  const auto add = [&](std::string name, const tenon::Extents& extents, double deviation) {
    list.push_back(
        {std::move(name), tenon::normal<float>(extents, list.size(), deviation > 0 ? 0 : 1, deviation)});
  };
  add("embedding", {letters, size}, 1);
  for (int64_t k = 0; k < layers; ++k) {
    add(tenon::str_cat("scale_", k), {size}, 0);
    for (const char* name : {"queries_", "keys_", "values_"})
      add(tenon::str_cat(name, k), {size, size}, root);
    add(tenon::str_cat("mix_", k), {size, size}, root / 3);
    add(tenon::str_cat("scale2_", k), {size}, 0);
    add(tenon::str_cat("up_", k), {size, hidden}, root);
    add(tenon::str_cat("down_", k), {hidden, size}, root / 3);
  }
  add("scale", {size}, 0);
  add("choice", {size, letters}, root);
  return list;
}

}  // namespace writer
