#include "tenon/op/rnn/lstm.hpp"

#include <functional>

#include "tenon/base/convert.hpp"
#include "tenon/base/thread_pool.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {

using List = std::vector<double>;
using Function = std::function<double(double)>;

/// Numbers in [-scale, scale] that look random.
List numbers(int64_t n, unsigned seed, double scale = 1) {
  List list;
  uint32_t s = seed * 2654435761u + 1;
  for (int64_t k = 0; k < n; ++k) {
    s = s * 1664525u + 1013904223u;
    list.push_back((static_cast<double>(s >> 8) / (1 << 23) - 1) * scale);
  }
  return list;
}
template <class T>
Value tensor(const Extents& e, const List& values) {
  Tensor<T> t{std::span<const int64_t>(e)};
  for (int64_t k = 0; k < t.size(); ++k) t[k] = convert<T>(values[static_cast<std::size_t>(k)]);
  return t;
}
double at(const List& l, int64_t k) { return l.empty() ? 0 : l[static_cast<std::size_t>(k)]; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  int64_t steps = 4, batch = 3, input = 5, hidden = 6;
  bool bias = true, states = true, peephole = false;
  std::vector<int32_t> lens{};
  std::vector<Function> functions{
      sigmoid, [](double x) { return std::tanh(x); }, [](double x) { return std::tanh(x); },
      sigmoid, [](double x) { return std::tanh(x); }, [](double x) { return std::tanh(x); }};
};

struct Data {
  int64_t directions = 0;
  List x{}, w{}, r{}, b{}, h0{}, c0{}, p{}, y{}, h{}, c{};
};

/// The equations one number at a time; everything in layout 0.
Data reference(const Case& k, const op::LSTM& op) {
  const int64_t D = op::direction_count(op.direction), S = k.steps, B = k.batch, I = k.input, H = k.hidden;
  Data d{.directions = D};
  d.x = numbers(S * B * I, 1), d.w = numbers(D * 4 * H * I, 2, 0.7),
  d.r = numbers(D * 4 * H * H, 3, 1 / std::sqrt(static_cast<double>(H)));
  if (k.bias) d.b = numbers(D * 8 * H, 4, 0.5);
  if (k.states) d.h0 = numbers(D * B * H, 5), d.c0 = numbers(D * B * H, 6, 2);
  if (k.peephole) d.p = numbers(D * 3 * H, 7);
  const auto n = [](int64_t v) { return static_cast<std::size_t>(v); };
  d.y.assign(n(S * D * B * H), 0), d.h.assign(n(D * B * H), 0), d.c.assign(n(D * B * H), 0);
  const double clip = op.clip ? *op.clip : INFINITY;
  for (int64_t e = 0; e < D; ++e) {
    const auto act = [&](int f, double x) { return k.functions[n(e * 3 + f)](std::clamp(x, -clip, clip)); };
    for (int64_t b = 0; b < B; ++b) {
      const int64_t length = k.lens.empty() ? S : k.lens[n(b)];
      List h, c;
      for (int64_t j = 0; j < H; ++j)
        h.push_back(at(d.h0, (e * B + b) * H + j)), c.push_back(at(d.c0, (e * B + b) * H + j));
      for (int64_t s = 0; s < length; ++s) {
        const int64_t t = e == 1 || op.direction == "reverse" ? length - 1 - s : s;
        List next_h = h;
        for (int64_t j = 0; j < H; ++j) {
          double gate[4];
          for (int64_t g = 0; g < 4; ++g) {
            const int64_t row = g * H + j;
            gate[g] = at(d.b, e * 8 * H + row) + at(d.b, e * 8 * H + 4 * H + row);
            for (int64_t i = 0; i < I; ++i)
              gate[g] += d.x[n((t * B + b) * I + i)] * d.w[n((e * 4 * H + row) * I + i)];
            for (int64_t i = 0; i < H; ++i) gate[g] += h[n(i)] * d.r[n((e * 4 * H + row) * H + i)];
          }
          const double in = act(0, gate[0] + at(d.p, e * 3 * H + j) * c[n(j)]);
          double forget = act(0, gate[2] + at(d.p, e * 3 * H + 2 * H + j) * c[n(j)]);
          if (op.input_forget) forget = 1 - in;
          c[n(j)] = forget * c[n(j)] + in * act(1, gate[3]);
          const double out = act(0, gate[1] + at(d.p, e * 3 * H + H + j) * c[n(j)]);
          next_h[n(j)] = out * act(2, c[n(j)]);
        }
        h = next_h;
        for (int64_t j = 0; j < H; ++j) d.y[n(((t * D + e) * B + b) * H + j)] = h[n(j)];
      }
      for (int64_t j = 0; j < H; ++j)
        d.h[n((e * B + b) * H + j)] = h[n(j)], d.c[n((e * B + b) * H + j)] = c[n(j)];
    }
  }
  return d;
}

