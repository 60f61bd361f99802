// The loops of convolutions, pools, normalisations of channels, and recurrent operators, ONNX's and ONNX
// Runtime's.
#include "tenon/op/com.microsoft/causal_conv_with_state.hpp"
#include "tenon/op/com.microsoft/dynamic_quantize_lstm.hpp"
#include "tenon/op/com.microsoft/fused_conv.hpp"
#include "tenon/op/com.microsoft/group_norm.hpp"
#include "tenon/op/com.microsoft/linear_attention.hpp"
#include "tenon/op/com.microsoft/nhwc_conv.hpp"
#include "tenon/op/com.microsoft/nhwc_max_pool.hpp"
#include "tenon/op/com.microsoft/q_linear_average_pool.hpp"
#include "tenon/op/com.microsoft/q_linear_conv.hpp"
#include "tenon/op/nn/average_pool.hpp"
#include "tenon/op/nn/batch_normalization.hpp"
#include "tenon/op/nn/causal_conv_with_state.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/nn/conv_integer.hpp"
#include "tenon/op/nn/conv_transpose.hpp"
#include "tenon/op/nn/global_average_pool.hpp"
#include "tenon/op/nn/global_lp_pool.hpp"
#include "tenon/op/nn/group_normalization.hpp"
#include "tenon/op/nn/instance_normalization.hpp"
#include "tenon/op/nn/linear_attention.hpp"
#include "tenon/op/nn/lp_pool.hpp"
#include "tenon/op/nn/max_pool.hpp"
#include "tenon/op/nn/q_linear_conv.hpp"
#include "tenon/op/rnn/gru.hpp"
#include "tenon/op/rnn/lstm.hpp"
#include "tenon/op/rnn/rnn.hpp"
#include "tests/devices/loops.hpp"

