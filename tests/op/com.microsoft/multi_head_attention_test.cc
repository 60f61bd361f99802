#include "tenon/op/com.microsoft/multi_head_attention.hpp"
#include "tenon/op/com.microsoft/decoder_masked_multi_head_attention.hpp"

#include "tenon/graph/session.hpp"
#include "tests/graph/build.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.MultiHeadAttention: results of ONNX Runtime") {
  check_recorded("com.microsoft/multi_head_attention.txt",
                 {&operator_class<op::com_microsoft::DecoderMaskedMultiHeadAttention>,
                  &operator_class<op::com_microsoft::MultiHeadAttention>});
}

TEST_CASE("com.microsoft.MultiHeadAttention: operands that hold several") {
  using op::com_microsoft::MultiHeadAttention;
  const MultiHeadAttention two{.num_heads = 2};
  // Two steps of two heads of one number each.
  const Value q = t<float>({1, 2, 2}, {1, 2, 3, 4}), k = t<float>({1, 2, 2}, {5, 6, 7, 8}),
              v = t<float>({1, 2, 2}, {9, 10, 11, 12}),
              qkv = t<float>({1, 2, 2, 3, 1}, {1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12}),
              kv = t<float>({1, 2, 2, 2, 1}, {5, 9, 6, 10, 7, 11, 8, 12}), none,
              bias = t<float>({6}, {1, -1, 2, -2, 3, -3});
  check(two, {qkv}, run(two, {q, k, v}, 4));
  check(two, {qkv, none, none, bias}, run(two, {q, k, v, bias}, 4));
  check(two, {q, kv}, run(two, {q, k, v}, 4));
  check_fails(two, {qkv, k}, "key: query of rank 5 holds it");
  check_fails(two, {q, kv, v}, "value: key of rank 5 holds it");
  check_fails(two, {q, kv, none, bias}, "bias needs a key that holds no value");
  check_fails(two, {t<float>({1, 2, 1, 3, 1}, {1, 2, 3, 4, 5, 6})},
              "query: (1,2,1,3,1), expected (?,?,2,3,?)");
}

TEST_CASE("com.microsoft.MultiHeadAttention: a past of which the first steps count") {
  using op::com_microsoft::MultiHeadAttention;
  const MultiHeadAttention one{.num_heads = 1, .unidirectional = 1};
  const Value q = t<float>({1, 2, 1}, {1, -1}), k = t<float>({1, 2, 1}, {0.5f, 2}),
              v = t<float>({1, 2, 1}, {3, 4}), past_k = t<float>({1, 1, 2, 1}, {-1, 1}),
              past_v = t<float>({1, 1, 2, 1}, {5, 6}), cache_k = t<float>({1, 1, 5, 1}, {-1, 1, 7, 8, 9}),
              cache_v = t<float>({1, 1, 5, 1}, {5, 6, 17, 18, 19}), none,
              mask = t<int32_t>({1, 4}, {1, 0, 1, 1});
  for (const Value& m : {none, mask}) {
    std::vector<Value> expected = run(one, {q, k, v, none, m, none, past_k, past_v}, 4);
    expected[1] = t<float>({1, 1, 5, 1}, {-1, 1, 0.5f, 2, 9});
    expected[2] = t<float>({1, 1, 5, 1}, {5, 6, 3, 4, 19});
    check(one, {q, k, v, none, m, none, cache_k, cache_v, t<int32_t>({1}, {2})}, expected);
  }
  // More new steps than queries.
  const Value more_k = t<float>({1, 3, 1}, {0.5f, 2, -3}), more_v = t<float>({1, 3, 1}, {3, 4, 7});
  std::vector<Value> expected = run(one, {q, more_k, more_v, none, none, none, past_k, past_v}, 4);
  expected[1] = t<float>({1, 1, 5, 1}, {-1, 1, 0.5f, 2, -3});
  expected[2] = t<float>({1, 1, 5, 1}, {5, 6, 3, 4, 7});
  check(one, {q, more_k, more_v, none, none, none, cache_k, cache_v, t<int32_t>({1}, {2})}, expected);
  check_fails(one, {q, k, v, none, none, none, cache_k, cache_v, t<int32_t>({1}, {4})},
              "2 entries from 4 on leave a cache of 5", 4);
  check_fails(one, {q, k, v, none, none, none, cache_k, cache_v, t<int32_t>({1}, {-1})}, "-1", 4);
}

TEST_CASE("com.microsoft.MultiHeadAttention: which keys the last query sees, known at run time") {
  const op::com_microsoft::MultiHeadAttention two{.num_heads = 2, .unidirectional = 1};
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps"), keys = g.symbol("keys");
  const ValueId q = g.add_input("q", DType::float32, {batch, steps, 4}),
                k = g.add_input("k", DType::float32, {batch, keys, 4}),
                v = g.add_input("v", DType::float32, {batch, keys, 4});
  g.add_output("y", node(g, two, {q, k, v}));
  Session session(std::move(g));
  for (const auto& [s, n] : std::initializer_list<std::pair<int64_t, int64_t>>{{3, 5}, {1, 4}, {3, 2}}) {
    const Value x = numbers({2, s, 4}, 1), a = numbers({2, n, 4}, 2), b = numbers({2, n, 4}, 3);
    check_equal(session.run({{"q", x}, {"k", a}, {"v", b}})[0], run(two, {x, a, b}, 1)[0], 1e-6, 1e-7);
  }
  const int64_t many = int64_t{1} << 40;
  check(two, {t<float>({0, many, 4}, {}), t<float>({0, 2 * many, 4}, {}), t<float>({0, 2 * many, 4}, {})},
        {t<float>({0, many, 4}, {})});
}

