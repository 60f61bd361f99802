// RandomNormalLike: normal random numbers.   onnx.ai/onnx/operators/onnx__RandomNormalLike.html
#pragma once

#include <bit>

#include "tenon/kernels/random.hpp"
#include "tenon/op/call.hpp"

namespace tenon::op {

/// As many numbers as the input has, of mean `mean` and standard deviation `scale`, of type `dtype` or else
/// the input's. A `seed` gives the same numbers in every run; without one each run has others.
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
  static constexpr std::tuple attributes{
      attr("dtype", &RandomNormalLike::dtype), attr("mean", &RandomNormalLike::mean),
      attr("scale", &RandomNormalLike::scale), attr("seed", &RandomNormalLike::seed)};

  constexpr void infer(Infer& i) const {
    i.out(0, i.dims(0));
    if (!dtype && i.in(0).type.kind != Kind::tensor) return;
    const DType d = dtype ? dtype_from_onnx(*dtype) : i.dtype(0);
    if (!types::floats_bf16.contains(d)) {
      if (dtype) return i.fail("dtype ", *dtype, " is no floating-point type that it gives");
      return i.fail("the input is ", d, ", which the output cannot be: dtype is needed");
    }
    i.out(0).type = d;
  }
  void compute(AnyView, AnyOut output) const {
    const uint64_t key = seed ? std::bit_cast<uint32_t>(*seed) : kernels::fresh_seed();
    dispatch<float, double, float16, bfloat16>(output.dtype(), [&]<class T>() {
      kernels::random_normal(output.as<T>().data(), output.size(), key, mean, scale);
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
