// A program over tensors, operators and a graph. The build makes a unit of it for each set of flags, with
// UNIT as the name of its function.
#include "tenon/graph/session.hpp"
#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/tensor/print.hpp"

namespace tenon::units {
namespace {

const Tensor<float, Shape<2, 3>> x{{1, 1, 1}, {-2, -2, -2}};
const Tensor<float, Shape<3, 2>> w{{1, 0}, {0, 1}, {1, 1}};

/// y = sign ? softmax(x) @ w : relu(x), where the branches capture x.
Graph choice() {
  Graph g;
  const auto sign = g.input<bool, Shape<>>("sign");
  const auto in = g.input<float, Shape<dyn, 3>>("x");
  Graph a = Graph::inside(g), b = Graph::inside(g);
  const AnyEdge x_of_a(a, a.capture(in.id)), x_of_b(b, b.capture(in.id));
  a.output("y", a.add(op::MatMul{}, a.add<op::Softmax{.axis = -1}>(x_of_a), w));
  b.output("y", b.add(op::Relu{}, x_of_b));
  g.output("y", g.add(op::If{.else_branch = body(std::move(b)), .then_branch = body(std::move(a))}, sign));
  return g;
}

}  // namespace

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

std::string UNIT(std::string& abi) {
  abi = TEXT(TENON_ABI_NAME);
  std::string text = to_string(op::Add{}(apply<op::Relu{}>(op::MatMul{}(x, w)), 0.5f)) + "\n";
  const Session session(choice(), {.threads = 2});
  for (bool sign : {true, false})
    text += to_string(session.run({{"sign", Tensor<bool>({}, {sign})}, {"x", x}})["y"]) + "\n";
  try {
    op::Reshape{}(x, Tensor<int64_t>({1}, {7}));
  } catch (const Error& e) {
    text += e.what();
  }
  return text;
}

}  // namespace tenon::units
