// Products, conversions and rearrangements of bytes and 16-bit integers.
#pragma once

#include <algorithm>
#include <cstring>

#include "tenon/simd/batch/memory.hpp"
#include "tenon/simd/features.hpp"

namespace tenon::TENON_ABI::simd {

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

/// Whether the level has the instructions of dot_bytes_16.
template <class Arch>
inline constexpr bool has_dot_bytes_16 =
#if defined(__x86_64__)
    Arch::register_bytes >= 32;
#else
    false;
#endif

/// Whether the level has the instruction of dot_bytes and the processor supports it.
template <class Arch>
inline bool has_dot_bytes() {
  if constexpr (has_dot_bytes_16<Arch>) return vnni<Arch::register_bytes>();
  return false;
}

/// Each lane as four bytes, unsigned in x and signed in y: z + x0 y0 + x1 y1 + x2 y2 + x3 y3, wrapping. At
/// levels with has_dot_bytes_16, the processor must support it (has_dot_bytes).
template <class A>
inline xsimd::batch<int32_t, A> dot_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& y,
                                          const xsimd::batch<int32_t, A>& z) {
  // The levels do not include VNNI, so the compiler may lack intrinsics for it. With them, GCC would reload
  // weights for each product, which doubles the time.
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    __m512i sum = z, u = x, s = y;
    asm("vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+v"(sum) : "v"(u), "v"(s));
    return sum;
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32) {
    __m256i sum = z, u = x, s = y;
    asm("%{vex%} vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+x"(sum) : "x"(u), "x"(s));
    return sum;
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

/// Each lane as four bytes, unsigned in x and signed in y, and as two int16 in z and the result: z0 + x0 y0 +
/// x1 y1 and z1 + x2 y2 + x3 y3. Products of two bytes saturate, sums wrap.
template <class A>
inline xsimd::batch<int32_t, A> mul_add_bytes(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) return _mm512_add_epi16(z, _mm512_maddubs_epi16(x, y));
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32)
    return _mm256_add_epi16(z, _mm256_maddubs_epi16(x, y));
  else
#endif
  {
    constexpr int width = 4 * static_cast<int>(xsimd::batch<int32_t, A>::size);
    alignas(64) uint8_t a[width];
    alignas(64) int8_t b[width];
    alignas(64) int16_t c[width / 2];
    std::memcpy(a, &x, sizeof a), std::memcpy(b, &y, sizeof b), std::memcpy(c, &z, sizeof c);
    for (int i = 0; i < width / 2; ++i) {
      const int both = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
      c[i] = static_cast<int16_t>(c[i] + std::min(std::max(both, -32768), 32767));
    }
    xsimd::batch<int32_t, A> sums;
    std::memcpy(&sums, c, sizeof c);
    return sums;
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
#if defined(__x86_64__)
      if constexpr (Arch::register_bytes == 16) {
    const __m128i none = _mm_setzero_si128();
    return _mm_unpacklo_epi16(
        _mm_unpacklo_epi8(_mm_cvtsi32_si128(element<Arch>(reinterpret_cast<const int*>(p))), none), none);
  } else
#endif
  {
    alignas(64) int32_t lane[lanes<int32_t, Arch>];
    for (int i = 0; i < lanes<int32_t, Arch>; ++i) lane[i] = p[i];
    return loadu<Arch>(lane);
  }
}

/// The first n bytes, n <= lanes, zero-extended, the other lanes zero. Reads nothing past p + n.
template <class Arch>
inline batch<int32_t, Arch> load_bytes_n(const uint8_t* p, int64_t n) {
  constexpr int64_t width = lanes<int32_t, Arch>;
  if (n == width) return load_bytes<Arch>(p);
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64)
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << n) - 1), p));
#endif
  uint8_t lane[width] = {};
  if (n > 0) std::memcpy(lane, p, static_cast<size_t>(n));
  return load_bytes<Arch>(lane);
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
#if defined(__x86_64__)
      if constexpr (detail::bytes<A> == 16) {
    const __m128i low = _mm_and_si128(v, _mm_set1_epi32(255));
    const int word = _mm_cvtsi128_si32(_mm_packus_epi16(_mm_packs_epi32(low, low), low));
    std::memcpy(p, &word, 4);
  } else
