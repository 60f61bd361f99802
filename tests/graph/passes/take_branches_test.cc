#include "tenon/graph/passes/take_branches.hpp"

#include "tenon/graph/passes/fuse_elementwise.hpp"
#include "tenon/graph/passes/pack_matmul.hpp"
#include "tenon/op/controlflow/loop.hpp"
#include "tenon/op/logical/equal.hpp"
#include "tenon/op/logical/not.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

Value truth(bool b) { return Tensor<bool>({}, {b}); }

/// The results of an If with these branches.
std::vector<ValueId> choose(Graph& g, ValueId condition, Graph yes, Graph no, std::size_t results = 1,
                            std::string name = "choice") {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < results; ++k) names.push_back(str_cat(name, k));
  return g.add_node(
      name,
      AnyOperator::make(op::If{.else_branch = body(std::move(no)), .then_branch = body(std::move(yes))}),
      {condition}, names);
}

const std::vector<Pass> passes = {take_branches, test::infos_are_true, pack_matmul, fuse_elementwise,
                                  test::infos_are_true};

/// The passes' session, after a comparison of its results with those without passes.
template <class Build>
Session checked(const Build& build, const Feeds& feeds) {
  const Session plain(build());
  Session passed(build(), {.passes = passes, .explain = true});
  const Outputs expected = plain.run(feeds), got = passed.run(feeds);
  REQUIRE(expected.size() == got.size());
  for (std::size_t k = 0; k < expected.size(); ++k)
    CHECK(test::difference(expected[k].tensor(), got[k].tensor()) <= 1e-6);
  return passed;
}

int ifs(const Program& p) {
  int found = 0;
  for (const Graph::Node& n : p.nodes()) found += n.op.as<op::If>() != nullptr;
  return found;
}

TEST_CASE("nodes before, in and after the branch that runs are fused") {
  for (const bool taken : {true, false}) {
    const auto build = [&] {
      Graph g;
      const ValueId x = g.add_input("x", DType::float32, Dims{g.symbol("N"), 5});
      const ValueId before = node(g, op::Relu{}, {x});
      Graph yes = Graph::inside(g), no = Graph::inside(g);
      yes.add_output("y", node(yes, op::Neg{}, {yes.capture(before)}));
      no.add_output(
          "y", node(no, op::MatMul{}, {no.capture(before), no.add_constant({}, floats<float>({5, 5}, 1))}));
      const ValueId y = choose(g, g.add_constant("c", truth(taken)), std::move(yes), std::move(no))[0];
      g.add_output("y", node(g, op::Mul{}, {y, y}));
      return g;
    };
    const Session s = checked(build, {{"x", floats<float>({3, 5}, 2)}});
    CHECK(ifs(s.program()) == 0);
    CHECK(s.program().nodes().size() == (taken ? 1 : 3));
    CHECK(to_string(s.reports()[0]) ==
          str_cat("node 'choice' (If-25) -> take_branches: replaced by the nodes of ",
                  taken ? "then_branch" : "else_branch"));
    CHECK(ifs(Session(build()).program()) == 1);
  }
}

TEST_CASE("results that are values from outside, constants, one value twice, and outputs of the graph") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{2, 3});
    const ValueId c = node(g, op::Not{}, {g.add_constant({}, truth(true))});  // folded
    Graph yes = Graph::inside(g), no = Graph::inside(g);
    for (const char* name : {"a", "b", "c", "d"}) yes.add_output(name, yes.capture(x));
    const ValueId inner = node(no, op::Neg{}, {no.capture(x)});
    no.add_output("a", no.capture(x));
    no.add_output("b", no.add_constant({}, floats<float>({2, 3}, 4)));
    no.add_output("c", inner);
    no.add_output("d", inner);
    const auto r = choose(g, c, std::move(yes), std::move(no), 4);
    const char* names[] = {"p", "q", "r", "s"};
    for (std::size_t k = 0; k < 4; ++k) g.add_output(names[k], r[k]);
    // The names are read by a node and by a body.
    g.add_output("sum", node(g, op::Add{}, {node(g, op::Add{}, {r[0], r[1]}), r[3]}));
    Graph b = Graph::inside(g);
    b.add_input("trip", DType::int64, Dims{});
    const ValueId go = b.add_input("go", DType::bool_, Dims{});
    const ValueId v = b.add_input("v", DType::float32, Dims{2, 3});
    b.add_output("go", go);
    b.add_output("v", node(b, op::Add{}, {node(b, op::Sub{}, {v, b.capture(r[0])}), b.capture(r[3])}));
    g.add_output("last", node(g, op::Loop{.body = body(std::move(b))},
                              {g.add_constant({}, AnyTensor(Tensor<int64_t>({}, {3}))), -1, r[1]}));
    return g;
  };
  const Session s = checked(build, {{"x", floats<float>({2, 3}, 2)}});
  CHECK(ifs(s.program()) == 0);
}

