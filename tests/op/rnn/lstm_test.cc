#include "tenon/op/rnn/lstm.hpp"

#include "tests/op/rnn/recurrent.hpp"

namespace tenon {
using namespace test;

namespace {

Cell cell(bool coupled) {
  return [=](const Step& s) {
    const auto size = static_cast<int64_t>(s.h.size());
    List next;
    for (int64_t j = 0; j < size; ++j) {
      const auto gate = [&](int64_t g) { return s.from_x(g, j) + s.recur(g, j, s.h) + s.bias(g, j); };
      const auto peephole = [&](int64_t g) { return s.peepholes[static_cast<std::size_t>(g * size + j)]; };
      double& c = s.c[static_cast<std::size_t>(j)];
      const double in = s.act(0, gate(0) + peephole(0) * c),
                   forget = coupled ? 1 - in : s.act(0, gate(2) + peephole(2) * c);
      c = forget * c + in * s.act(1, gate(3));
      next.push_back(s.act(0, gate(1) + peephole(1) * c) * s.act(2, c));
    }
    return next;
  };
}
const std::vector<Function> defaults{sigmoid, hyperbolic, hyperbolic};

/// Holds op, at both layouts, to the equations.
template <class T>
void check_lstm(const RecurrentCase& k, const op::LSTM& op, double tolerance) {
  check_recurrent<T>(k, op, 4, defaults, cell(op.input_forget != 0), tolerance);
}

}  // namespace

TEST_CASE("LSTM: directions, layouts, lengths, peepholes, types") {
  check_forms(op::LSTM{}, 4, defaults, cell(false));
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    CAPTURE(direction);
    const op::LSTM op{.direction = direction};
    check_lstm<double>({.peephole = true}, op, 1e-10);
    check_lstm<double>({.peephole = true, .lens = {1, 4, 3}}, op, 1e-10);
  }
  // The product of the inputs in several pieces.
  check_lstm<float>({.steps = 70, .batch = 5, .input = 4, .hidden = 120},
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
      RecurrentCase k{.functions = defaults};
      k.functions[place] = row.f;
      check_lstm<double>(
          k, op::LSTM{.activation_alpha = row.alpha, .activation_beta = row.beta, .activations = names},
          1e-7);
    }
  }
  // Parameters go to the functions that take them, in order, over both directions.
  RecurrentCase k;
  k.functions = {sigmoid,    [](double x) { return x < 0 ? 0.5 * x : x; },
                 hyperbolic, [](double x) { return std::clamp(0.25 * x + 0.125, 0.0, 1.0); },
                 hyperbolic, [](double x) { return x; }};
  check_lstm<double>(
      k,
      op::LSTM{.activation_alpha = {0.5f, 0.25f},
               .activation_beta = {0.125f},
               .activations = {"Sigmoid", "LeakyRelu", "Tanh", "HardSigmoid", "Tanh", "Affine"},
               .direction = "bidirectional"},
      1e-9);
  for (bool peephole : {false, true}) {
    check_lstm<float>({.peephole = peephole}, op::LSTM{.clip = 0.25f}, 1e-5);
    check_lstm<float>({.peephole = peephole}, op::LSTM{.clip = 0.0f}, 1e-5);
    check_lstm<float>({.peephole = peephole}, op::LSTM{.input_forget = 1}, 1e-5);
  }
}

TEST_CASE("LSTM: the same bits on any number of threads") { check_threads(op::LSTM{}, 4, 3); }

TEST_CASE("LSTM: results left out, earlier versions") {
  const Value x = tensor<float>({2, 1, 2}, numbers(4, 1)), w = tensor<float>({1, 8, 2}, numbers(16, 2)),
              r = tensor<float>({1, 8, 2}, numbers(16, 3));
  const std::vector<Value> newest = run(op::LSTM{}, {x, w, r}, 3);
  for (int version : {1, 7, 14, 22}) {
    CAPTURE(version);
    check(stated<op::LSTM>(version), {x, w, r}, newest);
    check(op::LSTM{.hidden_size = 2}, {x, w, r}, {newest[0], newest[1]}, 1e-6, 1e-7, version);
  }
  check(op::LSTM{}, {x, w, r}, {newest[0]});
  const AnyOperator any = AnyOperator::make(op::LSTM{});
  Value y_c = AnyTensor::uninitialized(DType::float32, {1, 1, 2});
  const Value* in[] = {&x, &w, &r};
  Value* out[] = {nullptr, nullptr, &y_c};
  op::Context context;
  any.run(context, in, out);
  check_equal(y_c, newest[2]);
  check(stated<op::LSTM>(1, {{"output_sequence", int64_t{1}}}), {x, w, r}, newest);
  check_refused<op::LSTM>(1, {{"layout", int64_t{1}}}, "has no attribute 'layout'");
  check_refused<op::LSTM>(7, {{"output_sequence", int64_t{1}}}, "has no attribute 'output_sequence'");
}

TEST_CASE("LSTM: errors") {
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
