// The places of the greatest or least elements along an axis.
#pragma once

#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/kernels/reduce/lines.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// Serial body, in arg_reduce_impl.hpp: for the lines [first, last).
template <class Arch, class T>
void arg_reduce_impl(bool greatest, bool last_index, const T* x, int64_t* y, int64_t axis, int64_t inner,
                     int64_t first, int64_t last);

/// y (outer,inner) = the index along `axis` of the greatest (or least) element of x (outer,axis,inner), the
/// first or last of equals. NaN counts as greater (less) than all else, as in numpy. axis >= 1. T: every
/// number type.
template <class T>
void arg_reduce(bool greatest, bool last_index, const T* x, int64_t* y, int64_t outer, int64_t axis,
                int64_t inner) {
  constexpr int64_t grain = task_work::cheap;
  detail::parallel_lines(outer, axis, inner, grain, [=](int64_t first, int64_t last) {
    simd::dispatch([=]<class Arch>(Arch) {
      arg_reduce_impl<Arch>(greatest, last_index, x, y, axis, inner, first, last);
    });
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/reduce/arg_reduce_impl.hpp"
#endif
