// A node with attributes that the compiler knows, over a tensor of too few axes.
// expect: Conv: X (3,224) and W
// expect: ranks of at least 2
#include "tenon/graph/graph.hpp"
#include "tenon/op/nn/conv.hpp"

using namespace tenon;

void f(Graph& g) {
  const auto x = g.input<float, Shape<3, 224>>("x");
  const auto w = g.input<float, Shape<8, 3, 3, 3>>("w");
  g.output("y", g.add<op::Conv{.strides = {2, 2}}>(x, w));
}
