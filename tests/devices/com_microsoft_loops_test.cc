// The loops of ONNX Runtime's operators: for each, the parts' results are the whole's.
#include "tenon/op/com.microsoft/attention.hpp"
#include "tenon/op/com.microsoft/bias_add.hpp"
#include "tenon/op/com.microsoft/bias_gelu.hpp"
#include "tenon/op/com.microsoft/bias_split_gelu.hpp"
#include "tenon/op/com.microsoft/c_dist.hpp"
#include "tenon/op/com.microsoft/dequantize_linear.hpp"
#include "tenon/op/com.microsoft/dynamic_quantize_mat_mul.hpp"
#include "tenon/op/com.microsoft/embed_layer_normalization.hpp"
#include "tenon/op/com.microsoft/engram_gate.hpp"
#include "tenon/op/com.microsoft/fast_gelu.hpp"
#include "tenon/op/com.microsoft/fused_gemm.hpp"
#include "tenon/op/com.microsoft/fused_mat_mul.hpp"
#include "tenon/op/com.microsoft/gated_add.hpp"
#include "tenon/op/com.microsoft/gated_rms_norm.hpp"
#include "tenon/op/com.microsoft/gather_block_quantized.hpp"
#include "tenon/op/com.microsoft/gelu.hpp"
#include "tenon/op/com.microsoft/group_query_attention.hpp"
#include "tenon/op/com.microsoft/layer_normalization.hpp"
#include "tenon/op/com.microsoft/linear_attention_gate.hpp"
#include "tenon/op/com.microsoft/m_rotary_embedding.hpp"
#include "tenon/op/com.microsoft/mat_mul_bnb4.hpp"
#include "tenon/op/com.microsoft/mat_mul_integer_to_float.hpp"
#include "tenon/op/com.microsoft/mat_mul_n_bits.hpp"
#include "tenon/op/com.microsoft/moe.hpp"
#include "tenon/op/com.microsoft/multi_head_attention.hpp"
#include "tenon/op/com.microsoft/murmur_hash3.hpp"
#include "tenon/op/com.microsoft/n_gram_hash_mapping.hpp"
#include "tenon/op/com.microsoft/q_attention.hpp"
#include "tenon/op/com.microsoft/q_embed_layer_normalization.hpp"
#include "tenon/op/com.microsoft/q_gemm.hpp"
#include "tenon/op/com.microsoft/q_linear_add.hpp"
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
#include "tests/devices/loops.hpp"

