// Chains of cheap functions: several steps for a few vectors while these are in registers.
#pragma once

#include <cstdint>
#include <span>

#include "tenon/kernels/elementwise/ops.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// One step of a chain, which replaces v: a function of one number, or of v and an operand.
struct ChainStep {
  enum class Function : uint8_t { absolute, negate, relu, sqrt, clip, add, sub, mul, div, min, max };

  Function function;
  bool second = false;             ///< v is the second operand
  float number = 0, bound = 0;     ///< the operand if there is no array; clip's bounds
  const float* operand = nullptr;  ///< an array, as long as the chain's
};

/// In steps_impl.hpp.
template <class Arch>
void run_chain_impl(std::span<const ChainStep> steps, const float* x, float* y, int64_t n);

/// y = the steps' result for x, bit for bit what `unary` and `binary` yield in sequence. y may be x or an
/// operand. Serial.
inline void run_chain(std::span<const ChainStep> steps, const float* x, float* y, int64_t n) {
  simd::dispatch([=]<class Arch>(Arch) { run_chain_impl<Arch>(steps, x, y, n); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/elementwise/steps_impl.hpp"
#endif
