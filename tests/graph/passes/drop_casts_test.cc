#include "tenon/graph/passes/drop_casts.hpp"

#include "tenon/op/math/neg.hpp"
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

}  // namespace
}  // namespace tenon::passes
