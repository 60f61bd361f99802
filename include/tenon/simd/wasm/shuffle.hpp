// Shuffles of WebAssembly.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_WASM) && defined(__wasm_simd128__)

namespace tenon::TENON_ABI::simd {

template <detail::HasSimd128 Arch, class T>
  requires(sizeof(T) == 4)
inline void transpose_tile(const T* from, int64_t from_row, T* to, int64_t to_row) {
  const v128_t r0 = wasm_v128_load(from), r1 = wasm_v128_load(from + from_row);
  const v128_t r2 = wasm_v128_load(from + 2 * from_row), r3 = wasm_v128_load(from + 3 * from_row);
  const v128_t a = wasm_i32x4_shuffle(r0, r1, 0, 4, 1, 5), b = wasm_i32x4_shuffle(r2, r3, 0, 4, 1, 5);
  const v128_t c = wasm_i32x4_shuffle(r0, r1, 2, 6, 3, 7), d = wasm_i32x4_shuffle(r2, r3, 2, 6, 3, 7);
  wasm_v128_store(to, wasm_i64x2_shuffle(a, b, 0, 2));
  wasm_v128_store(to + to_row, wasm_i64x2_shuffle(a, b, 1, 3));
  wasm_v128_store(to + 2 * to_row, wasm_i64x2_shuffle(c, d, 0, 2));
  wasm_v128_store(to + 3 * to_row, wasm_i64x2_shuffle(c, d, 1, 3));
}
template <detail::HasSimd128 Arch, class T>
  requires(sizeof(T) == 8)
inline void transpose_tile(const T* from, int64_t from_row, T* to, int64_t to_row) {
  const v128_t r0 = wasm_v128_load(from), r1 = wasm_v128_load(from + from_row);
  wasm_v128_store(to, wasm_i64x2_shuffle(r0, r1, 0, 2));
  wasm_v128_store(to + to_row, wasm_i64x2_shuffle(r0, r1, 1, 3));
}

}  // namespace tenon::TENON_ABI::simd

#endif
