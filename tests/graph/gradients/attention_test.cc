#include <limits>

#include "tenon/graph/session.hpp"
#include "tests/graph/gradients/check.hpp"

namespace tenon::test {

constexpr double masked_out = -std::numeric_limits<double>::infinity();

TEST_CASE("Attention: heads that share keys, packed heads, scale and cap") {
  check_op(op::Attention{}, {reals({2, 4, 3, 2}), reals({2, 2, 5, 2}), reals({2, 2, 5, 3})});
  check_op(op::Attention{.kv_num_heads = 1, .q_num_heads = 2, .scale = 0.4f, .softcap = 1.5f},
           {reals({2, 3, 4}), reals({2, 2, 2}), reals({2, 2, 3})});
  check_op(op::Attention{.kv_num_heads = 2, .q_num_heads = 2},
           {reals({1, 2, 4}), reals({1, 3, 4}), reals({1, 3, 2})});
}

TEST_CASE("Attention: masks, windows, the past, and ends of keys") {
  const Given q = reals({2, 2, 3, 2}), k = reals({2, 1, 4, 2}), v = reals({2, 1, 4, 1});
  check_op(op::Attention{}, {q, k, v, reals({2, 1, 1, 4})});
  check_op(op::Attention{}, {q, k, v, reals({3, 2})});  // masks the last keys
  check_op(op::Attention{},
           {q, k, v,
            bools({3, 4}, {true, true, false, true, false, false, false, false, true, false, false, true})});
  check_op(op::Attention{}, {q, k, v, late(bools({1, 3}, {true, false, true}))});
  check_op(op::Attention{.is_causal = 1}, {q, k, v, none(), reals({2, 1, 2, 2}), reals({2, 1, 2, 1})});
  check_op(op::Attention{.left_window_size = 1, .right_window_size = 1}, {q, k, v});
  check_op(op::Attention{.is_causal = 1}, {q, k, v, none(), none(), none(), ints({4, 2})});
  check_operator(old("Attention", 23), {q, k, v, reals({3, 1})});
}

TEST_CASE("Attention: every result") {
  const std::vector<Given> all{reals({1, 2, 3, 2}), reals({1, 1, 2, 2}), reals({1, 1, 2, 1}),
                               reals({3, 4}),       reals({1, 1, 2, 2}), reals({1, 1, 2, 1})};
  for (int64_t mode : {0, 1, 2, 3})
    check_op(op::Attention{.qk_matmul_output_mode = mode, .softcap = 2}, all, 4, {0, 1, 2, 3});
  check_op(op::Attention{}, all, 3, {1, 2});
}

TEST_CASE("Attention: queries without keys, and nothing") {
  const Value q = Tensor<double>(Extents{1, 1, 2, 1}, {1, 2}),
              k = Tensor<double>(Extents{1, 1, 2, 1}, {1, -1});
  const Value mask = Tensor<double>(Extents{2, 2}, {masked_out, masked_out, 0, masked_out});
  // Only the second query reads a key, the first one.
  CHECK(slopes(any(op::Attention{}), {q, k, k, mask}) == std::vector<double>{0, 0, 0, 0, 2, 0, 0, 0, 0, 0});
  check_op(op::Attention{}, {reals({0, 2, 3, 2}), reals({0, 1, 4, 2}), reals({0, 1, 4, 2})});
  check_op(op::Attention{}, {reals({1, 2, 3, 2}), reals({1, 1, 0, 2}), reals({1, 1, 0, 2})});
  check_op(op::Attention{}, {reals({1, 2, 0, 2}), reals({1, 1, 4, 2}), reals({1, 1, 4, 2}), reals({0, 4})});
}

TEST_CASE("Attention of halves whose products are no halves") {
  std::vector<Value> wide, half;
  for (int k = 0; k < 3; ++k) {
    Tensor<double> d(Extents{1, 1, 3, 4});
    Tensor<float16> h(Extents{1, 1, 3, 4});
    for (int64_t j = 0; j < d.size(); ++j) {
      d[j] = static_cast<double>((j * j + 5 * k) % 11) * (k == 2 ? 1 : 40);
      h[j] = float16(static_cast<float>(d[j]));
    }
    wide.emplace_back(d);
    half.emplace_back(h);
  }
  const AnyOperator op = any(op::Attention{.scale = 1e-5f});
  const std::vector<double> expected = slopes(op, wide), found = slopes(op, half, DType::float16);
  REQUIRE(expected.size() == found.size());
  for (std::size_t k = 0; k < found.size(); ++k)
    CHECK(found[k] == doctest::Approx(expected[k]).epsilon(0.01).scale(0.001));
}

TEST_CASE("Second derivatives of Attention") {
  check_twice(op::Attention{.is_causal = 1}, {reals({1, 2, 2, 1}), reals({1, 1, 2, 1}), reals({1, 1, 2, 1})});
}

/// RotaryEmbedding of x and its caches, which have no double, in steps that are exact in a bilinear function.
void check_rotary(const op::RotaryEmbedding& op, const Extents& x, const Extents& caches,
                  const Value& ids = {}) {
  std::vector<Tensor<float>> given;
  for (const Extents& e : {x, caches, caches}) {
    Tensor<float> t(e);
    for (int64_t k = 0; k < t.size(); ++k) t[k] = static_cast<float>((k * k + 3 * given.size()) % 7) - 3;
    given.push_back(std::move(t));
  }
  const auto operands = [&] {
    std::vector<Value> in(given.begin(), given.end());
    if (ids) in.push_back(ids);
    return in;
  };
  const auto y = [&] {
    const std::vector<Value> in = operands();
    Graph g;
    std::vector<ValueId> ids_of_inputs;
    Feeds feeds;
    const char* names[] = {"x", "cos", "sin", "ids"};
    for (const Value& v : in) {
      feeds.emplace_back(names[feeds.size()], v);
      ids_of_inputs.push_back(
          g.add_input(std::string(feeds.back().first), v.tensor().dtype(), Dims(v.tensor().extents())));
    }
    g.add_output("y", g.add_node({}, any(op), ids_of_inputs, {})[0]);
    double sum = 0;
    const Outputs out = Session(std::move(g)).run(feeds);
    const auto elements = out[std::size_t{0}].view<float>();
    for (int64_t k = 0; k < elements.size(); ++k)
      sum += static_cast<double>(k + 1) * static_cast<double>(elements[k]);
    return sum;
  };
  const std::vector<double> found = slopes(any(op), operands(), DType::float32);
  std::size_t n = 0;
  for (Tensor<float>& t : given)
    for (float& e : t) {
      const float before = e;
      e = before + 1;
      const double above = y();
      e = before - 1;
      CHECK(found[n++] == (above - y()) / 2);
      e = before;
    }
  CHECK(n == found.size());
}

TEST_CASE("RotaryEmbedding") {
  for (int64_t interleaved : {0, 1}) {
    check_rotary({.interleaved = interleaved}, {2, 2, 3, 4}, {2, 3, 2});
    check_rotary({.interleaved = interleaved, .rotary_embedding_dim = 4}, {1, 2, 2, 6}, {3, 2},
                 Tensor<int64_t>(Extents{1, 2}, {2, -1}));
    check_rotary({.interleaved = interleaved, .num_heads = 2, .rotary_embedding_dim = 2}, {2, 3, 8},
                 {2, 3, 1});
    check_rotary({.interleaved = interleaved, .num_heads = 3}, {1, 2, 12}, {4, 2},
                 Tensor<int64_t>(Extents{1, 2}, {1, 1}));
  }
}

}  // namespace tenon::test
