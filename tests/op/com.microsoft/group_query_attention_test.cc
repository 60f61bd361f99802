#include "tenon/op/com.microsoft/group_query_attention.hpp"

#include "tests/op/recorded.hpp"
#include "tests/working_memory.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::GroupQueryAttention;

TEST_CASE("GroupQueryAttention: results of ONNX Runtime") {
  check_recorded("com.microsoft/group_query_attention.txt", {&operator_class<GroupQueryAttention>});
}

namespace {
Value numbers(const Extents& extents, int seed) {
  Tensor<float> t(extents);
  for (int64_t i = 0; i < t.size(); ++i) t.data()[i] = static_cast<float>((i * 37 + seed * 11) % 41 - 20) / 8;
  return t;
}
Value tokens(std::initializer_list<int32_t> lengths) {
  return t<int32_t>({static_cast<int64_t>(lengths.size())}, lengths);
}
Value one(int32_t total) { return t<int32_t>({}, {total}); }
}  // namespace

// A row that is normalised to itself: its mean square is 1.
TEST_CASE("GroupQueryAttention: norms of queries and keys") {
  GroupQueryAttention op{.kv_num_heads = 1, .num_heads = 2, .qk_norm_epsilon = 0};
  Tensor<float> q(Extents{1, 2, 16}), k(Extents{1, 2, 8}), q4(Extents{1, 2, 16}), weight(Extents{8});
  for (int i = 0; i < 32; ++i) q.data()[i] = i % 3 == 0 ? -1.0f : 1.0f, q4.data()[i] = 4 * q.data()[i];
  for (int i = 0; i < 16; ++i) k.data()[i] = i % 5 == 0 ? -1.0f : 1.0f;
  std::fill(weight.begin(), weight.end(), 1.0f);
  const Value v = numbers({1, 2, 8}, 3), none;
  std::vector<Value> in{q, k, v, none, none, tokens({1}), one(2)};
  const std::vector<Value> expected = run(op, in, 3);
  in.resize(16);
  in[0] = q4, in[14] = in[15] = weight;
  check(op, in, expected, 1e-5, 1e-6);
}

TEST_CASE("GroupQueryAttention: extents") {
  const GroupQueryAttention op{.kv_num_heads = 1, .num_heads = 2};
  const auto of = [&](const Dims& q, const Dims& past, const op::PropagatedData& total) {
    const op::Info cache = past.ranked() && past.rank() == 0 ? op::Info{} : info(DType::float32, past);
    return infer(op,
                 {info(DType::float32, q), info(DType::float32, {q[0], q[1], 8}),
                  info(DType::float32, {q[0], q[1], 8}), cache, cache, info(DType::int32, {q[0]}),
                  info(DType::int32, {}, total)},
                 3);
  };
  const Dim batch = Dim::symbol(1), steps = Dim::symbol(2);
  CHECK(of({batch, steps, 16}, Dims::of_rank(0), {})[0].dims == Dims{batch, steps, 16});
  CHECK(of({batch, steps, 16}, Dims::of_rank(0), {})[1].dims == Dims{batch, 1, Dim(), 8});
}

TEST_CASE("GroupQueryAttention: heads without elements") {
  const int64_t many = int64_t{1} << 40;
  const Value x = t<float>({1, 2, 0}, {}), present = t<float>({1, many, 2, 0}, {}), none;
  check(GroupQueryAttention{.kv_num_heads = many, .num_heads = many},
        {x, x, x, none, none, tokens({1}), one(2)}, {x, present, present});
}

TEST_CASE("GroupQueryAttention: a step copies no numbers of a quantised cache") {
  for (const int64_t bits : {8, 4})
    for (const int64_t scales : {1, 16}) {
      CAPTURE(bits);
      CAPTURE(scales);
      GroupQueryAttention op{.kv_cache_bit_width = bits, .kv_num_heads = 1, .num_heads = 2};
      op.k_quant_type = op.v_quant_type = scales == 1 ? "PER_TENSOR" : "PER_CHANNEL";
      const auto memory = [&](int32_t rows) {
        const Extents past{1, 1, rows, bits * 2};
        Tensor<float> scale(Extents{scales});
        std::fill(scale.begin(), scale.end(), 0.1f);
        Value cache = Tensor<int8_t>(past);
        if (bits == 4) cache = Tensor<uint8_t>(past);
        std::vector<Value> in{numbers({1, 1, 32}, 1),
                              numbers({1, 1, 16}, 2),
                              numbers({1, 1, 16}, 3),
                              cache,
                              cache,
                              tokens({rows - 1}),
                              one(rows)};
        in.resize(12);
        in.push_back(scale), in.push_back(scale);
        return working_memory([&] { (void)run(op, in, 1); });
      };
      // Of each 512 keys, the results of two queries.
      CHECK(memory(8192) - memory(1024) < (8192 - 1024) * 16 * static_cast<int64_t>(sizeof(float)) / 10);
    }
}

