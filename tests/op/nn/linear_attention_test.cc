#include "tenon/op/nn/linear_attention.hpp"

#include <cmath>

#include "tenon/base/thread_pool.hpp"
#include "tests/op/numbers.hpp"

namespace tenon {
using namespace test;

namespace {

std::size_t n(int64_t v) { return static_cast<std::size_t>(v); }

struct Case {
  int64_t batch = 2, steps = 5, heads = 4, kv_heads = 2, keys = 3, values = 6;
  bool past = true, decay_each_key = true, beta_shared = false;
  float scale = 0;
};

template <class T, class S = T>
void check_case(const Case& c, const char* rule, double tolerance) {
  const int64_t B = c.batch, N = c.steps, H = c.heads, K = c.kv_heads, D = c.keys, V = c.values;
  const std::string_view name = rule;
  const bool gated = name.starts_with("gated"), delta = name.ends_with("delta");
  const int64_t decays = c.decay_each_key ? K * D : K, betas = c.beta_shared ? 1 : K;
  const List q = numbers_of<T>(B * N * H * D, 1), k = numbers_of<T>(B * N * K * D, 2),
             v = numbers_of<T>(B * N * K * V, 3), decay = numbers_of<T>(B * N * decays, 4),
             beta = numbers_of<T>(B * N * betas, 5), past = numbers_of<S>(B * K * D * V, 6);
  List state = c.past ? past : List(n(B * K * D * V)), y(n(B * N * H * V));
  const double scale = c.scale != 0 ? c.scale : 1 / std::sqrt(static_cast<double>(D));
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < K; ++h)
      for (int64_t t = 0; t < N; ++t) {
        const int64_t at = b * N + t;
        const auto s = [&](int64_t d, int64_t m) -> double& {
          return state[n(((b * K + h) * D + d) * V + m)];
        };
        const auto key = [&](int64_t d) { return k[n((at * K + h) * D + d)]; };
        for (int64_t d = 0; gated && d < D; ++d)
          for (int64_t m = 0; m < V; ++m)
            s(d, m) *= std::exp(decay[n(c.decay_each_key ? (at * K + h) * D + d : at * K + h)]);
        List written;
        for (int64_t m = 0; m < V; ++m) {
          double x = v[n((at * K + h) * V + m)];
          for (int64_t d = 0; delta && d < D; ++d) x -= s(d, m) * key(d);
          written.push_back(delta ? x * beta[n(c.beta_shared ? at : at * K + h)] : x);
        }
        for (int64_t d = 0; d < D; ++d)
          for (int64_t m = 0; m < V; ++m) s(d, m) += key(d) * written[n(m)];
        for (int64_t g = h * (H / K); g < (h + 1) * (H / K); ++g)
          for (int64_t m = 0; m < V; ++m)
            for (int64_t d = 0; d < D; ++d)
              y[n((at * H + g) * V + m)] += scale * q[n((at * H + g) * D + d)] * s(d, m);
      }
  const op::LinearAttention op{.kv_num_heads = K, .q_num_heads = H, .scale = c.scale, .update_rule = rule};
  Value past_value, decay_value, beta_value;
  if (c.past) past_value = tensor<S>({B, K, D, V}, past);
  if (gated) decay_value = tensor<T>({B, N, decays}, decay);
  if (delta) beta_value = tensor<T>({B, N, betas}, beta);
  check(op,
        {tensor<T>({B, N, H * D}, q), tensor<T>({B, N, K * D}, k), tensor<T>({B, N, K * V}, v), past_value,
         decay_value, beta_value},
        {tensor<T>({B, N, H * V}, y), tensor<S>({B, K, D, V}, state)}, tolerance, tolerance);
}

}  // namespace

TEST_CASE("LinearAttention: rules, gates, states, types") {
  const Case cases[] = {
      {},
      {.past = false},
      {.decay_each_key = false},
      {.beta_shared = true},
      {.scale = 0.5f},
      {.kv_heads = 4},
      {.steps = 1, .heads = 1, .kv_heads = 1, .keys = 1, .values = 1},
      {.batch = 1, .steps = 9, .keys = 17, .values = 33, .scale = 0.1f},
      {.steps = 0},
      {.batch = 0},
      {.values = 0},
  };
  for (const char* rule : {"linear", "gated", "delta", "gated_delta"})
    for (const Case& c : cases) {
      CAPTURE(rule);
      CAPTURE(&c - cases);
      check_case<float>(c, rule, 2e-4);
      if (&c - cases > 4) continue;
      check_case<float16>(c, rule, 1e-2);
      check_case<bfloat16>(c, rule, 8e-2);
    }
  check_case<float16, float>({}, "gated_delta", 1e-2);
  check_case<float, bfloat16>({}, "gated", 3e-2);
}

