#include "tenon/op/preview/flex_attention.hpp"

#include <cmath>

#include "tests/op/controlflow/body.hpp"
#include "tests/op/numbers.hpp"

namespace tenon {
using namespace test;

namespace {

std::size_t n(int64_t v) { return static_cast<std::size_t>(v); }

op::Info of_type(Type type, const Dims& dims) {
  op::Info i;
  i.type = type;
  i.dims = dims;
  return i;
}

/// A graph that gives f(number, key) for each number of a tensor of type P.
template <class P>
op::BodyRef each(double (*f)(double x, int64_t key)) {
  return body(
      1, 1, [](auto in) { return std::vector<op::Info>{of_type(in[0].type, in[0].dims)}; },
      [f](auto in) {
        const AnyTensor& x = in[0].tensor();
        REQUIRE(x.dtype() == dtype_of<P>);
        Tensor<P> y{x.extents()};
        for (int64_t k = 0; k < y.size(); ++k)
          y[k] = convert<P>(f(convert<double>(static_cast<const P*>(x.data())[k]), k % x.extents()[3]));
        return std::vector<Value>{std::move(y)};
      });
}
double same(double x, int64_t) { return x; }
double capped(double x, int64_t key) { return key == 1 ? -INFINITY : 0.5 * std::tanh(2 * x); }
double scaled(double x, int64_t key) { return key == 0 ? 0 : 0.5 * x; }

template <class T, class P>
void check_case(Opt<float> scale, Opt<int64_t> precision, bool score_mod, bool prob_mod, double tolerance) {
  const int64_t B = 2, H = 4, K = 2, L = 3, S = 5, D = 4, V = 6;
  const List q = numbers_of<T>(B * H * L * D, 1), k = numbers_of<T>(B * K * S * D, 2),
             v = numbers_of<T>(B * K * S * V, 3);
  List y(n(B * H * L * V));
  for (int64_t row = 0; row < B * H * L; ++row) {
    const int64_t b = row / (H * L), kv = b * K + row / L % H / (H / K);
    List e;
    double sum = 0;
    for (int64_t j = 0; j < S; ++j) {
      double x = 0;
      for (int64_t d = 0; d < D; ++d) x += q[n(row * D + d)] * k[n((kv * S + j) * D + d)];
      x *= scale ? *scale : 0.5;
      e.push_back(std::exp(score_mod ? capped(x, j) : x));
      sum += e.back();
    }
    for (int64_t j = 0; j < S; ++j) {
      const double w = e[n(j)] / sum;
      for (int64_t d = 0; d < V; ++d)
        y[n(row * V + d)] += (prob_mod ? scaled(w, j) : w) * v[n((kv * S + j) * V + d)];
    }
  }
  op::FlexAttention op{.scale = scale, .softmax_precision = precision};
  if (score_mod) op.score_mod = each<P>(capped);
  if (prob_mod) op.prob_mod = each<P>(scaled);
  check(op, {tensor<T>({B, H, L, D}, q), tensor<T>({B, K, S, D}, k), tensor<T>({B, K, S, V}, v)},
        {tensor<T>({B, H, L, V}, y)}, tolerance, tolerance);
}

}  // namespace

TEST_CASE("FlexAttention: graphs, scale, types") {
  for (bool score_mod : {false, true})
    for (bool prob_mod : {false, true}) {
      CAPTURE(score_mod);
      CAPTURE(prob_mod);
      check_case<float, float>({}, {}, score_mod, prob_mod, 1e-5);
      check_case<float, float>(0.75f, {}, score_mod, prob_mod, 1e-5);
      check_case<double, double>({}, {}, score_mod, prob_mod, 1e-12);
      check_case<float16, float>({}, {}, score_mod, prob_mod, 2e-3);
      check_case<bfloat16, float>({}, {}, score_mod, prob_mod, 2e-2);
      check_case<float, double>({}, dtype<double>, score_mod, prob_mod, 1e-6);
      check_case<float16, double>({}, dtype<double>, score_mod, prob_mod, 2e-3);
      check_case<double, float>({}, dtype<float>, score_mod, prob_mod, 1e-5);
      check_case<float, float16>({}, dtype<float16>, score_mod, prob_mod, 4e-3);
      check_case<float, bfloat16>({}, dtype<bfloat16>, score_mod, prob_mod, 3e-2);
      check_case<float16, float16>({}, dtype<float16>, score_mod, prob_mod, 8e-3);
    }
}

TEST_CASE("FlexAttention: a graph that gives its operand, nothing to attend to") {
  const Value q = t<float>({1, 1, 1, 1}, {1}), k = t<float>({1, 1, 2, 1}, {0, 0}),
              v = t<float>({1, 1, 2, 1}, {1, 4});
  const auto own = body(
      1, 1, [](auto in) { return std::vector<op::Info>(in.begin(), in.end()); },
      [](auto in) { return std::vector<Value>(in.begin(), in.end()); });
  check(op::FlexAttention{.prob_mod = own, .score_mod = own}, {q, k, v}, {t<float>({1, 1, 1, 1}, {2.5f})});
  const auto none = [](int64_t steps) -> Value { return Tensor<float>({1, 1, steps, 1}); };
  for (const op::FlexAttention& op :
       {op::FlexAttention{}, op::FlexAttention{.score_mod = each<float>(same)}}) {
    check(op, {none(0), k, v}, {none(0)});
    check(op, {q, none(0), none(0)}, {none(1)});
  }
}

TEST_CASE("FlexAttention: errors") {
  const auto zeros = [](const Extents& e) -> Value { return Tensor<float>(e); };
  using F = op::FlexAttention;
  const Value q = zeros({1, 4, 2, 3}), k = zeros({1, 2, 5, 3}), v = zeros({1, 2, 5, 6});
  check_fails(F{}, {zeros({2, 3, 4}), k, v}, "Q: rank 3, expected 4");
  check_fails(F{}, {q, zeros({2, 2, 5, 3}), v}, "batches of Q and K differ: 1 and 2");
  check_fails(F{}, {q, zeros({1, 3, 5, 3}), v}, "heads of K and V differ: 3 and 2");
  check_fails(F{}, {q, zeros({1, 3, 5, 3}), zeros({1, 3, 5, 6})}, "3 heads of K do not serve 4 heads of Q");
  check_fails(F{}, {q, zeros({1, 2, 4, 3}), v}, "steps of K and V differ: 4 and 5");
  check_fails(F{}, {q, zeros({1, 2, 5, 4}), v}, "head sizes of Q and K differ: 3 and 4");
  check_fails(F{.softmax_precision = 7}, {q, k, v}, "softmax_precision: 7");
  const auto gives = [](int in, int out, DType type, const Dims& dims) {
    return body(
        in, out,
        [=](auto) { return std::vector<op::Info>(static_cast<std::size_t>(out), of_type(type, dims)); },
        [](auto) { return std::vector<Value>{t<float>({1}, {1})}; });
  };
  check_fails(F{.score_mod = gives(2, 1, DType::float32, Dims())}, {q, k, v},
              "score_mod has 2 inputs and 1 outputs");
  check_fails(F{.prob_mod = gives(1, 1, DType::float64, Dims())}, {q, k, v}, "prob_mod changes the type");
  check_fails(F{.prob_mod = gives(1, 1, DType::float32, {1, 4, 2, 6})}, {q, k, v},
              "prob_mod turns (1,4,2,5) into (1,4,2,6)");
  check_fails(F{.score_mod = gives(1, 1, DType::float32, Dims())}, {q, k, v},
              "score_mod does not keep the type and extents");
}

TEST_CASE("FlexAttention: symbols, a typed call") {
  const auto b = Dim::symbol(1), s = Dim::symbol(2);
  const auto of = [](const Dims& d) { return info(DType::float32, d); };
  CHECK(infer(op::FlexAttention{}, {of({b, 4, s, 8}), of({b, 2, s, 8}), of({b, 2, s, 6})})[0].dims ==
        Dims{b, 4, s, 6});
  CHECK(infer(op::FlexAttention{}, {of(Dims()), of(Dims()), of(Dims())})[0].dims == Dims::of_rank(4));
  const Tensor<float> q({1, 1, 1, 1}, {3}), k({1, 1, 2, 1}, {0, 0}), v({1, 1, 2, 1}, {1, 2});
  const auto y = op::FlexAttention{}(q, k, v);
  CHECK(y[0] == doctest::Approx(1.5));
}
}  // namespace tenon
