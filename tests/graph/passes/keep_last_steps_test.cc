// Runs that want the last steps of an output only.
#include <doctest/doctest.h>

#include "tenon/graph/last_steps.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/math/tanh.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/graph/build.hpp"

namespace tenon {
using namespace test;
namespace {

constexpr int64_t batch = 2, steps = 5, size = 4, columns = 3;

ValueId matrix(Graph& g, const Extents& extents, uint32_t seed) {
  return g.add_constant({}, numbers(extents, seed));
}
ValueId project(Graph& g, ValueId x, int64_t from = size, int64_t to = columns) {
  return node(g, op::MatMul{}, {x, matrix(g, {from, to}, 7)});
}
ValueId add(Graph& g, ValueId x, const Extents& extents) {
  return node(g, op::Add{}, {x, matrix(g, extents, 9)});
}

// Makes the output from x (batch, steps, size), and how many steps it then has if one is asked for.
struct Case {
  const char* name;
  ValueId (*make)(Graph& g, ValueId x);
  int64_t returned;
};

const Case cases[] = {
    {"a product", [](Graph& g, ValueId x) { return project(g, x); }, 1},
    {"two products", [](Graph& g, ValueId x) { return project(g, project(g, x, size, 6), 6); }, 1},
    {"a batch of matrices",
     [](Graph& g, ValueId x) { return node(g, op::MatMul{}, {x, matrix(g, {batch, size, columns}, 7)}); }, 1},
    {"a function of each element follows",
     [](Graph& g, ValueId x) { return node(g, op::Tanh{}, {project(g, x)}); }, 1},
    {"a bias for each column follows", [](Graph& g, ValueId x) { return add(g, project(g, x), {columns}); },
     1},
    {"a number for each text follows",
     [](Graph& g, ValueId x) { return add(g, project(g, x), {batch, 1, columns}); }, 1},
    {"an addend for each step follows",
     [](Graph& g, ValueId x) { return add(g, project(g, x), {steps, columns}); }, steps},
    {"an addend for each step of each text follows",
     [](Graph& g, ValueId x) { return add(g, project(g, x), {batch, steps, columns}); }, steps},
    {"a residual follows",
     [](Graph& g, ValueId x) { return node(g, op::Add{}, {project(g, x, size, size), x}); }, steps},
    {"softmax over the steps follows",
     [](Graph& g, ValueId x) { return node(g, op::Softmax{.axis = 1}, {project(g, x)}); }, steps},
    {"there is no product", [](Graph& g, ValueId x) { return node(g, op::Tanh{}, {x}); }, steps},
    {"the steps are summed",
     [](Graph& g, ValueId x) { return node(g, op::MatMul{}, {matrix(g, {batch, steps, steps}, 7), x}); }, 1},
    {"the product is squared",
     [](Graph& g, ValueId x) {
       const ValueId y = project(g, x);
       return node(g, op::Mul{}, {y, y});
     },
     steps},
    {"rows of x with columns of x",
     [](Graph& g, ValueId x) {
       return node(g, op::MatMul{}, {x, node(g, op::Transpose{.perm = {0, 2, 1}}, {x})});
     },
     1},
    {"another output reads the product",
     [](Graph& g, ValueId x) {
       const ValueId y = project(g, x);
       g.add_output("other", node(g, op::Tanh{}, {y}));
       return y;
     },
     steps},
    {"the product is two outputs",
     [](Graph& g, ValueId x) {
       const ValueId y = project(g, x);
       g.add_output("other", y);
       return y;
     },
     steps},
    {"another output reads the operand",
     [](Graph& g, ValueId x) {
       const ValueId h = node(g, op::Tanh{}, {x});
       g.add_output("other", h);
       return project(g, h);
     },
     1},
};

Graph graph_of(const Case& c, bool known = false) {
  Graph g;
  const ValueId x =
      g.add_input("x", DType::float32,
                  {known ? Dim(batch) : g.symbol("batch"), known ? Dim(steps) : g.symbol("steps"), size});
  g.add_output("y", c.make(g, x));
  return g;
}

// The last `count` steps of y (batch, steps, …).
std::vector<float> last(const Value& y, int64_t count) {
  const AnyTensor& t = y.tensor();
  const int64_t row = t.extents()[2], held = t.extents()[1];
  const std::vector<float> all = floats(y);
  std::vector<float> some;
  for (int64_t b = 0; b < t.extents()[0]; ++b)
    some.insert(some.end(), all.begin() + (b * held + held - count) * row,
                all.begin() + (b + 1) * held * row);
  return some;
}

}  // namespace

TEST_CASE("last steps: a run computes them alone where that is safe, with the same numbers") {
  const Tensor<float> x = numbers({batch, steps, size}, 1);
  for (const Case& c : cases)
    for (const bool known : {false, true}) {
      CAPTURE(c.name);
      CAPTURE(known);
      const Session s(graph_of(c, known));
      const Value whole = s.run({{"x", x}})["y"];
      for (const int64_t count : {int64_t{1}, int64_t{3}, steps, steps + 2}) {
        const Value y = s.run({{"x", x}}, {.last = LastSteps("y", count)})["y"];
        const int64_t held = c.returned == steps ? steps : std::min(count, steps);
        CHECK(y.tensor().extents()[1] == held);
        CHECK(last(y, held) == last(whole, held));
      }
    }
}

TEST_CASE("last steps: of one step, of a text without steps, and with the constructor's program") {
  const Session s(graph_of(cases[0]), {.last = LastSteps("y")});
  CHECK(s.program().given().size() == 2);
  for (const int64_t n : {0, 1, 4}) {
    const Tensor<float> x = numbers({1, n, size}, 3);
    const Value y = s.run({{"x", x}}, {.last = LastSteps("y")})["y"];
    CHECK(y.tensor().extents() == Extents{1, std::min<int64_t>(n, 1), columns});
    const Value whole = s.run({{"x", x}})["y"];
    CHECK(whole.tensor().extents() == Extents{1, n, columns});
    CHECK(floats(y) == last(whole, std::min<int64_t>(n, 1)));
  }
}

TEST_CASE("last steps: types that the pass leaves alone") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float64, {1, g.symbol("steps"), size});
  g.add_output("y", node(g, op::MatMul{},
                         {x, node(g, op::Cast{.to = static_cast<int64_t>(DType::float64)},
                                  {matrix(g, {size, columns}, 7)})}));
  const Session s(std::move(g));
  const Tensor<double> in({1, 3, size});
  CHECK(s.run({{"x", in}}, {.last = LastSteps("y")})["y"].tensor().extents()[1] == 3);
}

TEST_CASE("last steps: of what the run does not return, and of none") {
  const Session s(graph_of(cases[0]));
  const Tensor<float> x = numbers({1, 2, size}, 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(s.run({{"x", x}}, {.last = LastSteps("z")})),
                       doctest::Contains("returns no 'z'"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(s.run({{"x", x}}, {.last = LastSteps("y", 0)})),
                       doctest::Contains("last 0 steps"), Error);
  CHECK(s.bind({{"x", x}}, {}, {.last = LastSteps("y")}).outputs()["y"].tensor().extents()[1] == 2);
}

}  // namespace tenon
