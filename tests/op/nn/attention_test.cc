#include "tenon/op/nn/attention.hpp"

#include <cmath>

#include "tenon/base/thread_pool.hpp"
#include "tests/op/numbers.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {

std::size_t n(int64_t v) { return static_cast<std::size_t>(v); }

struct Case {
  int64_t batch = 2, heads = 4, kv_heads = 2, queries = 3, keys = 5, size = 4, value_size = 6, past = 0;
  bool packed = false;
  Extents mask{};  // rank 0: none
  bool bool_mask = false;
  std::vector<int64_t> nonpad{};
};

/// (batch, heads, steps, size) as (batch, steps, heads * size).
List pack(const List& x, int64_t batch, int64_t heads, int64_t steps, int64_t size) {
  List to;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < steps; ++s)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t j = 0; j < size; ++j) to.push_back(x[n(((b * heads + h) * steps + s) * size + j)]);
  return to;
}
/// The steps of a, then the steps of b, both (rows, steps, size).
List joined(const List& a, int64_t of_a, const List& b, int64_t of_b, int64_t rows, int64_t size) {
  List to;
  for (int64_t r = 0; r < rows; ++r) {
    to.insert(to.end(), a.begin() + r * of_a * size, a.begin() + (r + 1) * of_a * size);
    to.insert(to.end(), b.begin() + r * of_b * size, b.begin() + (r + 1) * of_b * size);
  }
  return to;
}

/// Holds op to the definition, one number at a time.
template <class T>
void check_case(const Case& c, op::Attention op, double tolerance, int version = 25) {
  const int64_t B = c.batch, H = c.heads, K = c.kv_heads, L = c.queries, S = c.keys, D = c.size,
                V = c.value_size, P = c.past, all = P + S;
  const List q = numbers_of<T>(B * H * L * D, 1), k = numbers_of<T>(B * K * S * D, 2),
             v = numbers_of<T>(B * K * S * V, 3), past_k = numbers_of<T>(B * K * P * D, 4),
             past_v = numbers_of<T>(B * K * P * V, 5);
  const List keys = joined(past_k, P, k, S, B * K, D), values = joined(past_v, P, v, S, B * K, V);
  List mask;
  if (c.mask.size() > 0) {
    mask = numbers_of<T>(extent_product(c.mask), 6, 2);
    for (std::size_t m = 0; m < mask.size(); ++m) {
      if (c.bool_mask) mask[m] = mask[m] > -0.5 ? 0 : -INFINITY;
      else if (m % 5 == 3) mask[m] = -INFINITY;
    }
  }
  // Without numbers in a head, products are 0.
  const double scale = D == 0 ? 1 : op.scale ? *op.scale : 1 / std::sqrt(static_cast<double>(D));
  List y(n(B * H * L * V)), scores(n(B * H * L * all));
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < L; ++i) {
        const int64_t kv = b * K + h / (H / K), row = (b * H + h) * L + i;
        const int64_t p = i + (c.nonpad.empty() ? P : c.nonpad[n(b)] - L);
        List e;
        double most = -INFINITY, sum = 0, bias_most = -INFINITY;
        for (int64_t j = 0; j < all; ++j) {
          double x = 0;
          for (int64_t d = 0; d < D; ++d) x += q[n(row * D + d)] * keys[n((kv * all + j) * D + d)];
          x *= scale;
          double& shown = scores[n(row * all + j)];
          shown = x;
          if (op.softcap > 0) x = op.softcap * std::tanh(x / op.softcap);
          if (op.qk_matmul_output_mode == 1) shown = x;
          double bias = 0;
          if (!mask.empty() || c.mask.size() > 0) {
            int64_t at = 0, step = 1;
            const int64_t index[] = {j, i, h, b};
            bool inside = true;
            for (int r = 1; r <= c.mask.size(); ++r) {
              const int64_t extent = c.mask[c.mask.size() - r];
              if (r == 1 && version > 23) inside = j < extent, at = j;
              else at += (extent == 1 ? 0 : index[r - 1]) * step;
              step *= extent;
            }
            bias = inside ? mask[n(at)] : -INFINITY;
          }
          if (op.is_causal && j > p) bias = -INFINITY;
          if (op.left_window_size >= 0 && p - j > op.left_window_size) bias = -INFINITY;
          if (op.right_window_size >= 0 && j - p > op.right_window_size) bias = -INFINITY;
          if (!c.nonpad.empty() && j >= c.nonpad[n(b)]) bias = -INFINITY;
          x += bias;
          if (op.qk_matmul_output_mode == 2) shown = x;
          bias_most = std::max(bias_most, bias);
          most = std::max(most, x);
          e.push_back(x);
        }
        for (double& x : e) sum += x = std::exp(x - most);
        for (int64_t j = 0; j < all; ++j) {
          const double w = bias_most == -INFINITY ? 0 : e[n(j)] / sum;
          if (op.qk_matmul_output_mode == 3) scores[n(row * all + j)] = w;
          for (int64_t d = 0; d < V; ++d) y[n(row * V + d)] += w * values[n((kv * all + j) * V + d)];
        }
      }

  Value mask_value, past_key, past_value, nonpad;
  if (c.mask.size() > 0) {
    if (c.bool_mask) {
      Tensor<bool> m{std::span<const int64_t>(c.mask)};
      for (int64_t j = 0; j < m.size(); ++j) m[j] = mask[n(j)] == 0;
      mask_value = std::move(m);
    } else {
      mask_value = tensor<T>(c.mask, mask);
    }
  }
  if (P > 0) past_key = tensor<T>({B, K, P, D}, past_k), past_value = tensor<T>({B, K, P, V}, past_v);
  if (!c.nonpad.empty()) nonpad = Tensor<int64_t>(Extents{B}, c.nonpad.begin(), c.nonpad.end());
  if (c.packed) op.q_num_heads = H, op.kv_num_heads = K;
  const auto rows = [&](const List& x, int64_t heads, int64_t steps, int64_t size) {
    return c.packed ? tensor<T>({B, steps, heads * size}, pack(x, B, heads, steps, size))
                    : tensor<T>({B, heads, steps, size}, x);
  };
  std::vector<Value> in{rows(q, H, L, D), rows(k, K, S, D), rows(v, K, S, V),
                        mask_value,       past_key,         past_value};
  if (nonpad) in.push_back(nonpad);
  check(op, in,
        {rows(y, H, L, V), tensor<T>({B, K, all, D}, keys), tensor<T>({B, K, all, V}, values),
         tensor<T>({B, H, L, all}, scores)},
        tolerance, tolerance, version);
}

}  // namespace

