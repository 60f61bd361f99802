// RandomUniformLike: uniform random numbers.   onnx.ai/onnx/operators/onnx__RandomUniformLike.html
#pragma once

#include "tenon/op/families/random.hpp"

namespace tenon::TENON_ABI::op {

/// As many numbers between `low` and `high` as the input has, of type `dtype` or else the input's;
/// families/random.hpp states what `seed` means. op::RandomUniformLike{.high = 2, .seed = 7}(x) of (2,3)
/// gives (2,3).
struct RandomUniformLike {
  Opt<int64_t> dtype{};
  float high = 1;
  float low = 0;
  Opt<float> seed{};

  static constexpr Spec spec = random_like_spec("RandomUniformLike");
  static constexpr Attributes attributes{
      attr("dtype", &RandomUniformLike::dtype), attr("high", &RandomUniformLike::high),
      attr("low", &RandomUniformLike::low), attr("seed", &RandomUniformLike::seed)};

  constexpr void infer(Infer& i) const { infer_random_like(i, dtype); }
  template <class T>
  void compute(AnyView, TensorView<T> output) const {
    random_uniform(output, seed, low, high);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::RandomUniformLike)
