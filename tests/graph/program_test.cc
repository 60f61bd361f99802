// The edits and queries of passes, by passes made for the purpose.
#include "tenon/graph/program.hpp"

#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/math/abs.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

/// relu(x) becomes (x + |x|) * 0.5.
void apply_spell_out_relu(Program& p) {
  p.for_each<op::Relu>([&](int n, const op::Relu&) {
    const ValueId x = p.node(n).inputs[0], y = p.node(n).outputs[0];
    const ValueId half = p.add_constant("half", Tensor<float>({}, {0.5f}));
    const ValueId a = p.add_node(n, AnyOperator::make(op::Abs{}), {x})[0];
    const ValueId twice = p.add_node(n, AnyOperator::make(op::Add{}), {x, a})[0];
    const ValueId all = p.add_node(n, AnyOperator::make(op::Mul{}), {twice, half})[0];
    CHECK((p.info(all) == p.info(y)));
    p.applied(n, "spelt out");
    p.redirect(y, all);
    CHECK((p.node(n).op ? p.is_captured(y) : p.readers(y).empty()));
  });
  p.for_each<op::Neg>([&](int n, const op::Neg&) { p.skipped(n, "is no Relu, but number ", n); });
}
constexpr Pass spell_out_relu{"spell_out_relu", apply_spell_out_relu};

/// Runs a pass, given as a lambda without captures, on a graph.
Session session(Graph g, void (*pass)(Program&)) {
  return Session(std::move(g), {.passes = std::vector<Pass>{{"toy", pass}, test::infos_are_true}});
}

std::vector<std::string> operators(const Program& p) {
  std::vector<std::string> names;
  for (const Graph::Node& n : p.nodes()) names.emplace_back(n.op.spec().name);
  return names;
}

TEST_CASE("a pass adds constants, values and nodes, and redirects uses") {
  // The first of two Relus is read by a node before the ones that the pass adds, the last is an output.
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{g.symbol("N"), 4});
    const ValueId a = node(g, op::Relu{}, {x}), b = node(g, op::Neg{}, {a});
    g.add_output("y", node(g, op::Relu{}, {node(g, op::Mul{}, {a, b})}));
    g.add_output("z", node(g, op::Relu{}, {b}));
    return g;
  };
  test::check_pass(spell_out_relu, build, {{"x", floats<float>({3, 4}, 1)}}, 11, 1e-6);
  const Session s(build(), {.passes = std::vector{spell_out_relu}, .explain = true});
  const std::size_t known = s.graph().values().size();
  CHECK(s.program().values().size() == known + 3 * 4);
  CHECK(s.program().entry(static_cast<ValueId>(known)).name == "half");
  for (std::size_t v = 0; v < known; ++v) CHECK(s.program().values()[v].name == s.graph().values()[v].name);
  CHECK(operators(s.program())[3] == "Neg");  // right after the nodes that make its operand
  REQUIRE(s.reports().size() == 4);
  CHECK(tenon::detail::describe(s.program().nodes()[0]) == "node 'Relu_0' (Relu-14)");  // an Abs
  CHECK(to_string(s.reports()[0]) == "node 'Relu_0' (Relu-14) -> spell_out_relu: spelt out");
  CHECK(s.reports()[0].applied);
  CHECK(to_string(s.reports()[3]) == "node 'Neg_1' (Neg-13) -> spell_out_relu: is no Relu, but number 1");
  CHECK_FALSE(s.reports()[3].applied);
  CHECK(Session(build(), {.passes = std::vector{spell_out_relu}}).reports().empty());
}

TEST_CASE("values that a pass makes constant are computed, and unused values are dropped at once") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{2});
  const ValueId c = g.add_constant("c", Tensor<float>({2}, {3, 4}));
  const ValueId n = node(g, op::Neg{}, {node(g, op::Relu{}, {x})});
  g.add_output("y", node(g, op::Add{}, {node(g, op::Mul{}, {x, n}), node(g, op::Abs{}, {c})}));
  const Session s = session(std::move(g), [](Program& p) {
    p.for_each_node([&](int, const Graph::Node& node) {
      if (node.op.as<op::Relu>())
        p.redirect(node.outputs[0], p.add_constant("five", Tensor<float>({2}, {5, 5})));
    });
  });
  CHECK(operators(s.program()) == std::vector<std::string>{"Mul", "Add"});
  for (const Program::ValueEntry& e : s.program().values()) CHECK((e.used || !e.constant));
  const Value y = s.run({{"x", Tensor<float>({2}, {1, 2})}})["y"];
  CHECK(y.tensor().view().as<float>()[1] == 2 * -5 + 4);
}

TEST_CASE("a value that a body reads stays when its other uses are redirected") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{3});
    const ValueId sign = g.add_input("sign", DType::bool_, Dims{});
    const ValueId y = node(g, op::Relu{}, {x});
    Graph a = Graph::inside(g), b = Graph::inside(g);
    a.add_output("z", node(a, op::Relu{}, {a.capture(y)}));
    b.add_output("z", b.capture(y));
    const ValueId z =
        node(g, op::If{.else_branch = body(std::move(b)), .then_branch = body(std::move(a))}, {sign});
    g.add_output("y", node(g, op::Add{}, {y, z}));
    return g;
  };
  test::check_pass(spell_out_relu, build, {{"x", floats<float>({3}, 1)}, {"sign", Tensor<bool>({}, {true})}},
                   6, 1e-6);
}

