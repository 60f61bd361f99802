// Vectors of one element type at one instruction-set level: the only header that includes xsimd or
// intrinsics. It is written to xsimd 8.1; names that later versions changed are hidden here. What xsimd
// has not (masked tails, half-precision conversions, NaN-propagating extrema) comes from intrinsics, with
// a scalar twin for plain targets. No name here is one of xsimd's free functions, or argument-dependent
// lookup would find both. Everything is a template on the level's tag or on the batch type, so that no
// function compiled with wide instructions can be shared with a narrower unit.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/simd/arch.hpp"
#include "tenon/simd/features.hpp"

// GCC 12's AVX-512 intrinsics read variables that they leave unset on purpose, and warn of it where inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#endif
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace tenon::simd {

namespace detail {

// xsimd's name of the registers of so many bytes.
#if defined(__x86_64__)
template <int bytes>
using registers = std::conditional_t<bytes == 64, xsimd::avx512bw,
                                     std::conditional_t<bytes == 32, xsimd::fma3<xsimd::avx2>, xsimd::sse2>>;
#else
template <int bytes>
using registers = xsimd::default_arch;
#endif

// 16 bytes are SSE2's registers, 32 those of AVX2, FMA and F16C, 64 those of AVX-512 F, BW, DQ and VL.
template <class A>
inline constexpr std::size_t bytes = sizeof(xsimd::batch<float, A>);

}  // namespace detail
}  // namespace tenon::simd

// xsimd 8.1's x != y is false for NaN at the levels above Baseline.
#if defined(__AVX2__) && defined(__FMA__) && XSIMD_VERSION_MAJOR < 9
namespace xsimd {
template <>
inline batch_bool<float, fma3<avx2>> batch<float, fma3<avx2>>::operator!=(const batch& other) const noexcept {
  return _mm256_cmp_ps(*this, other, _CMP_NEQ_UQ);
}
template <>
inline batch_bool<double, fma3<avx2>> batch<double, fma3<avx2>>::operator!=(
    const batch& other) const noexcept {
  return _mm256_cmp_pd(*this, other, _CMP_NEQ_UQ);
}
#if defined(__AVX512BW__) && defined(__AVX512DQ__)
template <>
inline batch_bool<float, avx512bw> batch<float, avx512bw>::operator!=(const batch& other) const noexcept {
  return _mm512_cmp_ps_mask(*this, other, _CMP_NEQ_UQ);
}
template <>
inline batch_bool<double, avx512bw> batch<double, avx512bw>::operator!=(const batch& other) const noexcept {
  return _mm512_cmp_pd_mask(*this, other, _CMP_NEQ_UQ);
}
#endif
}  // namespace xsimd
#endif

namespace tenon::simd {

// Of xsimd's own, lane by lane. Called qualified, as all functions here.
using xsimd::abs, xsimd::nearbyint, xsimd::sqrt, xsimd::isnan, xsimd::select;
using xsimd::all, xsimd::any;  ///< whether all or any of the lanes of a comparison hold
using xsimd::max, xsimd::min, xsimd::to_float;

/// A register of T at a level. T: int8..64, uint8..64, float, double.
template <class T, class Arch>
using batch = xsimd::batch<T, detail::registers<Arch::register_bytes>>;

/// The comparison result that belongs to `batch<T, Arch>`.
template <class T, class Arch>
using batch_bool = xsimd::batch_bool<T, detail::registers<Arch::register_bytes>>;

/// The greatest whole number not above x, with x's sign where it is zero.
template <class T, class A>
xsimd::batch<T, A> floor(const xsimd::batch<T, A>& x) {
  // SSE2 has no instruction for it, and xsimd then converts to integers, which is undefined for great
  // numbers.
  if constexpr (std::is_base_of_v<xsimd::sse2, A> && !std::is_base_of_v<xsimd::sse4_1, A>) {
    const xsimd::batch<T, A> near = xsimd::nearbyint(x);
    return select(near > x, near - T(1), near) | (x & xsimd::batch<T, A>(T(-0.0)));
  } else {
    return xsimd::floor(x);
  }
}
/// The least whole number not below x, with x's sign where it is zero.
template <class T, class A>
xsimd::batch<T, A> ceil(const xsimd::batch<T, A>& x) {
  const xsimd::batch<T, A> sign(T(-0.0));  // not by minus, which makes 0 of -0
  return simd::floor(x ^ sign) ^ sign;
}

/// Elements in a `batch<T, Arch>`.
template <class T, class Arch>
inline constexpr int lanes = static_cast<int>(batch<T, Arch>::size);

// ------------------------------------------------------------------------------------------ loads and stores

/// All lanes from memory of any alignment.
template <class Arch, class T>
inline batch<T, Arch> loadu(const T* p) {
  return batch<T, Arch>::load_unaligned(p);
}

/// *p, at any address.
template <class Arch, class T>
inline T element(const T* p) {
  T x;
  std::memcpy(&x, static_cast<const void*>(p), sizeof x);
  return x;
}

/// v, once computed: GCC would load a number from memory again for every product that it is in.
template <class T, class A>
inline xsimd::batch<T, A> in_register(const xsimd::batch<T, A>& v) {
#if defined(__x86_64__)
  typename xsimd::batch<T, A>::register_type r = v;
#if defined(__AVX512F__)
  asm("" : "+v"(r));
#else
  asm("" : "+x"(r));
#endif
  return r;
#else
  return v;
#endif
}

/// All lanes equal to x.
template <class Arch, class T>
inline batch<T, Arch> broadcast(T x) {
  return batch<T, Arch>(x);
}

/// All lanes to memory of any alignment.
template <class T, class A>
inline void storeu(T* p, const xsimd::batch<T, A>& v) {
  v.store_unaligned(p);
}

namespace detail {

#if defined(__AVX2__)
// Sixteen words whose window starting at 8 - n has n leading ones: the mask operand of vmaskmov.
template <class Arch>
inline __m256i mask_of_first_words(int64_t n) {
  alignas(64) static constexpr int32_t table[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table + 8 - n));
}
#endif

}  // namespace detail

