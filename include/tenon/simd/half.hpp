// Half-precision numbers, binary16 and bfloat16 as bits, to binary32 and back.
#pragma once

#include <bit>
#include <cstdint>

#include "tenon/simd/batch/registers.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {

/// binary16 to binary32, exact; signalling NaNs become quiet, as F16C does.
template <class Arch>
constexpr float f16_bits_to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    const uint32_t payload = (magnitude & 0x3ffu) << 13;
    return std::bit_cast<float>(sign | 0x7f800000u | payload | (payload ? 0x400000u : 0u));
  }
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

/// binary32 to binary16, to nearest even; NaNs stay NaNs with the top of their payload.
template <class Arch>
constexpr uint16_t f32_to_f16_bits(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  // 65520 and more round to infinity.
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude >= 0x38800000u) {
    const uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
  // Subnormal result: adding 0.5 puts the unit of binary16's subnormals, 2^-24, in the last place.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
}

/// binary32 to bfloat16, to nearest even; NaNs stay NaNs.
template <class Arch>
constexpr uint16_t f32_to_bf16_bits(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace detail

/// n binary16 numbers (as bits) to binary32.
template <class Arch>
inline void f16_to_f32(const uint16_t* in, float* out, int64_t n);

/// n binary32 numbers to binary16 (as bits), to nearest even.
template <class Arch>
inline void f32_to_f16(const float* in, uint16_t* out, int64_t n);

/// n bfloat16 numbers (as bits) to binary32.
template <class Arch>
inline void bf16_to_f32(const uint16_t* in, float* out, int64_t n);

/// n binary32 numbers to bfloat16 (as bits), to nearest even. Not vcvtneps2bf16, which flushes subnormals.
template <class Arch>
inline void f32_to_bf16(const float* in, uint16_t* out, int64_t n);

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/half.hpp"
#include "tenon/simd/x86/half.hpp"

#include "tenon/simd/generic/half.hpp"
