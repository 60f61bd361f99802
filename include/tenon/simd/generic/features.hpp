// A processor without features beyond its level.
#pragma once

#include "tenon/simd/features.hpp"

namespace tenon::TENON_ABI::simd {

template <class Arch>
inline bool has_dot_bytes() {
  return false;
}

template <class Arch>
inline bool has_byte_tables() {
  return false;
}

template <class Arch>
inline bool has_tiles() {
  return false;
}

template <class>
inline bool halves_registers() {
  return false;
}

template <class>
inline bool prefetches_enough() {
  return false;
}

}  // namespace tenon::TENON_ABI::simd
