#include "tenon/graph/passes/fuse_convolution.hpp"

#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

/// A Clip whose bounds are attributes.
ValueId clip_6(Graph& g, ValueId x, float max, float min) {
  return g.add_node({}, make_operator(operator_class<op::Clip>, 6, {{"max", max}, {"min", min}}), {x},
                    std::vector<std::string>(1))[0];
}

enum class Residual { none, first, second, sum };  // the first or second operand of an Add, or one of a Sum
enum class End { none, relu, clip, clip_6 };

struct Case {
  const char* name;
  bool bias = false, norm = false;
  Residual residual = Residual::none;
  End end = End::none;
  int64_t group = 1;
};

constexpr Case cases[] = {
    {.name = "alone"},
    {.name = "bias", .bias = true},
    {.name = "normalised", .norm = true},
    {.name = "bias, normalised, relu", .bias = true, .norm = true, .end = End::relu},
    {.name = "residual", .residual = Residual::first},
    {.name = "all", .bias = true, .norm = true, .residual = Residual::second, .end = End::relu},
    {.name = "sum", .residual = Residual::sum, .end = End::relu},
    {.name = "clip", .end = End::clip},
    {.name = "clip with attributes", .bias = true, .end = End::clip_6},
    {.name = "groups", .bias = true, .norm = true, .end = End::relu, .group = 2},
    {.name = "depthwise", .norm = true, .residual = Residual::first, .end = End::clip, .group = 4},
};

/// x (N,4,9,7), z (N,8,5,7) -> y.
template <class T>
Graph build(const Case& c) {
  Graph g;
  const Dim n = g.symbol("N");
  const ValueId x = g.add_input("x", dtype_of<T>, Dims{n, 4, 9, 7});
  const ValueId z = g.add_input("z", dtype_of<T>, Dims{n, 8, 5, 7});
  std::vector<ValueId> in{x, g.add_constant({}, floats<T>({8, 4 / c.group, 3, 3}, 1))};
  if (c.bias) in.push_back(g.add_constant({}, floats<T>({8}, 2)));
  ValueId y = node(g, op::Conv{.group = c.group, .pads = {1, 0, 1, 2}, .strides = {2, 1}}, in);
  if (c.norm) {
    Tensor<T> variance{Extents{8}};
    for (int64_t k = 0; k < 8; ++k) variance[k] = static_cast<T>(0.25f * static_cast<float>(k + 1));
    y = node(g, op::BatchNormalization{.epsilon = 0.01f},
             {y, g.add_constant({}, floats<T>({8}, 3)), g.add_constant({}, floats<T>({8}, 4)),
              g.add_constant({}, floats<T>({8}, 5)), g.add_constant({}, variance)});
  }
  if (c.residual == Residual::first) y = node(g, op::Add{}, {z, y});
  if (c.residual == Residual::second) y = node(g, op::Add{}, {y, z});
  if (c.residual == Residual::sum) y = node(g, op::Sum{}, {y, z});
  if (c.end == End::relu) y = node(g, op::Relu{}, {y});
  if (c.end == End::clip_6) y = clip_6(g, y, 0.5f, -0.25f);
  if (c.end == End::clip) y = node(g, op::Clip{}, {y, -1, g.add_constant({}, floats<T>({}, 6))});
  g.add_output("y", y);
  return g;
}

template <class T>
void check_all(double tolerance) {
  for (const Case& c : cases) {
    if (std::is_same_v<T, bfloat16> && c.end == End::clip_6) continue;  // Clip takes it from version 13 on
    CAPTURE(c.name);
    for (int64_t n : {1, 3}) {
      const Value x = floats<T>({n, 4, 9, 7}, 7), z = floats<T>({n, 8, 5, 7}, 8);
      test::check_pass(fuse_convolution, [&] { return build<T>(c); }, {{"x", x}, {"z", z}}, 1, tolerance);
    }
  }
}

TEST_CASE("fused convolutions give the results of the nodes that they replace") {
  check_all<float>(1e-6);
  check_all<double>(1e-14);
  check_all<float16>(3e-3);  // one rounding in place of several
  check_all<bfloat16>(2e-2);
}

TEST_CASE("a NaN passes a fused Relu") {
  Tensor<float> x{Extents{1, 4, 9, 7}};
  for (int64_t k = 0; k < x.size(); ++k) x[k] = std::numeric_limits<float>::quiet_NaN();
  const Value z = floats<float>({1, 8, 5, 7}, 8);
  test::check_pass(
      fuse_convolution, [] { return build<float>({.name = "", .end = End::relu}); }, {{"x", x}, {"z", z}}, 1,
      0);
}

// y1 = conv(x), y2 = conv(y1), y = relu(y1 + y2)
Graph block() {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{1, 4, 5, 5});
  const ValueId w = g.add_constant({}, floats<float>({4, 4, 1, 1}, 1));
  const ValueId y1 = g.add_node({}, AnyOperator::make(op::Conv{}), {x, w}, std::array{std::string("y1")})[0];
  const ValueId y2 = g.add_node({}, AnyOperator::make(op::Conv{}), {y1, w}, std::array{std::string("y2")})[0];
  g.add_output("y", node(g, op::Relu{}, {node(g, op::Add{}, {y1, y2})}));
  return g;
}

TEST_CASE("a residual that is the convolution's own operand") {
  const Value x = floats<float>({1, 4, 5, 5}, 2);
  test::check_pass(fuse_convolution, block, {{"x", x}}, 2, 1e-6);
}

