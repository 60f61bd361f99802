// Matrix products: entries. Arguments: args.hpp; bodies: gemm_impl.hpp and the headers that it lists.
#pragma once

#include <cstdint>

#include "tenon/kernels/gemm/args.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void gemm_impl(const GemmArgs<T>& args);

/// Computes the product. See GemmArgs.
template <class T>
inline void gemm(const GemmArgs<T>& args) {
  simd::dispatch([&]<class Arch>(Arch) { gemm_impl<Arch, T>(args); });
}

template <class Arch, class T>
int64_t packed_a_size_impl(int64_t m, int64_t k);
template <class Arch, class T>
int64_t packed_b_size_impl(int64_t k, int64_t n);
template <class Arch, class T>
int64_t packed_b_rows_impl(int64_t k);
template <class Arch, class T>
void pack_a_impl(const GemmArgs<T>& args, T* packed);
template <class Arch, class T>
void pack_b_impl(const GemmArgs<T>& args, T* packed);

/// Elements of T that pack_a writes for an A of (M,K). Depends on the level in force.
template <class T>
inline int64_t packed_a_size(int64_t m, int64_t k) {
  return simd::dispatch([&]<class Arch>(Arch) { return packed_a_size_impl<Arch, T>(m, k); });
}

/// Elements of T that pack_b writes for a B of (K,N). Depends on the level in force.
template <class T>
inline int64_t packed_b_size(int64_t k, int64_t n) {
  return simd::dispatch([&]<class Arch>(Arch) { return packed_b_size_impl<Arch, T>(k, n); });
}

/// Rows of a B of (K,N) that are packed together: pack_b writes rows [p, p + R) as a B of (R,N) at
/// packed_b_size(p, N), p a multiple of R. Depends on the level in force.
template <class T>
inline int64_t packed_b_rows(int64_t k) {
  return simd::dispatch([&]<class Arch>(Arch) { return packed_b_rows_impl<Arch, T>(k); });
}

/// Writes the A of `args` (m, k, a and its strides are read) to `packed`, of packed_a_size elements, best
/// aligned to 64 bytes, in the order in which gemm reads it.
template <class T>
inline void pack_a(const GemmArgs<T>& args, T* packed) {
  simd::dispatch([&]<class Arch>(Arch) { pack_a_impl<Arch, T>(args, packed); });
}

/// Writes the B of `args` (k, n, b and its strides are read) to `packed`, of packed_b_size elements, best
/// aligned to 64 bytes, in the order in which gemm reads it.
template <class T>
inline void pack_b(const GemmArgs<T>& args, T* packed) {
  simd::dispatch([&]<class Arch>(Arch) { pack_b_impl<Arch, T>(args, packed); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/gemm/gemm_impl.hpp"
#endif