/// The first n lanes from memory, 0 <= n <= lanes, the others zero. Reads nothing past p + n.
template <class Arch, class T>
inline batch<T, Arch> load_n(const T* p, int64_t n) {
  constexpr int width = lanes<T, Arch>;
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64) {
    const uint64_t ones = n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
    if constexpr (std::is_same_v<T, float>) return _mm512_maskz_loadu_ps(static_cast<__mmask16>(ones), p);
    else if constexpr (std::is_same_v<T, double>)
      return _mm512_maskz_loadu_pd(static_cast<__mmask8>(ones), p);
    else if constexpr (sizeof(T) == 8) return _mm512_maskz_loadu_epi64(static_cast<__mmask8>(ones), p);
    else if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_epi32(static_cast<__mmask16>(ones), p);
    else if constexpr (sizeof(T) == 2) return _mm512_maskz_loadu_epi16(static_cast<__mmask32>(ones), p);
    else return _mm512_maskz_loadu_epi8(static_cast<__mmask64>(ones), p);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32 && sizeof(T) >= 4) {
    const __m256i mask = detail::mask_of_first_words<Arch>(n * static_cast<int64_t>(sizeof(T) / 4));
    if constexpr (std::is_same_v<T, float>) return _mm256_maskload_ps(p, mask);
    else if constexpr (std::is_same_v<T, double>) return _mm256_maskload_pd(p, mask);
    else return _mm256_maskload_epi32(reinterpret_cast<const int*>(p), mask);
  } else
#endif
  {
    alignas(64) T lane[width] = {};
    if (n > 0) std::memcpy(lane, p, static_cast<size_t>(n) * sizeof(T));
    return loadu<Arch>(lane);
  }
}

/// The first n lanes from memory, the others `fill`.
template <class Arch, class T>
inline batch<T, Arch> load_n(const T* p, int64_t n, T fill) {
  alignas(64) T lane[lanes<T, Arch>];
  for (int i = 0; i < lanes<T, Arch>; ++i) lane[i] = fill;
  if (n > 0) std::memcpy(lane, p, static_cast<size_t>(n) * sizeof(T));
  return loadu<Arch>(lane);
}

/// Half of the lanes from memory of any alignment, the others zero.
template <class Arch, class T>
inline batch<T, Arch> load_half(const T* p) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64 && std::is_same_v<T, float>)
    return _mm512_zextps256_ps512(_mm256_loadu_ps(p));
  else if constexpr (Arch::register_bytes == 64)
    return _mm512_zextsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  else
#endif
    return load_n<Arch>(p, lanes<T, Arch> / 2);
}

/// The first n lanes to memory, 0 <= n <= lanes. Writes nothing past p + n.
template <class T, class A>
inline void store_n(T* p, const xsimd::batch<T, A>& v, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const uint64_t ones = n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
    if constexpr (std::is_same_v<T, float>) _mm512_mask_storeu_ps(p, static_cast<__mmask16>(ones), v);
    else if constexpr (std::is_same_v<T, double>) _mm512_mask_storeu_pd(p, static_cast<__mmask8>(ones), v);
    else if constexpr (sizeof(T) == 8) _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(ones), v);
    else if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(ones), v);
    else if constexpr (sizeof(T) == 2) _mm512_mask_storeu_epi16(p, static_cast<__mmask32>(ones), v);
    else _mm512_mask_storeu_epi8(p, static_cast<__mmask64>(ones), v);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && sizeof(T) >= 4) {
    const __m256i mask = detail::mask_of_first_words<A>(n * static_cast<int64_t>(sizeof(T) / 4));
    if constexpr (std::is_same_v<T, float>) _mm256_maskstore_ps(p, mask, v);
    else if constexpr (std::is_same_v<T, double>) _mm256_maskstore_pd(p, mask, v);
    else _mm256_maskstore_epi32(reinterpret_cast<int*>(p), mask, v);
  } else
#endif
  {
    alignas(64) T lane[xsimd::batch<T, A>::size];
    storeu(lane, v);
    if (n > 0) std::memcpy(p, lane, static_cast<size_t>(n) * sizeof(T));
  }
}

/// The first n lanes of x, 0 <= n <= lanes, and the others of y. T: float, double.
template <class T, class A>
inline xsimd::batch<T, A> first_n(const xsimd::batch<T, A>& x, int64_t n, const xsimd::batch<T, A>& y) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const uint32_t ones = (1u << n) - 1;
    if constexpr (sizeof(T) == 4) return _mm512_mask_mov_ps(y, static_cast<__mmask16>(ones), x);
    else return _mm512_mask_mov_pd(y, static_cast<__mmask8>(ones), x);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32) {
    const __m256i mask = detail::mask_of_first_words<A>(n * static_cast<int64_t>(sizeof(T) / 4));
    if constexpr (sizeof(T) == 4) return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(mask));
    else return _mm256_blendv_pd(y, x, _mm256_castsi256_pd(mask));
  } else
