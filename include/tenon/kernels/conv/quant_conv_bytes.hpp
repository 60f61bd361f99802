// Convolutions of 8-bit integers: bytes made of sums.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/kernels/conv/quant_conv_args.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::kernels::quant_conv_detail {

/// bytes[c] = clamp(round((sums[c] + add) * scale) + zero, lo, hi) for c < n. As many sums as `whole`, whole
/// vectors, can be read at once past the last ones.
template <class Arch, int whole>
void make_bytes(const int32_t* sums, int64_t n, int32_t add, float scale, const ByteResult& to,
                uint8_t* bytes) {
  using I = simd::batch<int32_t, Arch>;
  using F = simd::batch<float, Arch>;
  constexpr int L = simd::lanes<int32_t, Arch>;
  const I more(add);
  const F rate(scale), least(static_cast<float>(to.lo - to.zero)), most(static_cast<float>(to.hi - to.zero));
  const int32_t raise = to.lo < 0 ? 128 : 0;
  const auto make = [&](const int32_t* from, uint8_t* y) {
    F q[whole / L];
#pragma GCC unroll 4
    for (int v = 0; v < whole / L; ++v) {
      // As in requantize: bounds come before rounding, NaN gives the lower bound.
      q[v] = simd::to_float(I(simd::loadu<Arch>(from + v * L)) + more) * rate;
      q[v] = simd::min(simd::max(q[v], least), most);
    }
    simd::store_rounded<whole / L>(y, q, to.zero + raise, to.lo + raise, to.hi + raise,
                                   static_cast<uint8_t>(raise));
  };
  int64_t c = 0;
  for (; c + whole <= n; c += whole) make(sums + c, bytes + c);
  if (c == n) return;
  uint8_t last[whole];
  make(sums + c, last);
  std::copy_n(last, n - c, bytes + c);
}

}  // namespace tenon::kernels::quant_conv_detail
