// Bodies of If and Loop that read values of the graph around them.
#include "tenon/graph/session.hpp"

#include <doctest/doctest.h>

#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/controlflow/loop.hpp"
#include "tenon/op/generator/random_uniform_like.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/reduction/arg_max.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/non_zero.hpp"
#include "tenon/op/tensor/squeeze.hpp"
#include "tests/graph/build.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Session: branches see the values around them") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n")});
  const ValueId cond = g.add_input("cond", DType::bool_, {});
  g.add_constant("w", Tensor<float>({1}, {10}));
  node(g, op::Neg{}, {x}, "a");  // dies in the If
  const ValueId b = node(g, op::Exp{}, {x}, "b");
  Graph then_branch = Graph::inside(g), else_branch = Graph::inside(g);
  then_branch.add_output("r",
                         node(then_branch, op::Add{}, {then_branch.find("a"), then_branch.find("w")}, "r"));
  // A branch within the branch reads `a` from two graphs above; the other one gives `x` as it is.
  Graph inner = Graph::inside(else_branch), other = Graph::inside(else_branch);
  inner.add_output("i", node(inner, op::Mul{}, {inner.find("a"), inner.find("a")}, "i"));
  other.add_output("o", other.find("x"));
  const ValueId again = else_branch.find("cond");
  const ValueId nested =
      node(else_branch, op::If{.else_branch = body(std::move(inner)), .then_branch = body(std::move(other))},
           {again}, "n");
  else_branch.add_output("r", nested);
  const ValueId r = node(
      g, op::If{.else_branch = body(std::move(else_branch)), .then_branch = body(std::move(then_branch))},
      {cond}, "r");
  g.add_output("y", node(g, op::Add{}, {r, r}, "y"));
  g.add_output("b", b);
  const Session s(std::move(g));
  const auto run = [&](std::initializer_list<float> x, bool cond) {
    return floats(s.run({{"x", Tensor<float>({static_cast<int64_t>(x.size())}, x)},
                         {"cond", Tensor<bool>({}, {cond})}})["y"]);
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(run({1, 2}, true) == std::vector<float>{18, 16});
    CHECK(run({1, 2}, false) == std::vector<float>{2, 8});
    CHECK(run({3}, false) == std::vector<float>{18});
  }
}

TEST_CASE("Session: loops see the values around them") {
  // v = v * x + step, as long as there are trips; every v is kept. Where the body never runs, the captured
  // value tells the extents of v.
  for (const Dims& declared : {Dims{2}, Dims()}) {
    Graph g;
    const ValueId trips = g.add_input("trips", DType::int64, {});
    const ValueId x = g.add_input("x", DType::float32, declared);
    const ValueId start = g.add_input("start", DType::float32, {2});
    node(g, op::Neg{}, {x}, "minus");
    Graph b = Graph::inside(g);
    b.set_name("body");
    b.add_input("i", DType::int64, {});
    const ValueId go = b.add_input("go", DType::bool_, {});
    const ValueId v = b.add_input("v", DType::float32, {2});
    const ValueId next =
        node(b, op::Add{},
             {node(b, op::Mul{}, {v, b.find("minus")}), b.add_constant({}, Tensor<float>({}, {1}))}, "next");
    b.add_output("go_on", go);
    b.add_output("next", next);
    b.add_output("kept", next);
    const std::string names[] = {"last", "all"};
    const auto out =
        g.add_node("loop", AnyOperator::make(op::Loop{body(std::move(b))}), {trips, -1, start}, names);
    g.add_output("last", out[0]);
    g.add_output("all", out[1]);
    const Session s(std::move(g));
    for (int64_t n : {0, 1, 3, 2}) {
      std::vector<float> expected = {5, -1}, all;
      for (int64_t k = 0; k < n; ++k) {
        expected = {expected[0] * -2 + 1, expected[1] * -3 + 1};
        all.insert(all.end(), expected.begin(), expected.end());
      }
      Outputs y = s.run({{"trips", Tensor<int64_t>({}, {n})},
                         {"x", Tensor<float>({2}, {2, 3})},
                         {"start", Tensor<float>({2}, {5, -1})}});
      CHECK(floats(y["last"]) == expected);
      CHECK(floats(y["all"]) == all);
      CHECK(y["all"].tensor().extents() == Extents{n, 2});
    }
  }

  // A value around a body that never runs may be one that the body could not take.
  Graph g;
  const ValueId trips = g.add_input("trips", DType::int64, {});
  g.add_input("x", DType::float32, Dims{Dim::symbol(g.symbol("N").symbol())});
  Graph b = Graph::inside(g);
  b.add_input("i", DType::int64, {});
  const ValueId go = b.add_input("go", DType::bool_, {});
  b.add_output("go_on", go);
  b.add_output("greatest", node(b, op::ArgMax{}, {b.find("x")}, "greatest"));
  const std::string name[] = {"all"};
  g.add_output("all",
               g.add_node("loop", AnyOperator::make(op::Loop{body(std::move(b))}), {trips, -1}, name)[0]);
  const Session s(std::move(g));
  Outputs y = s.run({{"trips", Tensor<int64_t>({}, {0})}, {"x", Tensor<float>({0}, {})}});
  CHECK(y["all"].tensor().extents() == Extents{0, 1});
}

