// The levels of 64-bit Arm: NEON, which every processor has; with products of signed bytes (dotprod); with
// products of unsigned bytes and signed ones, and conversions to bfloat16 (i8mm).
#pragma once

#include <string_view>

#include "tenon/base/abi.hpp"

#if defined(TENON_AARCH64)
#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#if defined(__ARM_FEATURE_MATMUL_INT8) && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define TENON_ARM_I8MM 1
#endif

// Compilers take these features in one flag, which replaces an earlier one.
#define TENON_LEVELS(LEVEL, FEATURE)                                                        \
  LEVEL(Baseline, baseline, 32, 16, )                                                       \
  LEVEL(Dotprod, dotprod, 32, 16, FEATURE("arch=armv8.2-a+dotprod", __ARM_FEATURE_DOTPROD)) \
  LEVEL(I8mm, i8mm, 32, 16, FEATURE("arch=armv8.2-a+dotprod+i8mm+bf16", TENON_ARM_I8MM))

#define TENON_PROCESSOR_HAS(feature) detail::processor_has(feature)

namespace tenon::TENON_ABI::simd::detail {

// Levels that have instructions. The greatest of the overloads for them is the best match.
template <class Arch>
concept HasNeon = Arch::register_bytes == 16;
template <class Arch>
concept HasDotprod = HasNeon<Arch> && !Arch::least;

/// Whether the processor has the instruction sets that a feature of the levels names; it then has the rest of
/// the architecture too. Where the system cannot be asked, the processor has what the compiler may use.
inline bool processor_has(std::string_view feature) {
#if defined(__linux__)
  // AT_HWCAP and AT_HWCAP2, and the kernel's numbers, because old headers of the C library lack some.
  const unsigned long first = getauxval(16), second = getauxval(26);
  const bool dotprod = (first >> 20 & 1) != 0, i8mm = (second >> 13 & 1) != 0, bf16 = (second >> 14 & 1) != 0;
#elif defined(__APPLE__)
  const auto known = [](const char* key) {
    int has = 0;
    std::size_t size = sizeof has;
    return sysctlbyname(key, &has, &size, nullptr, 0) == 0 && has != 0;
  };
  const bool dotprod = known("hw.optional.arm.FEAT_DotProd"), i8mm = known("hw.optional.arm.FEAT_I8MM"),
             bf16 = known("hw.optional.arm.FEAT_BF16");
#else
#if defined(__ARM_FEATURE_DOTPROD)
  constexpr bool dotprod = true;
#else
  constexpr bool dotprod = false;
#endif
#if defined(TENON_ARM_I8MM)
  constexpr bool i8mm = true, bf16 = true;
#else
  constexpr bool i8mm = false, bf16 = false;
#endif
#endif
  const auto met = [&](std::string_view set, bool has) { return has || feature.find(set) == feature.npos; };
  return met("dotprod", dotprod) && met("i8mm", i8mm) && met("bf16", bf16);
}

}  // namespace tenon::TENON_ABI::simd::detail

#endif
