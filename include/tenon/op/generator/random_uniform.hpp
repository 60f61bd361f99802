// RandomUniform: uniform random numbers.   onnx.ai/onnx/operators/onnx__RandomUniform.html
#pragma once

#include "tenon/op/families/random.hpp"

namespace tenon::TENON_ABI::op {

/// Numbers between `low` and `high`, of extents `shape` (none: a scalar) and type `dtype`;
/// families/random.hpp states what `seed` means. op::RandomUniform{.seed = 7, .shape = {2, 3}}().
struct RandomUniform {
  int64_t dtype = 1;
  float high = 1;
  float low = 0;
  Opt<float> seed{};
  Ints shape{};

  static constexpr Spec spec = random_spec("RandomUniform");
  static constexpr Attributes attributes{attr("dtype", &RandomUniform::dtype),
                                         attr("high", &RandomUniform::high), attr("low", &RandomUniform::low),
                                         attr("seed", &RandomUniform::seed),
                                         attr("shape", &RandomUniform::shape).required()};

  constexpr void infer(Infer& i) const { infer_random(i, dtype, {shape.begin(), shape.end()}); }
  template <class T>
  void compute(TensorView<T> output) const {
    random_uniform(output, seed, low, high);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::RandomUniform)