/// (a, b, c, d) as (c, a, b, d) — layout 1's order of Y — or with a = 1 as (b ↔ c swapped).
List batch_first(const List& l, int64_t a, int64_t b, int64_t c, int64_t d) {
  List r;
  for (int64_t k = 0; k < c; ++k)
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j)
        for (int64_t m = 0; m < d; ++m)
          r.push_back(l[static_cast<std::size_t>(((i * b + j) * c + k) * d + m)]);
  return r;
}

template <class T>
void check_case(const Case& k, op::LSTM op, double tolerance) {
  const Data d = reference(k, op);
  const int64_t D = d.directions, S = k.steps, B = k.batch, I = k.input, H = k.hidden;
  if (k.functions.empty()) return;
  Value lens;
  if (!k.lens.empty()) lens = Tensor<int32_t>(Extents{B}, k.lens.begin(), k.lens.end());
  for (int64_t layout : {0, 1}) {
    op.layout = layout;
    const bool l = layout == 1;
    const Extents state = l ? Extents{B, D, H} : Extents{D, B, H};
    const auto arranged = [&](const List& s) { return l ? batch_first(s, 1, D, B, H) : s; };
    Value h0, c0, b, p;
    if (k.states) h0 = tensor<T>(state, arranged(d.h0)), c0 = tensor<T>(state, arranged(d.c0));
    if (k.bias) b = tensor<T>({D, 8 * H}, d.b);
    if (k.peephole) p = tensor<T>({D, 3 * H}, d.p);
    const Value x =
        tensor<T>(l ? Extents{B, S, I} : Extents{S, B, I}, l ? batch_first(d.x, 1, S, B, I) : d.x);
    const Value y =
        tensor<T>(l ? Extents{B, S, D, H} : Extents{S, D, B, H}, l ? batch_first(d.y, S, D, B, H) : d.y);
    check(op, {x, tensor<T>({D, 4 * H, I}, d.w), tensor<T>({D, 4 * H, H}, d.r), b, lens, h0, c0, p},
          {y, tensor<T>(state, arranged(d.h)), tensor<T>(state, arranged(d.c))}, tolerance, tolerance);
  }
}

}  // namespace

TEST_CASE("LSTM: directions, layouts, lengths, peepholes, types") {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    CAPTURE(direction);
    const op::LSTM op{.direction = direction};
    const Case cases[] = {
        {},
        {.bias = false, .states = false},
        {.peephole = true},
        {.lens = {4, 0, 2}},
        {.peephole = true, .lens = {1, 4, 3}},
        {.steps = 1, .batch = 1, .input = 1, .hidden = 1},
        {.steps = 9, .batch = 7, .input = 3, .hidden = 17},
        {.steps = 300, .batch = 1, .input = 2, .hidden = 2},
        {.steps = 0},
        {.batch = 0},
    };
    for (const Case& k : cases) {
      CAPTURE(&k - cases);
      check_case<double>(k, op, 1e-10);
      check_case<float>(k, op, 2e-5);
    }
    check_case<float16>({}, op, 1e-2);
    check_case<bfloat16>({}, op, 8e-2);
  }
  // The product of the inputs in several pieces.
  check_case<float>({.steps = 70, .batch = 5, .input = 4, .hidden = 120},
                    op::LSTM{.direction = "bidirectional"}, 1e-4);
}

