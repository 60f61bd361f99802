// Convolutions of 8-bit integers: bytes made of sums.
#pragma once

#include <cstdint>

#include "tenon/kernels/conv/quant_conv_args.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::kernels::quant_conv_detail {

/// bytes[c] = clamp(round((sums[c] + add) * scale) + zero, lo, hi) for c < cols.
template <class Arch, int cols>
void make_bytes(const int32_t* sums, int32_t add, float scale, const ByteResult& to, uint8_t* bytes) {
  using I = simd::batch<int32_t, Arch>;
  using F = simd::batch<float, Arch>;
  const I more(add), zero(to.zero);
  const F rate(scale), least(static_cast<float>(to.lo - to.zero)), most(static_cast<float>(to.hi - to.zero));
#pragma GCC unroll 4
  for (int c = 0; c < cols; c += I::size) {
    // As in requantize: bounds come before rounding, NaN gives the lower bound.
    F q = simd::to_float(I(simd::loadu<Arch>(sums + c)) + more) * rate;
    q = simd::min(simd::max(q, least), most);
    simd::store_bytes(bytes + c, simd::round_bytes(q, zero));
  }
}

}  // namespace tenon::kernels::quant_conv_detail
