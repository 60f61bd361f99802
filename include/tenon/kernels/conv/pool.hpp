// Pooling over tensors of (N, C, spatial...): arguments and entries. Bodies: pool_impl.hpp.
#pragma once

#include <cstdint>

#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// Window cell k of output cell o on an axis is input cell o * stride + k * dilation - pad; cells outside of
/// the input never count as values. The caller gives the output extents: ceil_mode is only a greater extent.
template <class T>
struct PoolArgs {
  int rank = 0;                         ///< spatial axes, 1 to max_spatial
  int64_t planes = 0;                   ///< N * C
  const int64_t* in = nullptr;          ///< [rank] spatial extents of the input
  const int64_t* out = nullptr;         ///< [rank] spatial extents of the output
  const int64_t* kernel = nullptr;      ///< [rank]
  const int64_t* strides = nullptr;     ///< [rank], >= 1
  const int64_t* dilations = nullptr;   ///< [rank], >= 1
  const int64_t* pads_begin = nullptr;  ///< [rank], >= 0
  const int64_t* pads_end = nullptr;  ///< [rank], >= 0; read by average pooling with count_include_pad alone
  const T* x = nullptr;               ///< (planes, in...)
  T* y = nullptr;                     ///< (planes, out...)

  /// Maximum only, or nullptr: the index of each maximum in x as one flat tensor (the first of equals; -1 for
  /// a window without a cell inside). With column_major, the first spatial axis of a plane varies fastest.
  int64_t* indices = nullptr;  ///< (planes, out...)
  bool column_major = false;

  /// Average only: the divisor counts the padded cells of the window, but none beyond pads_end.
  bool count_include_pad = false;
};

/// T: float, double, integers.
/// NaNs lose to numbers, as in ONNX's reference. A window without a number inside gives NaN; for integers, a
/// window without a cell inside gives the lowest value.
template <class Arch, class T>
void max_pool_impl(const PoolArgs<T>& args);

/// T: float, double. A window with nothing to count gives NaN.
template <class Arch, class T>
void average_pool_impl(const PoolArgs<T>& args);

/// T: float, double. A window without a cell inside gives 0.
template <class Arch, class T>
void sum_pool_impl(const PoolArgs<T>& args);

/// Greatest value of each window. See PoolArgs and max_pool_impl.
template <class T>
inline void max_pool(const PoolArgs<T>& args) {
  simd::dispatch([&]<class Arch>(Arch) { max_pool_impl<Arch, T>(args); });
}

/// Mean value of each window. See PoolArgs and average_pool_impl.
template <class T>
inline void average_pool(const PoolArgs<T>& args) {
  simd::dispatch([&]<class Arch>(Arch) { average_pool_impl<Arch, T>(args); });
}

/// Sum of each window's values. See PoolArgs and sum_pool_impl.
template <class T>
inline void sum_pool(const PoolArgs<T>& args) {
  simd::dispatch([&]<class Arch>(Arch) { sum_pool_impl<Arch, T>(args); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/conv/pool_impl.hpp"
#endif
