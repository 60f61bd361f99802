// Matrix products: arguments and entries. Bodies: gemm_impl.hpp.
//
// Operands are addressed by two strides each, so that a transpose is only a swap of strides. Extents of zero
// are right: with k = 0 the product is a matrix of zeros, to which the addend and biases still come. Nothing
// is allocated but scratch that a thread keeps; K is summed in an order that depends on the extents alone,
// never on threads.
#pragma once

#include <cstdint>
#include <limits>

#include "tenon/simd/arch.hpp"

namespace tenon::kernels {

/// Many products of the same extents: item i of the row-major box `extents` has its operands at offsets that
/// are the dot product of its index with the strides (in elements; 0 shares an operand).
struct GemmBatch {
  int rank = 0;
  const int64_t* extents = nullptr;  ///< [rank]
  const int64_t* a = nullptr;        ///< [rank], strides of A; not read with packed_a, which all items share
  const int64_t* b = nullptr;        ///< [rank], strides of B; not read with packed_b, which all items share
  const int64_t* c = nullptr;        ///< [rank], strides of C; the items must not overlap
  const int64_t* d = nullptr;        ///< [rank], strides of the addend; nullptr: all items share it
};

template <class T>
inline constexpr T no_lower_bound = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                                         : std::numeric_limits<T>::lowest();
template <class T>
inline constexpr T no_upper_bound = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                                         : std::numeric_limits<T>::max();

/// C = clamp(alpha A B + beta D + row_bias + col_bias, lo, hi). T: float, double; int32, uint32, int64,
/// uint64 wrap. NaN and infinities go through; operands whose factor is zero are not read. C must not overlap
/// A, B or the biases.
template <class T>
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;  ///< (M,K): element (i,p) at a[i * a_row + p * a_col]
  int64_t a_row = 0, a_col = 1;
  const T* b = nullptr;  ///< (K,N): element (p,j) at b[p * b_row + j * b_col]
  int64_t b_row = 0, b_col = 1;
  T* c = nullptr;  ///< (M,N): element (i,j) at c[i * c_row + j]
  int64_t c_row = 0;
  T alpha = 1;
  T beta = 0;
  const T* d = nullptr;          ///< addend: element (i,j) at d[i * d_row + j * d_col]; may be C itself
  int64_t d_row = 0, d_col = 1;  ///< zero strides broadcast
  const T* row_bias = nullptr;   ///< (M) or nullptr
  const T* col_bias = nullptr;   ///< (N) or nullptr
  T lo = no_lower_bound<T>;  ///< fused activation, of float and double alone: Relu is lo = 0; a NaN stays NaN
  T hi = no_upper_bound<T>;
  const T* packed_a = nullptr;  ///< what pack_a wrote; `a` is then not read
  const T* packed_b = nullptr;  ///< what pack_b wrote; `b` is then not read
  GemmBatch batch;
};

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

/// A matrix of 8-bit integers with zero points.
struct QuantMatrix {
  const void* data = nullptr;  ///< int8_t or uint8_t, as is_signed says; element (i,j) at i * row + j * col
  int64_t row = 0, col = 1;
  bool is_signed = false;
  const void* zero = nullptr;  ///< zero points, of the type of `data`; nullptr: zero
  int64_t zero_step = 0;       ///< 0: one zero point; 1: one for each row of A, column of B
};

/// C = (A - a.zero)(B - b.zero) in int32 (which wraps), for A and B of int8 or uint8 in any combination.
struct QuantGemmArgs {
  int64_t m = 0, n = 0, k = 0;
  QuantMatrix a;         ///< (M,K)
  QuantMatrix b;         ///< (K,N)
  int32_t* c = nullptr;  ///< (M,N): element (i,j) at c[i * c_row + j]
  int64_t c_row = 0;
  const int32_t* row_bias = nullptr;  ///< (M) or nullptr, added to the rows
  const int32_t* col_bias = nullptr;  ///< (N) or nullptr, added to the columns
  const int32_t* packed_a =
      nullptr;  ///< what quant_pack_a wrote (zero points included); `a` is then not read
  const int32_t* packed_b =
      nullptr;  ///< what quant_pack_b wrote (zero points included); `b` is then not read
  GemmBatch batch;
};

template <class Arch>
void quant_gemm_impl(const QuantGemmArgs& args);

/// Computes the integer product. See QuantGemmArgs.
inline void quant_gemm(const QuantGemmArgs& args) {
  simd::dispatch([&]<class Arch>(Arch) { quant_gemm_impl<Arch>(args); });
}

template <class Arch>
int64_t quant_packed_a_size_impl(int64_t m, int64_t k);
template <class Arch>
int64_t quant_packed_b_size_impl(int64_t k, int64_t n);
template <class Arch>
void quant_pack_a_impl(const QuantGemmArgs& args, int32_t* packed);
template <class Arch>
void quant_pack_b_impl(const QuantGemmArgs& args, int32_t* packed);

/// Elements of int32_t that quant_pack_a writes for an A of (M,K). Depends on the level in force.
inline int64_t quant_packed_a_size(int64_t m, int64_t k) {
  return simd::dispatch([&]<class Arch>(Arch) { return quant_packed_a_size_impl<Arch>(m, k); });
}

/// Elements of int32_t that quant_pack_b writes for a B of (K,N). Depends on the level in force.
inline int64_t quant_packed_b_size(int64_t k, int64_t n) {
  return simd::dispatch([&]<class Arch>(Arch) { return quant_packed_b_size_impl<Arch>(k, n); });
}

/// Writes A less its zero points (m, k and a are read) to `packed`, of quant_packed_a_size elements.
inline void quant_pack_a(const QuantGemmArgs& args, int32_t* packed) {
  simd::dispatch([&]<class Arch>(Arch) { quant_pack_a_impl<Arch>(args, packed); });
}

/// Writes B less its zero points (k, n and b are read) to `packed`, of quant_packed_b_size elements.
inline void quant_pack_b(const QuantGemmArgs& args, int32_t* packed) {
  simd::dispatch([&]<class Arch>(Arch) { quant_pack_b_impl<Arch>(args, packed); });
}

}  // namespace tenon::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/gemm_impl.hpp"
#endif
