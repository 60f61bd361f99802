#include "tenon/graph/passes/fuse_layer_normalization.hpp"

#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

struct Case {
  const char* name;
  Ints axes{-1};
  bool centered = true;  ///< LayerNormalization, else RMSNormalization
  bool twice = false;    ///< the mean is taken off once more for the quotient
  bool square = false;   ///< Mul in place of Pow
  int reciprocal = 0;    ///< 1: by Reciprocal, 2: by 1 / root
  Opt<Extents> scale{}, bias{};
  int64_t keepdims = 1;
  double exponent = 2;
  bool variance_is_output = false, deviation_is_read = false;
  Ints mean_axes{};  ///< of the first mean, if they differ
  int left = 1;      ///< nodes that stay; 0: all
};

const Case cases[] = {
    {.name = "layer normalisation", .scale = Extents{6}, .bias = Extents{6}},
    {.name = "two differences", .twice = true, .square = true, .scale = Extents{6}, .bias = Extents{6}},
    {.name = "a reciprocal", .reciprocal = 1, .scale = Extents{1, 1, 6}, .bias = Extents{6}},
    {.name = "one over the root", .square = true, .reciprocal = 2, .scale = Extents{1}},
    {.name = "two axes", .axes = {1, 2}, .scale = Extents{5, 6}, .bias = Extents{5, 1}},
    {.name = "all axes", .axes = {2, 0, 1}},
    {.name = "a bias alone", .bias = Extents{6}},
    {.name = "a scale of rows", .scale = Extents{4, 1, 1}, .left = 2},
    {.name = "a scale that widens", .scale = Extents{2, 1, 1, 6}, .left = 2},
    {.name = "rms", .centered = false, .scale = Extents{6}},
    {.name = "rms followed by a sum", .centered = false, .scale = Extents{6}, .bias = Extents{6}, .left = 2},
    {.name = "rms, square and reciprocal",
     .centered = false,
     .square = true,
     .reciprocal = 2,
     .scale = Extents{6}},
    {.name = "other axes", .axes = {1}, .scale = Extents{6}, .left = 0},
    {.name = "axes that differ", .mean_axes = {1, 2}, .left = 3},
    {.name = "another power", .exponent = 4, .left = 0},
    {.name = "axes that are dropped", .axes = {0, 1, 2}, .keepdims = 0, .left = 0},
    {.name = "an output within", .scale = Extents{6}, .variance_is_output = true, .left = 0},
    {.name = "a reader elsewhere", .scale = Extents{6}, .deviation_is_read = true, .left = 0},
};

template <class T>
Graph build(const Case& c) {
  Graph g;
  const ValueId x = g.add_input("x", dtype_of<T>, Dims{c.axes.size() == 3 ? Dim(4) : g.symbol("N"), 5, 6});
  const auto number = [&](double d) {
    return g.add_constant({}, AnyTensor(Tensor<T>(Extents{}, {convert<T>(d)})));
  };
  const auto mean = [&](ValueId v, const Ints& axes) {
    const Tensor<int64_t> t(Extents{static_cast<int64_t>(axes.size())}, axes.begin(), axes.end());
    return node(g, op::ReduceMean{.keepdims = c.keepdims}, {v, g.add_constant({}, t)});
  };
  const Ints first = c.mean_axes.empty() ? c.axes : c.mean_axes;
  const auto center = [&] { return node(g, op::Sub{}, {x, mean(x, first)}); };
  const ValueId d = c.centered ? center() : x;
  const ValueId squares = c.square ? node(g, op::Mul{}, {d, d}) : node(g, op::Pow{}, {d, number(c.exponent)});
  const ValueId variance = mean(squares, c.axes);
  const ValueId root = node(g, op::Sqrt{}, {node(g, op::Add{}, {variance, number(1e-3)})});
  const ValueId over = c.twice ? center() : d;
  ValueId y = c.reciprocal == 1   ? node(g, op::Mul{}, {node(g, op::Reciprocal{}, {root}), over})
              : c.reciprocal == 2 ? node(g, op::Mul{}, {over, node(g, op::Div{}, {number(1), root})})
                                  : node(g, op::Div{}, {over, root});
  if (c.scale) y = node(g, op::Mul{}, {g.add_constant({}, floats<T>(*c.scale, 1)), y});
  if (c.bias) y = node(g, op::Add{}, {y, g.add_constant({}, floats<T>(*c.bias, 2))});
  g.add_output("y", y);
  if (c.variance_is_output) g.add_output("variance", variance);
  if (c.deviation_is_read) g.add_output("deviation", node(g, op::Sqrt{}, {d}));
  return g;
}

template <class T>
void check_all(double tolerance) {
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const Value x = floats<T>({4, 5, 6}, 7);
    const Session plain(build<T>(c)),
        passed(build<T>(c), {.passes = std::vector{fuse_layer_normalization, test::infos_are_true}});
    const auto& nodes = passed.program().nodes();
    if (c.left == 0 || dtype_of<T> == DType::float64) CHECK(nodes.size() == plain.program().nodes().size());
    else CHECK(nodes.size() == static_cast<std::size_t>(c.left));
    CHECK(test::difference(plain.run({{"x", x}})[0].tensor(), passed.run({{"x", x}})[0].tensor()) <=
          tolerance);
  }
}

TEST_CASE("normalisations give the results of the nodes in whose place they are") {
  check_all<float>(2e-6);
  check_all<double>(0);
  check_all<float16>(1e-2);
  check_all<bfloat16>(5e-2);
}

TEST_CASE("the pass says what it did") {
  for (const Case& c : {cases[0], cases[16]}) {
    const Session s(build<float>(c), {.passes = std::vector{fuse_layer_normalization}, .explain = true});
    REQUIRE(s.reports().size() == 1);
    CHECK(s.reports()[0].applied == (c.left == 1));
  }
}

}  // namespace
}  // namespace tenon::passes