#endif
  {
    constexpr int width = static_cast<int>(xsimd::batch<int32_t, A>::size);
    alignas(64) int32_t lane[width];
    storeu(lane, v);
    for (int i = 0; i < width; ++i) p[i] = static_cast<uint8_t>(lane[i]);
  }
}

/// round(x) + zero for numbers within 2^22, to nearest, ties to even; only the low byte of each lane is
/// valid.
template <class A>
inline xsimd::batch<int32_t, A> round_bytes(const xsimd::batch<float, A>& x,
                                            const xsimd::batch<int32_t, A>& zero) {
  // A float of this size has its whole part in its low bits.
  return bits_as<int32_t>(x + xsimd::batch<float, A>(0x1.8p23f)) + zero;
}

#if defined(__AVX512F__)
namespace detail {
/// Bytes of up to four vectors, see store_rounded. Each quarter has four bytes of each vector.
template <int count, class A>
inline __m512i rounded_quarters(const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi) {
  // 16 bits saturate before and after the zero point is added, bytes afterwards.
  __m512i v[4];
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) v[k] = k < count ? _mm512_cvtps_epi32(x[k]) : _mm512_setzero_si512();
  const __m512i shift = _mm512_set1_epi16(static_cast<int16_t>(zero));
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), shift);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), shift);
  const __m512i bytes =
      _mm512_max_epu8(_mm512_packus_epi16(low, high), _mm512_set1_epi8(static_cast<char>(lo)));
  return _mm512_min_epu8(bytes, _mm512_set1_epi8(static_cast<char>(hi)));
}
/// The bytes of rounded_quarters in vector order.
template <class A>
inline __m512i in_order(__m512i quarters) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                                  quarters);
}
}  // namespace detail
#endif
#if defined(__AVX2__)
namespace detail {
/// Bytes of two or four vectors, see store_rounded. Each half has four bytes of each vector.
template <int count, class A>
inline __m256i rounded_halves(const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi) {
  static_assert(count == 2 || count == 4);
  const __m256i shift = _mm256_set1_epi16(static_cast<int16_t>(zero));
  const auto pair = [&](int k) {
    return _mm256_adds_epi16(_mm256_packs_epi32(_mm256_cvtps_epi32(x[k]), _mm256_cvtps_epi32(x[k + 1])),
                             shift);
  };
  const __m256i low = pair(0);
  const __m256i bytes = _mm256_max_epu8(_mm256_packus_epi16(low, count == 4 ? pair(2) : low),
                                        _mm256_set1_epi8(static_cast<char>(lo)));
  return _mm256_min_epu8(bytes, _mm256_set1_epi8(static_cast<char>(hi)));
}
}  // namespace detail
#endif

/// Bytes of the numbers of `count` contiguous vectors: round(x) + zero, to nearest, ties to even, within lo
/// and hi, which are in the unsigned range, with the bits `flip` changed. The numbers lie within 2^31.
template <int count, class A>
inline void store_rounded(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                          uint8_t flip = 0) {
  static_assert(count <= 4);
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const __m512i bytes =
        _mm512_xor_si512(detail::in_order<A>(detail::rounded_quarters<count>(x, zero, lo, hi)),
                         _mm512_set1_epi8(static_cast<char>(flip)));
    if constexpr (count == 4) _mm512_storeu_si512(p, bytes);
    if constexpr (count == 2 || count == 3)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(bytes));
    if constexpr (count == 1 || count == 3)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p) + count / 2 * 2,
                       _mm512_extracti32x4_epi32(bytes, count / 2 * 2));
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && count % 2 == 0) {
    __m256i bytes = detail::rounded_halves<count>(x, zero, lo, hi);
    bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8(static_cast<char>(flip)));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    if constexpr (count == 4) _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bytes);
    else _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(bytes));
  } else
