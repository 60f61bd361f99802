// What x86 processors say about themselves, by the instruction CPUID. Compilers' own functions for it differ
// in the names that they know, and some are in libraries that not every program links.
#pragma once

#include <atomic>
#include <cstdint>

#include "tenon/base/abi.hpp"
#include "tenon/base/target.hpp"

#if defined(TENON_X86_64)

#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif

namespace tenon::TENON_ABI::simd::detail {

/// The registers that the instruction writes; zeros for a leaf that the processor does not have.
struct Cpuid {
  uint32_t a = 0, b = 0, c = 0, d = 0;

  explicit Cpuid(uint32_t leaf, uint32_t part = 0) {
#if defined(_MSC_VER)
    int r[4];
    __cpuid(r, 0);
    if (static_cast<uint32_t>(r[0]) < leaf) return;
    __cpuidex(r, static_cast<int>(leaf), static_cast<int>(part));
    a = static_cast<uint32_t>(r[0]), b = static_cast<uint32_t>(r[1]);
    c = static_cast<uint32_t>(r[2]), d = static_cast<uint32_t>(r[3]);
#else
    unsigned w, x, y, z;
    if (__get_cpuid_count(leaf, part, &w, &x, &y, &z) != 0) a = w, b = x, c = y, d = z;
#endif
  }
};

/// The register XCR0: a bit for each kind of registers that the system saves for its threads.
inline uint64_t saved_registers() {
  if ((Cpuid(1).c >> 27 & 1) == 0) return 0;
#if defined(_MSC_VER) && !defined(__clang__)
  return _xgetbv(0);
#else
  uint32_t low, high;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
#endif
}

/// What kernels ask about the processor. An instruction counts if the system saves its registers.
enum class Fact : uint32_t {
  found = 1 << 0,  // whether the others are known
  fma = 1 << 1,
  f16c = 1 << 2,
  avx2 = 1 << 3,
  avx_vnni = 1 << 4,
  avx512f = 1 << 5,
  avx512dq = 1 << 6,
  avx512bw = 1 << 7,
  avx512vl = 1 << 8,
  avx512vnni = 1 << 9,
  avx512vbmi = 1 << 10,
  amx = 1 << 11,  ///< AMX-TILE, AMX-INT8 and AMX-BF16, whether or not the system grants them
  amd = 1 << 12,
  amd_19h = 1 << 13,  ///< AMD's family 19h
};

inline uint32_t find_facts() {
  const Cpuid vendor(0), version(1), features(7), more(7, 1);
  const uint64_t saved = saved_registers();
  const bool ymm = (saved & 0x6) == 0x6, zmm = (saved & 0xe6) == 0xe6;
  uint32_t facts = 0;
  const auto add = [&](Fact f, bool holds) {
    if (holds) facts |= static_cast<uint32_t>(f);
  };
  const auto bit = [](uint32_t bits, int i) { return (bits >> i & 1) != 0; };
  add(Fact::found, true);
  add(Fact::fma, ymm && bit(version.c, 12));
  add(Fact::f16c, ymm && bit(version.c, 29));
  add(Fact::avx2, ymm && bit(features.b, 5));
  add(Fact::avx_vnni, ymm && bit(more.a, 4));
  add(Fact::avx512f, zmm && bit(features.b, 16));
  add(Fact::avx512dq, zmm && bit(features.b, 17));
  add(Fact::avx512bw, zmm && bit(features.b, 30));
  add(Fact::avx512vl, zmm && bit(features.b, 31));
  add(Fact::avx512vnni, zmm && bit(features.c, 11));
  add(Fact::avx512vbmi, zmm && bit(features.c, 1));
  add(Fact::amx, bit(features.d, 22) && bit(features.d, 24) && bit(features.d, 25));
  // "AuthenticAMD"
  const bool amd = vendor.b == 0x68747541 && vendor.d == 0x69746e65 && vendor.c == 0x444d4163;
  const uint32_t family = (version.a >> 8 & 0xf) + (version.a >> 20 & 0xff);
  add(Fact::amd, amd);
  add(Fact::amd_19h, amd && family == 0x19);
  return facts;
}

/// Whether a fact holds. The processor is asked once: the instruction takes long, above all in virtual
/// machines.
inline bool holds(Fact f) {
  // A static with a dynamic initialiser would need a lock, which programs without exceptions do not link.
  // Threads that ask at the same time get the same answer.
  static std::atomic<uint32_t> known{0};
  uint32_t facts = known.load(std::memory_order_relaxed);
  if (facts == 0) known.store(facts = find_facts(), std::memory_order_relaxed);
  return (facts & static_cast<uint32_t>(f)) != 0;
}

}  // namespace tenon::TENON_ABI::simd::detail

#endif
