// Saturate: Y = scale * X / (bias + |X|).
#pragma once

#include <cmath>

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::example_pack {

/// Y = scale * X / (bias + |X|). Saturate{.bias = 2}(2.0f) gives 0.5.
struct Saturate {
  float bias = 1;
  float scale = 1;

  static constexpr Spec spec{.name = "Saturate",
                             .domain = "example.pack",
                             .since = {1, 2},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("bias", &Saturate::bias),
                                         attr("scale", &Saturate::scale).since(2)};

  constexpr void infer(Infer& i) const {
    if (!(bias > 0)) return i.fail("bias has to be above 0");
    i.out(0, i.dims(0));
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    using C = compute_t<T>;
    for (int64_t k = 0; k < x.size(); ++k) {
      const auto v = static_cast<C>(x.data()[k]);
      y.data()[k] = static_cast<T>(static_cast<C>(scale) * v / (static_cast<C>(bias) + std::abs(v)));
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::example_pack

TENON_OPERATORS(tenon::op::example_pack::Saturate)
