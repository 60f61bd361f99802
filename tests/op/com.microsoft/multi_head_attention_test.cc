#include "tenon/op/com.microsoft/multi_head_attention.hpp"

#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.MultiHeadAttention: results of ONNX Runtime") {
  check_recorded("com.microsoft/multi_head_attention.txt",
                 {&operator_class<op::com_microsoft::MultiHeadAttention>});
}

TEST_CASE("com.microsoft.MultiHeadAttention: errors") {
  using op::com_microsoft::MultiHeadAttention;
  const MultiHeadAttention two{.num_heads = 2};
  const Value q = t<float>({1, 1, 4}, {1, 2, 3, 4}), k = t<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), none_,
              past = t<float>({1, 2, 1, 2}, {1, 2, 3, 4});
  check_fails(MultiHeadAttention{}, {q, k, k}, "num_heads: 0, expected at least 1");
  check_fails(MultiHeadAttention{.num_heads = 3}, {q, k, k}, "4 numbers do not make 3 heads");
  check_fails(two, {q}, "packed query, key and value are not supported");
  check_fails(two, {q, k, k, t<float>({3}, {1, 2, 3})}, "bias: (3), expected (12)");
  check_fails(two, {q, k, k, none_, t<int32_t>({1, 3}, {1, 1, 1})},
              "key_padding_mask: (1,3), expected (1,2)");
  check_fails(two, {q, k, k, none_, none_, none_, past}, "past_key and past_value come together");
  check_fails(two, {q, k, k, none_, none_, none_, past, past},
              "past_key and past_value need present_key and present_value");
  check_fails(MultiHeadAttention{.num_heads = 2, .unidirectional = 1}, {q, k, k},
              "unidirectional needs as many keys as queries: 2 and 1");
  check_fails(two, {q, k, k, none_, none_, none_, none_, none_, t<int32_t>({1}, {1})},
              "past_sequence_length and cache_indirection");
  const Dims open{Dim::symbol(1), Dim::symbol(2), 8};
  const auto y =
      infer(two, {info(DType::float32, open), info(DType::float32, open), info(DType::float32, open)}, 3);
  CHECK(y[0].dims == open);
  CHECK(y[1].dims == Dims{Dim::symbol(1), 2, Dim::symbol(2), 4});
}
}  // namespace tenon
