#include "tenon/graph/passes/fuse_elementwise.hpp"

#include "tenon/op/math/abs.hpp"
#include "tenon/op/math/clip.hpp"
#include "tenon/op/math/div.hpp"
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/max.hpp"
#include "tenon/op/math/min.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/pow.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/math/sqrt.hpp"
#include "tenon/op/math/sub.hpp"
#include "tenon/op/math/tanh.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/where.hpp"
#include "tests/graph/passes/check.hpp"
#include "tests/graph/passes/custom.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

ValueId number(Graph& g, float value) { return g.add_constant({}, Tensor<float>({}, {value})); }

TEST_CASE("a chain becomes one node, also where it is longer than a tile, empty, or of one element") {
  for (const Extents& extents :
       {Extents{3, 5}, Extents{2, 3, 4099}, Extents{0, 4}, Extents{1}, Extents{4096}, Extents{8192}}) {
    CAPTURE(to_string(extents));
    const auto build = [&] {
      Graph g;
      Dims dims(extents);
      dims[0] = g.symbol("n");
      const ValueId x = g.add_input("x", DType::float32, dims);
      ValueId v = node(g, op::Mul{}, {x, number(g, 1.5f)});
      v = node(g, op::Tanh{}, {v});
      v = node(g, op::Mul{}, {v, node(g, op::Sigmoid{}, {v})});  // read twice
      v = node(g, op::Sub{}, {v, x});
      g.add_output("y", node(g, op::Clip{}, {v, -1, number(g, 0.25f)}));
      return g;
    };
    test::check_pass(fuse_elementwise, build, {{"x", floats<float>(extents, 1)}}, 1, 0);
  }
}

TEST_CASE("a tree of several types and operands") {
  const auto build = [] {
    Graph g;
    const Dims dims{g.symbol("n"), 7};
    const ValueId x = g.add_input("x", DType::float32, dims), h = g.add_input("h", DType::float16, dims),
                  mask = g.add_input("mask", DType::bool_, dims), b = g.add_input("b", DType::float32, {7});
    const ValueId biased = node(g, op::Add{}, {x, b});  // b stretches: a node of its own
    const ValueId wide = node(g, op::Cast{.to = static_cast<int64_t>(DType::float32)}, {h});
    const ValueId sum = node(g, op::Sum{}, {biased, wide, wide, x});
    const ValueId chosen = node(g, op::Where{}, {mask, sum, node(g, op::Exp{}, {wide})});
    g.add_output("y", node(g, op::Cast{.to = static_cast<int64_t>(DType::float16)}, {chosen}));
    return g;
  };
  Tensor<bool> mask({4, 7});
  for (int64_t k = 0; k < mask.size(); ++k) mask[k] = k % 3 == 0;
  test::check_pass(fuse_elementwise, build,
                   {{"x", floats<float>({4, 7}, 1)},
                    {"h", floats<float16>({4, 7}, 2)},
                    {"mask", mask},
                    {"b", floats<float>({7}, 3)}},
                   2, 0);
}

TEST_CASE("values that others read, outputs and other extents part groups") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {g.symbol("n"), 6});
    const ValueId a = node(g, op::Neg{}, {x}), b = node(g, op::Exp{}, {a});
    const ValueId p = node(g, op::MatMul{}, {b, a});  // reads a and b
    const ValueId c = node(g, op::Add{}, {p, b}), d = node(g, op::Neg{}, {c});
    g.add_output("d", d);
    g.add_output("e", node(g, op::Neg{}, {node(g, op::Tanh{}, {d})}));
    return g;
  };
  test::check_pass(fuse_elementwise, build, {{"x", floats<float>({6, 6}, 1)}}, 5, 0);
}

TEST_CASE("nodes whose results are small stay") {
  for (const int64_t size : {4096, 4097}) {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {size});
    g.add_output("y", node(g, op::Neg{}, {node(g, op::Exp{}, {x})}));
    const Session s(std::move(g), {.passes = std::vector{fuse_elementwise}});
    CHECK(s.program().nodes().size() == (size == 4096 ? 2 : 1));
  }
}

TEST_CASE("results larger than caches") {
  for (const int64_t n : {(1 << 21) + 5, (1 << 22) + 7}) {
    CAPTURE(n);
    const auto build = [&] {
      Graph g;
      const ValueId x = g.add_input("x", DType::float16, {n});
      const ValueId wide = node(g, op::Cast{.to = static_cast<int64_t>(DType::float32)}, {x});
      g.add_output("y", node(g, op::Neg{}, {wide}));
      return g;
    };
    test::check_pass(fuse_elementwise, build, {{"x", floats<float16>({n}, 1)}}, 1, 0);
  }
}

