// Loads and stores: whole vectors, their first lanes, and lanes by masks.
#pragma once

#include <cstring>

#include "tenon/simd/batch/registers.hpp"

namespace tenon::TENON_ABI::simd {

/// All lanes from memory of any alignment.
template <class Arch, class T>
inline batch<T, Arch> loadu(const T* p) {
  return batch<T, Arch>::load_unaligned(p);
}

/// *p, at any address.
template <class Arch, class T>
inline T element(const T* p) {
  T x;
  std::memcpy(&x, static_cast<const void*>(p), sizeof x);
  return x;
}

/// All lanes to memory of any alignment.
template <class T, class A>
inline void storeu(T* p, const xsimd::batch<T, A>& v) {
  v.store_unaligned(p);
}

/// The first n lanes from memory, 0 <= n <= lanes, the others zero. Reads nothing past p + n.
template <class Arch, class T>
inline batch<T, Arch> load_n(const T* p, int64_t n);

/// Half of the lanes from memory of any alignment, the others zero.
template <class Arch, class T>
inline batch<T, Arch> load_half(const T* p);

/// The first n lanes to memory, 0 <= n <= lanes. Writes nothing past p + n.
template <class T, class A>
inline void store_n(T* p, const xsimd::batch<T, A>& v, int64_t n);

/// The first n lanes of x, 0 <= n <= lanes, and the others of y. T: float, double.
template <class T, class A>
inline xsimd::batch<T, A> first_n(const xsimd::batch<T, A>& x, int64_t n, const xsimd::batch<T, A>& y);

/// Loads lanes whose bit is set from memory; the others are `fill`. Reads nothing else, so p itself may be
/// out of bounds.
template <class Arch, class T>
inline batch<T, Arch> load_masked(const T* p, uint64_t bits, T fill);

/// Lanes 2 * i and 2 * i + 1 from p[index[i]] and p[index[i] + 1], for half as many indices as lanes.
template <class Arch>
inline batch<float, Arch> load_pairs(const float* p, const int64_t* index);

namespace detail {
/// Calls block(in, out) for whole blocks of `width` numbers, and for the rest in a padded copy.
template <int width, class In, class Out, class Block>
inline void in_blocks(const In* in, Out* out, int64_t n, Block block) {
  int64_t i = 0;
  for (; i + width <= n; i += width) block(in + i, out + i);
  if (i == n) return;
  In last_in[width] = {};
  Out last_out[width];
  std::memcpy(last_in, in + i, static_cast<size_t>(n - i) * sizeof(In));
  block(last_in, last_out);
  std::memcpy(out + i, last_out, static_cast<size_t>(n - i) * sizeof(Out));
}
}  // namespace detail

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/memory.hpp"
#include "tenon/simd/wasm/memory.hpp"
#include "tenon/simd/x86/memory.hpp"

#include "tenon/simd/generic/memory.hpp"
