// The pools of p-norms share powers and roots.
#pragma once

#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op {

/// Refuses a p that is no norm's: one not above 0, or infinite.
constexpr bool expect_norm(Infer& i, float p) {
  if (!(p > 0 && p < std::numeric_limits<float>::infinity())) i.fail("p is not above 0, or infinite");
  return !i.failed();
}

/// x[k] = x[k]^e for n numbers that are not negative. T: float, double.
template <class T>
void to_power(T* x, int64_t n, double e) {
  if (e == 1) return;
  if (e == 2) return kernels::unary<kernels::UnaryOp::square>(x, x, n);
  if (e == 0.5) return kernels::unary<kernels::UnaryOp::sqrt>(x, x, n);
  const T exponent = static_cast<T>(e);
  auto plan = kernels::BroadcastPlan<2>::flat(n);
  plan.strides[1][0] = 0;
  kernels::binary<kernels::BinaryOp::pow>(x, &exponent, x, plan);
}

/// |x|^p for n numbers, in scratch.
template <class T>
T* powers_of_magnitudes(Scratch& scratch, const T* x, int64_t n, double p) {
  T* powers = scratch.take<T>(n);
  kernels::unary<kernels::UnaryOp::absolute>(x, powers, n);
  to_power(powers, n, p);
  return powers;
}

}  // namespace tenon::TENON_ABI::op