TEST_CASE("LinearAttention: the same bits on any number of threads") {
  const Value q = tensor<float>({3, 9, 32}, numbers_of<float>(864, 1)),
              d = tensor<float>({3, 9, 4}, numbers_of<float>(108, 2));
  const op::LinearAttention op{.kv_num_heads = 4, .q_num_heads = 4};
  const std::vector<Value> in{q, q, q, Value(), d, d}, alone = run(op, in, 2);
  ThreadPool pool(3);
  const ScopedPool scope(pool);
  check(op, in, alone, 0, 0);
}

TEST_CASE("LinearAttention: errors") {
  const auto zeros = [](const Extents& e) -> Value { return Tensor<float>(e); };
  const auto rule = [](const char* name) {
    return op::LinearAttention{.kv_num_heads = 2, .q_num_heads = 4, .update_rule = name};
  };
  const Value none, q = zeros({1, 5, 12}), k = zeros({1, 5, 6}), v = zeros({1, 5, 8}),
                    gate = zeros({1, 5, 2});
  check(rule("linear"), {q, k, v}, {zeros({1, 5, 16}), zeros({1, 2, 3, 4})});
  const Value steps = zeros({1, int64_t{1} << 40, 0});
  check(rule("linear"), {steps, steps, steps}, {steps, zeros({1, 2, 0, 0})});
  check_fails(rule("fast"), {q, k, v}, "update_rule: 'fast', expected linear, gated, delta or gated_delta",
              2);
  check_fails(rule("gated"), {q, k, v}, "update_rule 'gated' needs decay", 2);
  check_fails(rule("delta"), {q, k, v}, "update_rule 'delta' needs beta", 2);
  check_fails(rule("linear"), {q, k, v, none, gate}, "update_rule 'linear' has no decay", 2);
  check_fails(rule("linear"), {q, k, v, none, none, gate}, "update_rule 'linear' has no beta", 2);
  check_fails(op::LinearAttention{.update_rule = "linear"}, {q, k, v}, "are required", 2);
  check_fails(op::LinearAttention{.kv_num_heads = 3, .q_num_heads = 4, .update_rule = "linear"}, {q, k, v},
              "3 KV heads do not serve 4 query heads", 2);
  check_fails(op::LinearAttention{.kv_num_heads = 0, .q_num_heads = 4, .update_rule = "linear"}, {q, k, v},
              "kv_num_heads: 0, expected at least 1", 2);
  check_fails(rule("linear"), {zeros({1, 5, 13}), k, v}, "query: 13 numbers do not make 4 heads", 2);
  check_fails(rule("linear"), {q, zeros({1, 5, 8}), v}, "head sizes of query and key differ: 3 and 4", 2);
  check_fails(rule("linear"), {q, k, zeros({1, 4, 8})}, "steps differ: 5 and 4", 2);
  check_fails(rule("linear"), {q, k, zeros({2, 5, 8})}, "batches differ: 1 and 2", 2);
  check_fails(rule("linear"), {q, k, zeros({1, 5, 8, 1})}, "value: rank 4, expected 3", 2);
  check_fails(rule("linear"), {q, k, v, zeros({1, 2, 3, 5})}, "past_state: (1,2,3,5), expected (1,2,3,4)", 2);
  check_fails(rule("gated"), {q, k, v, none, zeros({1, 5, 3})},
              "decay: (1,5,3), expected 2 or 6 numbers a step", 2);
  check_fails(rule("delta"), {q, k, v, none, none, zeros({1, 5, 3})}, "beta: (1,5,3), expected 2 or 1", 2);
}

TEST_CASE("LinearAttention: symbols, a typed call") {
  const auto b = Dim::symbol(1), s = Dim::symbol(2);
  const op::LinearAttention op{.kv_num_heads = 2, .q_num_heads = 4, .update_rule = "linear"};
  const auto of = [](const Dims& d) { return info(DType::float16, d); };
  const auto out = infer(op, {of({b, s, 12}), of({b, s, 6}), of({b, s, 8})}, 2);
  CHECK(out[0].dims == Dims{b, s, 16});
  CHECK(out[1].dims == Dims{b, 2, 3, 4});
  CHECK(out[1].type == Type(DType::float16));
  CHECK(infer(op, {of({b, s, 12}), of({b, s, 6}), of({b, s, 8}), info(DType::float32, Dims())}, 2)[1].type ==
        Type(DType::float32));
  const Tensor<float> q({1, 1, 1}, {2}), k({1, 1, 1}, {3}), v({1, 1, 1}, {5});
  const auto [y, state] =
      op::call<2>(op::LinearAttention{.kv_num_heads = 1, .q_num_heads = 1, .update_rule = "linear"}, q, k, v);
  CHECK(y.view<float>()[0] == 30);
}
}  // namespace tenon
