#include "tenon/op/rnn/gru.hpp"

#include "tests/op/rnn/recurrent.hpp"

namespace tenon {
using namespace test;

namespace {

Cell cell(bool linear_before_reset) {
  return [=](const Step& s) {
    const auto size = static_cast<int64_t>(s.h.size());
    const auto gate = [&](int64_t g, int64_t j) {
      return s.act(0, s.from_x(g, j) + s.recur(g, j, s.h) + s.bias(g, j));
    };
    List kept, next;
    for (int64_t j = 0; j < size; ++j) kept.push_back(gate(1, j) * s.h[static_cast<std::size_t>(j)]);
    for (int64_t j = 0; j < size; ++j) {
      const double product = linear_before_reset ? gate(1, j) * (s.recur(2, j, s.h) + s.bias(2, j))
                                                 : s.recur(2, j, kept) + s.bias(2, j);
      const double z = gate(0, j), fresh = s.act(1, s.from_x(2, j) + product);
      next.push_back((1 - z) * fresh + z * s.h[static_cast<std::size_t>(j)]);
    }
    return next;
  };
}
const std::vector<Function> defaults{sigmoid, hyperbolic};

}  // namespace

TEST_CASE("GRU: directions, layouts, lengths, types") {
  for (bool linear : {false, true})
    check_forms(op::GRU{.linear_before_reset = linear}, 3, defaults, cell(linear));
}

TEST_CASE("GRU: activations, clip") {
  RecurrentCase k;
  const Function relu = [](double x) { return std::max(x, 0.0); },
                 hard = [](double x) { return std::clamp(0.25 * x + 0.125, 0.0, 1.0); },
                 scaled = [](double x) { return 0.5 * std::tanh(2 * x); };
  k.functions = {hard, relu, sigmoid, scaled};
  for (bool linear : {false, true}) {
    check_recurrent<double>(k,
                            op::GRU{.activation_alpha = {0.25f, 0.5f},
                                    .activation_beta = {0.125f, 2},
                                    .activations = {"HardSigmoid", "Relu", "Sigmoid", "ScaledTanh"},
                                    .direction = "bidirectional",
                                    .linear_before_reset = linear},
                            3, defaults, cell(linear), 1e-9);
    check_recurrent<float>({}, op::GRU{.clip = 0.25f, .linear_before_reset = linear}, 3, defaults,
                           cell(linear), 1e-5);
  }
}

TEST_CASE("GRU: the same bits on any number of threads") {
  for (int64_t linear : {0, 1}) check_threads(op::GRU{.linear_before_reset = linear}, 3, 2);
}

TEST_CASE("GRU: versions") {
  const RecurrentCase k{.steps = 2, .batch = 1, .input = 2, .hidden = 2};
  const Value x = tensor<float>({2, 1, 2}, numbers(4, 1)), w = tensor<float>({1, 6, 2}, numbers(12, 2)),
              r = tensor<float>({1, 6, 2}, numbers(12, 3));
  const std::vector<Value> newest = run(op::GRU{}, {x, w, r}, 2);
  for (int version : {1, 3, 7, 14, 22}) {
    CAPTURE(version);
    check(stated<op::GRU>(version), {x, w, r}, newest);
    check(op::GRU{.hidden_size = 2}, {x, w, r}, newest, 1e-6, 1e-7, version);
  }
  check(stated<op::GRU>(1, {{"output_sequence", int64_t{1}}, {"direction", std::string("foward")}}),
        {x, w, r}, newest);
  check(stated<op::GRU>(1, {{"direction", std::string("forward")}}), {x, w, r}, newest);
  check_fails(op::GRU{.direction = "foward"}, {x, w, r}, "'foward' is of version 1 only", 2);
  check_refused<op::GRU>(1, {{"linear_before_reset", int64_t{1}}}, "has no attribute 'linear_before_reset'");
  check_refused<op::GRU>(7, {{"layout", int64_t{1}}}, "has no attribute 'layout'");
  check_fails(op::GRU{}, {cast<bfloat16>({1, 1, 1}, {1}), w, r}, "X cannot be tensor(bfloat16)", 2, 14);
}

TEST_CASE("GRU: errors") {
  const auto zeros = [](const Extents& e) -> Value { return Tensor<float>(e); };
  const Value none, x = zeros({2, 3, 4}), w = zeros({1, 15, 4}), r = zeros({1, 15, 5});
  using G = op::GRU;
  check_fails(G{}, {x, w, r, none, t<int32_t>({3}, {1, -1, 2})}, "sequence_lens has -1, but X has 2 steps");
  check_fails(G{.direction = "up"}, {x, w, r}, "direction: 'up', expected forward, reverse or bidirectional");
  check_fails(G{.direction = "bidirectional"}, {x, w, r}, "W: (1,15,4), expected (2,15,4)");
  check_fails(G{.activations = {"Tanh"}}, {x, w, r}, "activations: 1 entries, expected 2");
  check_fails(G{.activations = {"Tanh", "Tan"}}, {x, w, r}, "activation 'Tan' is unknown");
  check_fails(G{.hidden_size = 4}, {x, w, r}, "hidden_size and extents of R differ: 4 and 5");
  check_fails(G{}, {x, w, r, zeros({1, 15})}, "B: (1,15), expected (1,30)");
  check_fails(G{}, {x, w, r, none, none, zeros({1, 2, 5})}, "initial_h: (1,2,5), expected (1,3,5)");
  check_fails(G{.layout = 2}, {x, w, r}, "layout: 2, expected 0 or 1");
}

TEST_CASE("GRU: symbols, a typed call") {
  const auto s = Dim::symbol(1), b = Dim::symbol(2);
  const auto out = infer(
      op::GRU{.direction = "bidirectional"},
      {info(DType::float32, {s, b, 4}), info(DType::float32, {2, 9, 4}), info(DType::float32, {2, 9, 3})}, 2);
  CHECK(out[0].dims == Dims{s, 2, b, 3});
  CHECK(out[1].dims == Dims{2, b, 3});
  const Tensor<float> x({1, 1, 1}, {1}), w({1, 3, 1}, {0, 0, 0.5f}), r({1, 3, 1}, {0, 0, 0});
  const auto [y, y_h] = op::call<2>(op::GRU{}, x, w, r);
  CHECK(y[0] == doctest::Approx(0.5 * std::tanh(0.5)));
  CHECK(y_h[0] == y[0]);
}
}  // namespace tenon