#endif
#if defined(__x86_64__)
      if constexpr (detail::bytes<A> == 16 && count % 2 == 0) {
    const __m128i shift = _mm_set1_epi16(static_cast<int16_t>(zero));
    const auto pair = [&](int k) {
      return _mm_adds_epi16(_mm_packs_epi32(_mm_cvtps_epi32(x[k]), _mm_cvtps_epi32(x[k + 1])), shift);
    };
    const __m128i low = pair(0);
    __m128i bytes = _mm_packus_epi16(low, count == 4 ? pair(2) : low);
    bytes = _mm_max_epu8(bytes, _mm_set1_epi8(static_cast<char>(lo)));
    bytes = _mm_min_epu8(bytes, _mm_set1_epi8(static_cast<char>(hi)));
    bytes = _mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(flip)));
    if constexpr (count == 4) _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
    else _mm_storel_epi64(reinterpret_cast<__m128i*>(p), bytes);
  } else
#endif
  {
    using F = xsimd::batch<float, A>;
    const F least(static_cast<float>(lo - zero)), most(static_cast<float>(hi - zero));
    const xsimd::batch<int32_t, A> shift(zero), flips(flip);
    for (int k = 0; k < count; ++k)
      store_bytes(p + k * static_cast<int>(F::size),
                  round_bytes(F(min(max(x[k], least), most)), shift) ^ flips);
  }
}

/// The first n bytes of store_rounded.
template <int count, class A>
inline void store_rounded_n(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                            int64_t n) {
  constexpr auto whole = count * static_cast<int64_t>(xsimd::batch<float, A>::size);
  if (n >= whole) return store_rounded<count>(p, x, zero, lo, hi);
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64)
    _mm512_mask_storeu_epi8(p, (uint64_t{1} << n) - 1,
                            detail::in_order<A>(detail::rounded_quarters<count>(x, zero, lo, hi)));
  else
#endif
  {
    uint8_t bytes[whole];
    store_rounded<count>(bytes, x, zero, lo, hi);
    std::memcpy(p, bytes, static_cast<std::size_t>(n));
  }
}

#if defined(__AVX512F__)
/// table[x] of each byte, for a table in four vectors. Only if vbmi().
template <class A>
inline xsimd::batch<uint8_t, A> look_up_bytes(const xsimd::batch<uint8_t, A>* table,
                                              const xsimd::batch<uint8_t, A>& x) {
  // The level does not include VBMI, so the compiler has no intrinsic for it here.
  const auto pick = [&](int k) {
    __m512i found = x;
    const __m512i low = table[k], high = table[k + 1];
    asm("vpermi2b {%2, %1, %0|%0, %1, %2}" : "+v"(found) : "v"(low), "v"(high));
    return found;
  };
  return _mm512_mask_mov_epi8(pick(0), _mm512_movepi8_mask(x), pick(2));
}

#endif

#if defined(__AVX2__)
/// The first n bytes at p in the lower half, and at q in the upper one; n is up to half of the lanes.
template <class Arch>
inline batch<uint8_t, Arch> load_halves_n(const uint8_t* p, const uint8_t* q, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64) {
    const auto ones = static_cast<__mmask32>((uint64_t{1} << n) - 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi8(ones, p)),
                              _mm256_maskz_loadu_epi8(ones, q), 1);
  } else
#endif
  {
    constexpr int width = lanes<uint8_t, Arch>;
    alignas(64) uint8_t lane[width] = {};
    std::memcpy(lane, p, static_cast<std::size_t>(n));
    std::memcpy(lane + width / 2, q, static_cast<std::size_t>(n));
    return loadu<Arch>(lane);
  }
}

/// From four vectors of words, vectors 0 and 1, or with `high` 2 and 3: lane i of vector k is the word of the
/// bytes r0[j], r1[j], r2[j], r3[j], j = 16 (i / 4) + 4 k + i % 4. For levels with registers of 32 bytes and
/// more.
template <bool high, class A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[4], xsimd::batch<int32_t, A>* to) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const __m512i ab = high ? _mm512_unpackhi_epi8(row[0], row[1]) : _mm512_unpacklo_epi8(row[0], row[1]);
    const __m512i cd = high ? _mm512_unpackhi_epi8(row[2], row[3]) : _mm512_unpacklo_epi8(row[2], row[3]);
    to[0] = _mm512_unpacklo_epi16(ab, cd);
    to[1] = _mm512_unpackhi_epi16(ab, cd);
  } else