TEST_CASE("com.microsoft.MultiHeadAttention: a session computes no scores that are no result") {
  Graph g;
  const ValueId q = g.add_input("q", DType::float32, {1, 2, 4});
  g.add_output("y", node(g, op::com_microsoft::MultiHeadAttention{.num_heads = 2}, {q, q, q}));
  const Session s(std::move(g));
  CHECK(std::ranges::count_if(s.program().nodes(),
                              [](const GraphNode& n) { return n.op.as<op::Attention>() != nullptr; }) == 1);
}

TEST_CASE("com.microsoft.MultiHeadAttention: errors") {
  using op::com_microsoft::MultiHeadAttention;
  const MultiHeadAttention two{.num_heads = 2};
  const Value q = t<float>({1, 1, 4}, {1, 2, 3, 4}), k = t<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), none_,
              past = t<float>({1, 2, 1, 2}, {1, 2, 3, 4});
  check_fails(MultiHeadAttention{}, {q, k, k}, "num_heads: 0, expected at least 1");
  check_fails(MultiHeadAttention{.num_heads = 3}, {q, k, k}, "4 numbers do not make 3 heads");
  check_fails(two, {q}, "key is missing, unless query is (batch, steps, heads, 3, size)");
  check_fails(two, {q, k}, "value is missing, unless key is (batch, steps, heads, 2, size)");
  check_fails(two, {q, k, k, t<float>({3}, {1, 2, 3})}, "bias: (3), expected (12)");
  check_fails(two, {q, k, k, none_, t<int32_t>({1, 3}, {1, 1, 1})},
              "key_padding_mask: (1,3), expected (1,2)");
  check_fails(two, {q, k, k, none_, none_, none_, past}, "past_key and past_value come together");
  check_fails(two, {q, k, k, none_, none_, none_, past, past},
              "past_key and past_value need present_key and present_value: name these results, or leave out "
              "the past, which ONNX Runtime's CPU ignores without them");
  const Value filled = t<int32_t>({1}, {1}), one_beam = t<int32_t>({1, 1, 1}, {0});
  check_fails(two, {q, k, k, none_, none_, none_, none_, none_, none_, one_beam},
              "cache_indirection needs past_key and past_sequence_length");
  const auto of_beams = [&](const Value& beams) {
    const Value step = t<float>({2, 1, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    const Value cache = t<float>({2, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
    return std::vector<Value>{step, step, step, none_, none_, none_, cache, cache, filled, beams};
  };
  check_fails(two, of_beams(t<int32_t>({2, 2}, {0, 0, 0, 0})), "cache_indirection: rank 2, expected 3", 3);
  check_fails(two, of_beams(t<int32_t>({1, 3, 2}, {0, 0, 0, 0, 0, 0})), "does not divide a batch of 2", 3);
  check_fails(two, of_beams(t<int32_t>({1, 2, 1}, {0, 0})), "cache_indirection: (1,2,1)", 3);
  check_fails(two, of_beams(t<int32_t>({1, 2, 2}, {0, 0, 2, 0})), "2", 3);
  const Dims open{Dim::symbol(1), Dim::symbol(2), 8};
  const auto y =
      infer(two, {info(DType::float32, open), info(DType::float32, open), info(DType::float32, open)}, 3);
  CHECK(y[0].dims == open);
  CHECK(y[1].dims == Dims{Dim::symbol(1), 2, Dim::symbol(2), 4});
}

TEST_CASE("com.microsoft.DecoderMaskedMultiHeadAttention: errors, symbols") {
  using op::com_microsoft::DecoderMaskedMultiHeadAttention;
  const DecoderMaskedMultiHeadAttention two{.num_heads = 2},
      cached{.num_heads = 2, .past_present_share_buffer = 1};
  const Value q = t<float>({1, 1, 4}, {1, 2, 3, 4}), none_,
              past = t<float>({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto count = [](int32_t n) { return t<int32_t>({1}, {n}); };
  check_fails(DecoderMaskedMultiHeadAttention{}, {q, past, past}, "num_heads: 0, expected at least 1");
  check_fails(two, {q}, "key and value are missing");
  check_fails(two, {q, q, q}, "key: rank 3, expected 4");
  check_fails(two, {t<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), past, past},
              "query: (1,2,4) has 2 steps, expected 1");
  check_fails(two, {q, q, q, none_, none_, past, past, count(1)}, "past_key needs past_present_share_buffer",
              3);
  check_fails(cached, {q, q, q, none_, none_, past, past}, "past_key and past_sequence_length come together",
              3);
  check_fails(cached, {q, q, q, none_, none_, past, past, count(2)},
              "past_sequence_length: 2, but past_key has 2 steps", 3);
  check_fails(cached, {q, q, q, none_, none_, past, past, count(-1)}, "past_sequence_length: -1", 3);
  check_fails(cached, {q, q, q, t<int32_t>({1, 3}, {1, 1, 1}), none_, past, past, count(1)},
              "mask_index: (1,3), expected (1,2)", 3);
  const auto n = Dim::symbol(1), rows = Dim::symbol(2);
  const op::Info step = info(DType::float32, {n, 1, 8}), cache = info(DType::float32, {n, 2, rows, 4});
  const auto y = infer(cached, {step, step, step, {}, {}, cache, cache, info(DType::int32, {1})}, 4);
  CHECK(y[0].dims == Dims{n, 1, 8});
  CHECK(y[1].dims == Dims{n, 2, rows, 4});
  CHECK(y[3].dims == Dims{n, 2, 1, Dim()});
}
}  // namespace tenon
