// Copies of bytes that stay fast where the C library's do not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/base/abi.hpp"
#include "tenon/base/costs.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {

/// A copy by one register. The compiler must not turn a loop of these into a call of memcpy.
template <class Part>
TENON_ALWAYS_INLINE inline void copy_part(char* to, const char* from) {
  Part part;
  std::memcpy(&part, from, sizeof part);
  tenon::detail::keep_memory_order();
  std::memcpy(to, &part, sizeof part);
}

using Sixteen = Vector<unsigned char, 16>;

/// memcpy of 16 bytes and more, by aligned stores: none of them crosses a cache line.
TENON_NOINLINE inline void copy_aligned(char* to, const char* from, std::size_t bytes) {
  copy_part<Sixteen>(to, from);
  copy_part<Sixteen>(to + bytes - 16, from + bytes - 16);
#pragma GCC unroll 4
  for (std::size_t at = 16 - reinterpret_cast<std::uintptr_t>(to) % 16; at + 16 < bytes; at += 16)
    copy_part<Sixteen>(to + at, from + at);
}

}  // namespace detail

/// memcpy. Calling it would take longer than copying a short row. glibc 2.36 copies 2 KiB and more by `rep
/// movsb`, which AMD's processors execute at a twentieth of the speed if the destination is up to 15 bytes
/// past the source modulo 4096, as is common for rows of a concatenation.
TENON_ALWAYS_INLINE inline void copy(void* to, const void* from, std::size_t bytes) {
  using detail::copy_part;
  using detail::Sixteen;
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
  if (bytes > 256) {
    const auto past = (reinterpret_cast<std::uintptr_t>(t) - reinterpret_cast<std::uintptr_t>(f)) % 4096;
    if (bytes >= 1024 && past > 0 && past < 16) detail::copy_aligned(t, f, bytes);
    else std::memcpy(t, f, bytes);
  } else if (bytes >= 16) {
    // The last part may overlap the previous one.
#pragma GCC unroll 16
    for (std::size_t at = 0; at + 16 < bytes; at += 16) copy_part<Sixteen>(t + at, f + at);
    copy_part<Sixteen>(t + bytes - 16, f + bytes - 16);
  } else if (bytes >= 8) {
    copy_part<uint64_t>(t, f);
    copy_part<uint64_t>(t + bytes - 8, f + bytes - 8);
  } else if (bytes >= 4) {
    copy_part<uint32_t>(t, f);
    copy_part<uint32_t>(t + bytes - 4, f + bytes - 4);
  } else if (bytes > 0) {
    const char first = f[0], middle = f[bytes / 2], last = f[bytes - 1];
    t[0] = first;
    t[bytes / 2] = middle;
    t[bytes - 1] = last;
  }
}

/// Results of at least this many bytes are usually no longer in any cache when they are read.
inline constexpr int64_t beyond_caches = cache_bytes::l3;

/// memcpy that bypasses the caches, which would first read the destination. Other threads see the bytes after
/// end_copies_beyond_caches.
template <class = void>
inline void copy_beyond_caches(void* to, const void* from, std::size_t bytes);
template <class = void>
inline void end_copies_beyond_caches();

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/x86/copy.hpp"

#include "tenon/simd/generic/copy.hpp"