TEST_CASE("GroupQueryAttention: errors") {
  const Value q = numbers({1, 1, 16}, 1), k = numbers({1, 1, 8}, 2), past = numbers({1, 1, 4, 8}, 3), none;
  const std::vector<Value> in{q, k, k, past, past, tokens({4}), one(5)};
  const auto fails = [&](GroupQueryAttention wrong, std::string_view text) {
    wrong.kv_num_heads = wrong.kv_num_heads ? wrong.kv_num_heads : Opt<int64_t>(1);
    wrong.num_heads = wrong.num_heads ? wrong.num_heads : Opt<int64_t>(2);
    check_fails(wrong, in, text, 3);
  };
  fails({.kv_num_heads = 0}, "kv_num_heads: 0, expected at least 1");
  fails({.kv_num_heads = 2, .num_heads = 3}, "2 heads of keys do not serve 3 heads of queries");
  fails({.num_heads = 3}, "query: 16 numbers do not make 3 heads");
  fails({.causal = 0, .local_window_size = 2}, "local_window_size needs causal");
  fails({.qk_output = 3}, "qk_output: 3, expected 0, 1 or 2");
  fails({.smooth_softmax = 2}, "smooth_softmax: 2, expected -1, 0 or 1");
  fails({.softcap = -1}, "softcap is negative");
  for (int64_t window : {-1, 0})
    fails({.local_window_size = window, .sliding_window_cache = 1},
          "sliding_window_cache needs local_window_size, of at least 1");
  fails({.local_window_size = 5, .sliding_window_cache = 1}, "rows of past_key: 4, expected at least 5");
  fails({.k_quant_type = "ROW"}, "k_quant_type: 'ROW'");
  fails({.k_quant_type = "PER_TENSOR"}, "k_quant_type is PER_TENSOR, v_quant_type is NONE");
  fails({.k_quant_type = "PER_TENSOR", .kv_cache_bit_width = 2, .v_quant_type = "PER_TENSOR"},
        "kv_cache_bit_width: 2, expected 4 or 8");
  fails({.k_quant_type = "PER_TENSOR", .kv_cache_bit_width = 8, .v_quant_type = "PER_TENSOR"},
        "past_key is float, expected int8");
  fails({.do_rotary = 1}, "do_rotary needs cos_cache and sin_cache");
  const auto with = [&](std::initializer_list<std::pair<std::size_t, Value>> changes, std::string_view text,
                        GroupQueryAttention changed = {.kv_num_heads = 1, .num_heads = 2}) {
    std::vector<Value> operands = in;
    operands.resize(16);
    for (const auto& [at, v] : changes) operands[at] = v;
    check_fails(changed, operands, text, 3);
  };
  with({{5, tokens({5})}}, "seqlens_k has 5, outside of [0, 4]");
  with({{5, tokens({-1})}}, "seqlens_k has -1, outside of [0, 4]");
  with({{5, tokens({4, 4})}}, "seqlens_k: (2), expected (1)");
  with({{6, one(INT32_MAX)}},
       "total_sequence_length: 2147483647, but there are 1 new tokens and 4 rows of past_key");
  with({{3, none}, {4, none}}, "total_sequence_length: 5, but there are 1 new tokens and 0 rows");
  with({{6, one(0)}}, "total_sequence_length: 0, expected at least 1");
  with({{6, tokens({5, 5})}}, "total_sequence_length: (2), expected one element");
  with({{1, none}, {2, none}}, "num_heads and kv_num_heads are too large",
       {.kv_num_heads = int64_t{1} << 62, .num_heads = int64_t{1} << 62});
  with({{2, none}}, "key and value come together");
  with({{4, none}}, "past_key and past_value come together");
  with({{14, numbers({8}, 1)}}, "q_norm_weight and k_norm_weight come together");
  with({{4, numbers({1, 1, 5, 8}, 1)}}, "rows of past_key and past_value");
  with({{1, numbers({1, 2, 8}, 1)}}, "key: (1,2,8), expected (1,1,8)");
  with({{10, numbers({1, 2, 1, 4}, 1)}}, "attention_bias: (1,2,1,4), expected (1,2,1,5)");
  with({{11, numbers({3}, 1)}}, "head_sink: (3), expected (2)");
  with({{12, numbers({1}, 1)}}, "k_scale has no place without k_quant_type");
  const GroupQueryAttention rotary{.do_rotary = 1, .kv_num_heads = 1, .num_heads = 2};
  with({{7, numbers({4, 4}, 1)}, {8, numbers({4, 4}, 1)}}, "position 4 is outside of 4 rows of cos_cache",
       rotary);
  with({{7, numbers({4, 5}, 1)}, {8, numbers({4, 5}, 1)}}, "more angles than heads of size 8 have pairs",
       rotary);
  with({{7, numbers({4, 4}, 1)}, {8, numbers({5, 4}, 1)}}, "extents of cos_cache and sin_cache", rotary);
  with({{7, numbers({9, 4}, 1)}, {8, numbers({9, 4}, 1)}, {9, t<int64_t>({1, 1}, {-1})}},
       "position -1 is outside of 9 rows", rotary);
  with(
      {{0, numbers({1, 2, 16}, 1)}, {1, numbers({1, 2, 8}, 1)}, {2, numbers({1, 2, 8}, 1)}, {5, tokens({0})}},
      "seqlens_k has 0, too few for 2 new tokens");
  const Value nothing = t<float>({1, 0, 8}, {});
  with({{1, nothing}, {2, nothing}}, "total_sequence_length: 5, but there are 0 new tokens and 4 rows");
  with({{1, nothing}, {2, nothing}, {3, none}, {4, none}}, "key of no tokens needs past_key");
  with({{1, nothing}, {2, nothing}}, "sliding_window_cache needs the key and the value of the tokens",
       {.kv_num_heads = 1, .local_window_size = 2, .num_heads = 2, .sliding_window_cache = 1});
  with({{1, nothing}}, "value: (1,1,8), expected (1,0,8)");
  with({{9, t<int64_t>({1, 0}, {})}}, "position_ids: (1,0), but there are 1 tokens");
  const Value q2 = numbers({2, 2, 16}, 1), k2 = numbers({2, 2, 8}, 1), past2 = numbers({2, 1, 4, 8}, 1);
  with({{0, q2}, {1, k2}, {2, k2}, {3, past2}, {4, past2}, {5, tokens({4, 4})}},
       "2 tokens that follow others need a batch of 1, not 2");
}
}  // namespace tenon
