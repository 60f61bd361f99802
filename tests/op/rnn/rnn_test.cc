#include "tenon/op/rnn/rnn.hpp"

#include "tests/op/rnn/recurrent.hpp"

namespace tenon {
using namespace test;

namespace {

List cell(const Step& s) {
  List next;
  for (int64_t j = 0; j < static_cast<int64_t>(s.h.size()); ++j)
    next.push_back(s.act(0, s.from_x(0, j) + s.recur(0, j, s.h) + s.bias(0, j)));
  return next;
}

}  // namespace

TEST_CASE("RNN: directions, layouts, lengths, types") { check_forms(op::RNN{}, 1, {hyperbolic}, cell); }

TEST_CASE("RNN: the same bits on any number of threads") { check_threads(op::RNN{}, 1, 2); }

TEST_CASE("RNN: activations, clip") {
  RecurrentCase k;
  k.functions = {[](double x) { return std::max(x, 0.0); }, [](double x) { return x < 0 ? 0.5 * x : x; }};
  check_recurrent<double>(
      k,
      op::RNN{.activation_alpha = {0.5f}, .activations = {"Relu", "LeakyRelu"}, .direction = "bidirectional"},
      1, {hyperbolic}, cell, 1e-10);
  // One direction takes the first of two names, as in ONNX's default.
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"Relu"}, std::vector<std::string>{"Relu", "Tanh"}})
    check_recurrent<double>(k, op::RNN{.activations = names}, 1, {hyperbolic}, cell, 1e-10);
  check_recurrent<float>({}, op::RNN{.clip = 0.25f}, 1, {hyperbolic}, cell, 1e-5);
  check_recurrent<float>({}, op::RNN{.activations = {}}, 1, {hyperbolic}, cell, 1e-5);
}

TEST_CASE("RNN: versions, results left out") {
  const Value x = t<float>({2, 1, 1}, {1, 2}), w = t<float>({1, 1, 1}, {0.5f}), r = t<float>({1, 1, 1}, {1});
  const float first = std::tanh(0.5f), second = std::tanh(1 + first);
  for (int version : {1, 7, 14, 22})
    check(op::RNN{}, {x, w, r}, {t<float>({2, 1, 1, 1}, {first, second}), t<float>({1, 1, 1}, {second})},
          1e-6, 1e-7, version);
  check(stated<op::RNN>(1, {{"output_sequence", int64_t{1}}}), {x, w, r},
        {t<float>({2, 1, 1, 1}, {first, second})});
  check_refused<op::RNN>(7, {{"layout", int64_t{1}}}, "has no attribute 'layout'");
  check_fails(op::RNN{}, {cast<bfloat16>({1, 1, 1}, {1}), w, r}, "X cannot be tensor(bfloat16)", 1, 14);
}

TEST_CASE("RNN: errors") {
  const auto zeros = [](const Extents& e) -> Value { return Tensor<float>(e); };
  const Value none, x = zeros({2, 3, 4}), w = zeros({1, 5, 4}), r = zeros({1, 5, 5});
  using R = op::RNN;
  check_fails(R{}, {x, w, r, none, t<int32_t>({3}, {1, 2, 3})}, "sequence_lens has 3, but X has 2 steps");
  check_fails(R{.direction = "up"}, {x, w, r}, "direction: 'up', expected forward, reverse or bidirectional");
  check_fails(R{.direction = "bidirectional"}, {x, w, r}, "W: (1,5,4), expected (2,5,4)");
  check_fails(R{.activations = {"Tanh"}, .direction = "bidirectional"},
              {x, zeros({2, 5, 4}), zeros({2, 5, 5})}, "activations: 1 entries, expected 2");
  check_fails(R{.activations = {"Tanh", "Tanh", "Tanh"}}, {x, w, r}, "activations: 3 entries, expected 1");
  check_fails(R{.activations = {"Tan"}}, {x, w, r}, "activation 'Tan' is unknown");
  check_fails(R{.hidden_size = 4}, {x, w, r}, "hidden_size and extents of R differ: 4 and 5");
  check_fails(R{}, {x, w, r, zeros({1, 5})}, "B: (1,5), expected (1,10)");
  check_fails(R{}, {x, w, r, none, none, zeros({1, 2, 5})}, "initial_h: (1,2,5), expected (1,3,5)");
  check_fails(R{.clip = -1.0f}, {x, w, r}, "clip is negative");
  check_fails(R{.hidden_size = -1}, {x, w, r}, "hidden_size: -1, expected at least 0");
  // Without elements, R and X may state any extent.
  constexpr int64_t huge = int64_t{1} << 62;
  check_fails(R{}, {zeros({2, 0, 4}), zeros({1, 0, 4}), zeros({1, 0, huge}), zeros({1, 0})},
              "hidden_size 4611686018427387904 is too large");
  check(R{}, {zeros({2, huge, 0}), zeros({1, 0, 0}), zeros({1, 0, 0})}, {zeros({2, 1, huge, 0})});
}

TEST_CASE("RNN: symbols, a typed call") {
  const auto s = Dim::symbol(1), b = Dim::symbol(2);
  const auto out = infer(
      op::RNN{.layout = 1},
      {info(DType::float32, {b, s, 4}), info(DType::float32, {1, 3, 4}), info(DType::float32, {1, 3, 3})}, 2);
  CHECK(out[0].dims == Dims{b, s, 1, 3});
  CHECK(out[1].dims == Dims{b, 1, 3});
  const Tensor<float> x({1, 1, 1}, {1}), w({1, 1, 1}, {0.5f}), r({1, 1, 1}, {1});
  const auto y = op::RNN{}(x, w, r);
  CHECK(y[0] == doctest::Approx(std::tanh(0.5f)));
}
}  // namespace tenon
