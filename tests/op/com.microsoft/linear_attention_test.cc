#include "tenon/op/com.microsoft/linear_attention.hpp"

#include "tenon/op/com.microsoft/causal_conv_with_state.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using namespace op::com_microsoft;

TEST_CASE("com.microsoft.LinearAttention, CausalConvWithState: results of ONNX Runtime") {
  check_recorded("com.microsoft/with_state.txt",
                 {&operator_class<LinearAttention>, &operator_class<CausalConvWithState>});
}

TEST_CASE("com.microsoft.LinearAttention, CausalConvWithState: errors") {
  const Value x = t<float>({1, 2, 2}, {1, 2, 3, 4}), w = t<float>({2, 1, 2}, {1, 2, 3, 4});
  const auto fails = [&](const LinearAttention& op, std::string_view text) {
    check_fails(op, {x, x, x}, text, 2);
  };
  fails({.kv_num_heads = 1, .q_num_heads = 1, .state_window = 2}, "state_window: 2, expected 0");
  fails({.kv_num_heads = 2, .q_num_heads = 3, .update_rule = "linear"}, "2 KV heads do not serve 3 query");
  fails({.kv_num_heads = 1, .q_num_heads = 1}, "update_rule 'gated_delta' needs decay");
  check_fails(LinearAttention{.kv_num_heads = 1, .q_num_heads = 1, .update_rule = "linear"},
              {x, t<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), x},
              "key: 4 numbers are not of heads of 2 that serve 1 KV heads", 2);
  check_fails(CausalConvWithState{.ndim = 2}, {x, w}, "ndim: 2, expected 1", 2);
  check_fails(CausalConvWithState{.dilation = 0}, {x, w}, "dilation: 0, expected at least 1", 2);
  check_fails(CausalConvWithState{.state_window = 1}, {x, w}, "state_window: 1, expected 0", 2);
  check_fails(CausalConvWithState{.activation = "relu"}, {x, w}, "activation: 'relu'", 2);
  check_fails(CausalConvWithState{.dilation = 2}, {x, w, {}, t<float>({1, 2, 1}, {1, 2})},
              "past_state: (1,2,1), expected (1,2,2)", 2);
  const Dims open{Dim::symbol(1), Dim::symbol(2), 3, 2};
  const auto y = infer(CausalConvWithState{.channels_last = 1, .dilation = 3},
                       {info(DType::float32, open), info(DType::float32, {6, 1, 4})}, 2);
  CHECK(y[0].dims == open);
  CHECK(y[1].dims == Dims{Dim::symbol(1), 9, 3, 2});
}
}  // namespace tenon