TEST_CASE("Attention: heads, masks, the past, windows, scores") {
  const Case cases[] = {
      {},
      {.heads = 2},
      {.kv_heads = 1, .queries = 1},
      {.heads = 3, .kv_heads = 3, .queries = 17, .keys = 33},
      {.past = 4},
      {.keys = 0, .past = 4},
      {.keys = 0},
      {.queries = 0},
      {.batch = 0},
      {.size = 0},
      {.value_size = 0},
      {.mask = {3, 5}},
      {.mask = {5}, .bool_mask = true},
      {.past = 2, .mask = {3, 5}},  // shorter than the keys
      {.past = 2, .mask = {2, 4, 3, 7}, .bool_mask = true},
      {.mask = {4, 3, 5}},
      {.mask = {2, 1, 1, 5}},
      {.mask = {3, 1}},
      {.mask = {3, 0}},
      {.nonpad = {5, 2}},
      {.mask = {2, 1, 3, 4}, .bool_mask = true, .nonpad = {3, 0}},
  };
  const op::Attention forms[] = {
      {},
      {.is_causal = 1},
      {.is_causal = 1, .left_window_size = 1},
      {.left_window_size = 0, .right_window_size = 2},
      {.left_window_size = INT64_MAX, .right_window_size = INT64_MAX},
      {.qk_matmul_output_mode = 1, .softcap = 0.5f},
      {.is_causal = 1, .qk_matmul_output_mode = 2, .scale = 0.25f, .softcap = 2},
      {.is_causal = 1, .qk_matmul_output_mode = 3, .right_window_size = 0},
  };
  for (Case c : cases)
    for (const op::Attention& form : forms)
      for (bool packed : {false, true}) {
        CAPTURE(&form - forms);
        c.packed = packed;
        check_case<float>(c, form, 1e-5);
      }
}

