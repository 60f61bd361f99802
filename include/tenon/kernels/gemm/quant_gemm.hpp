// Products of 8-bit integers: entries. Arguments: args.hpp; bodies: quant_gemm_impl.hpp. Separate from
// gemm.hpp, so that users of float products do not compile them.
#pragma once

#include <cstdint>

#include "tenon/kernels/gemm/args.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch>
void quant_gemm_impl(const QuantGemmArgs& args);

/// Computes the integer product. See QuantGemmArgs.
inline void quant_gemm(const QuantGemmArgs& args) {
  simd::dispatch([&]<class Arch>(Arch) { quant_gemm_impl<Arch>(args); });
}

template <class Arch>
int64_t quant_packed_b_size_impl(const QuantGemmArgs& args);
template <class Arch>
void quant_pack_b_impl(const QuantGemmArgs& args, int32_t* packed);

/// Elements of int32_t that quant_pack_b writes. Reads k, n and b, whose numbers determine the packed form;
/// depends on the level in force.
inline int64_t quant_packed_b_size(const QuantGemmArgs& args) {
  return simd::dispatch([&]<class Arch>(Arch) { return quant_packed_b_size_impl<Arch>(args); });
}

/// Writes B and its zero points (k, n and b are read) to `packed`, of quant_packed_b_size elements.
inline void quant_pack_b(const QuantGemmArgs& args, int32_t* packed) {
  simd::dispatch([&]<class Arch>(Arch) { quant_pack_b_impl<Arch>(args, packed); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/gemm/quant_gemm_impl.hpp"
#endif
