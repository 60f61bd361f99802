// The operators that draw random numbers share rules and the meaning of `seed`. A seed gives the same numbers
// in every run, for any number of threads. A seed in (-1, 2^32) is truncated to an integer, and gives the
// numbers of ONNX's reference implementation if that has the operator. Without a seed, or with NaN, every run
// draws different numbers.
#pragma once

#include <bit>

#include "tenon/kernels/mersenne_twister.hpp"
#include "tenon/kernels/random.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The output has the input's extents, and the type of number `dtype` or else the input's.
constexpr void infer_random_like(Infer& i, Opt<int64_t> dtype) {
  i.out(0, i.dims(0));
  i.out(0).type = dtype ? Type(i.element_type("dtype", *dtype)) : i.in(0).type;
}

/// The output has the extents and the type that attributes state.
constexpr void infer_random(Infer& i, int64_t dtype, std::span<const int64_t> shape) {
  i.out(0).type = i.element_type("dtype", dtype);
  Dims d = i.of_rank(static_cast<int64_t>(shape.size()));
  for (int k = 0; k < d.rank(); ++k) {
    d[k] = shape[static_cast<std::size_t>(k)];
    if (!i.expect_at_least("extent", shape[static_cast<std::size_t>(k)], 0)) return;
  }
  i.out(0, d);
}

/// The reference's key for a seed; none if every run is to differ.
inline Opt<uint32_t> random_key(Opt<float> seed) {
  if (!seed || *seed != *seed) return {};
  return *seed > -1 && *seed < 0x1p32f ? static_cast<uint32_t>(static_cast<int64_t>(*seed))
                                       : std::bit_cast<uint32_t>(*seed);
}

/// Calls f with the source that the kernels of random numbers draw from: a MersenneTwister if there is a
/// seed, else the number of a new stream.
template <class F>
void with_random(Opt<float> seed, F f) {
  if (const Opt<uint32_t> key = random_key(seed)) f(kernels::MersenneTwister(*key));
  else f(kernels::fresh_seed());
}

/// y = numbers of the normal distribution of this mean and standard deviation.
template <class T>
void random_normal(TensorView<T> y, Opt<float> seed, float mean, float scale) {
  with_random(seed,
              [&](const auto& source) { kernels::random_normal(y.data(), y.size(), source, mean, scale); });
}
/// y = numbers of the uniform distribution between two bounds.
template <class T>
void random_uniform(TensorView<T> y, Opt<float> seed, float low, float high) {
  with_random(seed,
              [&](const auto& source) { kernels::random_uniform(y.data(), y.size(), source, low, high); });
}

/// The specification of operators that draw a tensor whose extents and type are attributes.
constexpr Spec random_spec(std::string_view name) {
  return {.name = name,
          .since = {1, 22},
          .inputs = {},
          .outputs = {{"output", "T"}},
          .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}},
          .deterministic = false};
}
/// The same for tensors like the input; T2 comes first, so that `compute` is typed by the output.
constexpr Spec random_like_spec(std::string_view name) {
  return {.name = name,
          .since = {1, 22},
          .inputs = {{"input", "T1"}},
          .outputs = {{"output", "T2"}},
          .types = {{"T2", {{1, types::floats}, {22, types::floats_bf16}}},
                    {"T1", {{1, types::all}, {22, types::all_ir4}}}},
          .deterministic = false};
}

}  // namespace tenon::TENON_ABI::op
