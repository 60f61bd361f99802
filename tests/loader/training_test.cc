// Training: steps against formulas by hand, stages, bindings, and the state in files.
#include "tenon/training.hpp"
#include "loader/message.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

using Floats = std::vector<float>;

Model model_of(std::string_view graph) {
  return parse_text(
      str_cat("<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.preview.training\" : 1]>\n", graph));
}
Tensor<float> tensor(const Extents& extents, const Floats& numbers) {
  Tensor<float> t(extents);
  for (int64_t k = 0; k < t.size(); ++k) t[k] = numbers[static_cast<std::size_t>(k)];
  return t;
}
Floats floats(const Value& v) {
  const auto view = v.view<float>();
  return {view.data(), view.data() + view.size()};
}
void check_near(const Value& v, const std::vector<double>& expected) {
  const Floats got = floats(v);
  REQUIRE(got.size() == expected.size());
  for (std::size_t k = 0; k < got.size(); ++k)
    CHECK(static_cast<double>(got[k]) == doctest::Approx(expected[k]).epsilon(1e-4));
}
void check_rules(const Model& m) {
  for (const auto& d : check(m, {.full = true})) FAIL_CHECK(to_string(d));
}

// y = x w, and the loss sum((y - target)²) / 2, whose derivative by w is xᵀ (x w - target).
Model regression() {
  return model_of("g (float[n, 2] x) => (float[n, 1] y) <float[2, 1] w = {0.5, -1}> { y = MatMul (x, w) }");
}
constexpr std::string_view loss_nodes = R"(
  e = Sub (y, target)
  e2 = Mul (e, e)
  sum = ReduceSum <keepdims = 0> (e2)
  loss = Mul (sum, half)
  dw = ai.onnx.preview.training.Gradient <xs = ["w"], y = "loss"> (w)
)";
const Floats xs{1, 2, 3, 4, 5, 7}, targets{1, 0, 2};
Feeds batch() { return {{"x", tensor({3, 2}, xs)}, {"target", tensor({3, 1}, targets)}}; }

// The same in double.
struct Regression {
  std::vector<double> w{0.5, -1};

  std::vector<double> errors() const {
    std::vector<double> e;
    for (std::size_t k = 0; k < 3; ++k)
      e.push_back(static_cast<double>(xs[2 * k]) * w[0] + static_cast<double>(xs[2 * k + 1]) * w[1] -
                  static_cast<double>(targets[k]));
    return e;
  }
  double loss() const {
    double sum = 0;
    for (double e : errors()) sum += e * e;
    return sum / 2;
  }
  std::vector<double> gradient() const {
    std::vector<double> d(2);
    const std::vector<double> e = errors();
    for (std::size_t k = 0; k < 6; ++k) d[k % 2] += static_cast<double>(xs[k]) * e[k / 2];
    return d;
  }
};

Model sgd() {
  Model m = regression();
  add_training(m, {.algorithm = str_cat("step (float[n, 1] target) => (float loss, float[2, 1] w_new) "
                                        "<float half = {0.5}, float rate = {0.01}> {",
                                        loss_nodes, "change = Mul (rate, dw)\n w_new = Sub (w, change) }"),
                   .update = {{"w", "w_new"}}});
  return m;
}

TEST_CASE("Training: gradient descent by hand") {
  const Model m = sgd();
  check_rules(m);
  Training training(m);
  CHECK(training.stages() == 1);
  CHECK(training.variables() == std::vector<std::string>{"w"});
  Regression r;
  check_near(training["w"], r.w);
  const Value before = training["w"];
  for (int k = 0; k < 5; ++k) {
    Outputs out = training.step(batch());
    CHECK(out.names() == std::vector<std::string>{"loss", "w_new"});
    check_near(out["loss"], {r.loss()});
    const std::vector<double> d = r.gradient();
    for (std::size_t i = 0; i < 2; ++i) r.w[i] -= 0.01 * d[i];
    check_near(training["w"], r.w);
    check_near(out["w_new"], r.w);
  }
  check_near(before, {0.5, -1});  // values handed out stay as they were
  training.initialize();          // without initialization: the model's own values
  check_near(training["w"], {0.5, -1});
}

TEST_CASE("Training: new values lie where older ones did, unless somebody has them") {
  Training training(sgd());
  const auto step = [&] {
    training.step(batch());
    return training["w"].tensor().data();
  };
  const void* first = step();
  const void* second = step();
  CHECK(second != first);
  CHECK(step() == first);
  CHECK(step() == second);
  const Value kept = training["w"];
  const Floats before = floats(kept);
  CHECK(step() == first);
  CHECK(step() != second);
  CHECK(floats(kept) == before);
}