#endif
  {
    const __m256i ab = high ? _mm256_unpackhi_epi8(row[0], row[1]) : _mm256_unpacklo_epi8(row[0], row[1]);
    const __m256i cd = high ? _mm256_unpackhi_epi8(row[2], row[3]) : _mm256_unpacklo_epi8(row[2], row[3]);
    to[0] = _mm256_unpacklo_epi16(ab, cd);
    to[1] = _mm256_unpackhi_epi16(ab, cd);
  }
}

/// The same for words of two 16-bit integers r0[j], r1[j].
template <bool high, class A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[2], xsimd::batch<int32_t, A>* to) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const __m512i ab = high ? _mm512_unpackhi_epi8(row[0], row[1]) : _mm512_unpacklo_epi8(row[0], row[1]);
    to[0] = _mm512_unpacklo_epi8(ab, _mm512_setzero_si512());
    to[1] = _mm512_unpackhi_epi8(ab, _mm512_setzero_si512());
  } else
#endif
  {
    const __m256i ab = high ? _mm256_unpackhi_epi8(row[0], row[1]) : _mm256_unpacklo_epi8(row[0], row[1]);
    to[0] = _mm256_unpacklo_epi8(ab, _mm256_setzero_si256());
    to[1] = _mm256_unpackhi_epi8(ab, _mm256_setzero_si256());
  }
}

/// The first n bytes of store_rounded<4>, where byte j comes from the lane of column j in
/// interleave_quarters; with `two`, for registers of 64 bytes, the first n of each half, with the upper
/// half's written to p2.
template <bool two, class A>
inline void store_rounded_quarters_n(uint8_t* p, [[maybe_unused]] uint8_t* p2,
                                     const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                                     int64_t n) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const __m512i bytes = detail::rounded_quarters<4>(x, zero, lo, hi);
    if constexpr (!two) return store_n(p, xsimd::batch<uint8_t, A>(bytes), n);
    const auto ones = static_cast<__mmask32>((uint64_t{1} << n) - 1);
    _mm256_mask_storeu_epi8(p, ones, _mm512_castsi512_si256(bytes));
    _mm256_mask_storeu_epi8(p2, ones, _mm512_extracti64x4_epi64(bytes, 1));
  } else
#endif
  {
    static_assert(!two);
    const xsimd::batch<uint8_t, A> bytes(detail::rounded_halves<4>(x, zero, lo, hi));
    if (n == 32) storeu(p, bytes);
    else store_n(p, bytes, n);
  }
}
#endif

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

/// to[i] = the word of byte i of a, b, c and d, a's lowest, for i < 4.
template <class Arch>
inline void transpose_bytes(int32_t a, int32_t b, int32_t c, int32_t d, int32_t* to) {
#if defined(__SSSE3__)
  const __m128i turned = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(_mm_setr_epi32(a, b, c, d), turned));
#else
  for (int i = 0; i < 4; ++i) {
    const auto byte = [&](int32_t x, int at) { return (static_cast<uint32_t>(x) >> 8 * i & 255) << 8 * at; };
    to[i] = static_cast<int32_t>(byte(a, 0) | byte(b, 1) | byte(c, 2) | byte(d, 3));
  }
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

/// to[j * rows + r] = row[r][j] ^ flip for j < 16 and r < rows, rows <= 4. Writes 16 - 4 * rows bytes more.
template <class Arch>
inline void interleave_rows(const uint8_t* const* row, int rows, uint8_t flip, uint8_t* to) {
  uint32_t words[16];
  const auto at = [&](int r) { return row[r < rows ? r : 0]; };
  interleave_bytes<Arch>(at(0), at(1), at(2), at(3), words);
#if defined(__AVX2__)
  alignas(16) static constexpr int8_t kept[4][16] = {
      {0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
      {0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1},
      {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1},
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  const __m128i keep = _mm_load_si128(reinterpret_cast<const __m128i*>(kept[rows - 1]));
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  for (int k = 0; k < 4; ++k) {
    const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words + 4 * k));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 4 * rows * k),
                     _mm_xor_si128(_mm_shuffle_epi8(four, keep), flips));
  }
#else
  for (int j = 0; j < 16; ++j)
    for (int r = 0; r < rows; ++r) *to++ = static_cast<uint8_t>(words[j] >> 8 * r) ^ flip;
