#include "tenon/graph/body.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/math/det.hpp"
#include "tenon/op/tensor/non_zero.hpp"
#include "tests/graph/gradients/check.hpp"

namespace tenon::test {
namespace {

Tensor<double> tensor(const Extents& extents, const std::vector<double>& values) {
  Tensor<double> t(extents);
  REQUIRE(t.size() == static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), t.begin());
  return t;
}

Outputs run(Graph g, const Feeds& feeds) { return Session(std::move(g)).run(feeds); }
void check_error(auto f, std::string_view text) {
  try {
    f();
    FAIL_CHECK("no error");
  } catch (const Error& e) {
    CHECK_MESSAGE(std::string_view(e.what()).find(text) != std::string_view::npos, std::string(e.what()));
  }
}
/// Defined by a function: x e^a + b, and x. If the rank of x is unknown, so are the nodes.
struct Scaled {
  static constexpr op::Spec spec{.name = "Scaled",
                                 .domain = "test",
                                 .since = {1},
                                 .inputs = {{"x", "T"}, {"a", "T"}, {"b", "T", op::optional}},
                                 .outputs = {{"y", "T"}, {"same", "T", op::optional}},
                                 .types = {{"T", types::floats}}};
  constexpr void infer(op::Infer& i) const {
    i.out(0, i.dims(0));
    i.out(1, i.dims(0));
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    if (!to.dims(0).ranked()) return {};
    const int32_t x = to.input(0), y = to.add(op::Mul{}, {x, to.add(op::Exp{}, {to.input(1)})});
    return {to.input(2) < 0 ? y : to.add(op::Add{}, {y, to.input(2)}), to.add(op::Identity{}, {x})};
  }
};

ValueId node(Graph& g, const auto& op, std::vector<ValueId> in) {
  return g.add_node({}, any(op), std::move(in), {})[0];
}

TEST_CASE("A value's way to y may split and join; what y does not depend on has zeros") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float64, {2}), unused = g.add_input("u", DType::float64, {1, 2});
  const ValueId square = node(g, op::Mul{}, {x, x});
  const ValueId y = node(g, op::Add{}, {node(g, op::Mul{}, {square, x}), square});
  const std::vector<ValueId> d = add_gradient(g, {.xs = {x, unused}, .y = y}, standard_registry());
  g.add_output("dx", d[0]);
  g.add_output("du", d[1]);
  Outputs o = run(std::move(g), {{"x", tensor({2}, {1, 2})}, {"u", tensor({1, 2}, {7, 7})}});
  CHECK(o["dx"].view<double>()[0] == 5);
  CHECK(o["dx"].view<double>()[1] == 16);
  CHECK(o["du"].view<double>()[1] == 0);
}

TEST_CASE("An operand that a node uses twice") {
  const auto check_both = [](const auto& op, double slope) {
    CAPTURE(std::string(op.spec.name));
    Graph g;
    const ValueId x = g.add_input("x", DType::float64, {1});
    g.add_output("d", add_gradient(g, {.xs = {x}, .y = node(g, op, {x, x})}, standard_registry())[0]);
    CHECK(run(std::move(g), {{"x", tensor({1}, {3})}})["d"].view<double>()[0] == doctest::Approx(slope));
  };
  check_both(op::Add{}, 2);
  check_both(op::Sub{}, 0);
  check_both(op::Mul{}, 6);
  check_both(op::Div{}, 0);
  check_both(op::Max{}, 1);
  check_both(op::Mean{}, 1);
  check_both(op::Pow{}, 27 * (std::log(3.0) + 1));
  check_both(op::MatMul{}, 6);
  check_both(op::Concat{.axis = 0}, 2);
  check_both(op::PRelu{}, 1);
}

