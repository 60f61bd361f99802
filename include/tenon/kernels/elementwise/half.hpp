// Converts arrays of float to and from the 16-bit floats, using the processor's instructions for it.
#pragma once

#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/types.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// The serial body, in half_impl.hpp.
template <class Arch, class From, class To>
void convert_half_impl(const From* x, To* y, int64_t n);

/// y[i] = x[i], i < n, rounded to nearest even. One of From and To is float, the other float16 or bfloat16.
template <class From, class To>
void convert_half(const From* x, To* y, int64_t n) {
  parallel_for(n, task_work::cheap, [=](int64_t begin, int64_t end) {
    simd::dispatch([=]<class Arch>(Arch) { convert_half_impl<Arch>(x + begin, y + begin, end - begin); });
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/elementwise/half_impl.hpp"
#endif