// ONNX's own case of training information (training_tool_test.py): B gets X C, where C = A B.
TEST_CASE("Training: a value of the main graph in the algorithm") {
  for (int64_t ir_version : {7, 10}) {
    Model m = model_of(
        "g (float[2, 2] A = {1, 2, 3, 4}, float[2, 2] B = {1, 0, 0, 1}) => (float[2, 2] C) "
        "{ C = MatMul (A, B) }");
    m.proto().set_ir_version(ir_version);
    add_training(m, {.algorithm = "t (float[2, 2] X = {0, 1, 1, 0}) => (float[2, 2] Y) { Y = MatMul (X, C) }",
                     .update = {{"B", "Y"}}});
    check_rules(m);
    Training training(m);
    training.step({});
    check_near(training["B"], {3, 4, 1, 2});
    training.step({{"A", tensor({2, 2}, {1, 0, 0, 1})}, {"X", tensor({2, 2}, {2, 0, 0, 2})}});
    check_near(training["B"], {6, 8, 2, 4});
  }
}

TEST_CASE("Training: outputs of the main graph, and values by name") {
  Training training(sgd());
  Outputs out = training.step(batch(), 0, {.outputs = {"y", "e"}});
  CHECK(out.names() == std::vector<std::string>{"y", "e", "w_new"});
  check_near(out["y"], {-1.5, -2.5, -4.5});
  check_near(out["e"], Regression().errors());
  CHECK(floats(out["w_new"]) == floats(training["w"]));
}

// The optimizers' formulas are ONNX's (docs/Operators-preview-training.md in its repository).
TEST_CASE("Training: Momentum, Adagrad and Adam against their formulas") {
  struct Case {
    const char* name;
    const char* node;
    int states;
    void (*update)(double& w, double g, double (&s)[2], int step);
  };
  const Case cases[] = {
      {"Momentum", "Momentum <alpha = 0.9, beta = 1.0, mode = \"standard\", norm_coefficient = 0.001>", 1,
       [](double& w, double g, double(&s)[2], int) {
         g += 0.001 * w;
         s[0] = 0.9 * s[0] + g;
         w -= 0.01 * s[0];
       }},
      {"Nesterov", "Momentum <alpha = 0.8, beta = 0.5, mode = \"nesterov\", norm_coefficient = 0.0>", 1,
       [](double& w, double g, double(&s)[2], int step) {
         s[0] = 0.8 * s[0] + (step > 0 ? 0.5 : 1.0) * g;
         w -= 0.01 * (g + 0.8 * s[0]);
       }},
      {"Adagrad", "Adagrad <decay_factor = 0.1, epsilon = 0.001>", 1,
       [](double& w, double g, double(&s)[2], int step) {
         s[0] += g * g;
         w -= 0.01 / (1 + step * 0.1) * g / (std::sqrt(s[0]) + 0.001);
       }},
      {"Adam", "Adam <alpha = 0.9, beta = 0.99, epsilon = 0.0001>", 2,
       [](double& w, double g, double(&s)[2], int step) {
         s[0] = 0.9 * s[0] + (1 - 0.9) * g;
         s[1] = 0.99 * s[1] + (1 - 0.99) * g * g;
         const double rate =
             step > 0 ? 0.01 * std::sqrt(1 - std::pow(0.99, step)) / (1 - std::pow(0.9, step)) : 0.01;
         w -= rate * s[0] / (std::sqrt(s[1]) + 0.0001);
       }},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const bool two = c.states == 2;
    Model m = regression();
    add_training(
        m, {.algorithm = str_cat(
                "step (float[n, 1] target) => (float loss, float[2, 1] w_new, float[2, 1] v_new, int64 t_new",
                two ? ", float[2, 1] h_new" : "",
                ") <float half = {0.5}, float rate = {0.01}, int64 t = {0}, int64 one = {1}, "
                "float[2, 1] v = {0, 0}",
                two ? ", float[2, 1] h = {0, 0}" : "", "> {", loss_nodes, "w_new, v_new",
                two ? ", h_new" : "", " = ai.onnx.preview.training.", c.node, " (rate, t, w, dw, v",
                two ? ", h" : "", ")\n t_new = Add (t, one) }"),
            .update = two ? Bindings{{"w", "w_new"}, {"v", "v_new"}, {"h", "h_new"}, {"t", "t_new"}}
                          : Bindings{{"w", "w_new"}, {"v", "v_new"}, {"t", "t_new"}}});
    check_rules(m);
    Training training(m);
    Regression r;
    double states[2][2]{};
    for (int step = 0; step < 6; ++step) {
      check_near(training.step(batch())["loss"], {r.loss()});
      const std::vector<double> d = r.gradient();
      for (std::size_t i = 0; i < 2; ++i) c.update(r.w[i], d[i], states[i], step);
      check_near(training["w"], r.w);
      check_near(training["v"], {states[0][0], states[1][0]});
      if (two) check_near(training["h"], {states[0][1], states[1][1]});
      CHECK(*training["t"].view<int64_t>().data() == step + 1);
    }
  }
}

