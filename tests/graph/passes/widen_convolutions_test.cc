#include "tenon/graph/passes/widen_convolutions.hpp"

#include "tenon/graph/passes/block_channels.hpp"
#include "tenon/op/math/div.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/batch_normalization.hpp"
#include "tenon/op/nn/global_average_pool.hpp"
#include "tenon/op/nn/max_pool.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tests/graph/passes/check.hpp"
#include "tests/graph/passes/custom.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

/// The number of nodes of an operator.
int count(const Session& s, std::string_view op) {
  int found = 0;
  for (const Graph::Node& n : s.program().nodes()) found += n.op.spec().name == op;
  return found;
}

Session session(Graph g) {
  return Session(std::move(g), {.passes = std::vector{widen_convolutions, test::infos_are_true,
                                                      fuse_convolution, block_channels},
                                .explain = true});
}

template <class T>
ValueId conv(Graph& g, ValueId x, int64_t in, int64_t out, int seed) {
  return node(g, op::Conv{.pads = {1, 1, 1, 1}},
              {x, g.add_constant({}, floats<T>({out, in, 3, 3}, seed)),
               g.add_constant({}, floats<T>({out}, seed + 1))});
}

/// Compares all results of a graph with and without the passes.
void check(const Session& passed, Graph g, const Feeds& feeds, double tolerance) {
  const Session plain(std::move(g));
  Outputs expected = plain.run(feeds), got = passed.run(feeds);
  for (std::size_t k = 0; k < expected.size(); ++k)
    CHECK(test::difference(expected[k].tensor(), got[k].tensor()) <= tolerance);
}

template <class T>
void check_network(double tolerance) {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", dtype_of<T>, Dims{2, 3, 19, 17});
    ValueId y = node(g, op::Relu{}, {conv<T>(g, x, 3, 32, 1)});
    const std::string names[] = {"p", "at"};
    y = g.add_node({}, AnyOperator::make(op::MaxPool{.kernel_shape = {2, 2}, .strides = {2, 2}}), {y},
                   names)[0];
    const ValueId z = conv<T>(g, y, 32, 32, 3);
    g.add_output("inner", z);
    y = node(g, op::Add{}, {conv<T>(g, z, 32, 32, 5), y});
    y = node(g, op::GlobalAveragePool{}, {y});
    Tensor<int64_t> extents{Extents{2}};
    extents[0] = 2, extents[1] = 32;
    y = node(g, op::Reshape{}, {y, g.add_constant({}, AnyTensor(std::move(extents)))});
    g.add_output("y", y);
    g.add_output("at", g.find("at"));
    return g;
  };
  const Feeds feeds{{"x", floats<T>({2, 3, 19, 17}, 9)}};
  const Session passed = session(build());
  CHECK(count(passed, "BlockedConv") == 3);
  CHECK(count(passed, "Cast") == 3);  // of x, "inner" and "y"
  const Session plain(build());
  Outputs expected = plain.run(feeds), got = passed.run(feeds);
  for (std::size_t k = 0; k < 2; ++k)
    CHECK(test::difference(expected[k].tensor(), got[k].tensor()) <= tolerance);
  CHECK(got[2].tensor().extents() == expected[2].tensor().extents());
}

}  // namespace

TEST_CASE("regions of convolutions compute in float") {
  check_network<float16>(3e-3);
  check_network<bfloat16>(2e-2);
}

TEST_CASE("nodes before a region keep their type, and a Cast after it reads it") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float16, Dims{1, 16, 9, 9});
    const ValueId before = node(g, op::Div{}, {x, g.add_constant({}, floats<float16>({16, 1, 1}, 7))});
    const ValueId y = conv<float16>(g, before, 16, 16, 1);
    g.add_output("y", node(g, op::Cast{.to = static_cast<int64_t>(DType::float32)}, {y}));
    return g;
  };
  const Session passed = session(build());
  CHECK(count(passed, "BlockedConv") == 1);
  CHECK(count(passed, "Div") == 1);
  check(passed, build(), {{"x", floats<float16>({1, 16, 9, 9}, 2)}}, 3e-3);
}

TEST_CASE("weights that a run gives, and graphs without convolutions, stay") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float16, Dims{1, 16, 9, 9});
  const ValueId w = g.add_input("w", DType::float16, Dims{16, 16, 1, 1});
  g.add_output("y", node(g, op::Relu{}, {node(g, op::Conv{}, {node(g, op::Relu{}, {x}), w})}));
  const Session passed = session(std::move(g));
  CHECK(count(passed, "Cast") == 0);
  REQUIRE(!passed.reports().empty());
  CHECK(to_string(passed.reports()[0]).find("the weights are not constant") != std::string::npos);
}

TEST_CASE("operators that are compiled for one type stay") {
  Graph g;
  const auto x = g.input<float16, Shape<1, 4, 8, 8>>("x");
  g.output("y", g.add(op::Conv{}, x, Tensor<float16, Shape<4, 4, 1, 1>>{}));
  const Session passed = session(std::move(g));
  CHECK(count(passed, "Cast") == 0);
}

TEST_CASE("what stands between convolutions is a matter of operands, and not of names") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float16, Dims{1, 16, 9, 9});
    ValueId y = node(g, test::custom::Abs{}, {conv<float16>(g, x, 16, 16, 1)});
    y = node(g, op::Softmax{.axis = 1}, {y});
    y = node(g, op::MatMul{},
             {conv<float16>(g, y, 16, 16, 3), g.add_constant({}, floats<float16>({9, 9}, 5))});
    g.add_output("y", conv<float16>(g, y, 16, 16, 6));
    return g;
  };
  const Session passed = session(build());
  CHECK(count(passed, "BlockedConv") == 3);
  CHECK(count(passed, "Cast") == 4);  // around the MatMul too
  check(passed, build(), {{"x", floats<float16>({1, 16, 9, 9}, 2)}}, 3e-3);
}

}  // namespace tenon::passes
