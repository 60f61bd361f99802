// What the processor is asked, against the compiler's own knowledge.
#include "tenon/simd/features.hpp"

#include <doctest/doctest.h>
#include "tenon/simd/arch.hpp"

using namespace tenon;

TEST_CASE("a level is refused or has all of its features") {
  CHECK(simd::processor_level() >= simd::present_levels().front().level);
}

#if defined(TENON_X86_64) && defined(__GNUC__)

namespace {
using simd::detail::Fact;
using simd::detail::holds;
}  // namespace

TEST_CASE("the processor's features are those that the compiler's library finds") {
  __builtin_cpu_init();
  CHECK(holds(Fact::found));
  CHECK(holds(Fact::fma) == (__builtin_cpu_supports("fma") != 0));
  CHECK(holds(Fact::avx2) == (__builtin_cpu_supports("avx2") != 0));
  CHECK(holds(Fact::avx512f) == (__builtin_cpu_supports("avx512f") != 0));
  CHECK(holds(Fact::avx512dq) == (__builtin_cpu_supports("avx512dq") != 0));
  CHECK(holds(Fact::avx512bw) == (__builtin_cpu_supports("avx512bw") != 0));
  CHECK(holds(Fact::avx512vl) == (__builtin_cpu_supports("avx512vl") != 0));
  CHECK(holds(Fact::avx512vnni) == (__builtin_cpu_supports("avx512vnni") != 0));
  CHECK(holds(Fact::avx512vbmi) == (__builtin_cpu_supports("avx512vbmi") != 0));
  CHECK(holds(Fact::amd) == (__builtin_cpu_is("amd") != 0));
  CHECK(holds(Fact::amd_19h) == (__builtin_cpu_is("amdfam19h") != 0));
  CHECK_FALSE(simd::detail::processor_has("x87"));
}

#endif