// Two players: a leads x towards b + 1, b leads its own towards a / 2.
TEST_CASE("Training: stages in the caller's order, and bindings all at once") {
  Model m = model_of(
      "g (float x) => (float y) <float a = {8}, float b = {2}> "
      "{ s = Add (a, b)\n y = Mul (x, s) }");
  add_training(m, {.algorithm = "first () => (float a_new) <float one = {1}> { a_new = Add (b, one) }",
                   .update = {{"a", "a_new"}}});
  add_training(m, {.algorithm = "second () => (float b_new, int64 t_new) <float half = {0.5}, int64 t = {0}, "
                                "int64 one = {1}> { b_new = Mul (a, half)\n t_new = Add (t, one) }",
                   .update = {{"b", "b_new"}, {"t", "t_new"}}});
  add_training(m, {.algorithm = "swap () => (float p, float q) <int64 unused = {0}> "
                                "{ p = Identity (a)\n q = Identity (b) }",
                   .update = {{"a", "q"}, {"b", "p"}}});
  Training training(m);
  CHECK(training.stages() == 3);
  CHECK(training.variables() == std::vector<std::string>{"a", "b", "t"});
  const Feeds feeds{{"x", tensor({}, {1})}};
  const auto expect = [&](double a, double b, int64_t t) {
    check_near(training["a"], {a});
    check_near(training["b"], {b});
    CHECK(*training["t"].view<int64_t>().data() == t);
  };
  training.step(feeds, 0), expect(3, 2, 0);
  training.step(feeds, 1), expect(3, 1.5, 1);
  training.step(feeds, 1), expect(3, 1.5, 2);
  training.step(feeds, 0), expect(2.5, 1.5, 2);
  training.step(feeds, 2), expect(1.5, 2.5, 2);
  training.step(feeds, 2), expect(2.5, 1.5, 2);
  training.initialize(), expect(8, 2, 0);
  CHECK(refusal([&] { training.step(feeds, 3); }) == "training: there is no stage 3");
  training.step({}, 0), expect(3, 2, 0);  // nothing that the step computes depends on x
}

TEST_CASE("Training: a step that gives what does not fit leaves all variables as they were") {
  Model m = model_of(
      "g (float[n] x) => (float[n] y) <float[2] w = {1, 2}, float c = {0}> "
      "{ t = Add (x, c)\n y = Identity (t) }");
  add_training(m, {.algorithm = "step () => (float[n] w_new, float c_new) <float one = {1}> "
                                "{ w_new = Neg (x)\n c_new = Add (c, one) }",
                   .update = {{"c", "c_new"}, {"w", "w_new"}}});
  Training training(m);
  CHECK(refusal([&] { training.step({{"x", tensor({3}, {1, 2, 3})}}); }) ==
        "training 0, variable 'w': 'w_new' has extents (3), not (2)");
  check_near(training["w"], {1, 2});
  check_near(training["c"], {0});
  training.step({{"x", tensor({2}, {1, 2})}});
  check_near(training["w"], {-1, -2});
  check_near(training["c"], {1});
}

