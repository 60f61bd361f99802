// RandomNormal: normal random numbers.   onnx.ai/onnx/operators/onnx__RandomNormal.html
#pragma once

#include "tenon/op/families/random.hpp"

namespace tenon::TENON_ABI::op {

/// Numbers of mean `mean` and standard deviation `scale`, of extents `shape` (none: a scalar) and type
/// `dtype`; families/random.hpp states what `seed` means. op::RandomNormal{.seed = 7, .shape = {2, 3}}().
struct RandomNormal {
  int64_t dtype = 1;
  float mean = 0;
  float scale = 1;
  Opt<float> seed{};
  Ints shape{};

  static constexpr Spec spec = random_spec("RandomNormal");
  static constexpr Attributes attributes{
      attr("dtype", &RandomNormal::dtype), attr("mean", &RandomNormal::mean),
      attr("scale", &RandomNormal::scale), attr("seed", &RandomNormal::seed),
      attr("shape", &RandomNormal::shape).required()};

  constexpr void infer(Infer& i) const { infer_random(i, dtype, {shape.begin(), shape.end()}); }
  template <class T>
  void compute(TensorView<T> output) const {
    random_normal(output, seed, mean, scale);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::RandomNormal)
