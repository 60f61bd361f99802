#pragma once

#include "tenon/simd/arch.hpp"

namespace tenon::kernels {

/// Calls f with the tag of every level up to the one in force.
template <class F>
void at_each_level(F f) {
#define TENON_LEVEL(Tag, name, registers, bytes, features) \
  if (simd::Level::name <= simd::level()) f(simd::Tag{});
  TENON_LEVELS(TENON_LEVEL, TENON_NO_FEATURE)
#undef TENON_LEVEL
}

}  // namespace tenon::kernels
