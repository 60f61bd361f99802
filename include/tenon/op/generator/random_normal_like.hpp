// RandomNormalLike: normal random numbers.   onnx.ai/onnx/operators/onnx__RandomNormalLike.html
#pragma once

#include "tenon/op/families/random.hpp"

namespace tenon::TENON_ABI::op {

/// As many numbers as the input has, of mean `mean` and standard deviation `scale`, of type `dtype` or else
/// the input's; families/random.hpp states what `seed` means. op::RandomNormalLike{.mean = 1, .seed = 7}(x)
/// of (2,3) gives (2,3).
struct RandomNormalLike {
  Opt<int64_t> dtype{};
  float mean = 0;
  float scale = 1;
  Opt<float> seed{};

  static constexpr Spec spec = random_like_spec("RandomNormalLike");
  static constexpr Attributes attributes{
      attr("dtype", &RandomNormalLike::dtype), attr("mean", &RandomNormalLike::mean),
      attr("scale", &RandomNormalLike::scale), attr("seed", &RandomNormalLike::seed)};

  constexpr void infer(Infer& i) const { infer_random_like(i, dtype); }
  template <class T>
  void compute(AnyView, TensorView<T> output) const {
    random_normal(output, seed, mean, scale);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::RandomNormalLike)