#endif
  {
    alignas(64) T lane[2 * xsimd::batch<T, A>::size];
    storeu(lane, x);
    storeu(lane + n, y);
    return xsimd::batch<T, A>::load_unaligned(lane);
  }
}

// ------------------------------------------------------------------------------------------------ arithmetic

/// x * y + z, rounded once where the level has FMA; Baseline on x86 may round twice.
template <class T, class A>
inline xsimd::batch<T, A> mul_add(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                  const xsimd::batch<T, A>& z) {
#if defined(__AVX512F__)
  // xsimd 8.1 has a multiplication and an addition here, which not every compiler fuses.
  if constexpr (detail::bytes<A> == 64) {
    if constexpr (std::is_same_v<T, float>) return _mm512_fmadd_ps(x, y, z);
    else if constexpr (std::is_same_v<T, double>) return _mm512_fmadd_pd(x, y, z);
    else return xsimd::fma(x, y, z);
  } else
#endif
    return xsimd::fma(x, y, z);
}

/// The greater; NaN when either is NaN.
template <class T, class A>
inline xsimd::batch<T, A> max_nan(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (std::floating_point<T>) return xsimd::select((x > y) | xsimd::isnan(x), x, y);
  else return xsimd::max(x, y);
}

/// The lesser; NaN when either is NaN.
template <class T, class A>
inline xsimd::batch<T, A> min_nan(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (std::floating_point<T>) return xsimd::select((x < y) | xsimd::isnan(x), x, y);
  else return xsimd::min(x, y);
}

/// The greater; the other one when one is NaN.
template <class T, class A>
inline xsimd::batch<T, A> max_num(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (std::floating_point<T>) return xsimd::select((x > y) | xsimd::isnan(y), x, y);
  else return xsimd::max(x, y);
}

/// The lesser; the other one when one is NaN.
template <class T, class A>
inline xsimd::batch<T, A> min_num(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (std::floating_point<T>) return xsimd::select((x < y) | xsimd::isnan(y), x, y);
  else return xsimd::min(x, y);
}

/// x within [lo, hi], hi winning if they cross; NaN stays NaN. T: float, double.
template <class T, class A>
inline xsimd::batch<T, A> bound(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& lo,
                                const xsimd::batch<T, A>& hi) {
  // x86's maximum and minimum give their second operand if either is NaN.
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    if constexpr (sizeof(T) == 4) return _mm512_min_ps(hi, _mm512_max_ps(lo, x));
    else return _mm512_min_pd(hi, _mm512_max_pd(lo, x));
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32) {
    if constexpr (sizeof(T) == 4) return _mm256_min_ps(hi, _mm256_max_ps(lo, x));
    else return _mm256_min_pd(hi, _mm256_max_pd(lo, x));
  } else
#endif
  {
    const xsimd::batch<T, A> y = xsimd::select(x < lo, lo, x);
    return xsimd::select(y > hi, hi, y);
  }
}

/// x * y of 32- or 64-bit integers, wrapping. (xsimd multiplies some of them as scalars that must not
/// overflow.)
template <class T, class A>
inline xsimd::batch<T, A> mul_wrap(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    if constexpr (sizeof(T) == 4) return _mm512_mullo_epi32(x, y);
    else return _mm512_mullo_epi64(x, y);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && sizeof(T) == 4) {
    return _mm256_mullo_epi32(x, y);
  } else
#endif
  {
    constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
    alignas(64) T a[width];
    alignas(64) T b[width];
    storeu(a, x);
    storeu(b, y);
    using U = std::make_unsigned_t<T>;
    for (int i = 0; i < width; ++i) a[i] = static_cast<T>(static_cast<U>(a[i]) * static_cast<U>(b[i]));
    return xsimd::batch<T, A>::load_unaligned(a);
  }
}

/// Each lane as two int16 (x = x0 + 65536 x1): z + x0 y0 + x1 y1, wrapping.
template <class A>
inline xsimd::batch<int32_t, A> mul_add_pairs(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) return _mm512_add_epi32(z, _mm512_madd_epi16(x, y));
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32)
    return _mm256_add_epi32(z, _mm256_madd_epi16(x, y));
  else
#endif
#if defined(__x86_64__)
    return _mm_add_epi32(z, _mm_madd_epi16(x, y));
#else
  return z + (x >> 16) * (y >> 16) + ((x << 16) >> 16) * ((y << 16) >> 16);
#endif
}

/// Whether the level has the instruction of dot_bytes, and the processor too.
template <class Arch>
inline bool has_dot_bytes() {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64) return vnni();
#endif
  return false;
}

/// Whether the level has the instructions of dot_bytes_16.
template <class Arch>
inline constexpr bool has_dot_bytes_16 =
#if defined(__x86_64__)
    Arch::register_bytes >= 32;
#else
    false;
#endif

/// Each lane as four bytes, those of x unsigned, those of y signed: z + x0 y0 + x1 y1 + x2 y2 + x3 y3,
/// wrapping. Fast where has_dot_bytes.
template <class A>
inline xsimd::batch<int32_t, A> dot_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& y,
                                          const xsimd::batch<int32_t, A>& z) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
#if defined(__AVX512VNNI__)
    return _mm512_dpbusd_epi32(z, x, y);