TEST_CASE("Attention: pieces of many queries and keys") {
  for (int64_t causal : {0, 1}) {
    check_case<float>(
        {.batch = 1, .heads = 2, .kv_heads = 1, .queries = 40, .keys = 6000, .size = 3, .value_size = 2},
        {.is_causal = causal}, 1e-4);
    check_case<float>(
        {.batch = 1, .queries = 70, .keys = 70, .size = 8, .past = 9, .packed = true, .mask = {70, 79}},
        {.is_causal = causal, .left_window_size = 20}, 1e-5);
  }
}

TEST_CASE("Attention: types, the precision of the softmax") {
  const Case plain, masked{.past = 3, .mask = {2, 1, 3, 8}};
  for (const Case& c : {plain, masked}) {
    check_case<double>(c, {.is_causal = 1}, 1e-12);
    check_case<float16>(c, {.is_causal = 1}, 4e-3);
    check_case<bfloat16>(c, {.is_causal = 1}, 3e-2);
    for (int64_t precision : {dtype<float>, dtype<double>}) {
      check_case<float>(c, {.softmax_precision = precision}, 1e-5);
      check_case<double>(c, {.softmax_precision = precision}, 1e-5);
      check_case<float16>(c, {.softmax_precision = precision}, 4e-3);
    }
    check_case<float>(c, {.softmax_precision = dtype<float16>}, 2e-3);
    check_case<double>(c, {.softmax_precision = dtype<bfloat16>}, 2e-2);
  }
  // V of another type; masks of every kind of number, rounded as Q's type holds them.
  const Value q = t<float>({1, 1, 1, 1}, {1}), k = t<float>({1, 1, 2, 1}, {0, 0});
  const Value y = t<float>({1, 1, 1, 1}, {2.5f});
  check(op::Attention{}, {q, k, cast<float16>({1, 1, 2, 1}, {1, 4})}, {y});
  check(op::Attention{}, {q, k, t<double>({1, 1, 2, 1}, {1, 4})}, {y, k, t<double>({1, 1, 2, 1}, {1, 4})});
  const Value v = t<float>({1, 1, 2, 1}, {1, 4});
  for (DType d : {DType::float64, DType::bfloat16, DType::int8, DType::int16, DType::int32, DType::int64,
                  DType::uint8, DType::uint16, DType::uint32, DType::uint64}) {
    check(op::Attention{}, {q, k, v, cast(d, {1, 2}, {7, 7})}, {y});
    check(op::Attention{}, {q, k, v, cast(d, {1, 2}, {0, 100})}, {t<float>({1, 1, 1, 1}, {4})});
  }
  const Value qh = cast<float16>({1, 1, 1, 1}, {1}), kh = cast<float16>({1, 1, 2, 1}, {0, 0});
  check(op::Attention{}, {qh, kh, cast<float16>({1, 1, 2, 1}, {1, 4}), t<float>({1, 2}, {-1e9f, -1e9f})},
        {cast<float16>({1, 1, 1, 1}, {0})});
}

TEST_CASE("Attention: masked queries, NaN, infinities") {
  const Value q = t<float>({1, 1, 2, 1}, {1, 1}), k = t<float>({1, 1, 2, 1}, {1, 2}),
              v = t<float>({1, 1, 2, 1}, {3, 5});
  const float inf = INFINITY;
  for (int version : {23, 24, 25}) {
    check(op::Attention{.qk_matmul_output_mode = 3}, {q, k, v, t<bool>({2, 2}, {false, false, true, false})},
          {t<float>({1, 1, 2, 1}, {0, 3}), k, v, t<float>({1, 1, 2, 2}, {0, 0, 1, 0})}, 1e-6, 1e-7, version);
    check(op::Attention{}, {q, k, v, t<float>({2, 2}, {-inf, -inf, NAN, 0})},
          {t<float>({1, 1, 2, 1}, {0, NAN})}, 1e-6, 1e-7, version);
  }
  // Keys that no query may attend to are not read; a mask is added.
  const Value nan = t<float>({1, 1, 2, 1}, {1, NAN});
  check(op::Attention{.is_causal = 1}, {t<float>({1, 1, 1, 1}, {1}), nan, nan},
        {t<float>({1, 1, 1, 1}, {1})});
  check(op::Attention{}, {q, k, nan, t<bool>({2, 2}, {true, false, true, true})},
        {t<float>({1, 1, 2, 1}, {NAN, NAN})});
}