TEST_CASE("an If in the branch of another and in the body of a Loop, over captured values") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{2, 3});
    const ValueId yes_always = g.add_constant("yes", truth(true));
    Graph outer = Graph::inside(g), other = Graph::inside(g);
    other.add_output("y", other.capture(x));
    const ValueId twice = node(outer, op::Add{}, {outer.capture(x), outer.capture(x)});
    Graph b = Graph::inside(outer);
    b.add_input("trip", DType::int64, Dims{});
    const ValueId go = b.add_input("go", DType::bool_, Dims{});
    const ValueId v = b.add_input("v", DType::float32, Dims{2, 3});
    Graph deep = Graph::inside(b), unused = Graph::inside(b);
    const ValueId minus = node(deep, op::Neg{}, {deep.capture(b.capture(twice))});
    deep.add_output("y", node(deep, op::Add{}, {minus, deep.capture(v)}));
    unused.add_output("y", unused.capture(v));
    b.add_output("go", go);
    b.add_output("v", choose(b, b.capture(outer.capture(yes_always)), std::move(deep), std::move(unused))[0]);
    const ValueId three = outer.add_constant({}, AnyTensor(Tensor<int64_t>({}, {3})));
    const ValueId looped = node(outer, op::Loop{.body = body(std::move(b))}, {three, -1, twice});
    Graph pass = Graph::inside(outer), drop = Graph::inside(outer);
    pass.add_output("y", pass.capture(looped));
    drop.add_output("y", drop.capture(twice));
    outer.add_output("y", choose(outer, outer.capture(yes_always), std::move(pass), std::move(drop))[0]);
    g.add_output("y", choose(g, yes_always, std::move(outer), std::move(other))[0]);
    return g;
  };
  const Session s = checked(build, {{"x", floats<float>({2, 3}, 2)}});
  CHECK(ifs(s.program()) == 0);
  for (const Graph::Node& n : s.program().nodes())
    if (const auto* loop = n.op.as<op::Loop>())
      CHECK(ifs(dynamic_cast<const GraphBody&>(*loop->body.body).program()) == 0);
}

TEST_CASE("a condition that follows from extents; one that a run gives keeps the If") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{g.symbol("N"), 3});
    const ValueId extent = node(g, op::Shape{.end = 2, .start = 1}, {x});
    const ValueId three = g.add_constant({}, AnyTensor(Tensor<int64_t>({1}, {3})));
    const ValueId c = node(g, op::Equal{}, {extent, three});
    Graph yes = Graph::inside(g), no = Graph::inside(g);
    yes.add_output("y", node(yes, op::Neg{}, {yes.capture(x)}));
    no.add_output("y", no.capture(x));
    const ValueId y = choose(g, c, std::move(yes), std::move(no))[0];
    const ValueId given = g.add_input("given", DType::bool_, Dims{}, truth(true));
    Graph left = Graph::inside(g), right = Graph::inside(g);
    left.add_output("z", node(left, op::Neg{}, {left.capture(y)}));
    right.add_output("z", right.capture(y));
    g.add_output("z", choose(g, given, std::move(left), std::move(right), 1, "second")[0]);
    return g;
  };
  const Value x = floats<float>({4, 3}, 2);
  const Session s = checked(build, {{"x", x}});
  CHECK(ifs(s.program()) == 0);
  for (const bool value : {true, false}) checked(build, {{"x", x}, {"given", truth(value)}});

  Graph g;
  const ValueId c = g.add_input("c", DType::bool_, Dims{});
  const ValueId v = g.add_input("v", DType::float32, Dims{3});
  Graph yes = Graph::inside(g), no = Graph::inside(g);
  yes.add_output("y", yes.capture(v));
  no.add_output("y", node(no, op::Neg{}, {no.capture(v)}));
  g.add_output("y", choose(g, c, std::move(yes), std::move(no))[0]);
  const Session open(std::move(g), {.passes = passes, .explain = true});
  CHECK(ifs(open.program()) == 1);
  CHECK(to_string(open.reports()[0]) ==
        "node 'choice' (If-25) -> take_branches: its condition is known in the run only");
}

