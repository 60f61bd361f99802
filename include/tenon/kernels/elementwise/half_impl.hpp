// Bodies of half.hpp.
#pragma once

#include "tenon/kernels/elementwise/half.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch, class From, class To>
void convert_half_impl(const From* x, To* y, int64_t n) {
  if constexpr (std::is_same_v<To, float>) simd::widen<Arch>(x, y, n);
  else simd::narrow<Arch>(x, y, n);
}

#ifdef TENON_INSTANTIATE
template void convert_half_impl<TENON_INSTANTIATE>(const float16*, float*, int64_t);
template void convert_half_impl<TENON_INSTANTIATE>(const bfloat16*, float*, int64_t);
template void convert_half_impl<TENON_INSTANTIATE>(const float*, float16*, int64_t);
template void convert_half_impl<TENON_INSTANTIATE>(const float*, bfloat16*, int64_t);
#endif

}  // namespace tenon::TENON_ABI::kernels
