// The loops of operators: for each, the parts' results are the whole's.
#include "tests/devices/loops.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mat_mul_integer.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/math/sum.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/nn/conv_transpose.hpp"
#include "tenon/op/nn/flatten.hpp"
#include "tenon/op/nn/layer_normalization.hpp"
#include "tenon/op/nn/rms_normalization.hpp"
#include "tenon/op/nn/rotary_embedding.hpp"
#include "tenon/op/quantization/dequantize_linear.hpp"
#include "tenon/op/quantization/quantize_linear.hpp"
#include "tenon/op/reduction/reduce_max.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/squeeze.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::devices {
namespace {

TEST_CASE("Elementwise operators divide over each axis") {
  CHECK(divide(op::Add{}, {{4, 6}, {4, 6}}) == Counts{4, 6});
  CHECK(divide(op::Add{}, {{6}, {5, 1, 6}}) == Counts{5, 6});
  CHECK(divide(op::Sum{}, {{2, 3}, {3}, {2, 1}}) == Counts{2, 3});
}

TEST_CASE("Products divide over batches, rows, columns and the sum") {
  CHECK(divide(op::MatMul{}, {{4, 6}, {6, 5}}) == Counts{5, 4, -6});
  CHECK(divide(op::MatMul{}, {{2, 3, 4, 6}, {3, 6, 5}}) == Counts{5, 4, 2, 3, -6});
  CHECK(divide(op::MatMul{}, {{3, 1, 4, 6}, {2, 6, 5}}) == Counts{5, 4, 3, 2, -6});
  CHECK(divide(op::MatMul{}, {{6}, {3, 6, 5}}) == Counts{5, 3, -6});
  CHECK(divide(op::MatMul{}, {{3, 4, 6}, {6}}) == Counts{4, 3, -6});
  CHECK(divide(op::MatMul{}, {{6}, {6}}) == Counts{-6});
  CHECK(divide(op::Gemm{}, {{4, 6}, {6, 5}}) == Counts{5, 4, -6});
  CHECK(divide(op::Gemm{.alpha = 2, .beta = 3, .transA = 1, .transB = 1}, {{6, 4}, {5, 6}, {5}}) ==
        Counts{5, 4, -6});
  CHECK(divide(op::Gemm{}, {{4, 6}, {6, 5}, {4, 1}}) == Counts{5, 4, -6});
  CHECK(divide(op::Gemm{}, {{4, 6}, {6, 5}, {}}) == Counts{5, 4, -6});
}

TEST_CASE("Products of bytes divide over what shares no zero point") {
  const auto a = integers<uint8_t>({2, 4, 6}), zero = integers<uint8_t>({1}), zeros = integers<uint8_t>({4});
  const auto b = integers<int8_t>({6, 5}), b_zeros = integers<int8_t>({5});
  CHECK(divide(op::MatMulInteger{}, {a, b}) == Counts{5, 4, 2, -6});
  CHECK(divide(op::MatMulInteger{}, {a, b, zero, b_zeros}) == Counts{5, 4, 2, -6});
  CHECK(divide(op::MatMulInteger{}, {a, b, zeros}) == Counts{5, -6});
  CHECK(divide(op::MatMulInteger{}, {a, integers<int8_t>({2, 6, 5}), {}, integers<int8_t>({2, 1, 5})}) ==
        Counts{5, 4, 2, -6});
}

TEST_CASE("Quantisation divides over each axis, between blocks") {
  const auto x = integers<int8_t>({4, 6}), zero = integers<int8_t>({1});
  CHECK(divide(op::DequantizeLinear{}, {x, {1}}) == Counts{4, 6});
  CHECK(divide(op::DequantizeLinear{.axis = 9}, {x, {1}, zero}) == Counts{4, 6});
  CHECK(divide(op::DequantizeLinear{}, {x, {6}, integers<int8_t>({6})}) == Counts{4, 6});
  CHECK(divide(op::DequantizeLinear{.axis = 0}, {integers<int8_t>({4, 1, 5}), {4}}) == Counts{4, 5});
  CHECK(divide(op::DequantizeLinear{.axis = -1, .block_size = 2}, {x, {4, 3}, integers<int8_t>({4, 3})}) ==
        Counts{4, 3});
  CHECK(divide(op::DequantizeLinear{.axis = 0, .block_size = 3}, {x, {2, 6}}) == Counts{6});
  CHECK(divide(op::QuantizeLinear{}, {{4, 6}, {1}}) == Counts{4, 6});
  CHECK(divide(op::QuantizeLinear{.axis = 0}, {{4, 6}, {4}, integers<int8_t>({4})}) == Counts{4, 6});
  CHECK(divide(op::QuantizeLinear{.axis = 0, .block_size = 2}, {{4, 6}, {2, 6}}) == Counts{2, 6});
}

TEST_CASE("Integers are not summed after a factor that saturates them") {
  Graph g;
  const ValueId x = g.add_input("x", DType::int32, Dims{1, 2}),
                w = g.add_input("w", DType::int32, Dims{2, 1});
  g.add_output("y", g.add_node("y", AnyOperator::make(op::Gemm{.alpha = 0x1p40f}), {x, w},
                               std::vector<std::string>{"y"})[0]);
  Placement placement{.devices = 2};
  placement.nodes["y"].tensors["w"] = cut(0, {0, 1});
  const Feeds feeds{{"x", Tensor<int32_t>(Extents{1, 2}, {3, -2})},
                    {"w", Tensor<int32_t>(Extents{2, 1}, {1, 1})}};
  const auto y = run_sharded(g, placement, feeds, thread_transports(2), {.gather = true});
  CHECK(difference(run_whole(g, feeds)[0], y[0]) == 0);
}

TEST_CASE("Convolutions divide over outputs, the sum, groups and the batch") {
  CHECK(divide(op::Conv{.pads = {1, 1, 1, 1}}, {{2, 3, 5, 5}, {4, 3, 3, 3}, {4}}) == Counts{4, -3, 2});
  CHECK(divide(op::Conv{.group = 3}, {{1, 6, 5, 5}, {9, 2, 2, 2}, {9}}) == Counts{3});
  CHECK(divide(op::Conv{}, {{2, 3, 5}, {4, 3, 1}}) == Counts{4, -3, 2});
  CHECK(divide(op::ConvTranspose{.strides = {2, 2}}, {{2, 3, 5, 5}, {3, 4, 3, 3}, {4}}) == Counts{4, -3, 2});
  CHECK(divide(op::ConvTranspose{.group = 3}, {{1, 6, 5}, {6, 2, 3}, {6}}) == Counts{3});
}

TEST_CASE("Normalisations divide over the axes that they leave apart") {
  CHECK(divide(op::Softmax{.axis = 1}, {{4, 5, 6}}) == Counts{4, 6});
  CHECK(divide(op::Softmax_1{.axis = 2}, {{4, 5, 6}}) == Counts{4, 5});
  CHECK(divide(op::LayerNormalization{}, {{4, 5, 6}, {6}, {6}}, 3) == Counts{4, 5});
  CHECK(divide(op::LayerNormalization{.axis = 1}, {{4, 5, 6}, {4, 1, 6}, {}}) == Counts{4});
  CHECK(divide(op::RMSNormalization{}, {{4, 5, 6}, {6}}) == Counts{4, 5});
  CHECK(divide(op::RMSNormalization{.axis = 1}, {{4, 5, 6}, {4, 1, 6}}) == Counts{4});
  CHECK(divide(op::ReduceSum{}, {{4, 5, 6}, list({1})}) == Counts{4, -5, 6});
  CHECK(divide(op::ReduceSum{.keepdims = 0}, {{4, 5, 6}, list({-1, 0})}) == Counts{-4, 5, -6});
  CHECK(divide(op::ReduceMax{}, {{4, 5}, list({0})}) == Counts{5});
}

TEST_CASE("Attention divides over heads and the batch") {
  CHECK(divide(op::Attention{}, {{2, 6, 3, 4}, {2, 3, 5, 4}, {2, 3, 5, 2}}) == Counts{3, 2});
  CHECK(divide(op::Attention{.kv_num_heads = 3, .q_num_heads = 6},
               {{2, 3, 24}, {2, 5, 12}, {2, 5, 6}, {6, 3, 5}}) == Counts{3, 2});
  CHECK(divide(op::Attention{.kv_num_heads = 6, .q_num_heads = 6},
               {{2, 3, 24}, {2, 5, 24}, {2, 5, 12}, {2, 6, 3, 9}, {2, 6, 4, 4}, {2, 6, 4, 2}},
               3) == Counts{6, 2});
}

TEST_CASE("Rotations divide over heads, the batch and steps") {
  CHECK(divide(op::RotaryEmbedding{}, {{2, 3, 4, 8}, {2, 4, 4}, {2, 4, 4}}) == Counts{3, 2, 4});
  CHECK(divide(op::RotaryEmbedding{.num_heads = 3}, {{2, 4, 24}, {2, 4, 4}, {2, 4, 4}}) == Counts{3, 2, 4});
  Tensor<int64_t> positions(Extents{2, 3});
  for (int64_t k = 0; k < 6; ++k) positions[k] = 8 - k;
  CHECK(divide(op::RotaryEmbedding{}, {{2, 5, 3, 8}, {9, 4}, {9, 4}, positions}) == Counts{5, 2, 3});
  CHECK(divide(op::RotaryEmbedding{.num_heads = 5}, {{2, 3, 40}, {9, 4}, {9, 4}, positions}) ==
        Counts{5, 2, 3});
}

TEST_CASE("Moves divide over the axes that stay together") {
  CHECK(divide(op::Transpose{.perm = {2, 0, 1}}, {{4, 5, 6}}) == Counts{6, 4, 5});
  CHECK(divide(op::Reshape{}, {{2, 5, 24}, list({0, 0, 6, 4})}) == Counts{2, 5, 6, 4});
  CHECK(divide(op::Reshape{}, {{2, 5, 6, 4}, list({2, -1, 24})}) == Counts{2, 5, 6, 4});
  CHECK(divide(op::Reshape{}, {{2, 36}, list({0, 3, 6, 2})}) == Counts{2, 3, 6, 2});
  CHECK(divide(op::Reshape{}, {{3, 4, 6, 2}, list({2, -1, 3, 4})}) == Counts{3, 2, 2});
  CHECK(divide(op::Reshape{}, {{2, 6, 4}, list({3, 16})}) == Counts{4});
  CHECK(divide(op::Reshape{}, {{6, 4}, list({4, 6})}) == Counts{2});
  CHECK(divide(op::Reshape{}, {{1, 6, 4}, list({6, 1, 4})}) == Counts{6, 4});
  CHECK(divide(op::Flatten{}, {{4, 6, 5}}) == Counts{4, 6, 5});
  CHECK(divide(op::Flatten{.axis = 0}, {{4, 6}}) == Counts{4, 6});
  CHECK(divide(op::Squeeze{}, {{4, 1, 5}, list({1})}) == Counts{4, 5});
  CHECK(divide(op::Squeeze{}, {{3, 1, 5}, list({1})}) == Counts{3, 5});
  CHECK(divide(op::Squeeze{}, {{1, 3, 1, 1, 5}}) == Counts{});
  CHECK(divide(op::Unsqueeze{}, {{4, 5}, list({0, -2})}) == Counts{4, 5});
  CHECK(divide(op::Expand{}, {{4, 1, 5}, list({4, 3, 5})}) == Counts{4, 5});
  CHECK(divide(op::Expand{}, {{4, 5}, list({2, 1, 1})}) == Counts{4, 5});
  CHECK(divide(op::Expand{}, {{2, 4, 1}, list({4, 0})}) == Counts{2, 4});
  CHECK(divide(op::Slice{}, {{4, 6, 5}, list({1}), list({5}), list({1})}) == Counts{4, 5});
  CHECK(divide(op::Slice{}, {{4, 6, 5}, list({1, 5}), list({3, 0}), {}, list({1, -2})}) == Counts{5});
  CHECK(divide(op::Concat{.axis = 1}, {{4, 2, 3}, {4, 5, 3}}) == Counts{4, 3});
  CHECK(divide(op::Split{.axis = 1}, {{4, 5, 3}, list({2, 3})}, 2) == Counts{4, 3});
  CHECK(divide(op::Split{.axis = 1}, {{2, 4}, list({4, 0})}, 2) == Counts{2});
  CHECK(divide(op::Split{.axis = -1}, {{2, 18}, list({6, 6, 6})}, 3) == Counts{2, 6});
  CHECK(divide(op::Split{.num_outputs = 4}, {{16}}, 4) == Counts{4});
  CHECK(divide(op::Split{.num_outputs = 2}, {{5}}, 2) == Counts{});
  CHECK(divide(op::Gather{.axis = 1}, {{4, 9, 5}, list({7, 0, -2})}) == Counts{4, 5, 3, -9});
  Tensor<int64_t> rows(Extents{2, 2});
  for (int64_t k = 0; k < 4; ++k) rows[k] = 3 * k - 4;
  CHECK(divide(op::Gather{}, {{7, 3}, rows}) == Counts{3, 2, 2, -7});
}

}  // namespace
}  // namespace tenon::devices