namespace tenon::devices {
namespace {

namespace ms = op::com_microsoft;

Tensor<uint8_t> unsigned_bytes(const Extents& extents) { return integers<uint8_t>(extents); }
Tensor<int8_t> signed_bytes(const Extents& extents) { return integers<int8_t>(extents); }

TEST_CASE("Convolutions divide over channels, groups and the batch") {
  CHECK(divide(op::Conv{}, {{2, 4, 5, 5}, {6, 4, 3, 3}, {6}}) == Counts{6, -4, 2});
  CHECK(divide(op::ConvTranspose{.group = 2}, {{2, 4, 5}, {4, 3, 3}, {6}}) == Counts{2, 2});
  CHECK(divide(ms::FusedConv{}, {{2, 4, 5, 5}, {6, 4, 3, 3}, {6}, {2, 6, 3, 3}}) == Counts{6, -4, 2});
  CHECK(divide(ms::FusedConv{.activation = "Relu"}, {{2, 4, 5, 5}, {6, 4, 3, 3}, {6}}) == Counts{6, 2});
  CHECK(divide(ms::FusedConv{.activation = "Tanh", .group = 2}, {{2, 4, 5}, {6, 2, 3}, {}, {2, 6, 3}}) ==
        Counts{2, 2});
  CHECK(divide(ms::NhwcConv{}, {{2, 5, 5, 4}, {6, 3, 3, 4}, {6}}) == Counts{6, -4, 2});
  CHECK(divide(ms::NhwcConv{.group = 4}, {{2, 5, 4}, {8, 3, 1}}) == Counts{4, 2});
}

TEST_CASE("Convolutions of bytes divide over channels, groups and the batch") {
  const Tensor<float> scale = numbers({1}, 1);
  const Operand zero = unsigned_bytes({1}), x = unsigned_bytes({2, 4, 5, 5}), w = signed_bytes({6, 4, 3, 3}),
                zeros = signed_bytes({6}), bias = integers<int32_t>({6}, -99, 99);
  const Operand small = Tensor<float>(Extents{}, {0.02f}),
                scales = Tensor<float>(Extents{6}, {0.01f, 0.02f, 0.03f, 0.01f, 0.02f, 0.03f}),
                of_y = Tensor<float>(Extents{}, {0.9f});
  const Operand no_zero = Tensor<int8_t>(Extents{}, {0});
  CHECK(divide(op::QLinearConv{}, {x, small, zero, w, scales, zeros, of_y, zero, bias}) == Counts{6, 2});
  CHECK(divide(op::QLinearConv{.group = 2},
               {x, small, zero, signed_bytes({6, 2, 3, 3}), small, no_zero, of_y, zero}) == Counts{2, 2});
  CHECK(divide(ms::QLinearConv{.channels_last = 1}, {unsigned_bytes({2, 5, 5, 4}), small, zero, w, scales,
                                                     zeros, of_y, zero, bias}) == Counts{6, 2});
  CHECK(divide(ms::QLinearConv{}, {x, small, zero, w, small, no_zero, of_y, zero}) == Counts{6, 2});
  CHECK(divide(op::ConvInteger{.pads = {1, 1, 1, 1}}, {x, w, zero, zeros}) == Counts{6, -4, 2});
  CHECK(divide(op::ConvInteger{.group = 2}, {x, signed_bytes({6, 2, 3, 3})}) == Counts{2, 2});
}

TEST_CASE("Pools divide over channels and the batch") {
  CHECK(divide(op::MaxPool{.kernel_shape = {2, 2}}, {{2, 3, 5, 5}}) == Counts{2, 3});
  CHECK(divide(op::MaxPool{.kernel_shape = {2, 2}}, {{2, 3, 5, 5}}, 2) == Counts{});  // places in the whole
  CHECK(divide(op::AveragePool{.kernel_shape = {2}}, {{2, 3, 5}}) == Counts{2, 3});
  CHECK(divide(op::LpPool{.kernel_shape = {2}}, {{2, 3, 5}}) == Counts{2, 3});
  CHECK(divide(op::GlobalAveragePool{}, {{2, 3, 5, 5}}) == Counts{2, 3});
  CHECK(divide(op::GlobalLpPool{}, {{2, 3, 5}}) == Counts{2, 3});
  const Operand x = unsigned_bytes({2, 5, 5, 3}), scale = Tensor<float>(Extents{}, {0.5f}),
                zero = unsigned_bytes({1});
  CHECK(divide(ms::NhwcMaxPool{.kernel_shape = {2, 2}}, {x}) == Counts{2, 3});
  CHECK(divide(ms::QLinearAveragePool{.channels_last = 1, .kernel_shape = {2, 2}},
               {x, scale, zero, scale, zero}) == Counts{2, 3});
  CHECK(divide(ms::QLinearAveragePool{.kernel_shape = {2, 2}}, {x, scale, zero, scale, zero}) ==
        Counts{2, 5});
  CHECK(divide(ms::QLinearGlobalAveragePool{.channels_last = 1}, {x, scale, zero, scale, zero}) ==
        Counts{2, 3});
}

TEST_CASE("Normalisations of channels divide over what they do not join") {
  const Tensor<float> variances(Extents{3}, {0.5f, 1, 2});
  CHECK(divide(op::BatchNormalization{}, {{2, 3, 5, 5}, {3}, {3}, {3}, variances}) == Counts{2, 3});
  CHECK(divide(op::BatchNormalization{.training_mode = 1}, {{2, 3, 5}, {3}, {3}, {3}, variances}, 3) ==
        Counts{});
  CHECK(divide(op::InstanceNormalization{}, {{2, 3, 5, 5}, {3}, {3}}) == Counts{2, 3});
  CHECK(divide(op::GroupNormalization{.num_groups = 2}, {{2, 4, 5, 5}, {4}, {4}}) == Counts{2});
  CHECK(divide(ms::GroupNorm{.activation = 1, .groups = 2}, {{2, 5, 5, 4}, {4}, {4}}) == Counts{2});
}

TEST_CASE("Recurrent operators divide over the batch") {
  const Operand lengths = Tensor<int32_t>(Extents{2}, {4, 2});
  CHECK(divide(op::LSTM{.direction = "bidirectional", .hidden_size = 3},
               {{4, 2, 5}, {2, 12, 5}, {2, 12, 3}, {2, 24}, lengths, {2, 2, 3}, {2, 2, 3}, {2, 9}},
               3) == Counts{2});
  CHECK(divide(op::LSTM{.hidden_size = 3, .layout = 1},
               {{2, 4, 5}, {1, 12, 5}, {1, 12, 3}, {}, {}, {2, 1, 3}, {2, 1, 3}}, 3) == Counts{2});
  CHECK(divide(op::GRU{.hidden_size = 3}, {{4, 2, 5}, {1, 9, 5}, {1, 9, 3}, {}, lengths}, 2) == Counts{2});
  CHECK(divide(op::RNN{.hidden_size = 3}, {{4, 2, 5}, {1, 3, 5}, {1, 3, 3}}, 2) == Counts{2});
  // One scale for the whole batch.
  const Operand scale = Tensor<float>(Extents{1}, {0.1f}), zero = signed_bytes({1});
  CHECK(divide(ms::DynamicQuantizeLSTM{.hidden_size = 3}, {{4, 2, 5},
                                                           signed_bytes({1, 5, 12}),
                                                           signed_bytes({1, 3, 12}),
                                                           {},
                                                           {},
                                                           {},
                                                           {},
                                                           {},
                                                           scale,
                                                           zero,
                                                           scale,
                                                           zero}) == Counts{});
}

TEST_CASE("Operators with a state divide over the batch, channels and heads") {
  CHECK(divide(op::CausalConvWithState{}, {{2, 3, 5}, {3, 1, 4}, {3}, {2, 3, 3}}, 2) == Counts{2, 3});
  CHECK(divide(ms::CausalConvWithState{.activation = "silu", .channels_last = 1, .dilation = 2},
               {{2, 5, 3, 4}, {12, 1, 3}, {12}, {2, 4, 3, 4}}, 2) == Counts{2, 3});
  CHECK(divide(ms::CausalConvWithState{}, {{2, 3, 5}, {3, 1, 4}}, 2) == Counts{2, 3});
  // Two heads of queries for each of three; a decay of each number, and one beta for all heads.
  CHECK(divide(op::LinearAttention{.kv_num_heads = 3, .q_num_heads = 6},
               {{2, 5, 24}, {2, 5, 12}, {2, 5, 6}, {2, 3, 4, 2}, {2, 5, 12}, {2, 5, 1}}, 2) == Counts{3, 2});
  CHECK(divide(op::LinearAttention{.kv_num_heads = 3, .q_num_heads = 3, .update_rule = "linear"},
               {{2, 5, 12}, {2, 5, 12}, {2, 5, 6}}, 2) == Counts{3, 2});
  // Heads of queries, of keys and of values of different numbers.
  CHECK(divide(ms::LinearAttention{.kv_num_heads = 6, .q_num_heads = 2},
               {{2, 5, 8}, {2, 5, 8}, {2, 5, 12}, {2, 6, 4, 2}, {2, 5, 6}, {2, 5, 6}}, 2) == Counts{2, 2});
}

}  // namespace
}  // namespace tenon::devices
