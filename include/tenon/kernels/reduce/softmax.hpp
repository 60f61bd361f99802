// Softmax and log-softmax along one axis of a dense tensor seen as (outer, axis, inner). Stable: the greatest
// element is subtracted first. A line that is all -infinity, or contains NaN or +infinity, becomes NaN, as
// the formula says.
#pragma once

#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/reduce/lines.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// Serial body, in softmax_impl.hpp: the lines [first, last) of outer * inner.
template <class Arch, class T>
void softmax_impl(bool log, const T* x, T* y, int64_t axis, int64_t inner, int64_t first, int64_t last);

namespace detail {
template <class T>
void softmax_lines(bool log, const T* x, T* y, int64_t outer, int64_t axis, int64_t inner) {
  if (axis == 0) return;
  parallel_lines(outer, axis, inner, task_work::costly, [=](int64_t first, int64_t last) {
    simd::dispatch([=]<class Arch>(Arch) { softmax_impl<Arch>(log, x, y, axis, inner, first, last); });
  });
}
}  // namespace detail

/// y = exp(x) / sum of exp(x) along the axis. Results below the least normal number become 0. y may be x.
/// T: float, double, float16, bfloat16.
template <class T>
void softmax(const T* x, T* y, int64_t outer, int64_t axis, int64_t inner) {
  detail::softmax_lines(false, x, y, outer, axis, inner);
}

/// y = x - log(sum of exp(x) along the axis). y may be x.
template <class T>
void log_softmax(const T* x, T* y, int64_t outer, int64_t axis, int64_t inner) {
  detail::softmax_lines(true, x, y, outer, axis, inner);
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/reduce/softmax_impl.hpp"
#endif