TEST_CASE("Training: initialization") {
  Model m = model_of(
      "g (float[n, 2] x) => (float[n, 1] y) <float[2, 1] w = {5, 6}, float b = {7}> "
      "{ p = MatMul (x, w)\n y = Add (p, b) }");
  add_training(m, {.algorithm = "step () => (int64 t_new) <int64 t = {9}, int64 one = {1}> "
                                "{ t_new = Add (t, one) }",
                   .update = {{"t", "t_new"}},
                   .initialization = "start () => (float[2, 1] r, int64 zero) { "
                                     "r = RandomNormal <shape = [2, 1], seed = 3.0> ()\n"
                                     "zero = Constant <value = int64 {0}> () }",
                   .initialize = {{"w", "r"}, {"t", "zero"}}});
  add_training(m, {.algorithm = {},
                   .initialization = "more () => (float u) { u = RandomUniform <shape: ints = []> () }",
                   .initialize = {{"b", "u"}}});
  Training training(m);
  CHECK(training.variables() == std::vector<std::string>{"w", "b", "t"});
  check_near(training["w"], {5, 6});
  training.initialize();
  const Floats w = floats(training["w"]), b = floats(training["b"]);
  CHECK(w != Floats{5, 6});
  const Feeds feeds{{"x", tensor({1, 2}, {1, 1})}};
  training.step(feeds);
  CHECK(*training["t"].view<int64_t>().data() == 1);
  CHECK(training.step(feeds, 1).size() == 0);  // an empty algorithm
  training.initialize();
  CHECK(floats(training["w"]) == w);  // has a seed
  CHECK(floats(training["b"]) != b);  // has none
  CHECK(*training["t"].view<int64_t>().data() == 0);
}

TEST_CASE("Training: variables that are inputs as well, by name") {
  Model m = model_of("g (float x, float w = {3}, float rate = {0.5}) => (float y) { y = Mul (x, w) }");
  add_training(m, {.algorithm = "step () => (float w_new) { d = Mul (y, rate)\n w_new = Sub (w, d) }",
                   .update = {{"w", "w_new"}}});
  const auto scalar = [](float f) { return tensor({}, {f}); };
  Training training(m);
  training.step({{"x", scalar(1)}});
  check_near(training["w"], {1.5});
  training.step({{"x", scalar(1)}, {"rate", scalar(0.1f)}});
  check_near(training["w"], {1.35});
  training.step({{"x", scalar(1)}, {"w", scalar(10)}});
  check_near(training["w"], {5});
  training.assign("w", scalar(4));
  check_near(training["w"], {4});
  CHECK(refusal([&] { training.assign("w", tensor({2}, {1, 2})); }) ==
        "variable 'w': the value has extents (2), not ()");
  CHECK(refusal([&] { training.assign("w", Tensor<double>(Extents{})); }) ==
        "variable 'w': the value is tensor(double), not tensor(float)");
  CHECK(refusal([&] { training.assign("rate", scalar(1)); }) == "training: there is no variable 'rate'");
  CHECK(refusal([&] { Training(sgd()).step({{"x", scalar(1)}, {"w", scalar(1)}}); }) ==
        "training 0, variable 'w': it is no input that a step can be given");
}

TEST_CASE("Training: the new value may be an output of the main graph") {
  Model m = model_of("g (float x) => (float y) <float w = {3}> { y = Mul (x, w) }");
  add_training(m, {.algorithm = "step () => (float z) { z = Neg (y) }", .update = {{"w", "y"}}});
  Training training(m);
  Outputs out = training.step({{"x", tensor({}, {2})}});
  CHECK(out.names() == std::vector<std::string>{"z", "y"});
  check_near(training["w"], {6});
}

TEST_CASE("Training: state that is stored and loaded again goes on bit by bit") {
  Model m = sgd();
  add_training(m,
               {.algorithm = "count () => (float[2] c_new) <float[2] one = {1, 1}> { c_new = Add (c, one) }",
                .update = {{"c", "c_new"}},
                .initializers = {{"c", tensor({2}, {0, 7})}}});
  m.proto().mutable_graph()->mutable_initializer(0)->set_doc_string("weights");
  Training training(m);
  for (int k = 0; k < 7; ++k) training.step(batch()), training.step({{"x", tensor({3, 2}, xs)}}, 1);
  training.store(m);
  CHECK(m.proto().graph().initializer(0).doc_string() == "weights");
  check_rules(m);
  const std::string bytes = m.proto().SerializeAsString();
  Training other(parse_model(std::as_bytes(std::span(bytes))));
  CHECK(floats(other["c"]) == Floats{7, 14});
  for (int k = 0; k < 7; ++k) {
    CHECK(floats(other["w"]) == floats(training["w"]));
    CHECK(floats(other.step(batch())["loss"]) == floats(training.step(batch())["loss"]));
  }
  Model less = sgd();
  CHECK(refusal([&] { training.store(less); }) == "training: the model has no variable 'c'");
  CHECK(differences(less, sgd()).empty());
}