#else
    // The level does without VNNI, so that the compiler has no intrinsic for it here.
    __m512i sum = z, u = x, s = y;
    asm("vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+v"(sum) : "v"(u), "v"(s));
    return sum;
#endif
  } else
#endif
  {
    constexpr int width = static_cast<int>(xsimd::batch<int32_t, A>::size);
    alignas(64) int32_t a[width], b[width], c[width];
    storeu(a, x);
    storeu(b, y);
    storeu(c, z);
    for (int i = 0; i < width; ++i) {
      int32_t sum = 0;
      for (int e = 0; e < 32; e += 8) sum += (a[i] >> e & 255) * static_cast<int8_t>(b[i] >> e & 255);
      c[i] = static_cast<int32_t>(static_cast<uint32_t>(c[i]) + static_cast<uint32_t>(sum));
    }
    return xsimd::batch<int32_t, A>::load_unaligned(c);
  }
}

/// dot_bytes for bytes whose sums x0 y0 + x1 y1 and x2 y2 + x3 y3 fit into 16 bits. Fast where
/// has_dot_bytes_16.
template <class A>
inline xsimd::batch<int32_t, A> dot_bytes_16(const xsimd::batch<int32_t, A>& x,
                                             const xsimd::batch<int32_t, A>& y,
                                             const xsimd::batch<int32_t, A>& z) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64)
    return _mm512_add_epi32(z, _mm512_madd_epi16(_mm512_maddubs_epi16(x, y), _mm512_set1_epi16(1)));
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32)
    return _mm256_add_epi32(z, _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), _mm256_set1_epi16(1)));
  else
#endif
    return dot_bytes(x, y, z);
}

/// The lanes' bits read as lanes of U (the same register width).
template <class U, class T, class A>
inline xsimd::batch<U, A> bits_as(const xsimd::batch<T, A>& v) {
#if XSIMD_VERSION_MAJOR >= 10
  return xsimd::bitwise_cast<U>(v);
#else
  return xsimd::bitwise_cast<xsimd::batch<U, A>>(v);
#endif
}

/// Lane i as the high halves of lanes 2 i (low) and 2 i + 1 of the numbers of x and then y.
template <class A>
inline xsimd::batch<uint32_t, A> high_halves(const xsimd::batch<uint32_t, A>& x,
                                             const xsimd::batch<uint32_t, A>& y) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    alignas(64) static constexpr uint16_t odd[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                     23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                     45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    return _mm512_permutex2var_epi16(x, _mm512_load_si512(odd), y);
  } else
#endif
  {
    constexpr int width = static_cast<int>(xsimd::batch<uint32_t, A>::size);
    alignas(64) uint32_t from[2 * width], to[width];
    storeu(from, x);
    storeu(from + width, y);
    for (int i = 0; i < width; ++i) to[i] = (from[2 * i] >> 16) | (from[2 * i + 1] & 0xffff0000u);
    return xsimd::batch<uint32_t, A>::load_unaligned(to);
  }
}

/// table[index % period] of each lane, the table aligned. Fast where a register holds 16 words, or with the
/// period 8 and the table twice, eight.
template <int period, class T, class A>
inline xsimd::batch<T, A> look_up(const T (&table)[16], const xsimd::batch<uint32_t, A>& index) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64)
    return bits_as<T>(xsimd::batch<uint32_t, A>(_mm512_permutexvar_epi32(index, _mm512_load_si512(table))));
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && period == 8)
    return bits_as<T>(xsimd::batch<uint32_t, A>(
        _mm256_permutevar8x32_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(table)), index)));
  else
#endif
  {
    constexpr std::size_t width = xsimd::batch<T, A>::size;
    alignas(64) uint32_t at[width];
    alignas(64) T found[width];
    storeu(at, index);
    for (std::size_t i = 0; i < width; ++i) found[i] = table[at[i] % period];
    return xsimd::batch<T, A>::load_aligned(found);
  }
}

namespace detail {

#if defined(__AVX2__)
// Lanes of `bits` as the mask operand of vmaskmov.
template <class Arch, class T>
inline __m256i mask_of_bits(uint64_t bits) {
  if constexpr (sizeof(T) == 4) {
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), each), each);
  } else {
    const __m256i each = _mm256_setr_epi64x(1, 2, 4, 8);
    return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(static_cast<long long>(bits)), each), each);
  }
}
#endif

}  // namespace detail

/// Lanes whose bit is set from memory, the others `fill`. Reads nothing else, so that p itself may lie
/// outside.
template <class Arch, class T>
inline batch<T, Arch> load_masked(const T* p, uint64_t bits, T fill) {
  constexpr int width = lanes<T, Arch>;
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64) {
    const batch<T, Arch> other(fill);
    if constexpr (std::is_same_v<T, float>)
      return _mm512_mask_loadu_ps(other, static_cast<__mmask16>(bits), p);
    else if constexpr (std::is_same_v<T, double>)
      return _mm512_mask_loadu_pd(other, static_cast<__mmask8>(bits), p);
    else if constexpr (sizeof(T) == 8) return _mm512_mask_loadu_epi64(other, static_cast<__mmask8>(bits), p);
    else if constexpr (sizeof(T) == 4) return _mm512_mask_loadu_epi32(other, static_cast<__mmask16>(bits), p);
    else if constexpr (sizeof(T) == 2) return _mm512_mask_loadu_epi16(other, static_cast<__mmask32>(bits), p);
    else return _mm512_mask_loadu_epi8(other, static_cast<__mmask64>(bits), p);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32 && std::is_same_v<T, float>) {
    const __m256i mask = detail::mask_of_bits<Arch, T>(bits);
    return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
  } else if constexpr (Arch::register_bytes == 32 && std::is_same_v<T, double>) {
    const __m256i mask = detail::mask_of_bits<Arch, T>(bits);
    return _mm256_blendv_pd(_mm256_set1_pd(fill), _mm256_maskload_pd(p, mask), _mm256_castsi256_pd(mask));
  } else
