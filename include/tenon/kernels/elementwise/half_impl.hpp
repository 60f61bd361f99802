// Bodies of half.hpp.
#pragma once

#include "tenon/kernels/elementwise/half.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::kernels {

template <class Arch, class From, class To>
void convert_half_impl(const From* x, To* y, int64_t n) {
  if constexpr (std::is_same_v<From, float16>)
    simd::f16_to_f32<Arch>(reinterpret_cast<const uint16_t*>(x), y, n);
  else if constexpr (std::is_same_v<From, bfloat16>)
    simd::bf16_to_f32<Arch>(reinterpret_cast<const uint16_t*>(x), y, n);
  else if constexpr (std::is_same_v<To, float16>)
    simd::f32_to_f16<Arch>(x, reinterpret_cast<uint16_t*>(y), n);
  else simd::f32_to_bf16<Arch>(x, reinterpret_cast<uint16_t*>(y), n);
}

#ifdef TENON_INSTANTIATE
template void convert_half_impl<TENON_INSTANTIATE>(const float16*, float*, int64_t);
template void convert_half_impl<TENON_INSTANTIATE>(const bfloat16*, float*, int64_t);
template void convert_half_impl<TENON_INSTANTIATE>(const float*, float16*, int64_t);
template void convert_half_impl<TENON_INSTANTIATE>(const float*, bfloat16*, int64_t);
#endif

}  // namespace tenon::kernels
