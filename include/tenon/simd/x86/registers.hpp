// Registers of x86: xmm, ymm and zmm, of 16, 32 and 64 bytes.
#pragma once

#include "tenon/base/abi.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/simd/batch/xsimd.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

namespace detail {

template <int>
struct Registers;
template <>
struct Registers<16> {
  using type = xsimd::sse2;
};
template <>
struct Registers<32> {
  using type = xsimd::fma3<xsimd::avx2>;
};
template <>
struct Registers<64> {
  using type = xsimd::avx512bw;
};

// Batches by their registers.
template <class A>
concept Xmm = sizeof(xsimd::batch<float, A>) == 16;
template <class A>
concept Ymm = sizeof(xsimd::batch<float, A>) == 32;
template <class A>
concept Zmm = sizeof(xsimd::batch<float, A>) == 64;

}  // namespace detail

template <class T, class A>
  requires(detail::Xmm<A> || detail::Ymm<A> || detail::Zmm<A>)
inline xsimd::batch<T, A> in_register(const xsimd::batch<T, A>& v) {
  typename xsimd::batch<T, A>::register_type r = v;
#if defined(__AVX512F__) && !defined(TENON_VISUAL_CPP)
  asm("" : "+v"(r));
#elif !defined(TENON_VISUAL_CPP)
  asm("" : "+x"(r));
#endif
  return r;
}

}  // namespace tenon::TENON_ABI::simd

#endif