TEST_CASE("Derivatives have derivatives") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float64, {2});
  ValueId y = node(g, op::Sin{}, {node(g, op::Mul{}, {x, x})});
  for (int k = 0; k < 2; ++k) y = add_gradient(g, {.xs = {x}, .y = y}, standard_registry())[0];
  g.add_output("y", y);
  Outputs o = run(std::move(g), {{"x", tensor({2}, {0.5, -1})}});
  for (int64_t k = 0; k < 2; ++k) {
    const double v = k == 0 ? 0.5 : -1;
    CHECK(o["y"].view<double>()[k] == doctest::Approx(2 * std::cos(v * v) - 4 * v * v * std::sin(v * v)));
  }
}

TEST_CASE("An intermediate value is independent of the values that it is computed from") {
  Graph g;
  const ValueId w = g.add_input("w", DType::float64, {1}), h = node(g, op::Mul{}, {w, w});
  const ValueId y = node(g, op::Mul{}, {h, w});
  const std::vector<ValueId> d = add_gradient(g, {.xs = {h, w}, .y = y}, standard_registry());
  const ValueId held = add_gradient(g, {.xs = {w}, .zs = {h}, .y = y}, standard_registry())[0];
  g.add_output("dh", d[0]);
  g.add_output("dw", d[1]);
  g.add_output("held", held);
  Outputs o = run(std::move(g), {{"w", tensor({1}, {3})}});
  CHECK(o["dh"].view<double>()[0] == 3);
  CHECK(o["dw"].view<double>()[0] == 9);
  CHECK(o["held"].view<double>()[0] == 9);
}

TEST_CASE("Derivatives at other values") {
  Graph g;
  const ValueId a = g.add_input("a", DType::float64, {}), b = g.add_input("b", DType::float64, {});
  const ValueId y = node(g, op::Div{}, {node(g, op::Mul{}, {a, a}), b});
  // The inputs exchanged, and one input for both.
  const std::vector<ValueId> d =
      add_gradient(g, {.xs = {a, b}, .y = y, .inputs = {b, a}}, standard_registry());
  const std::vector<ValueId> e =
      add_gradient(g, {.xs = {a}, .zs = {b}, .y = y, .inputs = {b, b}}, standard_registry());
  g.add_output("da", d[0]);
  g.add_output("db", d[1]);
  g.add_output("e", e[0]);
  Outputs o = run(std::move(g), {{"a", tensor({}, {2})}, {"b", tensor({}, {3})}});
  CHECK(o["da"].view<double>().item() == doctest::Approx(3.0));       // 2 a / b at a = 3, b = 2
  CHECK(o["db"].view<double>().item() == doctest::Approx(-9.0 / 4));  // -a a / (b b)
  CHECK(o["e"].view<double>().item() == doctest::Approx(2.0));
}

TEST_CASE("An operator without a rule has the derivative of its function") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float64, {2}), b = g.add_input("b", DType::float64, {});
  const ValueId a = g.add_constant("a", tensor({}, {0})),
                fixed = g.add_constant({}, tensor({}, {std::log(2.0)}));
  const AnyOperator scaled = AnyOperator::make(Scaled{});
  const ValueId y = g.add_node({}, scaled, {x, a, b}, {})[0];  // a is a variable, although constant
  const std::vector<ValueId> z = g.add_node({}, scaled, {y, fixed}, std::vector<std::string>(2));
  const ValueId sum = node(g, op::Add{}, {z[0], z[1]});
  const std::vector<ValueId> d = add_gradient(g, {.xs = {x, a, b}, .y = sum}, standard_registry());
  for (const ValueId v : d) g.add_output(str_cat("d", v), v);
  Outputs o = run(std::move(g), {{"x", tensor({2}, {1, 2})}, {"b", tensor({}, {5})}});
  CHECK(o[std::size_t{0}].view<double>()[1] == doctest::Approx(3));
  CHECK(o[std::size_t{1}].view<double>().item() == doctest::Approx(9));
  CHECK(o[std::size_t{2}].view<double>().item() == doctest::Approx(6));
}

