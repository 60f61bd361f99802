// The operators of com.microsoft. Written from loader/units/pack.hpp.in.
#pragma once

#include "tenon/op/com.microsoft/attention.hpp"
#include "tenon/op/com.microsoft/bias_add.hpp"
#include "tenon/op/com.microsoft/bias_gelu.hpp"
#include "tenon/op/com.microsoft/bias_split_gelu.hpp"
#include "tenon/op/com.microsoft/causal_conv_with_state.hpp"
#include "tenon/op/com.microsoft/dequantize_linear.hpp"
#include "tenon/op/com.microsoft/dynamic_quantize_lstm.hpp"
#include "tenon/op/com.microsoft/dynamic_quantize_mat_mul.hpp"
#include "tenon/op/com.microsoft/embed_layer_normalization.hpp"
#include "tenon/op/com.microsoft/fast_gelu.hpp"
#include "tenon/op/com.microsoft/fused_conv.hpp"
#include "tenon/op/com.microsoft/fused_gemm.hpp"
#include "tenon/op/com.microsoft/fused_mat_mul.hpp"
#include "tenon/op/com.microsoft/gather_block_quantized.hpp"
#include "tenon/op/com.microsoft/gelu.hpp"
#include "tenon/op/com.microsoft/group_norm.hpp"
#include "tenon/op/com.microsoft/group_query_attention.hpp"
#include "tenon/op/com.microsoft/layer_normalization.hpp"
#include "tenon/op/com.microsoft/linear_attention.hpp"
#include "tenon/op/com.microsoft/mat_mul_bnb4.hpp"
#include "tenon/op/com.microsoft/mat_mul_integer_to_float.hpp"
#include "tenon/op/com.microsoft/mat_mul_n_bits.hpp"
#include "tenon/op/com.microsoft/moe.hpp"
#include "tenon/op/com.microsoft/multi_head_attention.hpp"
#include "tenon/op/com.microsoft/nhwc_conv.hpp"
#include "tenon/op/com.microsoft/nhwc_max_pool.hpp"
#include "tenon/op/com.microsoft/q_attention.hpp"
#include "tenon/op/com.microsoft/q_gemm.hpp"
#include "tenon/op/com.microsoft/q_linear_add.hpp"
#include "tenon/op/com.microsoft/q_linear_average_pool.hpp"
#include "tenon/op/com.microsoft/q_linear_concat.hpp"
#include "tenon/op/com.microsoft/q_linear_conv.hpp"
#include "tenon/op/com.microsoft/q_linear_sigmoid.hpp"
#include "tenon/op/com.microsoft/q_linear_softmax.hpp"
#include "tenon/op/com.microsoft/q_linear_where.hpp"
#include "tenon/op/com.microsoft/q_moe.hpp"
#include "tenon/op/com.microsoft/quantize_linear.hpp"
#include "tenon/op/com.microsoft/quick_gelu.hpp"
#include "tenon/op/com.microsoft/rotary_embedding.hpp"
#include "tenon/op/com.microsoft/simplified_layer_normalization.hpp"
#include "tenon/op/com.microsoft/skip_layer_normalization.hpp"
#include "tenon/op/com.microsoft/skip_simplified_layer_normalization.hpp"
#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI {

/// Adds the operators of com.microsoft, from the library that compiles them.
void register_com_microsoft(Registry& registry);

}  // namespace tenon::TENON_ABI