TEST_CASE("an If in the body of a Loop, whose condition follows from extents outside") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{g.symbol("N"), 3});
    const ValueId extent = node(g, op::Shape{.end = 2, .start = 1}, {x});
    const ValueId c =
        node(g, op::Equal{}, {extent, g.add_constant({}, AnyTensor(Tensor<int64_t>({1}, {3})))});
    // The first extent is known in the run only.
    const ValueId open =
        node(g, op::Equal{},
             {node(g, op::Shape{.end = 1}, {x}), g.add_constant({}, AnyTensor(Tensor<int64_t>({1}, {4})))});
    Graph b = Graph::inside(g);
    b.add_input("trip", DType::int64, Dims{});
    const ValueId go = b.add_input("go", DType::bool_, Dims{});
    const ValueId v = b.add_input("v", DType::float32, Dims{});
    Graph yes = Graph::inside(b), no = Graph::inside(b);
    const ValueId inner = yes.capture(b.capture(c));
    Graph deep = Graph::inside(yes), unused = Graph::inside(yes);
    deep.add_output("z", node(deep, op::Neg{}, {deep.capture(yes.capture(v))}));
    unused.add_output("z", unused.capture(yes.capture(v)));
    yes.add_output("y", choose(yes, inner, std::move(deep), std::move(unused), 1, "inner")[0]);
    no.add_output("y", no.capture(v));
    const ValueId first = choose(b, b.capture(c), std::move(yes), std::move(no))[0];
    Graph left = Graph::inside(b), right = Graph::inside(b);
    left.add_output("z", node(left, op::Relu{}, {left.capture(first)}));
    right.add_output("z", right.capture(first));
    b.add_output("go", go);
    b.add_output("v", choose(b, b.capture(open), std::move(left), std::move(right), 1, "open")[0]);
    g.add_output("y", node(g, op::Loop{.body = body(std::move(b))},
                           {g.add_constant({}, AnyTensor(Tensor<int64_t>({}, {3}))), -1, x}));
    return g;
  };
  for (const int64_t n : {4, 5}) {
    const Session s = checked(build, {{"x", floats<float>({n, 3}, 2)}});
    int left = 0;
    for (const Graph::Node& loop : s.program().nodes())
      if (const auto* op = loop.op.as<op::Loop>())
        left += ifs(dynamic_cast<const GraphBody&>(*op->body.body).program());
    CHECK(left == 1);
  }
}

TEST_CASE("only the branch that runs has to fit, and an error in it names its node") {
  const auto build = [](bool condition) {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{g.symbol("N"), 3});
    Graph yes = Graph::inside(g), no = Graph::inside(g);
    const ValueId w = no.add_constant({}, floats<float>({2, 3}, 1));
    no.add_output("y", no.add_node("bad", AnyOperator::make(op::Add{}), {no.capture(x), w},
                                   std::array{std::string("sum")})[0]);
    yes.add_output("y", yes.capture(x));
    g.add_output("y", choose(g, g.add_constant({}, truth(condition)), std::move(yes), std::move(no))[0]);
    return g;
  };
  const Feeds feeds{{"x", floats<float>({5, 3}, 2)}};
  checked([&] { return build(true); }, feeds);
  const Session s(build(false), {.passes = passes});
  tenon::test::check_error([&] { static_cast<void>(s.run(feeds)); }, {"node 'bad' (Add-14)"});
}

}  // namespace
}  // namespace tenon::passes
