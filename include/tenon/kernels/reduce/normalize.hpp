// Normalisations: layer, RMS, batch (inference), group and instance, local response. Narrow floats are
// computed in float; sums are kept in double blocks as in reduce.hpp. Variances are computed from centred
// values, which avoids cancellation.
#pragma once

#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/types.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias over each row of x (rows, n); RMS: without the
/// mean.
template <class T>
struct LayerNormArgs {
  const T* x;
  T* y;  ///< may be x
  int64_t rows, n;
  const T* scale = nullptr;  ///< (n), or null for 1
  const T* bias = nullptr;   ///< (n), or null for 0
  double epsilon = 1e-5;
  float* mean = nullptr;     ///< (rows) results, if wanted
  float* inv_std = nullptr;  ///< (rows) results, if wanted: 1 / sqrt(variance + epsilon)
};

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, each (channels), over x (batch, channels,
/// spatial).
template <class T>
struct BatchNormArgs {
  const T* x;
  T* y;  ///< may be x
  int64_t batch, channels, spatial;
  const compute_t<T>*scale, *bias, *mean, *variance;  ///< (channels)
  double epsilon = 1e-5;
};

/// As layer norm over each of `groups` equal parts of the channels of x (batch, channels, spatial), then
/// scale and bias of each channel. groups == channels is instance norm.
template <class T>
struct GroupNormArgs {
  const T* x;
  T* y;  ///< may be x
  int64_t batch, groups, channels, spatial;
  const T* scale = nullptr;  ///< (channels), or null for 1
  const T* bias = nullptr;   ///< (channels), or null for 0
  double epsilon = 1e-5;
};

/// y = x / (bias + alpha / size * sum of x^2 over the channels c - (size-1)/2 .. c + size/2)^beta, rounded
/// down and up.
template <class T>
struct LrnArgs {
  const T* x;
  T* y;  ///< not x
  int64_t batch, channels, spatial, size;
  double alpha = 1e-4, beta = 0.75, bias = 1;
};

/// Serial bodies, in normalize_impl.hpp.
template <class Arch, class T>
void layer_norm_impl(const LayerNormArgs<T>& args, int64_t first_row, int64_t last_row);
template <class Arch, class T>
void rms_norm_impl(const LayerNormArgs<T>& args, int64_t first_row, int64_t last_row);
template <class Arch, class T>
void batch_norm_impl(const BatchNormArgs<T>& args, int64_t first, int64_t last);
template <class Arch, class T>
void group_norm_impl(const GroupNormArgs<T>& args, int64_t first, int64_t last);
template <class Arch, class T>
void lrn_impl(const LrnArgs<T>& args, int64_t first, int64_t last);

namespace detail {
// The number of lines of n elements that makes a task worthwhile for a thread.
constexpr int64_t normalize_grain(int64_t n) {
  return n >= task_work::moderate ? 1 : task_work::moderate / (n > 0 ? n : 1);
}
}  // namespace detail

template <class T>
void layer_norm(const LayerNormArgs<T>& args) {
  parallel_for(args.rows, detail::normalize_grain(args.n), [&](int64_t first, int64_t last) {
    simd::dispatch([&]<class Arch>(Arch) { layer_norm_impl<Arch>(args, first, last); });
  });
}

/// y = x / sqrt(mean of x^2 + epsilon) * scale + bias. args.mean is not written.
template <class T>
void rms_norm(const LayerNormArgs<T>& args) {
  parallel_for(args.rows, detail::normalize_grain(args.n), [&](int64_t first, int64_t last) {
    simd::dispatch([&]<class Arch>(Arch) { rms_norm_impl<Arch>(args, first, last); });
  });
}

template <class T>
void batch_norm(const BatchNormArgs<T>& args) {
  // Lines along the spatial axis; without one, along the channels.
  const bool flat = args.spatial == 1;
  parallel_for(flat ? args.batch : args.batch * args.channels,
               detail::normalize_grain(flat ? args.channels : args.spatial),
               [&](int64_t first, int64_t last) {
                 simd::dispatch([&]<class Arch>(Arch) { batch_norm_impl<Arch>(args, first, last); });
               });
}

/// groups divides channels.
template <class T>
void group_norm(const GroupNormArgs<T>& args) {
  if (args.groups == 0) return;
  const int64_t n = args.channels / args.groups * args.spatial;
  parallel_for(args.batch * args.groups, detail::normalize_grain(n), [&](int64_t first, int64_t last) {
    simd::dispatch([&]<class Arch>(Arch) { group_norm_impl<Arch>(args, first, last); });
  });
}

template <class T>
void lrn(const LrnArgs<T>& args) {
  parallel_for(args.batch * args.spatial, detail::normalize_grain(args.channels),
               [&](int64_t first, int64_t last) {
                 simd::dispatch([&]<class Arch>(Arch) { lrn_impl<Arch>(args, first, last); });
               });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/reduce/normalize_impl.hpp"
#endif
