// An edge of another element type, after a node that fits.
// expect: Add: input B is
// expect: tensor(int64), but T is
#include "tenon/graph/graph.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/relu.hpp"

using namespace tenon;

void f(Graph& g) {
  const auto x = g.input<float, Shape<3>>("x");
  g.output("y", g.add(op::Add{}, g.add(op::Relu{}, x), g.input<int64_t, Shape<3>>("i")));
}
