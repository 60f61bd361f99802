// Copies of any processor.
#pragma once

#include "tenon/simd/copy.hpp"

namespace tenon::TENON_ABI::simd {

template <class>
inline void copy_beyond_caches(void* to, const void* from, std::size_t bytes) {
  copy(to, from, bytes);
}

template <class>
inline void end_copies_beyond_caches() {}

}  // namespace tenon::TENON_ABI::simd
