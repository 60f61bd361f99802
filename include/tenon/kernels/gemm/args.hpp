// Matrix products: arguments. Entries: gemm.hpp.
//
// Operands are addressed by two strides each, so a transpose is merely a swap of strides. Extents of zero are
// valid: with k = 0 the product is a matrix of zeros, to which the addend and biases are still added. Nothing
// is allocated except scratch that a thread keeps; K is summed in an order that depends on the extents alone,
// never on threads.
#pragma once

#include <cstdint>
#include <limits>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::kernels {

/// Many products of the same extents, one for each index of the row-major box `extents`. The offset of an
/// item's operand is the dot product of its index with the operand's strides, in elements; stride 0 shares
/// the operand.
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
inline constexpr T no_upper_bound =
    std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();

/// C = clamp(alpha A B + beta D + row_bias + col_bias, lo, hi). T: float, double; int32, uint32, int64,
/// uint64 wrap. NaN and infinities propagate; operands whose factor is zero are not read. C must not overlap
/// A, B or the biases.
template <class T>
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;  ///< (M,K): element (i,p) at a[i * a_row + p * a_col]
  int64_t a_row = 0, a_col = 1;
  const T* b = nullptr;  ///< (K,N): element (p,j) at b[p * b_row + j * b_col]; any address
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
  int parts = 0;  ///< 1: all numbers of A and B fit a bfloat16; 2: a float16; 0: any
};

/// A matrix of 8-bit integers with zero points.
struct QuantMatrix {
  const void* data = nullptr;  ///< int8_t or uint8_t, as is_signed says; element (i,j) at i * row + j * col
  int64_t row = 0, col = 1;
  bool is_signed = false;
  const void* zero = nullptr;  ///< zero points, of the type of `data`; nullptr: zero
  int64_t zero_step = 0;       ///< 0: one zero point; 1: one for each row of A, column of B
};

/// Dequantises 32-bit sums: clamp(sum * scale + bias + d, lo, hi).
struct SumScaling {
  const float* scale = nullptr;  ///< (N)
  const float* bias = nullptr;   ///< (N) or nullptr
  const float* d = nullptr;      ///< addend: element (i,j) at d[i * d_row + j]; or nullptr
  int64_t d_row = 0;
  float lo = no_lower_bound<float>, hi = no_upper_bound<float>;  ///< a NaN stays NaN
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
  const int32_t* packed_b = nullptr;  ///< what quant_pack_b wrote, zero points included; `b` is then not read
  GemmBatch batch;
  const SumScaling* floats = nullptr;  ///< C then holds the dequantised sums; all items of a batch share it
};

}  // namespace tenon::TENON_ABI::kernels