TEST_CASE("Attention: no elements, whatever the extents") {
  constexpr int64_t many = int64_t{1} << 40;
  const auto empty = [](const Extents& e) -> Value { return Tensor<float>(e); };
  check(op::Attention{}, {empty({1, 2, many, 0}), empty({1, 2, 3, 0}), empty({1, 2, 3, 0})},
        {empty({1, 2, many, 0}), empty({1, 2, 3, 0}), empty({1, 2, 3, 0})});
  check(op::Attention{}, {empty({0, many, many, 2}), empty({0, many, many, 2}), empty({0, many, many, 2})},
        {empty({0, many, many, 2})});
  check(op::Attention{}, {empty({1, 2, 0, 1}), t<float>({1, 1, 1, 1}, {3}), t<float>({1, 1, 1, 1}, {4})},
        {empty({1, 2, 0, 1}), t<float>({1, 1, 1, 1}, {3}), t<float>({1, 1, 1, 1}, {4})});
}

TEST_CASE("Attention: versions") {
  check_case<float>({.past = 2, .mask = {2, 4, 3, 7}}, {.is_causal = 1}, 1e-5, 23);
  check_case<float>({.nonpad = {3, 4}}, {.is_causal = 1}, 1e-5, 24);
  const Value q = t<float>({1, 1, 1, 1}, {1}), k = t<float>({1, 1, 2, 1}, {0, 0}),
              v = t<float>({1, 1, 2, 1}, {1, 4});
  // A mask of one key.
  check(stated<op::Attention>(23), {q, k, v, t<float>({1, 1}, {9})}, {t<float>({1, 1, 1, 1}, {2.5f})});
  check(stated<op::Attention>(23), {q, k, v, t<float>({}, {9})}, {t<float>({1, 1, 1, 1}, {2.5f})});
  check(stated<op::Attention>(24), {q, k, v, t<float>({1, 1}, {9})}, {t<float>({1, 1, 1, 1}, {1})});
  check_fails(stated<op::Attention>(24), {q, k, v, t<float>({}, {9})}, "attn_mask: rank 0");
  check_fails(stated<op::Attention>(23), {q, k, v, Value(), Value(), Value(), t<int64_t>({1}, {1})},
              "nonpad_kv_seqlen");
  check_refused<op::Attention>(24, {{"left_window_size", int64_t{1}}}, "has no attribute 'left_window_size'");
}

TEST_CASE("Attention: the same bits on any number of threads") {
  const Value q = tensor<float>({2, 4, 50, 16}, numbers(6400, 1)),
              k = tensor<float>({2, 2, 60, 16}, numbers(3840, 2));
  const std::vector<Value> alone = run(op::Attention{.is_causal = 1}, {q, k, k}, 1);
  ThreadPool pool(3);
  const ScopedPool scope(pool);
  check(op::Attention{.is_causal = 1}, {q, k, k}, alone, 0, 0);
}

