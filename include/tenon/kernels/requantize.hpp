// Requantisation to 8-bit integers: from 32-bit sums of products, and from sums of other 8-bit integers.
// Bodies of the hot loops: requantize_impl.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// y = clamp(round(x * scale) + zero, lo, hi), rounded to nearest, ties to even, for rows of x (rows, n).
/// T: int8_t, uint8_t.
template <class T>
struct RequantizeArgs {
  int64_t rows = 0, n = 0;
  const int32_t* x = nullptr;
  T* y = nullptr;
  const float* row_scale = nullptr;  ///< of row r, at row_scale[r % row_scales]
  int64_t row_scales = 1;
  const float* col_scale = nullptr;  ///< (n), multiplied with the row's; nullptr: 1
  const T* zero = nullptr;           ///< of row r, at zero[r % zeros]
  int64_t zeros = 1;
  T lo = std::numeric_limits<T>::lowest();  ///< fused activation: Relu is lo = zero
  T hi = std::numeric_limits<T>::max();
};

/// Serial body. `rate` is the row's scale.
template <class Arch, class T>
void requantize_row_impl(const int32_t* x, int64_t n, float rate, const float* col_scale, T zero, T lo, T hi,
                         T* y);

/// See RequantizeArgs.
template <class T>
void requantize(const RequantizeArgs<T>& a) {
  constexpr int64_t grain = task_work::moderate;
  parallel_for(a.rows, std::max<int64_t>(1, grain / std::max<int64_t>(a.n, 1)),
               [&](int64_t begin, int64_t end) {
                 simd::dispatch([&]<class Arch>(Arch) {
                   for (int64_t r = begin; r < end; ++r)
                     requantize_row_impl<Arch>(a.x + r * a.n, a.n, a.row_scale[r % a.row_scales], a.col_scale,
                                               a.zero[r % a.zeros], a.lo, a.hi, a.y + r * a.n);
                 });
               });
}

/// Bytes, int8_t or uint8_t, that stand for (byte - zero) * scale.
struct ScaledBytes {
  const void* data = nullptr;
  bool is_signed = false;
  int32_t zero = 0;
  float scale = 1;
};

/// y = clamp(round((a + b) / scale) + zero, lo, hi) for the numbers that a and b stand for, n of each; y is
/// int8_t or uint8_t. y may be a.data or b.data.
struct AddBytesArgs {
  int64_t n = 0;
  ScaledBytes a, b;
  void* y = nullptr;
  float scale = 1;
  int32_t zero = 0, lo = 0, hi = 255;
};

/// Serial body for elements [begin, end).
template <class Arch>
void add_bytes_impl(const AddBytesArgs& args, int64_t begin, int64_t end);

/// See AddBytesArgs.
inline void add_bytes(const AddBytesArgs& a) {
  parallel_for(a.n, task_work::cheap, [&](int64_t begin, int64_t end) {
    simd::dispatch([&]<class Arch>(Arch) { add_bytes_impl<Arch>(a, begin, end); });
  });
}

/// y = clamp(round(a * b / scale) + zero, lo, hi) for the numbers that a (outer, rows, n) and b stand for;
/// the number of b for (o, r, i) is at o * b_outer + r * b_row + i * b_column. y may be a.data.
struct MulBytesArgs {
  int64_t outer = 1, rows = 1, n = 0;
  ScaledBytes a, b;
  int64_t b_outer = 0, b_row = 0, b_column = 1;  ///< b_column: 0 or 1
  void* y = nullptr;
  float scale = 1;
  int32_t zero = 0, lo = 0, hi = 255;
};

/// Serial body for n > 0 neighbours, with as many numbers of b, or one if b_column is 0.
template <class Arch>
void mul_bytes_impl(const MulBytesArgs& args, const uint8_t* a, const uint8_t* b, int64_t n, uint8_t* y);

/// See MulBytesArgs.
inline void mul_bytes(const MulBytesArgs& g) {
  constexpr int64_t longest = task_work::cheap;
  const int64_t pieces = (g.n + longest - 1) / longest;  // per row
  parallel_for(g.outer * g.rows * pieces, std::max<int64_t>(1, longest / std::max<int64_t>(g.n, 1)),
               [&](int64_t begin, int64_t end) {
                 simd::dispatch([&]<class Arch>(Arch) {
                   for (int64_t p = begin; p < end; ++p) {
                     const int64_t row = p / pieces, from = p % pieces * longest;
                     const int64_t at = row * g.n + from;
                     const int64_t b_at =
                         row / g.rows * g.b_outer + row % g.rows * g.b_row + from * g.b_column;
                     mul_bytes_impl<Arch>(g, static_cast<const uint8_t*>(g.a.data) + at,
                                          static_cast<const uint8_t*>(g.b.data) + b_at,
                                          std::min(longest, g.n - from), static_cast<uint8_t*>(g.y) + at);
                   }
                 });
               });
}

/// Serial body of look_up_bytes.
template <class Arch>
void look_up_bytes_impl(const uint8_t* table, const uint8_t* x, int64_t n, uint8_t* y);

/// y[i] = table[x[i]], of bytes; y may be x.
inline void look_up_bytes(const uint8_t* table, const uint8_t* x, int64_t n, uint8_t* y) {
  parallel_for(n, task_work::bytes, [&](int64_t begin, int64_t end) {
    simd::dispatch(
        [&]<class Arch>(Arch) { look_up_bytes_impl<Arch>(table, x + begin, end - begin, y + begin); });
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/requantize_impl.hpp"
#endif