TEST_CASE("Training: errors") {
  struct Case {
    const char* what;
    TrainingStage stage;
    const char* says;
  };
  const std::string_view negate = "step () => (float[2, 1] v) { v = Neg (w) }";
  const Case cases[] = {
      {"an unknown initializer",
       {.algorithm = negate, .update = {{"u", "v"}}},
       "training 0: update_binding has the key 'u', which is no initializer"},
      {"an input",
       {.algorithm = negate, .update = {{"x", "v"}}},
       "training 0: update_binding has the key 'x', which is no initializer"},
      {"an unknown output",
       {.algorithm = negate, .update = {{"w", "u"}}},
       "training 0: update_binding has the value 'u', which is no output of its graph"},
      {"twice",
       {.algorithm = negate, .update = {{"w", "v"}, {"w", "v"}}},
       "training 0: update_binding has the key 'w' twice"},
      {"another type",
       {.algorithm = "step () => (double[2, 1] v) { v = Cast <to = 11> (w) }", .update = {{"w", "v"}}},
       "training 0, variable 'w': 'v' is tensor(double), not tensor(float)"},
      {"other extents",
       {.algorithm = "step () => (float[1, 2] v) { v = Transpose (w) }", .update = {{"w", "v"}}},
       "training 0, variable 'w': 'v' has extents (1,2), not (2,1)"},
      {"a cycle",
       {.algorithm = "step () => (float v) { v = Neg (u)\n u = Neg (v) }", .update = {}},
       "training 0, node 'v' (Neg): input 'u' is not defined, or depends on the node"},
      {"a value of the main graph twice",
       {.algorithm = "step () => (float y) { y = Neg (w) }"},
       "training 0, node 'y' (Neg): value 'y' is defined twice: node 'y' (MatMul) makes it, too"},
      {"an initialization with an input",
       {.initialization = "start (float i) => (float o) { o = Neg (i) }"},
       "training 0, input 'i': an initialization has no inputs"},
      {"an initialization that reads the main graph",
       {.initialization = "start () => (float o) { o = Neg (w) }"},
       "training 0, node 'o' (Neg): input 'w' is not defined, or depends on the node"},
      {"an initialization of other extents",
       {.initialization = "start () => (float[2] o) { o = RandomNormal <shape = [2]> () }",
        .initialize = {{"w", "o"}}},
       "training 0, variable 'w': 'o' has extents (2), not (2,1)"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    Model m = regression();
    add_training(m, c.stage);
    CHECK(refusal([&] { Training{m}; }) == c.says);
  }

  Model reads = model_of("g (float x) => (float y) { y = Add (x, late) }");
  add_training(reads, {.algorithm = "step () => (float z) <float late = {1}> { z = Neg (y) }"});
  CHECK(refusal([&] { Training{reads}; }) ==
        "training 0, node 'y' (Add): the main graph reads 'late' of the algorithm");

  Model names = regression();
  for (int k = 0; k < 2; ++k)
    add_training(
        names, {.algorithm = "step () => (float z) <float t = {1}> { z = Neg (t) }", .update = {{"t", "z"}}});
  CHECK(refusal([&] { Training{names}; }) == "training 1: there is another variable 't'");

  Model declared = model_of("g (float x, double w) => (float y) <float w = {1}> { y = Neg (x) }");
  add_training(declared, {.algorithm = "step () => (float v) { v = Neg (x) }", .update = {{"w", "v"}}});
  CHECK(refusal([&] { Training{declared}; }) ==
        "training 0, variable 'w': the input is tensor(double), not tensor(float)");

  Model many = regression();
  for (int k = 0; k < 120; ++k) add_training(many, {});
  CHECK(Training(many).stages() == 120);
  CHECK(refusal([&] {
          Training(many, {}, {.max_nodes = 100});
        }).starts_with("training 100: the stages so far"));
  CHECK(refusal([&] { Training(many, {}, {.max_bytes = 1 << 20}); }).starts_with("training "));

  CHECK(Training(regression()).stages() == 0);
  CHECK(refusal([&] { add_training(names, {.algorithm = "step ("}); }).find("line 1") != std::string::npos);
}

TEST_CASE("Training: a session's threads") {
  Training one(sgd()), two(sgd(), {.threads = 2});
  for (int k = 0; k < 3; ++k) one.step(batch()), two.step(batch());
  CHECK(floats(one["w"]) == floats(two["w"]));
  Training moved = std::move(two);
  moved.step(batch());
}

}  // namespace
}  // namespace tenon
