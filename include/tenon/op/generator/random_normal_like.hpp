// RandomNormalLike: normal random numbers.   onnx.ai/onnx/operators/onnx__RandomNormalLike.html
#pragma once

#include <bit>

#include "tenon/kernels/mersenne_twister.hpp"
#include "tenon/kernels/random.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::op {

/// As many numbers as the input has, of mean `mean` and standard deviation `scale`, of type `dtype` or else
/// the input's. A `seed` gives the same numbers in every run; cut to an integer, if that is one from 0 to
/// 2^32 - 1, those of ONNX's reference implementation. Without a seed, or with NaN, each run has others.
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

  constexpr void infer(Infer& i) const {
    i.out(0, i.dims(0));
    if (dtype) i.out(0).type = i.element_type("dtype", *dtype);
    else i.out(0).type = i.in(0).type;
  }
  void compute(AnyView, AnyOut output) const {
    dispatch<float, double, float16, bfloat16>(output.dtype(), [&]<class T>() {
      T* y = output.as<T>().data();
      const int64_t n = output.size();
      if (!seed || *seed != *seed) return kernels::random_normal(y, n, kernels::fresh_seed(), mean, scale);
      const auto key = *seed > -1 && *seed < 0x1p32f ? static_cast<uint32_t>(static_cast<int64_t>(*seed))
                                                     : std::bit_cast<uint32_t>(*seed);
      kernels::random_normal(y, n, kernels::MersenneTwister(key), mean, scale);
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
