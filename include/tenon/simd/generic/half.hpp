// Conversions of halves of any processor, one by one.
#pragma once

#include "tenon/simd/half.hpp"

namespace tenon::TENON_ABI::simd {

template <class Arch>
inline void f16_to_f32(const uint16_t* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = detail::f16_bits_to_f32<Arch>(in[i]);
}

template <class Arch>
inline void f32_to_f16(const float* in, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = detail::f32_to_f16_bits<Arch>(in[i]);
}

template <class Arch>
inline void bf16_to_f32(const uint16_t* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>(static_cast<uint32_t>(in[i]) << 16);
}

template <class Arch>
inline void f32_to_bf16(const float* in, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = detail::f32_to_bf16_bits<Arch>(in[i]);
}

}  // namespace tenon::TENON_ABI::simd
