// Registers of any processor.
#pragma once

#include "tenon/simd/batch/registers.hpp"

namespace tenon::TENON_ABI::simd {

template <class T, class A>
inline xsimd::batch<T, A> in_register(const xsimd::batch<T, A>& v) {
  return v;
}

}  // namespace tenon::TENON_ABI::simd