#endif
  {
    if (bits == ~uint64_t{0} >> (64 - width)) return loadu<Arch>(p);
    alignas(64) T lane[width];
    for (int i = 0; i < width; ++i) lane[i] = (bits >> i & 1) != 0 ? p[i] : fill;
    return loadu<Arch>(lane);
  }
}

/// The masks of load_even_masked for lanes whose bit is set.
template <class T, class Arch>
constexpr uint64_t even_masks(uint64_t bits) {
  constexpr int half = lanes<T, Arch> / 2;
  // Bit i goes to bit 2 i, in each half of the word.
  uint64_t x = (bits & ((uint64_t{1} << half) - 1)) | (bits >> half) << 32;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
  x = (x | x << 2) & 0x3333333333333333u;
  x = (x | x << 1) & 0x5555555555555555u;
  return (x & 0xffffffffu) | (x >> 32) << 33;
}

namespace detail {

/// Lanes 0, 2, 4... of `low` and then 1, 3, 5... of `high`.
template <class Arch, class T, class A>
inline batch<T, Arch> join_even(const xsimd::batch<T, A>& low, const xsimd::batch<T, A>& high) {
  constexpr int width = lanes<T, Arch>;
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64) {
    if constexpr (sizeof(T) == 4) {
      const __m512i pick = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
      return _mm512_permutex2var_ps(low, pick, high);
    } else {
      return _mm512_permutex2var_pd(low, _mm512_setr_epi64(0, 2, 4, 6, 9, 11, 13, 15), high);
    }
  } else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32 && sizeof(T) == 4) {
    const __m256 mixed = _mm256_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 2, 0));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), _MM_SHUFFLE(3, 1, 2, 0)));
  } else
#endif
  {
    alignas(64) T a[width], b[width];
    storeu(a, low);
    storeu(b, high);
    for (int i = width / 2; i-- > 0;) b[width / 2 + i] = b[2 * i + 1];
    for (int i = 0; i < width / 2; ++i) b[i] = a[2 * i];
    return loadu<Arch>(b);
  }
}

}  // namespace detail

// The second of two loads begins one early, so that it ends with the last number wanted.

/// Lane i from p[2 * i]. Reads up to the last of these. T: float, double.
template <class Arch, class T>
inline batch<T, Arch> load_even(const T* p) {
  return detail::join_even<Arch>(loadu<Arch>(p), loadu<Arch>(p + lanes<T, Arch> - 1));
}

/// Of the numbers of x and then y: those at even places, and those at odd ones. T: float.
template <class T, class A>
inline void split_pairs(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y, xsimd::batch<T, A>& even,
                        xsimd::batch<T, A>& odd) {
  static_assert(std::is_same_v<T, float>);
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const __m512i pick = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    even = _mm512_permutex2var_ps(x, pick, y);
    odd = _mm512_permutex2var_ps(x, _mm512_add_epi32(pick, _mm512_set1_epi32(1)), y);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32) {
    const auto in_order = [](__m256 v) {
      return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), _MM_SHUFFLE(3, 1, 2, 0)));
    };
    even = in_order(_mm256_shuffle_ps(x, y, _MM_SHUFFLE(2, 0, 2, 0)));
    odd = in_order(_mm256_shuffle_ps(x, y, _MM_SHUFFLE(3, 1, 3, 1)));
  } else
#endif
  {
    constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
    alignas(64) T from[2 * width], to[2 * width];
    storeu(from, x);
    storeu(from + width, y);
    for (int i = 0; i < width; ++i) to[i] = from[2 * i], to[width + i] = from[2 * i + 1];
    even = xsimd::batch<T, A>::load_unaligned(to);
    odd = xsimd::batch<T, A>::load_unaligned(to + width);
  }
}

/// Lane i from p[2 * i], if its bit was set in what even_masks made `masks` of, else zero. Reads nothing
/// else. T: float, double.
template <class Arch, class T>
inline batch<T, Arch> load_even_masked(const T* p, uint64_t masks) {
  return detail::join_even<Arch>(load_masked<Arch>(p, masks & 0xffffffffu, T{0}),
                                 load_masked<Arch>(p + lanes<T, Arch> - 1, masks >> 32, T{0}));
}

/// The first n lanes of load_even, 0 < n <= lanes, the others zero.
template <class Arch, class T>
inline batch<T, Arch> load_even_n(const T* p, int64_t n) {
  if (n == lanes<T, Arch>) return load_even<Arch>(p);
  return load_even_masked<Arch>(p, even_masks<T, Arch>((uint64_t{1} << n) - 1));
}

/// Transposes a square of 16 bytes a side: tile_side<T> rows of as many numbers.
template <class T>
inline constexpr int tile_side = static_cast<int>(16 / sizeof(T));

