// Copies of bytes that keep their speed where the C library's do not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tenon::simd {

/// memcpy. glibc 2.36 copies 2 KiB and more by `rep movsb`, which AMD's processors do at a twentieth of the
/// speed if the destination lies up to 15 bytes behind the source modulo 4096; rows of a concatenation often
/// do.
inline void copy(void* to, const void* from, std::size_t bytes) {
  const auto behind = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % 4096;
  if (bytes < 1024 || behind == 0 || behind >= 16) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  using Part [[gnu::vector_size(16)]] = unsigned char;
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
  for (; bytes >= 64; bytes -= 64, t += 64, f += 64) {
    Part a, b, c, d;
    std::memcpy(&a, f, 16);
    std::memcpy(&b, f + 16, 16);
    std::memcpy(&c, f + 32, 16);
    std::memcpy(&d, f + 48, 16);
    asm volatile("" ::: "memory");  // or the compiler makes a memcpy of the loop
    std::memcpy(t, &a, 16);
    std::memcpy(t + 16, &b, 16);
    std::memcpy(t + 32, &c, 16);
    std::memcpy(t + 48, &d, 16);
  }
  if (bytes > 0) std::memcpy(t, f, bytes);
}

/// Results of so many bytes are mostly in no cache any more when they are read.
inline constexpr int64_t beyond_caches = int64_t{16} << 20;

/// memcpy past the caches, which would first read the destination. Other threads see the bytes after
/// end_copies_beyond_caches.
inline void copy_beyond_caches(void* to, const void* from, std::size_t bytes) {
#if defined(__x86_64__)
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
#else
  copy(to, from, bytes);
#endif
}
inline void end_copies_beyond_caches() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace tenon::simd
