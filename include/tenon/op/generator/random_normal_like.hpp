// RandomNormalLike: normal random numbers.   onnx.ai/onnx/operators/onnx__RandomNormalLike.html
#pragma once

#include <bit>

#include "tenon/kernels/mersenne_twister.hpp"
#include "tenon/kernels/random.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::op {

/// As many numbers as the input has, of mean `mean` and standard deviation `scale`, of type `dtype` or else
/// the input's. A `seed` gives the same numbers in every run; a seed in [0, 2^32) is cut to an integer, and
/// gives the numbers of ONNX's reference implementation. Without a seed, or with NaN, every run has other
/// numbers. op::RandomNormalLike{.mean = 1, .seed = 7}(x) of (2,3) gives (2,3).
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
    i.out(0).type = dtype ? Type(i.element_type("dtype", *dtype)) : i.in(0).type;
  }
  void compute(AnyView, AnyOut output) const {
    dispatch(float_types{}, output.dtype(), [&]<class T>() {
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