/// to[j * to_row + i] = from[i * from_row + j] for i, j < tile_side<T>. T of 4 or 8 bytes.
template <class Arch, class T>
inline void transpose_tile(const T* from, int64_t from_row, T* to, int64_t to_row) {
#if defined(__x86_64__)
  if constexpr (sizeof(T) == 4) {
    const auto* f = reinterpret_cast<const float*>(from);
    auto* t = reinterpret_cast<float*>(to);
    __m128 r0 = _mm_loadu_ps(f), r1 = _mm_loadu_ps(f + from_row);
    __m128 r2 = _mm_loadu_ps(f + 2 * from_row), r3 = _mm_loadu_ps(f + 3 * from_row);
    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    _mm_storeu_ps(t, r0);
    _mm_storeu_ps(t + to_row, r1);
    _mm_storeu_ps(t + 2 * to_row, r2);
    _mm_storeu_ps(t + 3 * to_row, r3);
  } else {
    const auto* f = reinterpret_cast<const double*>(from);
    auto* t = reinterpret_cast<double*>(to);
    const __m128d r0 = _mm_loadu_pd(f), r1 = _mm_loadu_pd(f + from_row);
    _mm_storeu_pd(t, _mm_unpacklo_pd(r0, r1));
    _mm_storeu_pd(t + to_row, _mm_unpackhi_pd(r0, r1));
  }
#else
  for (int j = 0; j < tile_side<T>; ++j)
    for (int i = 0; i < tile_side<T>; ++i) to[j * to_row + i] = from[i * from_row + j];
#endif
}

/// Transposes as many rows as a register has lanes: to[j * to_row + i] = from[i * from_row + j] for i <
/// lanes, j < tile_side<T>. T of 4 or 8 bytes.
template <class Arch, class T>
inline void transpose_strip(const T* from, int64_t from_row, T* to, int64_t to_row) {
  // Quarters of registers are rows 4 apart, so that the shuffles stay inside of quarters.
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64 && sizeof(T) == 4) {
    __m512 r[4];
    for (int k = 0; k < 4; ++k) {
      const auto* f = reinterpret_cast<const float*>(from + k * from_row);
      r[k] = _mm512_castps128_ps512(_mm_loadu_ps(f));
      r[k] = _mm512_mask_broadcast_f32x4(r[k], 0x00f0, _mm_loadu_ps(f + 4 * from_row));
      r[k] = _mm512_mask_broadcast_f32x4(r[k], 0x0f00, _mm_loadu_ps(f + 8 * from_row));
      r[k] = _mm512_mask_broadcast_f32x4(r[k], 0xf000, _mm_loadu_ps(f + 12 * from_row));
    }
    const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[0], r[1])),
                  b = _mm512_castps_pd(_mm512_unpacklo_ps(r[2], r[3])),
                  c = _mm512_castps_pd(_mm512_unpackhi_ps(r[0], r[1])),
                  d = _mm512_castps_pd(_mm512_unpackhi_ps(r[2], r[3]));
    _mm512_storeu_pd(to, _mm512_unpacklo_pd(a, b));
    _mm512_storeu_pd(to + to_row, _mm512_unpackhi_pd(a, b));
    _mm512_storeu_pd(to + 2 * to_row, _mm512_unpacklo_pd(c, d));
    _mm512_storeu_pd(to + 3 * to_row, _mm512_unpackhi_pd(c, d));
  } else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32 && sizeof(T) == 4) {
    __m256 r[4];
    for (int k = 0; k < 4; ++k) {
      const auto* f = reinterpret_cast<const float*>(from + k * from_row);
      r[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(f)), _mm_loadu_ps(f + 4 * from_row), 1);
    }
    const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[0], r[1])),
                  b = _mm256_castps_pd(_mm256_unpacklo_ps(r[2], r[3])),
                  c = _mm256_castps_pd(_mm256_unpackhi_ps(r[0], r[1])),
                  d = _mm256_castps_pd(_mm256_unpackhi_ps(r[2], r[3]));
    auto* t = reinterpret_cast<float*>(to);
    _mm256_storeu_ps(t, _mm256_castpd_ps(_mm256_unpacklo_pd(a, b)));
    _mm256_storeu_ps(t + to_row, _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
    _mm256_storeu_ps(t + 2 * to_row, _mm256_castpd_ps(_mm256_unpacklo_pd(c, d)));
    _mm256_storeu_ps(t + 3 * to_row, _mm256_castpd_ps(_mm256_unpackhi_pd(c, d)));
  } else
#endif
  {
    for (int i = 0; i < lanes<T, Arch>; i += tile_side<T>)
      transpose_tile<Arch>(from + i * from_row, from_row, to + i, to_row);
  }
}

/// As many bytes as there are lanes, zero-extended.
template <class Arch>
inline batch<int32_t, Arch> load_bytes(const uint8_t* p) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64)
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32)
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  else
#endif
  {
    alignas(64) int32_t lane[lanes<int32_t, Arch>];
    for (int i = 0; i < lanes<int32_t, Arch>; ++i) lane[i] = p[i];
    return loadu<Arch>(lane);
  }
}

/// The low byte of each lane.
template <class A>
inline void store_bytes(uint8_t* p, const xsimd::batch<int32_t, A>& v) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32) {
    const __m256i low = _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x0c080400));
    const __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), both);
  } else