TEST_CASE("Functions of functions, of derivatives, and those that only the run knows") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float64, {1}), any_x = g.add_input("any", DType::float64, Dims());
  const AnyOperator scaled = AnyOperator::make(Scaled{});
  ValueId y = g.add_node({}, scaled, {x, x}, {})[0];  // x e^x
  for (int k = 0; k < 2; ++k) y = add_gradient(g, {.xs = {x}, .y = y}, standard_registry())[0];
  g.add_output("y", y);
  const ValueId of_any = g.add_node("named", scaled, {any_x, x}, {})[0];
  check_error(
      [&] { return add_gradient(g, {.xs = {x}, .y = of_any}, standard_registry()); },
      "'named' (Scaled-1): Gradient: no derivative of Scaled, whose function is known only in the run");
  Outputs o = run(std::move(g), {{"x", tensor({1}, {0.5})}, {"any", tensor({}, {1})}});
  CHECK(o["y"].view<double>().item() == doctest::Approx(2.5 * std::exp(0.5)));
}

/// y = x w in a branch, where w is of the graph around.
ValueId chosen_product(Graph& g, ValueId yes, ValueId x, ValueId w) {
  const auto branch = [&] {
    Graph b = Graph::inside(g);
    b.add_output("y", node(b, op::Mul{}, {b.capture(x), b.capture(w)}));
    return body(std::move(b));
  };
  return node(g, op::If{branch(), branch()}, {yes});
}

TEST_CASE("Constants of the graph around, of which bodies have copies, are variables too") {
  Graph g;
  const ValueId yes = g.add_input("yes", DType::bool_, Dims::of_rank(0));
  const ValueId x = g.add_input("x", DType::float64, {1}), w = g.add_constant("w", tensor({1}, {2}));
  const ValueId y = chosen_product(g, yes, x, w);
  check_error([&] { return add_gradient(g, {.xs = {w}, .y = y}, standard_registry()); },
              "Gradient: no derivative of If");
  // At another value of w: the branch is taken again.
  const ValueId square = node(g, op::Mul{}, {y, x});
  const ValueId d =
      add_gradient(g, {.xs = {y}, .zs = {w}, .y = square, .inputs = {y, x}}, standard_registry())[0];
  std::vector<ValueId> names{w};
  const ValueId again = gradients::replay(g, standard_registry(), names, std::vector{x}, y);
  g.add_output("d", d);
  g.add_output("again", again);
  Outputs o = run(std::move(g), {{"yes", Tensor<bool>(Extents{}, {true})}, {"x", tensor({1}, {5})}});
  CHECK(o["d"].view<double>()[0] == 5);
  CHECK(o["again"].view<double>()[0] == 25);
}

TEST_CASE("A copy of a constant in a body, and a value of the graph around that may depend on the constant") {
  Graph g;
  const ValueId w = g.add_constant("w", tensor({1}, {2})), h = node(g, op::Mul{}, {w, w});
  Graph b = Graph::inside(g);
  const ValueId inner = b.capture(w);
  CHECK(b.capture(w) == inner);
  const ValueId y = node(b, op::Mul{}, {inner, b.capture(h)});
  check_error([&] { return add_gradient(b, {.xs = {inner}, .y = y}, standard_registry()); },
              "y depends on a value of the graph around that neither xs nor zs names");
}

TEST_CASE("Bodies with constants of the graph around, within a function") {
  Graph inner;
  const ValueId yes = inner.add_input("yes", DType::bool_, Dims::of_rank(0));
  const ValueId x = inner.add_input("x", DType::float64, {1});
  for (int k = 0; k < 20; ++k) inner.add_constant({}, tensor({1}, {1}));
  inner.add_output("y", chosen_product(inner, yes, x, inner.add_constant({}, tensor({1}, {2}))));
  inner.add_output("z", chosen_product(inner, yes, inner.add_constant({}, tensor({1}, {3})),
                                       inner.add_constant({}, tensor({1}, {2}))));
  Graph g;
  const ValueId in = g.add_input("yes", DType::bool_, Dims::of_rank(0)),
                a = g.add_input("a", DType::float64, {1});
  const std::vector<ValueId> made = g.add_graph(inner, std::vector{in, a});
  check_error([&] { return add_gradient(g, {.xs = {a}, .y = made[0]}, standard_registry()); },
              "Gradient: no derivative of If");
  g.add_output("d",
               add_gradient(g, {.xs = {a}, .y = node(g, op::Mul{}, {a, made[1]})}, standard_registry())[0]);
  Outputs o = run(std::move(g), {{"yes", Tensor<bool>(Extents{}, {true})}, {"a", tensor({1}, {5})}});
  CHECK(o["d"].view<double>()[0] == 6);
}