TEST_CASE("a sum of two convolutions: one takes the other as its residual, which still runs") {
  const auto shortcut = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {1, 4, 5, 5});
    const auto conv = [&](int seed) {
      return node(g, op::Conv{}, {x, g.add_constant({}, floats<float>({8, 4, 1, 1}, seed))});
    };
    const ValueId a = conv(3), b = conv(4);
    g.add_output("y", node(g, op::Relu{}, {node(g, op::Sum{}, {a, b})}));
    return g;
  };
  test::check_pass(fuse_convolution, shortcut, {{"x", Value(floats<float>({1, 4, 5, 5}, 2))}}, 2, 1e-6);
}

TEST_CASE("a value that is asked for by name is there") {
  const Value x = floats<float>({1, 4, 5, 5}, 2);
  const Session plain(block()), passed(block(), {.passes = std::vector{fuse_convolution}});
  for (const char* name : {"y1", "y2"}) {
    Outputs expected = plain.run({{"x", x}}, {.outputs = {name, "y"}}),
            got = passed.run({{"x", x}}, {.outputs = {name, "y"}});
    for (std::size_t k = 0; k < 2; ++k)
      CHECK(test::difference(expected[k].tensor(), got[k].tensor()) <= 1e-6);
  }
}

TEST_CASE("sums and products with constants of channels") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{1, 4, 5, 5});
    ValueId y = node(g, op::Conv{}, {x, g.add_constant({}, floats<float>({4, 4, 1, 1}, 1))});
    y = node(g, op::Mul{}, {y, g.add_constant({}, floats<float>({4, 1, 1}, 3))});
    y = node(g, op::Add{}, {g.add_constant({}, floats<float>({1, 4, 1, 1}, 4)), y});
    y = node(g, op::Mul{}, {y, g.add_constant({}, floats<float>({}, 5))});
    g.add_output("y", node(g, op::Relu{}, {y}));
    return g;
  };
  test::check_pass(fuse_convolution, build, {{"x", Value(floats<float>({1, 4, 5, 5}, 2))}}, 1, 1e-6);
}

TEST_CASE("nodes that are not fused") {
  const Value x = floats<float>({1, 4, 5, 5}, 2);
  const auto graph = [](auto rest) {
    return [rest] {
      Graph g;
      const ValueId in = g.add_input("x", DType::float32, Dims{1, 4, 5, 5});
      const ValueId y = node(g, op::Conv{}, {in, g.add_constant({}, floats<float>({4, 4, 1, 1}, 1))});
      g.add_output("y", rest(g, y));
      return g;
    };
  };
  SUBCASE("an addend that is stretched") {
    test::check_pass(fuse_convolution, graph([](Graph& g, ValueId y) {
                       return node(g, op::Add{}, {y, g.add_constant({}, floats<float>({5, 1}, 3))});
                     }),
                     {{"x", x}}, 2, 0);
  }
  SUBCASE("a sum with itself") {
    test::check_pass(fuse_convolution, graph([](Graph& g, ValueId y) { return node(g, op::Add{}, {y, y}); }),
                     {{"x", x}}, 2, 0);
  }
  SUBCASE("bounds that are no constants") {
    test::check_pass(
        fuse_convolution,
        [] {
          Graph g;
          const ValueId in = g.add_input("x", DType::float32, Dims{1, 4, 5, 5});
          const ValueId lo = g.add_input("lo", DType::float32, Dims{});
          const ValueId y = node(g, op::Conv{}, {in, g.add_constant({}, floats<float>({4, 4, 1, 1}, 1))});
          g.add_output("y", node(g, op::Clip{}, {y, lo, -1}));
          return g;
        },
        {{"x", x}, {"lo", Tensor<float, Shape<>>{0.25f}}}, 2, 0);
  }
  SUBCASE("a convolution that is a bound") {
    test::check_pass(
        fuse_convolution,
        [] {
          Graph g;
          const ValueId in = g.add_input("x", DType::float32, Dims{1, 4, 5, 5});
          const ValueId y = node(g, op::Conv{}, {in, g.add_constant({}, floats<float>({1, 4, 5, 5}, 1))});
          g.add_output("y", node(g, op::Clip{}, {in, y, -1}));
          return g;
        },
        {{"x", x}}, 2, 0);
  }
  SUBCASE("activations one after the other") {
    test::check_pass(fuse_convolution, graph([](Graph& g, ValueId y) {
                       return clip_6(g, node(g, op::Relu{}, {y}), 0.5f, 0.25f);
                     }),
                     {{"x", x}}, 2, 1e-6);
  }
}

TEST_CASE("weights that do not fit what a run gives are refused in the run") {
  // Only the session learns the weights' extents: they are an input's own value.
  for (const Extents& w : {Extents{6}, Extents{6, 3, 3, 3}, Extents{5, 2, 3, 3}}) {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {});
    const ValueId weights = g.add_input("w", DType::float32, {}, floats<float>(w, 1));
    const ValueId y = node(g, op::Conv{.group = 2}, {x, weights, g.add_constant({}, floats<float>({6}, 2))});
    g.add_output("y", node(g, op::Relu{}, {y}));
    CHECK_THROWS_AS(Session(std::move(g), {.passes = std::vector{fuse_convolution}})
                        .run({{"x", floats<float>({1, 4, 5, 5}, 1)}}),
                    Error);
  }
}

TEST_CASE("operands that do not fit are refused in the run") {
  const Session s(build<float>({.name = ""}), {.passes = std::vector{fuse_convolution}});
  CHECK_THROWS_AS(s.run({{"x", floats<float>({1, 4, 9, 7}, 1)}, {"z", floats<float>({1, 8, 5}, 1)}}), Error);
  CHECK_THROWS_AS(s.run({{"x", floats<double>({1, 4, 9, 7}, 1)}, {"z", floats<float>({1, 8, 5, 7}, 1)}}),
                  Error);
}

}  // namespace
}  // namespace tenon::passes