#endif
  {
    constexpr int width = static_cast<int>(xsimd::batch<int32_t, A>::size);
    alignas(64) int32_t lane[width];
    storeu(lane, v);
    for (int i = 0; i < width; ++i) p[i] = static_cast<uint8_t>(lane[i]);
  }
}

/// round(x) + zero of numbers within 2^22, to nearest, ties to even; only the low byte of each lane is right.
template <class A>
inline xsimd::batch<int32_t, A> round_bytes(const xsimd::batch<float, A>& x,
                                            const xsimd::batch<int32_t, A>& zero) {
  // A float of this size has its whole part in its last bits.
  return bits_as<int32_t>(x + xsimd::batch<float, A>(0x1.8p23f)) + zero;
}

/// Bytes of the numbers of `count` vectors side by side: round(x) + zero, to nearest, ties to even, within lo
/// and hi, which are of the unsigned range. The numbers lie within 2^31.
template <int count, class A>
inline void store_rounded(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi) {
  static_assert(count <= 4);
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    // 16 bits saturate before and after the zero point is added, bytes afterwards.
    __m512i v[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) v[k] = k < count ? _mm512_cvtps_epi32(x[k]) : _mm512_setzero_si512();
    const __m512i shift = _mm512_set1_epi16(static_cast<int16_t>(zero));
    const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), shift);
    const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), shift);
    __m512i bytes = _mm512_packus_epi16(low, high);
    bytes = _mm512_max_epu8(bytes, _mm512_set1_epi8(static_cast<char>(lo)));
    bytes = _mm512_min_epu8(bytes, _mm512_set1_epi8(static_cast<char>(hi)));
    // Each quarter has four bytes of each vector.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    bytes = _mm512_permutexvar_epi32(order, bytes);
    if constexpr (count == 4) _mm512_storeu_si512(p, bytes);
    else _mm512_mask_storeu_epi8(p, (uint64_t{1} << (16 * count)) - 1, bytes);
  } else
#endif
  {
    using F = xsimd::batch<float, A>;
    const F least(static_cast<float>(lo - zero)), most(static_cast<float>(hi - zero));
    const xsimd::batch<int32_t, A> shift(zero);
    for (int k = 0; k < count; ++k)
      store_bytes(p + k * static_cast<int>(F::size), round_bytes(F(min(max(x[k], least), most)), shift));
  }
}

/// to[p * to_row + i] = the word of four bytes at from + i * from_row + 4 * p, for i, p < 4.
template <class Arch>
inline void transpose_words(const uint8_t* from, int64_t from_row, uint32_t* to, int64_t to_row) {
#if defined(__x86_64__)
  const auto row = [&](int i) { return _mm_loadu_ps(reinterpret_cast<const float*>(from + i * from_row)); };
  __m128 r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
  _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
  _mm_storeu_ps(reinterpret_cast<float*>(to), r0);
  _mm_storeu_ps(reinterpret_cast<float*>(to + to_row), r1);
  _mm_storeu_ps(reinterpret_cast<float*>(to + 2 * to_row), r2);
  _mm_storeu_ps(reinterpret_cast<float*>(to + 3 * to_row), r3);
#else
  for (int i = 0; i < 4; ++i)
    for (int p = 0; p < 4; ++p) std::memcpy(to + p * to_row + i, from + i * from_row + 4 * p, 4);
#endif
}

/// to[j] = the word of the bytes r0[j], r1[j], r2[j], r3[j], the first lowest, for j < 16.
template <class Arch>
inline void interleave_bytes(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                             uint32_t* to) {
#if defined(__x86_64__)
  const auto load = [](const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  const __m128i a = load(r0), b = load(r1), c = load(r2), d = load(r3);
  const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
  const __m128i ab_high = _mm_unpackhi_epi8(a, b), cd_high = _mm_unpackhi_epi8(c, d);
  auto* out = reinterpret_cast<__m128i*>(to);
  _mm_storeu_si128(out, _mm_unpacklo_epi16(ab, cd));
  _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(ab, cd));
  _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(ab_high, cd_high));
  _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(ab_high, cd_high));
#else
  for (int j = 0; j < 16; ++j)
    to[j] = r0[j] | uint32_t{r1[j]} << 8 | uint32_t{r2[j]} << 16 | uint32_t{r3[j]} << 24;
#endif
}

// ------------------------------------------------------------------------------------------------ reductions

/// Folds halves onto each other: the order depends on the lane count alone.
template <class T, class A, class F>
inline T fold_lanes(const xsimd::batch<T, A>& v, F f) {
  constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
  alignas(64) T lane[width];
  storeu(lane, v);
  for (int half = width / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = f(lane[i], lane[i + half]);
  return lane[0];
}

/// The sum of all lanes (integers wrap).
template <class T, class A>
inline T sum_of_lanes(const xsimd::batch<T, A>& v) {
  if constexpr (std::floating_point<T>) {
#if defined(__AVX512F__)
    if constexpr (detail::bytes<A> == 64 && sizeof(T) == 4) return _mm512_reduce_add_ps(v);
    else if constexpr (detail::bytes<A> == 64) return _mm512_reduce_add_pd(v);
    else
#endif
#if XSIMD_VERSION_MAJOR >= 10
      return xsimd::reduce_add(v);
#else
    return xsimd::hadd(v);
#endif
  } else {
#if defined(__AVX512F__)
    if constexpr (detail::bytes<A> == 64 && sizeof(T) == 4) return static_cast<T>(_mm512_reduce_add_epi32(v));
    else
#endif
    {
      using U = std::make_unsigned_t<T>;
      return fold_lanes(v, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
    }
  }
}

namespace detail {

#if defined(__x86_64__)
// The greatest of lanes that are numbers.
template <class A>
inline float greatest_lane(__m128 v) {
  v = _mm_max_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_max_ss(v, _mm_shuffle_ps(v, v, 1)));
}
template <class A>
inline double greatest_lane(__m128d v) {
  return _mm_cvtsd_f64(_mm_max_sd(v, _mm_unpackhi_pd(v, v)));
}
#endif
#if defined(__AVX2__)
template <class A>
inline float greatest_lane(__m256 v) {
  return greatest_lane<A>(_mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
}
template <class A>
inline double greatest_lane(__m256d v) {
  return greatest_lane<A>(_mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1)));
}
#endif
#if defined(__AVX512F__)
template <class A>
inline float greatest_lane(__m512 v) {
  return _mm512_reduce_max_ps(v);
}
template <class A>
inline double greatest_lane(__m512d v) {
  return _mm512_reduce_max_pd(v);
}
#endif

}  // namespace detail