std::vector<std::size_t> chains(Graph g) {
  const Session s(std::move(g), {.passes = std::vector{fuse_elementwise}});
  std::vector<std::size_t> lengths;
  for (const Graph::Node& n : s.program().nodes())
    if (const auto* f = n.op.as<FusedElementwise>())
      for (const auto& step : f->steps) lengths.push_back(step.chain.size());
  return lengths;
}

TEST_CASE("cheap functions of floats are one step, of numbers and of arrays, in either order") {
  for (const int64_t n : {5000, (1 << 21) + 77}) {
    CAPTURE(n);
    const auto build = [&] {
      Graph g;
      const ValueId x = g.add_input("x", DType::float32, {n}), w = g.add_input("w", DType::float32, {n});
      ValueId v = node(g, op::Mul{}, {x, number(g, 1.5f)});
      v = node(g, op::Sub{}, {number(g, 0.25f), v});
      v = node(g, op::Sqrt{}, {node(g, op::Abs{}, {v})});
      v = node(g, op::Sub{}, {w, v});
      v = node(g, op::Max{}, {v, node(g, op::Neg{}, {x})});
      v = node(g, op::Div{}, {v, number(g, 3)});
      v = node(g, op::Exp{}, {node(g, op::Relu{}, {v})});
      v = node(g, op::Min{}, {node(g, op::Mul{}, {v, v}), x});
      g.add_output("y", node(g, op::Clip{}, {v, number(g, -0.5f), -1}));
      return g;
    };
    // Neg, the chain that reads it, Exp, and what follows.
    CHECK(chains(build()) == std::vector<std::size_t>{1, 8, 0, 3});
    test::check_pass(fuse_elementwise, build, {{"x", floats<float>({n}, 1)}, {"w", floats<float>({n}, 2)}}, 1,
                     0);
  }
}

TEST_CASE("a chain ends where its value is read twice, and before it has too many operands") {
  std::vector<std::string> names;
  for (int k = 0; k < 12; ++k) names.push_back(str_cat("x", k));
  const auto build = [&] {
    Graph g;
    std::vector<ValueId> x;
    for (const std::string& name : names) x.push_back(g.add_input(name, DType::float32, {5000}));
    ValueId v = node(g, op::Add{}, {x[0], x[1]});
    v = node(g, op::Sub{}, {node(g, op::Neg{}, {v}), v});
    for (std::size_t k = 2; k < 12; ++k) v = node(g, op::Mul{}, {v, x[k]});
    g.add_output("y", v);
    return g;
  };
  CHECK(chains(build()) == std::vector<std::size_t>{1, 1 + 1 + 6, 4});
  Feeds feeds;
  for (int k = 0; k < 12; ++k)
    feeds.emplace_back(names[static_cast<std::size_t>(k)], floats<float>({5000}, k));
  test::check_pass(fuse_elementwise, build, feeds, 1, 0);
}

TEST_CASE("results do not depend on threads, and a dying operand is written over") {
  Graph g;
  ValueId v = g.add_input("x", DType::float32, {100, 1000});
  const ValueId w = g.add_constant({}, floats<float>({1000, 1000}, 2));
  v = node(g, op::MatMul{}, {v, w});
  for (int k = 0; k < 100; ++k) v = node(g, op::Add{}, {node(g, op::Sigmoid{}, {v}), number(g, 0.1f)});
  g.add_output("y", node(g, op::MatMul{}, {v, w}));
  const Session s(std::move(g), {.passes = std::vector{fuse_elementwise}});
  CHECK(s.program().nodes().size() == 2 + 4);  // of at most 64 steps
  CHECK(s.plan({}).arena_bytes == 400'000);
  const Feeds feeds{{"x", floats<float>({100, 1000}, 1)}};
  Outputs one = s.run(feeds);
  ThreadPool pool(3);
  const ScopedPool use(pool);
  Outputs three = s.run(feeds);
  CHECK(test::difference(one[0].tensor(), three[0].tensor()) == 0);
}

TEST_CASE("operators of a domain of their own, one with the name of ONNX's") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {g.symbol("n"), 7});
    const ValueId y = node(g, op::Tanh{}, {node(g, test::custom::Abs{}, {x})});
    g.add_output("y", node(g, op::Abs{}, {node(g, test::custom::Distance{}, {y, number(g, 0.25f)})}));
    return g;
  };
  test::check_pass(fuse_elementwise, build, {{"x", floats<float>({3000, 7}, 1)}}, 1, 0);
}

}  // namespace
}  // namespace tenon::passes
