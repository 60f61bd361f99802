#include <doctest/doctest.h>

#include "tenon/op/com.microsoft/group_query_attention.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/math/sub.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tests/generate/models.hpp"

namespace tenon {
using namespace test;

namespace {

/// language_model with the operator of ONNX Runtime GenAI's models. It counts the mask's tokens, or all of
/// its columns.
Graph counting_model(uint32_t seed, bool columns = false,
                     op::com_microsoft::GroupQueryAttention attention = {}) {
  Graph g;
  const Dim batch = g.symbol("batch_size"), steps = g.symbol("sequence_length");
  const ValueId tokens = g.add_input("input_ids", DType::int64, {batch, steps});
  const ValueId mask =
      g.add_input("attention_mask", DType::int64, {batch, g.symbol("total_sequence_length")});
  const ValueId positions = g.add_input("position_ids", DType::int64, {batch, steps});
  const Dims past = {batch, 2, g.symbol("past_sequence_length"), width / 2};
  const ValueId key = g.add_input("k_in", DType::float32, past);
  const ValueId value = g.add_input("v_in", DType::float32, past);
  const auto whole = [&](ValueId v) {
    return node(g, op::Cast{.to = static_cast<int64_t>(DType::int32)}, {v});
  };
  const ValueId one = g.add_constant({}, Tensor<int64_t>({}, {1}));
  const ValueId axis = g.add_constant({}, Tensor<int64_t>({1}, {1}));
  const ValueId ones = columns ? node(g, op::Expand{}, {one, node(g, op::Shape{}, {mask})}) : mask;
  const ValueId count = node(g, op::ReduceSum{.keepdims = 0}, {ones, axis});
  const ValueId last = whole(node(g, op::Sub{}, {count, one}));
  const ValueId total = whole(node(g, op::Gather{}, {node(g, op::Shape{}, {mask}), one}));
  const ValueId x = embedding(g, tokens, positions, seed);
  const std::string results[3];
  attention.kv_num_heads = attention.num_heads = 2;
  const auto attended = g.add_node("attention", AnyOperator::make(attention),
                                   {product(g, x, width, seed + 2), product(g, x, width, seed + 3),
                                    product(g, x, width, seed + 4), key, value, last, total},
                                   results);
  const ValueId y = node(g, op::Add{}, {x, product(g, attended[0], width, seed + 5)});
  g.add_output("logits", product(g, y, vocabulary, seed + 6));
  g.add_output("k_out", attended[1]);
  g.add_output("v_out", attended[2]);
  return g;
}

}  // namespace

TEST_CASE("Generator: GroupQueryAttention, padded on the right") {
  const std::vector<std::vector<int>> prompts = {{5}, {1, 2, 3}, {12, 0, 7, 7, 7, 2, 4}};
  for (const uint32_t seed : {1, 2}) {
    const Session s(counting_model(seed));
    const Generator g(s);
    CHECK(g.parts().caches == std::vector<Cache>{{"k_in", "k_out"}, {"v_in", "v_out"}});
    std::vector<std::vector<int>> expected;
    for (const auto& prompt : prompts) {
      expected.push_back(expected_text(seed, prompt, 10));
      CHECK(all(g.stream(prompt, {.max_tokens = 10})) == expected.back());
      CHECK(all(g.stream(prompt, {.max_tokens = 10, .draft_tokens = 3})) == expected.back());
    }
    CHECK(all(g.batch(prompts, {.max_tokens = 10, .padding = Padding::right})) == expected);
    check_error([&] { (void)g.batch(prompts); },
                {"generator: the model counts the tokens of its attention mask", "Padding::right"});
    CHECK(all(g.batch({{1, 2, 3}, {1, 2, 3}}, {.max_tokens = 10}))[1] == expected[1]);
  }
  const Session s(counting_model(1, true));
  CHECK(all(Generator(s).batch(prompts, {.max_tokens = 2})).size() == prompts.size());
}

TEST_CASE("Generator: GroupQueryAttention whose cache holds a window, of rows that are not declared") {
  const std::vector<std::vector<int>> prompts = {{5}, {1, 2, 3}, {12, 0, 7, 7, 7, 2, 4}};
  for (const int64_t window : {1, 4, 300}) {
    CAPTURE(window);
    const Session s(counting_model(1, false, {.local_window_size = window, .sliding_window_cache = 1})),
        all_rows(counting_model(1, false, {.local_window_size = window}));
    std::vector<std::vector<int>> expected;
    for (const auto& prompt : prompts) {
      expected.push_back(all(Generator(all_rows).stream(prompt, {.max_tokens = 12})));
      CHECK(all(Generator(s).stream(prompt, {.max_tokens = 12})) == expected.back());
    }
    CHECK(all(Generator(s).batch(prompts, {.max_tokens = 12, .padding = Padding::right})) == expected);
  }
}

}  // namespace tenon
