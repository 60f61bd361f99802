// RandomUniformLike: uniform random numbers.   onnx.ai/onnx/operators/onnx__RandomUniformLike.html
#pragma once

#include "tenon/op/families/random.hpp"

namespace tenon::op {

/// As many numbers between `low` and `high` as the input has, of type `dtype` or else the input's;
/// families/random.hpp states what `seed` means. op::RandomUniformLike{.high = 2, .seed = 7}(x) of (2,3)
/// gives (2,3).
struct RandomUniformLike {
  Opt<int64_t> dtype{};
  float high = 1;
  float low = 0;
  Opt<float> seed{};

  static constexpr Spec spec{.name = "RandomUniformLike",
                             .since = {1, 22},
                             .inputs = {{"input", "T1"}},
                             .outputs = {{"output", "T2"}},
                             .types = {{"T1", {{1, types::all}, {22, types::all_ir4}}},
                                       {"T2", {{1, types::floats}, {22, types::floats_bf16}}}},
                             .deterministic = false};
  static constexpr Attributes attributes{
      attr("dtype", &RandomUniformLike::dtype), attr("high", &RandomUniformLike::high),
      attr("low", &RandomUniformLike::low), attr("seed", &RandomUniformLike::seed)};

  constexpr void infer(Infer& i) const { infer_random_like(i, dtype); }
  void compute(AnyView, AnyOut output) const {
    dispatch(float_types{}, output.dtype(), [&]<class T>() {
      with_random(seed, [&](const auto& source) {
        kernels::random_uniform(output.as<T>().data(), output.size(), source, low, high);
      });
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