TEST_CASE("Attention: errors") {
  const auto zeros = [](const Extents& e) -> Value { return Tensor<float>(e); };
  using A = op::Attention;
  const Value none, q = zeros({1, 4, 2, 3}), k = zeros({1, 2, 5, 3}), v = zeros({1, 2, 5, 6}),
                    packed = zeros({1, 2, 12});
  check_fails(A{}, {q, packed, v}, "K: rank 3, expected 4");
  check_fails(A{}, {zeros({2, 2}), k, v}, "Q: rank 2, expected 3 or 4");
  check_fails(A{}, {packed, packed, packed}, "rank 3 needs q_num_heads and kv_num_heads");
  check_fails(A{.kv_num_heads = 2, .q_num_heads = 0}, {packed, packed, packed},
              "q_num_heads: 0, expected at least 1");
  check_fails(A{.kv_num_heads = 5, .q_num_heads = 4}, {packed, packed, packed},
              "12 numbers do not make 5 heads");
  check_fails(A{.kv_num_heads = 2, .q_num_heads = 4}, {packed, packed, packed},
              "head sizes of Q and K differ: 3 and 6");
  check_fails(A{}, {q, zeros({2, 2, 5, 3}), v}, "batches of Q and K differ: 1 and 2");
  check_fails(A{}, {q, zeros({1, 3, 5, 3}), v}, "heads of K and V differ: 3 and 2");
  check_fails(A{}, {q, zeros({1, 3, 5, 3}), zeros({1, 3, 5, 6})}, "3 heads of K do not serve 4 heads of Q");
  check_fails(A{}, {q, zeros({1, 0, 5, 3}), zeros({1, 0, 5, 6})}, "0 heads of K do not serve 4 heads of Q");
  check_fails(A{}, {q, zeros({1, 2, 4, 3}), v}, "steps of K and V differ: 4 and 5");
  check_fails(A{}, {q, k, v, none, zeros({1, 2, 1, 3})}, "past_key and past_value come together");
  check_fails(A{}, {q, k, v, none, zeros({1, 2, 1, 3}), zeros({1, 2, 2, 6})},
              "steps of past_key and past_value differ: 1 and 2");
  check_fails(A{}, {q, k, v, none, zeros({1, 2, 1, 4}), zeros({1, 2, 1, 6})},
              "past_key: (1,2,1,4), expected (1,2,1,3)");
  check_fails(A{}, {q, k, v, none, zeros({1, 2, 1, 3}), zeros({1, 2, 1, 6}), t<int64_t>({1}, {1})},
              "nonpad_kv_seqlen is of keys");
  check_fails(A{}, {q, k, v, none, none, none, t<int64_t>({1}, {6})},
              "nonpad_kv_seqlen has 6, but there are 5 keys");
  check_fails(A{}, {q, k, v, none, none, none, t<int64_t>({1}, {-1})}, "nonpad_kv_seqlen has -1");
  check_fails(A{}, {q, k, v, none, none, none, t<int64_t>({2}, {1, 1})},
              "nonpad_kv_seqlen: (2), expected (1)");
  check_fails(A{}, {q, k, v, zeros({2, 6})}, "attn_mask (2,6) does not stretch to (1,4,2,5)");
  check_fails(A{}, {q, k, v, zeros({3, 5})}, "attn_mask (3,5) does not stretch");
  check_fails(A{}, {q, k, v, zeros({1, 1, 1, 1, 5})}, "attn_mask: rank 5, expected at most 4");
  check_fails(A{.left_window_size = -2}, {q, k, v}, "left_window_size: -2, expected at least -1");
  check_fails(A{.qk_matmul_output_mode = 4}, {q, k, v}, "qk_matmul_output_mode: 4, expected 0, 1, 2 or 3");
  check_fails(A{.softcap = -1}, {q, k, v}, "softcap is negative");
  check_fails(A{.softmax_precision = 7}, {q, k, v}, "softmax_precision: 7, expected");
}

TEST_CASE("Attention: symbols, a typed call") {
  const auto b = Dim::symbol(1), s = Dim::symbol(2), p = Dim::symbol(3);
  const auto of = [](const Dims& d) { return info(DType::float32, d); };
  auto out = infer(op::Attention{}, {of({b, 4, s, 8}), of({b, 2, s, 8}), of({b, 2, s, 6})}, 4);
  CHECK(out[0].dims == Dims{b, 4, s, 6});
  CHECK(out[1].dims == Dims{b, 2, s, 8});
  CHECK(out[2].dims == Dims{b, 2, s, 6});
  CHECK(out[3].dims == Dims{b, 4, s, s});
  out = infer(
      op::Attention{.kv_num_heads = 2, .q_num_heads = 4},
      {of({b, s, 32}), of({b, s, 16}), of({b, s, 12}), op::Info(), of({b, 2, p, 8}), of({b, 2, p, 6})}, 4);
  CHECK(out[0].dims == Dims{b, s, 24});
  CHECK(out[1].dims == Dims{b, 2, Dim(), 8});
  CHECK(out[3].dims == Dims{b, 4, s, Dim()});
  CHECK(!infer(op::Attention{}, {of(Dims()), of(Dims()), of(Dims())})[0].dims.ranked());
  const Tensor<float> q({1, 1, 1, 1}, {3}), k({1, 1, 2, 1}, {0, 0}), v({1, 1, 2, 1}, {1, 2});
  const auto y = op::Attention{}(q, k, v);
  CHECK(y[0] == doctest::Approx(1.5));
}
}  // namespace tenon
