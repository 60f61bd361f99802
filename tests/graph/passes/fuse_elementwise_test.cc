#include "tenon/graph/passes/fuse_elementwise.hpp"

#include "tenon/op/math/clip.hpp"
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/pow.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/math/sub.hpp"
#include "tenon/op/math/tanh.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/where.hpp"
#include "tests/graph/passes/check.hpp"

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

}  // namespace
}  // namespace tenon::passes
