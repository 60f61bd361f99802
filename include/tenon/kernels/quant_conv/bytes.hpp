// Convolutions of 8-bit integers: requantising sums to bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tenon/kernels/quant_conv/args.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::quant_conv_detail {

/// bytes[c] = clamp(round((sums[c] + add) * scale) + zero, lo, hi) for c < n. Sums are readable to the end of
/// two vectors.
template <class Arch>
void make_bytes(const int32_t* sums, int64_t n, int32_t add, float scale, const ByteResult& to,
                uint8_t* bytes) {
  using I = simd::batch<int32_t, Arch>;
  using F = simd::batch<float, Arch>;
  constexpr int L = simd::lanes<int32_t, Arch>;
  const I more(add);
  const F rate(scale), least(static_cast<float>(to.lo - to.zero)), most(static_cast<float>(to.hi - to.zero));
  const int32_t raise = to.lo < 0 ? 128 : 0;
  // Sums times a scale of at most 1/2 stay within 2^31, for which the bytes' own bounds suffice.
  const bool small = std::abs(scale) <= 0.5f;
  const auto make = [&]<int NV>(std::integral_constant<int, NV>, const int32_t* from, uint8_t* y) {
    F q[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) q[v] = simd::to_float(I(simd::loadu<Arch>(from + v * L)) + more) * rate;
    if (!small) {
      // As in requantize: bounds are applied before rounding, NaN gives the lower bound.
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) q[v] = simd::min(simd::max(q[v], least), most);
    }
    simd::store_rounded<NV>(y, q, to.zero + raise, to.lo + raise, to.hi + raise, static_cast<uint8_t>(raise));
  };
  int64_t c = 0;
  for (; c + 4 * L <= n; c += 4 * L) make(std::integral_constant<int, 4>{}, sums + c, bytes + c);
  for (; c < n; c += 2 * L) {
    uint8_t pair[2 * L];
    make(std::integral_constant<int, 2>{}, sums + c, pair);
    std::copy_n(pair, std::min<int64_t>(2 * L, n - c), bytes + c);
  }
}

}  // namespace tenon::TENON_ABI::kernels::quant_conv_detail