Graph product() {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{2, 3});
  const ValueId w = g.add_constant("w", floats<float>({3, 4}, 1));
  g.add_output("y", node(g, op::Neg{}, {node(g, op::Abs{}, {node(g, op::MatMul{}, {x, w})})}));
  return g;
}

TEST_CASE("other extents are known as far as they reach") {
  // x @ w becomes w @ x', of other extents, and two nodes further on the result is one of them.
  const Session s = session(product(), [](Program& p) {
    p.for_each<op::MatMul>([&](int n, const op::MatMul&) {
      const ValueId x = p.node(n).inputs[0], w = p.node(n).inputs[1], y = p.node(n).outputs[0],
                    end = p.outputs()[0];
      CHECK(p.info(end).dims == Dims{2, 4});
      const ValueId turned_x = p.add_node(n, AnyOperator::make(op::Transpose{}), {x})[0];
      const ValueId turned_w = p.add_node(n, AnyOperator::make(op::Transpose{}), {w})[0];
      CHECK(p.constant(turned_w).tensor().extents() == Extents{4, 3});  // at once
      CHECK(p.maker(turned_w) == -1);
      CHECK(p.readers(w).size() == 1);
      p.replace(n, AnyOperator::make(op::MatMul{}), {turned_w, turned_x});
      CHECK(p.readers(w).empty());
      CHECK(p.info(y).dims == Dims{4, 2});
      CHECK(p.info(end).dims == Dims{4, 2});
      const ValueId back = p.add_node(n, AnyOperator::make(op::Transpose{}), {end})[0];
      p.redirect(end, back);  // but not for the node that makes `back`
      CHECK(p.outputs()[0] == back);
    });
  });
  CHECK(operators(s.program()) == std::vector<std::string>{"Transpose", "MatMul", "Abs", "Neg", "Transpose"});
  int constants = 0;
  for (const Program::ValueEntry& v : s.program().values()) constants += static_cast<bool>(v.constant);
  CHECK(constants == 1);  // w is gone
  const Value x = floats<float>({2, 3}, 2);
  CHECK(test::difference(Session(product()).run({{"x", x}})[0].tensor(), s.run({{"x", x}})[0].tensor()) <
        1e-6);
}

TEST_CASE("who makes and who reads a value") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{4, 2});
  const auto parts = g.add_node({}, AnyOperator::make(op::Split{.axis = 1, .num_outputs = 2}), {x},
                                std::array{std::string("a"), std::string("b")});
  const ValueId twice = node(g, op::Add{}, {parts[0], parts[0]});
  const ValueId y = node(g, op::Mul{}, {twice, x});
  g.add_output("y", y);
  const Session s = session(std::move(g), [](Program& p) {
    const ValueId x = p.given()[0].value, a = p.node(0).outputs[0], b = p.node(0).outputs[1];
    const ValueId twice = p.node(1).outputs[0], y = p.outputs()[0];
    CHECK(p.maker(x) == -1);
    CHECK(p.maker(b) == 0);
    CHECK(p.maker(y) == 2);
    CHECK(std::vector<int>(p.readers(x).begin(), p.readers(x).end()) == std::vector<int>{0, 2});
    CHECK(p.readers(b).empty());
    CHECK(p.only_reader(x) == -1);
    CHECK(p.only_reader(a) == -1);  // twice
    CHECK(p.only_reader(twice) == 2);
    CHECK(p.only_reader(y) == -1);
    CHECK(p.is_output(y));
    CHECK_FALSE(p.is_output(twice));
    // A reader alone: the other operand still reads x, so nothing goes.
    p.redirect(2, twice, x);
    CHECK(p.readers(twice).empty());
    CHECK_FALSE(p.node(1).op);
    CHECK_FALSE(p.node(0).op);  // its results are unused too
    CHECK(p.readers(x).size() == 2);
  });
  CHECK(operators(s.program()) == std::vector<std::string>{"Mul"});
}

TEST_CASE("a node without readers is not added, and one that depends on itself is refused") {
  const Session s =
      session(product(), [](Program& p) { p.add_node(0, AnyOperator::make(op::Neg{}), {p.outputs()[0]}); });
  CHECK(s.program().nodes().size() == 3);
  const auto circle = [] {
    return session(product(),
                   [](Program& p) { p.replace(1, AnyOperator::make(op::Abs{}), {p.outputs()[0]}); });
  };
  CHECK_THROWS_WITH_AS(circle(), "toy: Abs 'Abs_1' depends on itself", Error);
}

TEST_CASE("long chains") {
  Graph g;
  ValueId v = g.add_input("x", DType::float32, Dims{3});
  const ValueId one = g.add_constant("one", Tensor<float>({}, {1}));
  constexpr int length = 20000;
  for (int k = 0; k < length; ++k) v = k % 2 ? node(g, op::Add{}, {v, one}) : node(g, op::Relu{}, {v});
  g.add_output("y", v);
  SUBCASE("rewritten") {
    const Session s(std::move(g), {.passes = std::vector{spell_out_relu}});
    CHECK(s.program().nodes().size() == length * 2);
  }
  SUBCASE("cut off") {
    const Session s = session(std::move(g), [](Program& p) {
      p.redirect(length - 1, p.node(length - 1).inputs[0], p.given()[0].value);
    });
    CHECK(s.program().nodes().size() == 1);
  }
}

}  // namespace
}  // namespace tenon::passes
