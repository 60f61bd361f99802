// Edges of a graph whose extents do not fit.
// expect: MatMul: inner extents
// expect: differ: 4 and 3
#include "tenon/graph/graph.hpp"
#include "tenon/op/math/mat_mul.hpp"

using namespace tenon;

void f(Graph& g) {
  const auto x = g.input<float, Shape<dyn, 4>>("x");
  const auto w = g.input<float, Shape<3, 5>>("w");
  g.output("y", g.add(op::MatMul{}, x, w));
}