#endif
}

/// to[j] = two int16: r0[j] ^ flip minus zero in the low half, the same for r1[j] in the high one, for j <
/// 16.
template <class Arch>
inline void interleave_pairs(const uint8_t* r0, const uint8_t* r1, uint8_t flip, int32_t zero, int32_t* to) {
#if defined(__x86_64__)
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const auto load = [&](const uint8_t* p) {
    return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), flips);
  };
  const __m128i a = load(r0), b = load(r1);
  const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
#if defined(__AVX2__)
  if constexpr (Arch::register_bytes >= 32) {
    const __m256i zeros = _mm256_set1_epi16(static_cast<int16_t>(zero));
    auto* out = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(out, _mm256_sub_epi16(_mm256_cvtepu8_epi16(low), zeros));
    _mm256_storeu_si256(out + 1, _mm256_sub_epi16(_mm256_cvtepu8_epi16(high), zeros));
  } else
#endif
  {
    const __m128i none = _mm_setzero_si128(), zeros = _mm_set1_epi16(static_cast<int16_t>(zero));
    auto* out = reinterpret_cast<__m128i*>(to);
    _mm_storeu_si128(out, _mm_sub_epi16(_mm_unpacklo_epi8(low, none), zeros));
    _mm_storeu_si128(out + 1, _mm_sub_epi16(_mm_unpackhi_epi8(low, none), zeros));
    _mm_storeu_si128(out + 2, _mm_sub_epi16(_mm_unpacklo_epi8(high, none), zeros));
    _mm_storeu_si128(out + 3, _mm_sub_epi16(_mm_unpackhi_epi8(high, none), zeros));
  }
#else
  for (int j = 0; j < 16; ++j)
    to[j] = static_cast<int32_t>((static_cast<uint32_t>((r0[j] ^ flip) - zero) & 0xffff) |
                                 static_cast<uint32_t>((r1[j] ^ flip) - zero) << 16);
#endif
}

/// The words of interleave_bytes for as many columns as a vector has bytes: four vectors of words.
template <class Arch>
inline void interleave_vectors(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                               batch<int32_t, Arch>* to) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64) {
    // Each quarter of a vector gets a word of each result vector, so that unpacking yields them in order.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const auto load = [&](const uint8_t* p) {
      return _mm512_permutexvar_epi32(order, _mm512_loadu_si512(p));
    };
    const __m512i a = load(r0), b = load(r1), c = load(r2), d = load(r3);
    const __m512i ab = _mm512_unpacklo_epi8(a, b), cd = _mm512_unpacklo_epi8(c, d);
    const __m512i ab_high = _mm512_unpackhi_epi8(a, b), cd_high = _mm512_unpackhi_epi8(c, d);
    to[0] = _mm512_unpacklo_epi16(ab, cd);
    to[1] = _mm512_unpackhi_epi16(ab, cd);
    to[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
    to[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32) {
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    const auto load = [&](const uint8_t* p) {
      return _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), order);
    };
    const __m256i a = load(r0), b = load(r1), c = load(r2), d = load(r3);
    const __m256i ab = _mm256_unpacklo_epi8(a, b), cd = _mm256_unpacklo_epi8(c, d);
    const __m256i ab_high = _mm256_unpackhi_epi8(a, b), cd_high = _mm256_unpackhi_epi8(c, d);
    to[0] = _mm256_unpacklo_epi16(ab, cd);
    to[1] = _mm256_unpackhi_epi16(ab, cd);
    to[2] = _mm256_unpacklo_epi16(ab_high, cd_high);
    to[3] = _mm256_unpackhi_epi16(ab_high, cd_high);
  } else
#endif
  {
    constexpr int columns = 4 * lanes<int32_t, Arch>;
    alignas(64) uint32_t words[columns];
    for (int j = 0; j < columns; j += 16) interleave_bytes<Arch>(r0 + j, r1 + j, r2 + j, r3 + j, words + j);
    for (int k = 0; k < 4; ++k)
      to[k] = loadu<Arch>(reinterpret_cast<const int32_t*>(words) + k * lanes<int32_t, Arch>);
  }
}

}  // namespace tenon::TENON_ABI::simd
