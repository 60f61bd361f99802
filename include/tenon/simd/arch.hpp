// Instruction-set levels. A kernel is a template on one of the tags below; `dispatch` picks the tag.
// Header-only, the compiler's flags choose. With TENON_COMPILED the kernels of all levels are linked in, each from
// a unit with flags of its own, and the processor (or TENON_ARCH=baseline|avx2|avx512) chooses at run time.
#pragma once

#include <cstdlib>
#include <string_view>

namespace tenon::simd {

struct Baseline {};  ///< what the compiler's plain target has: SSE2 on x86-64, NEON on AArch64
struct Avx2 {};      ///< AVX2, FMA, F16C
struct Avx512 {};    ///< AVX-512 F, BW, DQ, VL

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
using Native = Avx512;
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
using Native = Avx2;
#else
using Native = Baseline;
#endif

enum class Level { baseline, avx2, avx512 };

/// The level in force: the processor's, or a lower one that TENON_ARCH names. Read once.
inline Level level() {
  static const Level chosen = [] {
    Level best = Level::baseline;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
      best = Level::avx2;
    if (best == Level::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      best = Level::avx512;
#endif
    if (const char* forced = std::getenv("TENON_ARCH")) {
      const std::string_view name = forced;
      if (name == "baseline") best = Level::baseline;
      if (name == "avx2" && best == Level::avx512) best = Level::avx2;
    }
    return best;
  }();
  return chosen;
}

/// Calls f(Arch{}) with the tag of the level in force.
template <class F>
decltype(auto) dispatch(F&& f) {
#if defined(TENON_INSTANTIATE)  // within a kernel unit: its level, the only one that its flags can compile
  return f(TENON_INSTANTIATE{});
#elif defined(TENON_COMPILED) && defined(__x86_64__)
  switch (level()) {
    case Level::avx512: return f(Avx512{});
    case Level::avx2: return f(Avx2{});
    case Level::baseline: break;
  }
  return f(Baseline{});
#else
  return f(Native{});
#endif
}

}  // namespace tenon::simd