TEST_CASE("Types and ranks that only the run knows") {
  Graph g;
  const ValueId x = g.add_input("x", Type(Kind::unknown, DType::undefined), {});
  const ValueId y = node(g, op::ReduceSum{}, {node(g, op::Mul{}, {x, node(g, op::Tanh{}, {x})})});
  g.add_output("d", add_gradient(g, {.xs = {x}, .y = y}, standard_registry())[0]);
  Outputs o = run(std::move(g), {{"x", tensor({2}, {0, 0.5})}});
  const double tanh = std::tanh(0.5);
  CHECK(o["d"].view<double>()[0] == 0);
  CHECK(o["d"].view<double>()[1] == doctest::Approx(tanh + 0.5 * (1 - tanh * tanh)));
}

TEST_CASE("An old form whose ranks only the run knows") {
  Graph g;
  const ValueId a = g.add_input("a", DType::float64, Dims()), b = g.add_input("b", DType::float64, Dims());
  const AnyOperator sub = old("Sub", 6, {{"axis", int64_t{0}}, {"broadcast", int64_t{1}}});
  const ValueId y = g.add_node({}, sub, {a, b}, {})[0];
  g.add_output("d", add_gradient(g, {.xs = {b}, .y = y}, standard_registry())[0]);
  Outputs o = run(std::move(g), {{"a", tensor({2, 3}, {1, 2, 3, 4, 5, 6})}, {"b", tensor({2}, {1, 2})}});
  CHECK(o["d"].view<double>()[1] == -3);
}

TEST_CASE("Typed edges") {
  Graph g;
  auto x = g.input<double, Shape<2, 3>>("x");
  auto w = g.input<double, Shape<3>>("w");
  auto y = Edge<double>{&g, node(g, op::Mul{}, {x.id, w.id})};
  auto [dx, dw] = gradient(y, standard_registry(), x, w);
  static_assert(std::is_same_v<decltype(dw), Edge<double, Shape<3>>>);
  g.output("dw", dw);
  Outputs o = run(std::move(g), {{"x", tensor({2, 3}, {1, 2, 3, 4, 5, 6})}, {"w", tensor({3}, {0, 0, 0})}});
  CHECK(o["dw"].view<double>()[2] == 9);
}

TEST_CASE("errors of derivatives") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float64, {2, 2});
  const ValueId places = node(g, op::NonZero{}, {x});
  const ValueId y = node(g, op::Det{}, {x});
  check_error([&] { return add_gradient(g, {.xs = {x}, .y = y}, standard_registry()); },
              "Gradient: no derivative of Det");
  check_error([&] { return add_gradient(g, {.xs = {x}, .y = places}, standard_registry()); },
              "y is tensor(int64), not a tensor of floats");
  check_error([&] { return add_gradient(g, {.xs = {places}, .y = y}, standard_registry()); },
              "an x is tensor(int64), not a tensor of floats");
  check_error([&] { return add_gradient(g, {.xs = {99}, .y = y}, standard_registry()); },
              "a value is not of this graph");
  check_error([&] { return add_gradient(g, {.xs = {x}, .y = y, .inputs = {x, x}}, standard_registry()); },
              "2 inputs for 1 values");
  check_error([&] { return add_gradient(g, {.xs = {x}, .y = node(g, op::Exp{}, {x})}, Registry()); },
              "which the registry lacks");
}

}  // namespace
}  // namespace tenon::test
