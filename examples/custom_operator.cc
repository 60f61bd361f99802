// An operator of one's own: the same form as ONNX's, in a domain of its own, called, used in a graph, and
// registered.
#include <cmath>
#include <cstdio>

#include "tenon/graph/session.hpp"
#include "tenon/op/framework/call.hpp"
#include "tenon/tensor/print.hpp"

namespace example {

/// y = x / (bias + |x|)
struct SoftSaturate {
  float bias = 1;

  static constexpr tenon::op::Spec spec{.name = "SoftSaturate",
                                        .domain = "com.example",
                                        .since = {1},
                                        .inputs = {{"x", "T"}},
                                        .outputs = {{"y", "T"}},
                                        .types = {{"T", tenon::types::float32 | tenon::types::float64}},
                                        .memory = tenon::op::Memory::elementwise};
  static constexpr tenon::op::Attributes attributes{tenon::op::attr("bias", &SoftSaturate::bias)};

  constexpr void infer(tenon::op::Infer& i) const { i.out(0, i.dims(0)); }
  template <class T>
  void compute(tenon::TensorView<const T> x, tenon::TensorView<T> y) const {
    for (int64_t k = 0; k < x.size(); ++k) y[k] = x[k] / (static_cast<T>(bias) + std::abs(x[k]));
  }
  auto operator()(const auto&... in) const { return tenon::op::call(*this, in...); }
};

}  // namespace example

int main() {
  using namespace tenon;
  Tensor<float, Shape<4>> x{-3, -1, 0, 1};
  std::printf("called: %s\n", to_string(example::SoftSaturate{.bias = 2}(x)).c_str());

  Graph g;
  g.output("y", g.add<example::SoftSaturate{.bias = 1}>(g.input<float, Shape<dyn>>("x")));
  Outputs out = Session(std::move(g)).run({{"x", x}});
  std::printf("in a graph: %s\n", to_string(out["y"]).c_str());

  Registry registry;  // what LoadOptions{.registry = …} lets models name
  registry.add<example::SoftSaturate>();
  return registry.find("com.example", "SoftSaturate", 1).version == 1 ? 0 : 1;
}
