// A multi-layer perceptron as a graph that is built in code.
#include <cmath>
#include <cstdio>

#include "tenon/graph/session.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/tensor/print.hpp"

namespace {
// Weights such as a training would leave: anything but zero.
template <int64_t Rows, int64_t Columns>
tenon::Tensor<float, tenon::Shape<Rows, Columns>> weights(float phase) {
  tenon::Tensor<float, tenon::Shape<Rows, Columns>> w;
  for (int64_t k = 0; k < w.size(); ++k) w[k] = 0.1f * std::sin(phase + static_cast<float>(k));
  return w;
}
}  // namespace

int main() {
  using namespace tenon;
  Graph g;
  auto x = g.input<float, Shape<dyn, 784>>("x");
  auto hidden =
      g.add(op::Relu{}, g.add<op::Gemm{.transB = 1}>(x, weights<32, 784>(0), Tensor<float, Shape<32>>{}));
  auto logits = g.add<op::Gemm{.transB = 1}>(hidden, weights<10, 32>(1), Tensor<float, Shape<10>>{});
  g.output("y", g.add<op::Softmax{.axis = -1}>(logits));

  Session session(std::move(g), {.threads = 2});
  Tensor<float> batch({2, 784});
  for (int64_t k = 0; k < batch.size(); ++k) batch[k] = static_cast<float>(k % 7) / 7;
  Outputs out = session.run({{"x", batch}});
  const auto y = out["y"].view<float, Shape<dyn, 10>>();
  std::printf("y =\n%s\n", to_string(y).c_str());

  float sum = 0;
  for (int64_t k = 0; k < 10; ++k) sum += y(0, k);
  return std::abs(sum - 1) < 1e-5f ? 0 : 1;
}