TEST_CASE("LSTM: activations, clip, coupled gates") {
  const struct {
    const char* name;
    std::vector<float> alpha, beta;
    Function f;
  } rows[] = {
      {"Relu", {}, {}, [](double x) { return std::max(x, 0.0); }},
      {"Tanh", {}, {}, [](double x) { return std::tanh(x); }},
      {"sigmoid", {}, {}, sigmoid},
      {"Affine", {}, {}, [](double x) { return x; }},
      {"Affine", {0.5f}, {0.25f}, [](double x) { return 0.5 * x + 0.25; }},
      {"LeakyRelu", {}, {}, [](double x) { return x < 0 ? 0.01f * x : x; }},
      {"LeakyRelu", {0.5f}, {}, [](double x) { return x < 0 ? 0.5 * x : x; }},
      {"ThresholdedRelu", {}, {}, [](double x) { return x >= 1 ? x : 0; }},
      {"ThresholdedRelu", {0.25f}, {}, [](double x) { return x >= 0.25 ? x : 0; }},
      {"ScaledTanh", {}, {}, [](double x) { return std::tanh(x); }},
      {"ScaledTanh", {0.5f}, {2}, [](double x) { return 0.5 * std::tanh(2 * x); }},
      {"HardSigmoid", {}, {}, [](double x) { return std::clamp(0.2f * x + 0.5, 0.0, 1.0); }},
      {"HardSigmoid", {0.5f}, {0.25f}, [](double x) { return std::clamp(0.5 * x + 0.25, 0.0, 1.0); }},
      {"Elu", {}, {}, [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {"Elu", {0.5f}, {}, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }},
      {"Softsign", {}, {}, [](double x) { return x / (1 + std::abs(x)); }},
      {"SOFTPLUS", {}, {}, [](double x) { return std::log1p(std::exp(x)); }},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    // As f, as g and as h; the others take no parameters.
    for (std::size_t place = 0; place < 3; ++place) {
      std::vector<std::string> names{"Sigmoid", "Tanh", "Tanh"};
      names[place] = row.name;
      Case k;
      k.functions[place] = row.f;
      check_case<double>(
          k, op::LSTM{.activation_alpha = row.alpha, .activation_beta = row.beta, .activations = names},
          1e-7);
    }
  }
  // Parameters go to those that take them, in order, over both directions.
  Case k;
  k.functions[1] = [](double x) { return x < 0 ? 0.5 * x : x; };
  k.functions[3] = [](double x) { return std::clamp(0.25 * x + 0.125, 0.0, 1.0); };
  k.functions[5] = [](double x) { return x; };
  check_case<double>(
      k,
      op::LSTM{.activation_alpha = {0.5f, 0.25f},
               .activation_beta = {0.125f},
               .activations = {"Sigmoid", "LeakyRelu", "Tanh", "HardSigmoid", "Tanh", "Affine"},
               .direction = "bidirectional"},
      1e-9);
  for (bool peephole : {false, true}) {
    check_case<float>({.peephole = peephole}, op::LSTM{.clip = 0.25f}, 1e-5);
    check_case<float>({.peephole = peephole}, op::LSTM{.clip = 0.0f}, 1e-5);
    check_case<float>({.peephole = peephole}, op::LSTM{.input_forget = 1}, 1e-5);
  }
}

TEST_CASE("LSTM: the same bits on any number of threads") {
  for (int64_t batch : {1, 40}) {
    const Value x = tensor<float>({5, batch, 8}, numbers(5 * batch * 8, 1));
    const Value w = tensor<float>({2, 256, 8}, numbers(2 * 256 * 8, 2)),
                r = tensor<float>({2, 256, 64}, numbers(2 * 256 * 64, 3, 0.1));
    const std::vector<Value> alone = run(op::LSTM{.direction = "bidirectional"}, {x, w, r}, 3);
    ThreadPool pool(3);
    const ScopedPool scope(pool);
    check(op::LSTM{.direction = "bidirectional"}, {x, w, r}, alone, 0, 0);
  }
}

TEST_CASE("LSTM: results left out, earlier versions") {
  const Case k{.steps = 2, .batch = 1, .input = 2, .hidden = 2, .bias = false, .states = false};
  const Data d = reference(k, {});
  const Value x = tensor<float>({2, 1, 2}, d.x), w = tensor<float>({1, 8, 2}, d.w),
              r = tensor<float>({1, 8, 2}, d.r);
  const Value y = tensor<float>({2, 1, 1, 2}, d.y), h = tensor<float>({1, 1, 2}, d.h);
  for (int version : {1, 7, 14, 22})
    check(op::LSTM{.hidden_size = 2}, {x, w, r}, {y, h}, 1e-5, 1e-6, version);
  check(op::LSTM{}, {x, w, r}, {y}, 1e-5, 1e-6);
  const AnyOperator any = AnyOperator::make(op::LSTM{});
  Value y_c = AnyTensor::uninitialized(DType::float32, {1, 1, 2});
  const Value* in[] = {&x, &w, &r};
  Value* out[] = {nullptr, nullptr, &y_c};
  op::Context context;
  any.run(context, in, out);
  check_equal(y_c, tensor<float>({1, 1, 2}, d.c), 1e-5, 1e-6);
  stated<op::LSTM>(1, {{"output_sequence", int64_t{1}}});
  CHECK_THROWS_AS(stated<op::LSTM>(1, {{"layout", int64_t{1}}}), Error);
  CHECK_THROWS_AS(stated<op::LSTM>(7, {{"output_sequence", int64_t{1}}}), Error);
}

TEST_CASE("LSTM: what is refused") {
  const auto zeros = [](const Extents& e) -> Value { return Tensor<float>(e); };
  const Value none, x = zeros({2, 3, 4}), w = zeros({1, 20, 4}), r = zeros({1, 20, 5});
  const Value lens = t<int32_t>({3}, {1, 2, 2});
  using L = op::LSTM;
  check(L{}, {x, w, r, none, lens}, {Value()});
  check_fails(L{}, {x, w, r, none, t<int32_t>({3}, {1, 2, 3})}, "sequence_lens has 3, but X has 2 steps");
  check_fails(L{}, {x, w, r, none, t<int32_t>({3}, {-1, 2, 2})}, "sequence_lens has -1");
  check_fails(L{}, {x, w, r, none, t<int32_t>({2}, {1, 2})}, "sequence_lens: (2), expected (3)");
  check_fails(L{.direction = "sideways"}, {x, w, r},
              "direction: 'sideways', expected forward, reverse or bidirectional");
  check_fails(L{.direction = "bidirectional"}, {x, w, r}, "W: (1,20,4), expected (2,20,4)");
  check_fails(L{.hidden_size = 4}, {x, w, r}, "hidden_size and extents of R differ: 4 and 5");
  check_fails(L{}, {zeros({2, 3}), w, r}, "X: rank 2, expected 3");
  check_fails(L{}, {x, zeros({1, 16, 4}), r}, "W: (1,16,4), expected (1,20,4)");
  check_fails(L{}, {x, zeros({1, 20, 3}), r}, "W: (1,20,3), expected (1,20,4)");
  check_fails(L{}, {x, w, zeros({1, 5, 5})}, "R: (1,5,5), expected (1,20,5)");
  check_fails(L{}, {x, w, r, zeros({1, 20})}, "B: (1,20), expected (1,40)");
  check_fails(L{}, {x, w, r, none, none, zeros({1, 2, 5})}, "initial_h: (1,2,5), expected (1,3,5)");
  check_fails(L{}, {x, w, r, none, none, none, zeros({1, 3, 4})}, "initial_c: (1,3,4), expected (1,3,5)");
  check_fails(L{}, {x, w, r, none, none, none, none, zeros({1, 10})}, "P: (1,10), expected (1,15)");
  check_fails(L{.activations = {"Tanh"}}, {x, w, r}, "activations: 1 entries, expected 3");
  check_fails(L{.activations = {"Sigmoid", "Tanh", "Tan"}}, {x, w, r}, "activation 'Tan' is unknown");
  check_fails(L{.clip = -1.0f}, {x, w, r}, "clip is negative");
  check_fails(L{.layout = 2}, {x, w, r}, "layout: 2, expected 0 or 1");
  check_fails(L{}, {cast<bfloat16>({1, 1, 1}, {1}), w, r}, "X cannot be tensor(bfloat16)", 1, 14);
}

TEST_CASE("LSTM: symbols") {
  const auto s = Dim::symbol(1), b = Dim::symbol(2);
  const auto w = info(DType::float32, {2, 12, 4}), r = info(DType::float32, {2, 12, 3});
  const auto out = infer(op::LSTM{.direction = "bidirectional"}, {info(DType::float32, {s, b, 4}), w, r}, 3);
  CHECK(out[0].dims == Dims{s, 2, b, 3});
  CHECK(out[1].dims == Dims{2, b, 3});
  CHECK(out[2].dims == Dims{2, b, 3});
  const auto batch =
      infer(op::LSTM{.direction = "bidirectional", .layout = 1}, {info(DType::float32, {b, s, 4}), w, r}, 3);
  CHECK(batch[0].dims == Dims{b, s, 2, 3});
  CHECK(batch[2].dims == Dims{b, 2, 3});
  const auto open =
      infer(op::LSTM{.hidden_size = 7},
            {info(DType::float32, Dims()), info(DType::float32, Dims()), info(DType::float32, Dims())});
  CHECK(open[0].dims == Dims{Dim(), 1, Dim(), 7});
}
}  // namespace tenon
