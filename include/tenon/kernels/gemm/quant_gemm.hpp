// Products of 8-bit integers: entries. Arguments: args.hpp; bodies: quant_gemm_impl.hpp. Separate from
// gemm.hpp, so that users of float products do not compile them.
#pragma once

#include <cstdint>

#include "tenon/kernels/gemm/args.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::kernels {

template <class Arch>
void quant_gemm_impl(const QuantGemmArgs& args);

/// Computes the integer product. See QuantGemmArgs.
inline void quant_gemm(const QuantGemmArgs& args) {
  simd::dispatch([&]<class Arch>(Arch) { quant_gemm_impl<Arch>(args); });
}

template <class Arch>
int64_t quant_packed_a_size_impl(int64_t m, int64_t k);
template <class Arch>
int64_t quant_packed_b_size_impl(int64_t k, int64_t n);
template <class Arch>
void quant_pack_a_impl(const QuantGemmArgs& args, int32_t* packed);
template <class Arch>
void quant_pack_b_impl(const QuantGemmArgs& args, int32_t* packed);

/// Elements of int32_t that quant_pack_a writes for an A of (M,K). Depends on the level in force.
inline int64_t quant_packed_a_size(int64_t m, int64_t k) {
  return simd::dispatch([&]<class Arch>(Arch) { return quant_packed_a_size_impl<Arch>(m, k); });
}

/// Elements of int32_t that quant_pack_b writes for a B of (K,N). Depends on the level in force.
inline int64_t quant_packed_b_size(int64_t k, int64_t n) {
  return simd::dispatch([&]<class Arch>(Arch) { return quant_packed_b_size_impl<Arch>(k, n); });
}

/// Writes A less its zero points (m, k and a are read) to `packed`, of quant_packed_a_size elements.
inline void quant_pack_a(const QuantGemmArgs& args, int32_t* packed) {
  simd::dispatch([&]<class Arch>(Arch) { quant_pack_a_impl<Arch>(args, packed); });
}

/// Writes B less its zero points (k, n and b are read) to `packed`, of quant_packed_b_size elements.
inline void quant_pack_b(const QuantGemmArgs& args, int32_t* packed) {
  simd::dispatch([&]<class Arch>(Arch) { quant_pack_b_impl<Arch>(args, packed); });
}

}  // namespace tenon::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/gemm/quant_gemm_impl.hpp"
#endif
