#include "tenon/graph/passes/drop_casts.hpp"

#include "tenon/op/math/neg.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

TEST_CASE("casts to a value's own type, identities and casts of constants disappear") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float16, Dims{g.symbol("N"), 3});
    const ValueId same = node(g, op::Cast{.to = static_cast<int64_t>(DType::float16)}, {x});
    const ValueId wide = node(g, op::Cast{.to = static_cast<int64_t>(DType::float32)}, {x});
    const ValueId half = g.add_constant({}, AnyTensor(Tensor<float>({}, {0.5f})));
    const ValueId like = node(g, op::CastLike{}, {half, node(g, op::Identity{}, {same})});
    const ValueId y = node(g, op::Cast{.to = static_cast<int64_t>(DType::float16)}, {wide});
    g.add_output("y", node(g, op::Mul{}, {node(g, op::Neg{}, {y}), like}));
    return g;
  };
  test::check_pass(drop_casts, build, {{"x", floats<float16>({4, 3}, 1)}}, 4, 0);
}

TEST_CASE("outputs keep their nodes") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{3});
    g.add_output("y", node(g, op::Identity{}, {x}));
    return g;
  };
  test::check_pass(drop_casts, build, {{"x", floats<float>({3}, 1)}}, 1, 0);
}

TEST_CASE("what an output is a copy of is read by other nodes as it is") {
  const auto build = [] {
    Graph g;
    const ValueId x = node(g, op::Neg{}, {g.add_input("x", DType::float32, Dims{3})}),
                  same = node(g, op::Cast{.to = static_cast<int64_t>(DType::float32)}, {x});
    g.add_output("y", node(g, op::Neg{}, {same}));
    g.add_output("same", same);
    return g;
  };
  test::check_pass(drop_casts, build, {{"x", floats<float>({3}, 1)}}, 3, 0);
  const Session s(build(), {.passes = std::vector{drop_casts}});
  for (const Graph::Node& cast : s.program().nodes())
    for (const Graph::Node& reader : s.program().nodes())
      if (cast.op.as<op::Cast>()) CHECK(reader.inputs[0] != cast.outputs[0]);
}

TEST_CASE("extents that are known are constants where they become floats") {
  const auto build = [](bool known) {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {g.symbol("N"), known ? Dim(3) : g.symbol("M")}),
                  at = g.add_constant({}, AnyTensor(Tensor<int64_t>(Extents{1}, {-1}))),
                  last = node(g, op::Gather{}, {node(g, op::Shape{}, {x}), at});
    g.add_output("y", node(g, op::Mul{}, {x, node(g, op::Cast{.to = 1}, {last})}));
    return g;
  };
  test::check_pass(drop_casts, [&] { return build(true); }, {{"x", floats<float>({4, 3}, 1)}}, 1, 0);
  const Session open(build(false), {.passes = std::vector{drop_casts}});
  CHECK(open.program().nodes().size() == 4);
}

}  // namespace
}  // namespace tenon::passes
