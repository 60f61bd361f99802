// Copies by stores that bypass the caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/base/abi.hpp"

#if defined(TENON_X86_64)

#include <emmintrin.h>

namespace tenon::TENON_ABI::simd {

inline void copy_beyond_caches(void* to, const void* from, std::size_t bytes) {
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
  const std::size_t head = std::min(bytes, (64 - reinterpret_cast<std::uintptr_t>(t) % 64) % 64);
  if (head > 0) std::memcpy(t, f, head);
  t += head, f += head, bytes -= head;
  for (; bytes >= 64; bytes -= 64, t += 64, f += 64)
#pragma GCC unroll 4
    for (int k = 0; k < 64; k += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(t + k),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(f + k)));
  if (bytes > 0) std::memcpy(t, f, bytes);
}

inline void end_copies_beyond_caches() { _mm_sfence(); }

}  // namespace tenon::TENON_ABI::simd

#endif
