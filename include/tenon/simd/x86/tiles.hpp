// The tile registers of x86: AMX. Used on Linux alone, which grants them to processes that ask.
#pragma once

#include "tenon/simd/tiles.hpp"

#if defined(TENON_X86_64) && defined(__linux__)

namespace tenon::TENON_ABI::simd {

/// The registers of the processor, held by this thread during the object's lifetime. The instructions are
/// written as assembly, because the compiler has no intrinsics for them at the level avx512, which does not
/// include them.
class AmxTiles {
 public:
  explicit AmxTiles(TileShape shape) {
    amx();  // the process may not have asked yet if another one chose the packing of operands
    struct alignas(64) {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } config;
    for (int t = 0; t < 8; ++t) {
      config.row_bytes[t] = tile_bytes;
      config.rows[t] = static_cast<uint8_t>(shape.rows_of(t));
    }
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  // Registers in use would have to be saved at each context switch.
  ~AmxTiles() { asm volatile("tilerelease"); }

  template <int tile>
  void load(const void* from, int64_t stride) {
    asm volatile("tileloadd {(%0,%1,1), %%tmm%c2|tmm%c2, [%0+%1*1]}"
                 :
                 : "r"(from), "r"(stride), "i"(tile)
                 : "memory");
  }
  template <int tile>
  void store(void* to, int64_t stride) const {
    asm volatile("tilestored {%%tmm%c2, (%0,%1,1)|[%0+%1*1], tmm%c2}"
                 :
                 : "r"(to), "r"(stride), "i"(tile)
                 : "memory");
  }
  template <int tile>
  void zero() {
    asm volatile("tilezero {%%|}tmm%c0" : : "i"(tile));
  }
  template <int sums, int a, int b>
  void add_products() {
    asm volatile("tdpbusd {%%tmm%c2, %%tmm%c1, %%tmm%c0|tmm%c0, tmm%c1, tmm%c2}"
                 :
                 : "i"(sums), "i"(a), "i"(b));
  }
  template <int sums, int a, int b>
  void add_bfloat16_products() {
    asm volatile("tdpbf16ps {%%tmm%c2, %%tmm%c1, %%tmm%c0|tmm%c0, tmm%c1, tmm%c2}"
                 :
                 : "i"(sums), "i"(a), "i"(b));
  }
};

template <detail::AtAvx512 Arch>
struct detail::TilesOf<Arch> {
  using type = AmxTiles;
};

}  // namespace tenon::TENON_ABI::simd

#endif
