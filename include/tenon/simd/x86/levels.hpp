// The levels of x86-64: SSE2, which every processor has, AVX2 and AVX-512.
#pragma once

#include <string_view>

#include "tenon/base/abi.hpp"
#include "tenon/simd/x86/cpuid.hpp"

#if defined(TENON_X86_64)

#define TENON_LEVELS(LEVEL, FEATURE)                                                                        \
  LEVEL(Baseline, baseline, 16, 16, )                                                                       \
  LEVEL(Avx2, avx2, 16, 32, FEATURE("avx2", __AVX2__) FEATURE("fma", __FMA__) FEATURE("f16c", __F16C__))    \
  LEVEL(Avx512, avx512, 32, 64,                                                                             \
        FEATURE("avx512f", __AVX512F__) FEATURE("avx512bw", __AVX512BW__) FEATURE("avx512dq", __AVX512DQ__) \
            FEATURE("avx512vl", __AVX512VL__))

// The baseline of every other family.
#define TENON_LAYOUTS(LEVEL, FEATURE) LEVEL(Foreign, foreign, 32, 16, )

#define TENON_PROCESSOR_HAS(feature) detail::processor_has(feature)

namespace tenon::TENON_ABI::simd::detail {

// Levels that have instructions, or whose greatest are these.
template <class Arch>
concept HasSse2 = Arch::register_bytes >= 16;
template <class Arch>
concept HasAvx2 = HasSse2<Arch> && Arch::register_bytes >= 32;
template <class Arch>
concept AtSse2 = Arch::register_bytes == 16;
template <class Arch>
concept AtAvx2 = Arch::register_bytes == 32;
template <class Arch>
concept AtAvx512 = Arch::register_bytes == 64;

/// Whether the processor has a feature of the levels, and the system supports its registers.
inline bool processor_has(std::string_view feature) {
#define TENON_HAS(name) \
  if (feature == #name) return holds(Fact::name);
  TENON_HAS(avx2)
  TENON_HAS(fma)
  TENON_HAS(f16c)
  TENON_HAS(avx512f)
  TENON_HAS(avx512bw)
  TENON_HAS(avx512dq)
  TENON_HAS(avx512vl)
#undef TENON_HAS
  return false;
}

}  // namespace tenon::TENON_ABI::simd::detail

#endif