TEST_CASE("Session: loops over constants are computed before any run") {
  // v = v + step, which is a constant outside of the body.
  const auto nodes_left = [](int64_t trips, bool random, int64_t wide) {
    Graph g;
    const ValueId m = g.add_constant("m", Tensor<int64_t>({}, {trips}));
    Tensor<float> zeros({wide}), steps({wide});
    for (float& s : steps) s = 2;
    const ValueId start = g.add_constant("start", std::move(zeros));
    g.add_constant("step", std::move(steps));
    Graph b = Graph::inside(g);
    b.set_name("body");
    b.add_input("i", DType::int64, {});
    const ValueId go = b.add_input("go", DType::bool_, {}), v = b.add_input("v", DType::float32, {wide});
    b.add_output("go_on", go);
    ValueId next = node(b, op::Add{}, {v, b.find("step")});
    if (random) next = node(b, op::Add{}, {next, node(b, op::RandomUniformLike{}, {next})});
    b.add_output("next", next);
    g.add_output("y", node(g, op::Loop{body(std::move(b))}, {m, -1, start}));
    const Session s(std::move(g));
    const std::vector<float> y = floats(s.run({})["y"]);
    CHECK(std::ssize(y) == wide);
    if (!random) CHECK(y[0] == static_cast<float>(2 * trips));
    return s.program().nodes().size();
  };
  CHECK(nodes_left(0, false, 3) == 0);
  CHECK(nodes_left(1024, false, 3) == 0);
  CHECK(nodes_left(1025, false, 3) == 1);
  CHECK(nodes_left(4, false, 20'000) == 1);
  CHECK(nodes_left(4, true, 3) == 1);
}

TEST_CASE("Session: a loop that never runs gives the extents that its body declares, where rules tell none") {
  const auto extents = [](const auto& scanned, const Dims& declared) {
    Graph g;
    const ValueId trips = g.add_input("trips", DType::int64, {});
    g.add_input("x", DType::float32, {Dim(), 3});
    Graph b = Graph::inside(g);
    b.add_input("i", DType::int64, {});
    b.add_output("go_on", b.add_input("go", DType::bool_, {}));
    b.add_output("kept", scanned(b, b.find("x")), declared);
    const std::string name[] = {"all"};
    g.add_output("all",
                 g.add_node("loop", AnyOperator::make(op::Loop{body(std::move(b))}), {trips, -1}, name)[0]);
    const Session s(std::move(g));
    return to_string(s.run({{"trips", Tensor<int64_t>({}, {0})}, {"x", Tensor<float>({0, 3}, {})}})["all"]
                         .tensor()
                         .extents());
  };
  const auto places = [](Graph& b, ValueId x) { return node(b, op::NonZero{}, {x}); };
  const auto squeezed = [](Graph& b, ValueId x) {
    return node(b, op::Squeeze{}, {node(b, op::NonZero{}, {x}), -1});
  };
  CHECK(extents(places, {2, Dim::symbol(0)}) == "(0,2,0)");
  CHECK(extents(places, {Dim(), 7}) == "(0,2,7)");
  CHECK(extents(places, {9, 7}) == "(0,2,7)");
  CHECK(extents(places, {7}) == "(0,2,0)");
  CHECK(extents(squeezed, {}) == "(0)");
  CHECK(extents(squeezed, {Dim(), 7}) == "(0,0,7)");
}

TEST_CASE("Session: a loop whose condition always holds runs as often as its number says") {
  enum Condition { passed, constant, given };
  for (const Condition condition : {passed, constant, given})
    for (const bool first : {true, false}) {
      Graph g;
      const ValueId start = g.add_input("start", DType::float32, {2});
      const ValueId trips = g.add_constant("trips", Tensor<int64_t>({}, {3}));
      const ValueId open = g.add_input("open", DType::bool_, {});
      const ValueId cond = condition == given ? open : g.add_constant("cond", Tensor<bool>({}, {first}));
      Graph b = Graph::inside(g);
      b.add_input("i", DType::int64, {});
      const ValueId go = b.add_input("go", DType::bool_, {});
      const ValueId v = b.add_input("v", DType::float32, {2});
      const ValueId next = node(b, op::Add{}, {v, v}, "next");
      b.add_output("go_on", condition == constant ? b.add_constant({}, Tensor<bool>({}, {true}))
                                                  : node(b, op::Identity{}, {go}, "still"));
      b.add_output("next", next);
      b.add_output("kept", next);
      const std::string names[] = {"last", "all"};
      const auto out =
          g.add_node("loop", AnyOperator::make(op::Loop{body(std::move(b))}), {trips, cond, start}, names);
      g.add_output("all", out[1]);
      const Dims all = g.entry(out[1]).info.dims;
      CHECK(all.known() == (condition != given));
      const Session s(std::move(g));
      Outputs y = s.run({{"start", Tensor<float>({2}, {5, -1})}, {"open", Tensor<bool>({}, {first})}});
      CHECK(y["all"].tensor().extents() == Extents{first ? 3 : 0, 2});
      CHECK(all.fits(y["all"].tensor().extents()));
    }
}

}  // namespace tenon
