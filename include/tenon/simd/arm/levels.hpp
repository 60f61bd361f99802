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

/// Whether the processor has one of the instruction sets that the levels' flags name. Where the system cannot
/// be asked, it has what the compiler may use.
inline bool processor_has_set(std::string_view name) {
#if defined(__linux__)
  // The kernel's numbers, because old headers of the C library lack some.
  if (name == "dotprod") return (getauxval(16) >> 20 & 1) != 0;
  return (getauxval(26) >> (name == "i8mm" ? 13 : 14) & 1) != 0;
#elif defined(__APPLE__)
  int has = 0;
  std::size_t size = sizeof has;
  const char* const key = name == "dotprod" ? "hw.optional.arm.FEAT_DotProd"
                          : name == "i8mm"  ? "hw.optional.arm.FEAT_I8MM"
                                            : "hw.optional.arm.FEAT_BF16";
  return sysctlbyname(key, &has, &size, nullptr, 0) == 0 && has != 0;
#elif defined(TENON_ARM_I8MM)
  return !name.empty();
#elif defined(__ARM_FEATURE_DOTPROD)
  return name == "dotprod";
#else
  return name.empty();
#endif
}

/// Whether the processor has a feature of the levels. One with these sets has the rest of the architecture
/// that the flag names.
inline bool processor_has(std::string_view feature) {
  while (!feature.empty()) {
    const std::size_t plus = feature.rfind('+');
    if (plus == feature.npos) break;
    if (!processor_has_set(feature.substr(plus + 1))) return false;
    feature = feature.substr(0, plus);
  }
  return true;
}

}  // namespace tenon::TENON_ABI::simd::detail

#endif