namespace tenon::devices {
namespace {

namespace ms = op::com_microsoft;

Tensor<uint8_t> bytes(const Extents& extents) { return integers<uint8_t>(extents); }
Tensor<int32_t> ints(const Extents& extents, int first, int last) {
  return integers<int32_t>(extents, first, last);
}
Tensor<int32_t> ints(std::initializer_list<int32_t> numbers) {
  Tensor<int32_t> t(Extents{static_cast<int64_t>(numbers.size())});
  std::ranges::copy(numbers, t.data());
  return t;
}

TEST_CASE("Products with few bits divide over columns, rows and blocks") {
  const auto op = [](int64_t K, int64_t bits = 4, int64_t level = 0) {
    return ms::MatMulNBits{.K = K, .N = 6, .accuracy_level = level, .bits = bits, .block_size = 16};
  };
  CHECK(divide(op(64), {{5, 64}, bytes({6, 4, 8}), {6, 4}}) == Counts{6, 5, -4});
  CHECK(divide(op(64), {{5, 64}, bytes({6, 4, 8}), {24}, {}, {}, {6}}) == Counts{6, 5, -4});
  // Two or four blocks have their zero points in a byte.
  CHECK(divide(op(64), {{2, 3, 64}, bytes({6, 4, 8}), {6, 4}, bytes({6, 2}), {}, {6}}) ==
        Counts{6, 2, 3, -2});
  CHECK(divide(op(96), {{96}, bytes({6, 6, 8}), {36}, bytes({18}), {}, {6}}) == Counts{6, -3});
  CHECK(divide(op(128, 2), {{5, 128}, bytes({6, 8, 4}), {6, 8}, bytes({6, 2})}) == Counts{6, 5, -2});
  CHECK(divide(op(64, 8), {{5, 64}, bytes({6, 4, 16}), {6, 4}, bytes({6, 4})}) == Counts{6, 5, -4});
  CHECK(divide(op(64), {{5, 64}, bytes({6, 4, 8}), {6, 4}, {24}}) == Counts{6, 5, -4});
  // Blocks that are not whole, or not of neighbours, and zero points of a whole byte and a half.
  CHECK(divide(op(40), {{5, 40}, bytes({6, 3, 8}), {6, 3}}) == Counts{6, 5});
  CHECK(divide(op(48), {{5, 48}, bytes({6, 3, 8}), {6, 3}, bytes({6, 2})}) == Counts{6, 5});
  CHECK(divide(op(64), {{5, 64}, bytes({6, 4, 8}), {6, 4}, {}, ints({64}, 0, 3)}) == Counts{6, 5});
  // Packed, with A rounded for each block.
  CHECK(divide(op(64, 4, 4), {{5, 64}, bytes({6, 4, 8}), numbers({6, 4}, 1), bytes({6, 2})}) ==
        Counts{6, 5, -2});

  const auto bnb = [](int64_t K, int64_t turned) {
    return ms::MatMulBnb4{.K = K, .N = 6, .block_size = 16, .quant_type = 1, .transB = turned};
  };
  CHECK(divide(bnb(64, 1), {{5, 64}, bytes({192, 1}), {24}}) == Counts{5, 6, -4});
  CHECK(divide(bnb(64, 0), {{2, 5, 6}, bytes({192}), {24}}) == Counts{2, 5, -6, 4});
  CHECK(divide(bnb(24, 1), {{5, 24}, bytes({72}), {9}}) == Counts{5});
}

TEST_CASE("Parts of sums of halves may exceed these") {
  const auto halves = [](const Extents& extents, int first, int last) {
    Tensor<float16> t(extents);
    const auto whole = ints(extents, first, last);
    for (int64_t k = 0; k < t.size(); ++k) t[k] = static_cast<float16>(static_cast<float>(whole[k]));
    return t;
  };
  // Blocks of great numbers, of which the first half is the opposite of the other.
  Tensor<float16> a(Extents{2, 64}), scales(Extents{6, 4});
  for (int64_t k = 0; k < a.size(); ++k) a[k] = static_cast<float16>(static_cast<float>(1000 + k % 32));
  for (int64_t k = 0; k < scales.size(); ++k) scales[k] = static_cast<float16>(k % 4 < 2 ? 1.0f : -1.0f);
  const ms::MatMulNBits op{.K = 64, .N = 6, .bits = 4, .block_size = 16};
  CHECK(divide(op, {a, integers<uint8_t>({6, 4, 8}, 0x77, 0x77), scales, halves({6, 4}, -5, 5)}) ==
        Counts{6, 2, -4});
  const ms::QMoE experts{.expert_weight_bits = 4, .k = 1};
  CHECK(divide(experts, {halves({5, 8}, 8, 16),
                         halves({5, 2}, 0, 1),
                         integers<uint8_t>({2, 12, 4}, 0x99, 0xff),
                         halves({2, 12}, 8, 9),
                         {},
                         integers<uint8_t>({2, 8, 6}, 0, 255),
                         halves({2, 8}, 3, 3)}) == Counts{5, -6});
}

TEST_CASE("Tables of few bits divide over rows, blocks and indices") {
  const ms::GatherBlockQuantized op{.block_size = 16};
  const auto rows = ints({2, 3}, -7, 6);
  CHECK(divide(op, {bytes({7, 32}), rows, {7, 4}}) == Counts{2, 3, 4, -7});
  CHECK(divide(op, {bytes({7, 32}), rows, {7, 4}, bytes({7, 2})}) == Counts{2, 3, 2, -7});
  CHECK(divide(op, {bytes({7, 28}), rows, {7, 4}}) == Counts{2, 3, -7});
  ms::GatherBlockQuantized deep{.bits = 8, .block_size = 16, .quantize_axis = -1};
  CHECK(divide(deep, {bytes({7, 3, 32}), rows, {7, 3, 2}}) == Counts{3, 2, 3, 2, -7});
}

TEST_CASE("Attention over a cache divides over heads of keys and the batch") {
  const auto op = [] { return ms::GroupQueryAttention{.kv_num_heads = 3, .num_heads = 6}; };
  const Tensor<int32_t> three = ints({3}), six = ints({6});
  CHECK(divide(op(), {{2, 3, 48}, {2, 3, 24}, {2, 3, 24}, {}, {}, ints({2, 1}), three}, 3) == Counts{3, 2});
  // One more token each, after a past.
  const auto step = [&](const Operand& past, const std::vector<Operand>& more) {
    std::vector<Operand> all{{2, 1, 48}, {2, 1, 24}, {2, 1, 24}, past, past, ints({5, 3}), six};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  // Rotated and normalised, with scores and sinks.
  auto more = op();
  more.do_rotary = 1, more.qk_output = 1;
  CHECK(divide(more, step({2, 3, 7, 8}, {{9, 4}, {9, 4}, {}, {2, 6, 1, 6}, {6}, {}, {}, {8}, {8}}), 4) ==
        Counts{3, 2});
  CHECK(divide(more, step({2, 3, 7, 8}, {{9, 4}, {9, 4}, {}, {1, 1, 1, 6}}), 3) == Counts{3, 2});
  // Positions of a prompt come from the first entry of the batch.
  CHECK(divide(more,
               {{2, 3, 48},
                {2, 3, 24},
                {2, 3, 24},
                {},
                {},
                ints({2, 2}),
                three,
                {9, 4},
                {9, 4},
                integers<int64_t>({2, 3}, 0, 5)},
               3) == Counts{3});
  // Keys that another layer has put into the past, and a window.
  auto window = op();
  window.local_window_size = 4;
  CHECK(divide(window, {{2, 1, 48}, {2, 0, 24}, {2, 0, 24}, {2, 3, 7, 8}, {2, 3, 7, 8}, ints({5, 3}), six}) ==
        Counts{3, 2});
  window.sliding_window_cache = 1, window.smooth_softmax = 1;
  CHECK(divide(window, {{1, 2, 48}, {1, 2, 24}, {1, 2, 24}, {1, 3, 5, 8}, {1, 3, 5, 8}, ints({5}), six}, 3) ==
        Counts{3});
  // Integers with a scale for each channel, whatever the scales' extents, and one for all.
  auto rounded = op();
  rounded.k_quant_type = rounded.v_quant_type = "PER_CHANNEL", rounded.kv_cache_bit_width = 8;
  CHECK(divide(rounded, step(integers<int8_t>({2, 3, 7, 8}), {{}, {}, {}, {}, {}, {1, 3, 1, 8}, {24}}), 3) ==
        Counts{3, 2});
  rounded.k_quant_type = rounded.v_quant_type = "PER_TENSOR", rounded.kv_cache_bit_width = 4;
  CHECK(divide(rounded, step(bytes({2, 3, 7, 4}), {{}, {}, {}, {}, {}, {1}, {1}}), 3) == Counts{3, 2});
  // All three in one operand.
  const ms::GroupQueryAttention equal{.do_rotary = 1, .kv_num_heads = 3, .num_heads = 3};
  CHECK(divide(equal, {{2, 3, 72}, {}, {}, {}, {}, ints({2, 1}), three, {9, 4}, {9, 4}}, 3) == Counts{3, 2});
  CHECK(divide(op(), {{2, 3, 96}, {}, {}, {}, {}, ints({2, 1}), three}, 3) == Counts{2});
}

TEST_CASE("Attention of projected heads divides over these and the batch") {
  const ms::MultiHeadAttention op{.num_heads = 6};
  CHECK(divide(op, {{2, 3, 24}, {2, 5, 24}, {2, 5, 12}}) == Counts{6, 2});
  CHECK(divide(op, {{2, 3, 24}, {2, 5, 24}, {2, 5, 24}, {72}, ints({2, 5}, 0, 1), {2, 6, 3, 5}}) ==
        Counts{6, 2});
  CHECK(divide(op, {{2, 3, 24}, {2, 5, 24}, {2, 5, 24}, {}, ints({3, 5, 0, 1}), {1, 6, 3, 5}}) ==
        Counts{6, 2});
  CHECK(divide(op, {{2, 3, 24}, {2, 5, 24}, {2, 5, 24}, {}, ints({3, 5}), {2, 1, 3, 5}}) == Counts{6, 2});
  CHECK(divide(op, {{2, 3, 24}, {2, 6, 5, 4}, {2, 6, 5, 4}, {72}, ints({2, 3, 5}, 0, 1)}) == Counts{6, 2});
  CHECK(divide(op, {{2, 3, 24}, {2, 5, 24}, {2, 5, 12}, {60}}) == Counts{2});
  CHECK(divide(op, {{2, 3, 6, 3, 4}, {}, {}, {72}}) == Counts{6, 2});
  CHECK(divide(op, {{2, 3, 24}, {2, 5, 6, 2, 4}}) == Counts{6, 2});
  const ms::MultiHeadAttention causal{.num_heads = 6, .unidirectional = 1};
  CHECK(divide(causal, {{2, 3, 24}, {2, 3, 24}, {2, 3, 24}, {}, {}, {}, {2, 6, 4, 4}, {2, 6, 4, 4}}, 4) ==
        Counts{6, 2});
  CHECK(divide(op, {{2, 1, 24}, {2, 1, 24}, {2, 1, 24}, {}, {}, {}, {2, 6, 4, 4}, {2, 6, 4, 4}, ints({2})},
               3) == Counts{6, 2});
}

TEST_CASE("Attention with its projections divides over heads and the batch") {
  CHECK(divide(ms::Attention{.num_heads = 6}, {{2, 3, 5}, {5, 36}, {36}}) == Counts{6, 2});
  CHECK(divide(ms::Attention{.num_heads = 3, .unidirectional = 1},
               {{1, 3, 5}, {5, 36}, {}, {}, {2, 1, 3, 2, 4}}, 2) == Counts{3});
  CHECK(divide(ms::Attention{.num_heads = 4}, {{2, 3, 5}, {5, 48}, {48}, {}, {}, {1, 4, 3, 3}}) ==
        Counts{4, 2});
  CHECK(divide(ms::Attention{.num_heads = 4}, {{2, 3, 5}, {5, 48}, {48}, {}, {}, {2, 1, 3, 3}}) ==
        Counts{4, 2});
  CHECK(divide(ms::Attention{.num_heads = 2, .qkv_hidden_sizes = {4, 4, 6}}, {{2, 3, 5}, {5, 14}, {14}}) ==
        Counts{2});
  // Masks: of keys, of each query's keys, numbers of keys, with the first ones, and one that excludes
  // nothing.
  const ms::Attention op{.num_heads = 4};
  for (const Operand& mask :
       {Operand(ints({2, 3}, 0, 1)), Operand(ints({2, 3, 3}, 0, 1)), Operand(ints({3, 2})),
        Operand(ints({3, 2, 0, 1})), Operand(ints({2, 1}, 1, 1)), Operand(ints({1, 1}, 1, 1))})
    CHECK(divide(op, {{2, 3, 5}, {5, 48}, {48}, mask}) == Counts{4, 2});
  CHECK(divide(op, {{2, 3, 5}, {5, 48}, {48}, ints({3, 2, 0, 3, 5, 0, 3, 5})}) == Counts{4});
}

TEST_CASE("Quantised attention with its projections divides over heads and the batch") {
  const auto x = bytes({2, 3, 5}), zero = bytes({1});
  const auto w = integers<int8_t>({5, 36}), zeros = integers<int8_t>({36}, -2, 2);
  const ms::QAttention op{.num_heads = 3};
  CHECK(divide(op, {x, w, {36}, {1}, {1}}) == Counts{3, 2});
  CHECK(divide(op, {x, w, {36}, {1}, {36}, ints({2, 5}, 0, 1), zero, zeros, {2, 2, 3, 2, 4}}, 2) ==
        Counts{3, 2});
}

TEST_CASE("ONNX Runtime's normalisations divide over rows") {
  CHECK(divide(ms::SkipLayerNormalization{}, {{4, 5, 6}, {4, 5, 6}, {6}, {6}, {6}}, 4) == Counts{4, 5});
  CHECK(divide(ms::SkipLayerNormalization{}, {{4, 5, 6}, {5, 6}, {6}}) == Counts{4, 5});
  CHECK(divide(ms::SkipSimplifiedLayerNormalization{}, {{4, 5, 6}, {1, 5, 6}, {6}, {6}}, 4) == Counts{4, 5});
  CHECK(divide(ms::SkipSimplifiedLayerNormalization{}, {{5, 6}, {5, 6}, {6}}) == Counts{5});
  CHECK(divide(ms::SimplifiedLayerNormalization{}, {{4, 5, 6}, {6}}, 2) == Counts{4, 5});
  CHECK(divide(ms::SimplifiedLayerNormalization{.axis = 1}, {{4, 5, 6}, {4, 1, 6}}) == Counts{4});
  CHECK(divide(ms::LayerNormalization{}, {{4, 5, 6}, {6}, {6}}, 3) == Counts{4, 5});
  const auto ids = ints({2, 3}, 0, 4);
  CHECK(divide(ms::EmbedLayerNormalization{}, {ids, ids, {5, 4}, {5, 4}, {5, 4}, {4}, {4}, ids, ids}, 3) ==
        Counts{2});
  CHECK(divide(ms::EmbedLayerNormalization{}, {ids, ids, {5, 4}, {5, 4}, {5, 4}, {4}, {4}, ids, ids}) ==
        Counts{2, 3});
  CHECK(divide(ms::EmbedLayerNormalization{},
               {ids, {}, {5, 4}, {5, 4}, {}, {4}, {4}, {}, ints({1, 3}, 0, 4)}) == Counts{2, 3});
  CHECK(divide(ms::EmbedLayerNormalization{}, {ids, {}, {5, 4}, {5, 4}, {}, {4}, {4}}) == Counts{2});
  const Tensor<uint8_t> table = bytes({5, 4}), row = bytes({4}), zero = bytes({1});
  CHECK(divide(ms::QEmbedLayerNormalization{}, {ids,
                                                ids,
                                                table,
                                                table,
                                                table,
                                                row,
                                                row,
                                                ids,
                                                {1},
                                                {1},
                                                {1},
                                                {1},
                                                {1},
                                                zero,
                                                zero,
                                                zero,
                                                zero,
                                                zero}) == Counts{2});
}

TEST_CASE("ONNX Runtime's gates divide over rows and heads") {
  CHECK(divide(ms::GatedRMSNorm{}, {{2, 3, 12}, {4}, {2, 3, 12}}) == Counts{3, 2, 3});
  CHECK(divide(ms::GatedRMSNorm{}, {{2, 3, 4}, {4}, {2, 3, 4}}) == Counts{2, 3});
  CHECK(divide(ms::LinearAttentionGate{}, {{2, 3, 4}, {4}, {4}, {2, 3, 4}}, 2) == Counts{2, 3, 4});
  CHECK(divide(ms::LinearAttentionGate{}, {{2, 3, 4}, {4}, {4}}) == Counts{2, 3, 4});
  CHECK(divide(ms::EngramGate{}, {{2, 3, 4, 5}, {2, 3, 4, 5}, {2, 3, 5}, {4, 5}, {4, 5}}) == Counts{2, 3, 4});
  CHECK(divide(ms::NGramHashMapping{.max_ngram_size = 3, .n_head_per_ngram = 1, .pad_id = 0},
               {integers<int64_t>({3, 4}, 0, 9), list({3, 5, 7}), list({11, 13}),
                integers<int64_t>({3, 2}, 0, 9)},
               2) == Counts{3});
}

TEST_CASE("ONNX Runtime's rotations divide over heads, the batch and steps") {
  const auto ids = integers<int64_t>({2, 3}, 0, 8);
  CHECK(divide(ms::RotaryEmbedding{}, {{2, 5, 3, 8}, ids, {9, 4}, {9, 4}}) == Counts{5, 2, 3});
  CHECK(divide(ms::RotaryEmbedding{}, {{2, 3, 40}, ids, {9, 4}, {9, 4}}) == Counts{5, 2, 3});
  CHECK(divide(ms::RotaryEmbedding{.num_heads = 5, .rotary_embedding_dim = 4},
               {{2, 3, 40}, list({3}), {9, 2}, {9, 2}}) == Counts{5, 2});
  const auto three = integers<int64_t>({3, 2, 3}, 0, 8);
  const ms::MRotaryEmbedding op{.mrope_section = {2, 1, 1}, .num_heads = 5};
  CHECK(divide(op, {{2, 5, 3, 8}, three, {9, 4}, {9, 4}}) == Counts{5, 2, 3});
  CHECK(divide(op, {{2, 3, 40}, three, {9, 4}, {9, 4}}) == Counts{5, 2, 3});
}

TEST_CASE("ONNX Runtime's functions of elements divide over each axis") {
  CHECK(divide(ms::Gelu{}, {{4, 6}}) == Counts{4, 6});
  CHECK(divide(ms::QuickGelu{}, {{4, 6}}) == Counts{4, 6});
  CHECK(divide(ms::MurmurHash3{}, {{4, 6}}) == Counts{4, 6});
  CHECK(divide(ms::CDist{}, {{5, 3}, {4, 3}}) == Counts{5, 4});
  CHECK(divide(ms::FastGelu{}, {{4, 6}}) == Counts{4, 6});
  CHECK(divide(ms::FastGelu{}, {{4, 6}, {6}}) == Counts{4, 6});
  CHECK(divide(ms::BiasGelu{}, {{4, 6}, {6}}) == Counts{4, 6});
  CHECK(divide(ms::BiasAdd{}, {{2, 3, 6}, {6}, {2, 3, 6}}) == Counts{2, 3, 6});
  CHECK(divide(ms::BiasSplitGelu{}, {{2, 3, 8}, {8}}) == Counts{2, 3, 4});
  CHECK(divide(ms::GatedAdd{}, {{4, 6}, {4, 6}, {4, 1}}) == Counts{4, 6});
  const auto x = bytes({4, 6}), zero = bytes({1});
  CHECK(divide(ms::DequantizeLinear{}, {x, {6}, bytes({6})}) == Counts{4, 6});
  CHECK(divide(ms::QuantizeLinear{.axis = 0}, {{4, 6}, {4}, bytes({4})}) == Counts{4, 6});
  CHECK(divide(ms::QLinearAdd{}, {x, {1}, zero, bytes({6}), {1}, zero, {1}, zero}) == Counts{4, 6});
  CHECK(divide(ms::QLinearMul{}, {x, {1}, {}, bytes({2, 1, 6}), {1}, {}, {1}}) == Counts{2, 4, 6});
  CHECK(divide(ms::QLinearSigmoid{}, {x, {1}, zero, {1}, zero}) == Counts{4, 6});
  CHECK(divide(ms::QLinearLeakyRelu{}, {x, {1}, zero, {1}}) == Counts{4, 6});
  CHECK(divide(ms::QLinearWhere{},
               {integers<bool>({4, 1}, 0, 1), x, {1}, zero, bytes({6}), {1}, zero, {1}, zero}) ==
        Counts{4, 6});
  CHECK(divide(ms::QLinearSoftmax{.axis = 0, .opset = 13}, {x, {1}, zero, {1}, zero}) == Counts{6});
  CHECK(divide(ms::QLinearSoftmax{.axis = 1, .opset = 12}, {bytes({4, 2, 3}), {1}, zero, {1}, zero}) ==
        Counts{4});
}

TEST_CASE("ONNX Runtime's products divide over batches, rows, columns and the sum") {
  CHECK(divide(ms::FusedMatMul{.alpha = 2, .transB = 1}, {{4, 6}, {5, 6}}) == Counts{5, 4, -6});
  CHECK(divide(ms::FusedMatMul{.transA = 1, .transBatchA = 1}, {{6, 2, 3, 4}, {3, 6, 5}}) ==
        Counts{5, 4, 2, 3, -6});
  CHECK(divide(ms::FusedMatMul{.transB = 1, .transBatchB = 1}, {{2, 4, 6}, {5, 1, 6}}) ==
        Counts{5, 4, 2, -6});
  CHECK(divide(ms::FusedMatMul{.transA = 1}, {{6}, {3, 6, 5}}) == Counts{5, 3, -6});
  CHECK(divide(ms::FusedGemm{.alpha = 2, .transB = 1}, {{4, 6}, {5, 6}, {5}}) == Counts{5, 4, -6});
  CHECK(divide(ms::FusedGemm{.activation = "Relu"}, {{4, 6}, {6, 5}, {4, 1}}) == Counts{5, 4});
  const auto a = bytes({2, 4, 6}), zero = bytes({1});
  const auto b = integers<int8_t>({6, 5}), zeros = integers<int8_t>({5});
  CHECK(divide(ms::DynamicQuantizeMatMul{}, {{2, 4, 6}, b, {5}, zeros, {5}}) == Counts{5});
  CHECK(divide(ms::DynamicQuantizeMatMul{}, {{4, 6}, b, {1}}) == Counts{5});
  CHECK(divide(ms::MatMulIntegerToFloat{}, {a, b, {1}, {5}, zero, zeros, {5}}) == Counts{5, 4, 2, -6});
  CHECK(divide(ms::MatMulIntegerToFloat{}, {a, b, {1}, {1}}) == Counts{5, 4, 2, -6});
  const auto c = ints({4, 1}, -9, 9);
  CHECK(divide(ms::QGemm{.transB = 1}, {bytes({4, 6}), {1}, zero, integers<int8_t>({5, 6}), {5}, zeros, c}) ==
        Counts{5, 4, -6});
  CHECK(divide(ms::QGemm{.transA = 1},
               {bytes({6, 4}), {1}, zero, b, {1}, integers<int8_t>({1}), ints({5}, -9, 9), {1}, zero}) ==
        Counts{5, 4});
}

TEST_CASE("Mixtures of experts divide over tokens and the numbers between layers") {
  CHECK(divide(ms::MoE{.k = 2}, {{5, 8}, {5, 4}, {4, 6, 8}, {4, 6}, {4, 8, 6}, {4, 8}}) == Counts{5, -6});
  CHECK(divide(ms::MoE{.activation_type = "swiglu", .k = 2, .swiglu_fusion = 1},
               {{2, 3, 8}, {6, 4}, {4, 12, 8}, {4, 12}, {4, 8, 6}}) == Counts{2, 3, -6});
  CHECK(divide(ms::MoE{.activation_type = "swiglu", .swiglu_fusion = 2},
               {{5, 8}, {5, 4}, {4, 12, 8}, {4, 12}, {4, 8, 6}, {4, 8}}) == Counts{5, -6});
  CHECK(divide(ms::MoE{}, {{5, 8}, {5, 4}, {4, 8, 6}, {}, {4, 6, 8}}) == Counts{5});  // as files exchange it
  const ms::QMoE op{.expert_weight_bits = 4, .k = 2};
  CHECK(divide(op, {{5, 8},
                    {5, 4},
                    bytes({4, 12, 4}),
                    {4, 12},
                    {4, 12},
                    bytes({4, 8, 6}),
                    {4, 8},
                    {4, 8},
                    {},
                    {},
                    {},
                    bytes({4, 6}),
                    bytes({4, 4}),
                    {},
                    {5, 4}}) == Counts{5, -6});
  const ms::QMoE pairs{.activation_type = "swiglu", .expert_weight_bits = 8, .swiglu_fusion = 1};
  CHECK(divide(pairs, {{2, 3, 8}, {6, 4}, bytes({4, 12, 8}), {4, 12}, {4, 12}, bytes({4, 8, 6}), {4, 8}}) ==
        Counts{2, 3, -6});
  const ms::QMoE blocks{.block_size = 16, .expert_weight_bits = 4};
  CHECK(
      divide(blocks, {{5, 32}, {5, 4}, bytes({4, 96, 16}), {4, 96, 2}, {}, bytes({4, 32, 48}), {4, 32, 6}}) ==
      Counts{5, -6});
  CHECK(divide(blocks, {{5, 32},
                        {5, 4},
                        bytes({4, 96, 16}),
                        {4, 96, 2},
                        {},
                        bytes({4, 32, 48}),
                        {4, 32, 6},
                        {},
                        {},
                        {},
                        {},
                        bytes({4, 96, 1}),
                        bytes({4, 32, 3})}) == Counts{5, -3});
}

}  // namespace
}  // namespace tenon::devices
