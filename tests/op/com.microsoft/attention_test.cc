#include "tenon/op/com.microsoft/attention.hpp"

#include "tenon/graph/session.hpp"
#include "tests/graph/build.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.Attention: results of ONNX Runtime") {
  check_recorded("com.microsoft/attention.txt", {&operator_class<op::com_microsoft::Attention>});
}

TEST_CASE("com.microsoft.Attention: keys whose mask is not positive are masked") {
  const op::com_microsoft::Attention op{.num_heads = 1};
  const Value x = t<float>({1, 2, 1}, {2, -1}), w = t<float>({1, 3}, {1, 2, 3}), none;
  check(op, {x, w, none, t<int32_t>({1, 2}, {5, -1})}, run(op, {x, w, none, t<int32_t>({1, 2}, {1, 0})}));
}

TEST_CASE("com.microsoft.Attention: queries without a key that the mask shows, of any number") {
  const op::com_microsoft::Attention op{
      .mask_filter_value = std::numeric_limits<float>::lowest(), .num_heads = 2, .unidirectional = 1};
  const Tensor<float> w = numbers({3, 12}, 2), b = numbers({12}, 3);
  Graph g;
  const Dim steps = g.symbol("steps");
  const ValueId x = g.add_input("x", DType::float32, {1, steps, 3}),
                mask = g.add_input("mask", DType::int32, {1, steps});
  g.add_output("y",
               node(g, op, {x, g.add_constant({}, AnyTensor(w)), g.add_constant({}, AnyTensor(b)), mask}));
  Session session(std::move(g));
  for (const int64_t n : {1, 3}) {
    const Value of_x = numbers({1, n, 3}, 1);
    Tensor<int32_t> shown(Extents{1, n});
    std::fill(shown.begin(), shown.end(), 0);
    shown.data()[n - 1] = 1;
    check_equal(session.run({{"x", of_x}, {"mask", shown}})[0], run(op, {of_x, w, b, shown}, 1)[0], 1e-6,
                1e-7);
  }
}

TEST_CASE("com.microsoft.Attention: a mask of one column hides nothing, of as many columns as it has") {
  const op::com_microsoft::Attention op{.mask_filter_value = std::numeric_limits<float>::lowest(),
                                        .num_heads = 2};
  const Tensor<float> w = numbers({3, 12}, 2), b = numbers({12}, 3), past = numbers({2, 1, 2, 2, 2}, 4);
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {1, g.symbol("steps"), 3}),
                mask = g.add_input("mask", DType::int32, {1, g.symbol("keys")});
  const std::string names[] = {"y", "present"};
  g.add_output("y", g.add_node({}, AnyOperator::make(op),
                               {x, g.add_constant({}, AnyTensor(w)), g.add_constant({}, AnyTensor(b)), mask,
                                g.add_constant({}, AnyTensor(past))},
                               names)[0]);
  Session session(std::move(g));
  const Value of_x = numbers({1, 1, 3}, 1), none;
  const auto y = [&](const Value& mask) { return session.run({{"x", of_x}, {"mask", mask}})[0]; };
  check_equal(y(t<int32_t>({1, 1}, {0})), run(op, {of_x, w, b, none, past}, 2)[0], 1e-6, 1e-7);
  check_equal(y(t<int32_t>({1, 3}, {0, 1, 0})),
              run(op, {of_x, w, b, t<int32_t>({1, 3}, {0, 1, 0}), past}, 2)[0], 1e-6, 1e-7);
}

TEST_CASE("com.microsoft.Attention: errors, and without a bias") {
  using op::com_microsoft::Attention;
  const Value x = t<float>({1, 1, 1}, {2}), w = t<float>({1, 6}, {1, 2, 3, 4, 5, 6}), none_;
  check(Attention{.num_heads = 1}, {x, w}, {t<float>({1, 1, 2}, {10, 12})});
  check_fails(Attention{}, {x, w}, "num_heads: 0, expected at least 1");
  check_fails(Attention{.num_heads = 3}, {x, w}, "2 numbers do not make 3 heads");
  check_fails(Attention{.do_rotary = 1, .num_heads = 1}, {x, w}, "do_rotary is not supported");
  check_fails(Attention{.num_heads = 1, .past_present_share_buffer = 1},
              {x, w, none_, none_, t<float>({2, 1, 1, 1, 2}, {1, 2, 3, 4})},
              "a past that shares present's memory is not supported: use MultiHeadAttention", 2);
  check_fails(Attention{.num_heads = 1}, {x, w, none_, t<int32_t>({2, 1}, {1, 1})},
              "mask_index: (2,1), expected (1,1)");
  check_fails(Attention{.num_heads = 1, .qkv_hidden_sizes = {1, 2, 3}}, {x, w},
              "sizes of Q and K differ: 1 and 2");
  check_fails(Attention{.num_heads = 1, .qkv_hidden_sizes = {1, 1, 1}}, {x, w},
              "weights (1,6) are not of the sizes of Q, K and V");
  check_fails(Attention{.num_heads = 1}, {x, w, none_, t<int32_t>({1, 1, 1, 1}, {1})},
              "mask_index: masks of rank 4 are not supported: pass attention_bias");
  check_fails(Attention{.num_heads = 1},
              {x, w, none_, none_, t<float>({2, 1, 1, 1, 2}, {1, 2, 3, 4}), t<float>({1, 1, 1, 2}, {0, 0})},
              "past together with attention_bias is not supported", 2);
}
}  // namespace tenon