/// The greatest lane; NaN when any lane is NaN. T: float, double.
template <class T, class A>
inline T max_of_lanes(const xsimd::batch<T, A>& v) {
  if (xsimd::any(xsimd::isnan(v))) return std::numeric_limits<T>::quiet_NaN();
#if defined(__x86_64__)
  return detail::greatest_lane<A>(v.data);
#else
  return fold_lanes(v, [](T a, T b) { return a > b ? a : b; });
#endif
}

/// The least lane; NaN when any lane is NaN. T: float, double.
template <class T, class A>
inline T min_of_lanes(const xsimd::batch<T, A>& v) {
  // -0 minus x, as 0 minus x would not turn the sign of 0.
  return -max_of_lanes(xsimd::batch<T, A>(T(-0.0)) - v);
}

// -------------------------------------------------------------------------------- half-precision conversions

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

// Whole blocks of `width` numbers, then the rest through a padded copy.
template <int width, class In, class Out, class Block>
inline void in_blocks(const In* in, Out* out, int64_t n, Block block) {
  int64_t i = 0;
  for (; i + width <= n; i += width) block(in + i, out + i);
  if (i == n) return;
  In last_in[width] = {};
  Out last_out[width];
  std::memcpy(last_in, in + i, static_cast<size_t>(n - i) * sizeof(In));
  block(last_in, last_out);
  std::memcpy(out + i, last_out, static_cast<size_t>(n - i) * sizeof(Out));
}

#if defined(__AVX512F__)
template <class Arch>
inline __m256i bf16_from_f32(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i high = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i bias = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
  const __m512i near = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
  const __m512i quiet = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(near, nan, quiet));
}
#endif

#if defined(__AVX2__)
template <class Arch>
inline __m128i bf16_from_f32(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i near = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i words = _mm256_blendv_epi8(near, quiet, nan);
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x08));
}
#endif

}  // namespace detail

/// n binary16 numbers (as bits) to binary32.
template <class Arch>
inline void f16_to_f32(const uint16_t* in, float* out, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64)
    detail::in_blocks<16>(in, out, n, [](const uint16_t* h, float* x) {
      _mm512_storeu_ps(x, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(h))));
    });
  else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32)
    detail::in_blocks<8>(in, out, n, [](const uint16_t* h, float* x) {
      _mm256_storeu_ps(x, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(h))));
    });
  else
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = detail::f16_bits_to_f32<Arch>(in[i]);
}

/// n binary32 numbers to binary16 (as bits), to nearest even.
template <class Arch>
inline void f32_to_f16(const float* in, uint16_t* out, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64)
    detail::in_blocks<16>(in, out, n, [](const float* x, uint16_t* h) {
      const __m256i halves = _mm512_cvtps_ph(_mm512_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(h), halves);
    });
  else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32)
    detail::in_blocks<8>(in, out, n, [](const float* x, uint16_t* h) {
      const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(h), halves);
    });
  else
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = detail::f32_to_f16_bits<Arch>(in[i]);
}

/// n bfloat16 numbers (as bits) to binary32.
template <class Arch>
inline void bf16_to_f32(const uint16_t* in, float* out, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64)
    detail::in_blocks<16>(in, out, n, [](const uint16_t* h, float* x) {
      const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(h)));
      _mm512_storeu_si512(x, _mm512_slli_epi32(wide, 16));
    });
  else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32)
    detail::in_blocks<8>(in, out, n, [](const uint16_t* h, float* x) {
      const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(h)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(x), _mm256_slli_epi32(wide, 16));
    });
  else
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>(static_cast<uint32_t>(in[i]) << 16);
}

/// n binary32 numbers to bfloat16 (as bits), to nearest even. Not vcvtneps2bf16, which flushes subnormals.
template <class Arch>
inline void f32_to_bf16(const float* in, uint16_t* out, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64)
    detail::in_blocks<16>(in, out, n, [](const float* x, uint16_t* h) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(h), detail::bf16_from_f32<Arch>(_mm512_loadu_ps(x)));
    });
  else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32)
    detail::in_blocks<8>(in, out, n, [](const float* x, uint16_t* h) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(h), detail::bf16_from_f32<Arch>(_mm256_loadu_ps(x)));
    });
  else
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = detail::f32_to_bf16_bits<Arch>(in[i]);
}

}  // namespace tenon::simd
