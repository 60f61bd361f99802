// RandomNormalLike: normal random numbers.   onnx.ai/onnx/operators/onnx__RandomNormalLike.html
#pragma once

#include "tenon/op/families/random.hpp"

namespace tenon::op {

/// As many numbers as the input has, of mean `mean` and standard deviation `scale`, of type `dtype` or else
/// the input's; families/random.hpp states what `seed` means. op::RandomNormalLike{.mean = 1, .seed = 7}(x)
/// of (2,3) gives (2,3).
struct RandomNormalLike {
  Opt<int64_t> dtype{};
  float mean = 0;
  float scale = 1;
  Opt<float> seed{};

  static constexpr Spec spec{.name = "RandomNormalLike",
                             .since = {1, 22},
                             .inputs = {{"input", "T1"}},
                             .outputs = {{"output", "T2"}},
                             .types = {{"T1", {{1, types::all}, {22, types::all_ir4}}},
                                       {"T2", {{1, types::floats}, {22, types::floats_bf16}}}},
                             .deterministic = false};
  static constexpr Attributes attributes{
      attr("dtype", &RandomNormalLike::dtype), attr("mean", &RandomNormalLike::mean),
      attr("scale", &RandomNormalLike::scale), attr("seed", &RandomNormalLike::seed)};

  constexpr void infer(Infer& i) const { infer_random_like(i, dtype); }
  void compute(AnyView, AnyOut output) const {
    dispatch(float_types{}, output.dtype(), [&]<class T>() {
      with_random(seed, [&](const auto& source) {
        kernels::random_normal(output.as<T>().data(), output.size(), source, mean, scale);
      });
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
