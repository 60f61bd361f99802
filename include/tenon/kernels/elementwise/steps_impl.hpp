// Bodies of steps.hpp.
#pragma once

#include <algorithm>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/elementwise/functions.hpp"
#include "tenon/kernels/elementwise/steps.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// The chain for R vectors from element i on, the last one of `lanes` elements.
///
/// A step costs a jump, which processors predict because all vectors take the same ones, and its operand.
/// With R = 8 that is little compared to the vectors' arithmetic, and 8 vectors and the constants of a step
/// fit into 16 registers.
template <class Arch, int R>
void run_chain_at(std::span<const ChainStep> steps, const float* x, float* y, int64_t i, int64_t lanes) {
  using V = simd::batch<float, Arch>;
  using enum ChainStep::Function;
  constexpr int L = simd::lanes<float, Arch>;
  const auto load = [=](const float* p, int r) {
    return R > 1 || lanes == L ? V(simd::loadu<Arch>(p + i + r * L)) : V(simd::load_n<Arch>(p + i, lanes));
  };
  V v[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) v[r] = load(x, r);
  for (const ChainStep& step : steps) {
    const Constants<V> k(UnaryParams{step.number, step.bound});
    const auto unary = [&]<UnaryOp op>() TENON_INLINE_LAMBDA {
      const typename decltype(unary_row<op>())::real f{};
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) v[r] = f(v[r], k);
    };
    const auto binary = [&]<BinaryOp op>() TENON_INLINE_LAMBDA {
      const typename decltype(binary_row<op>())::real f{};
      constexpr bool turns = op != BinaryOp::add && op != BinaryOp::mul;
      const auto with = [&](const auto& other) TENON_INLINE_LAMBDA {
        if (turns && step.second) {
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) v[r] = f(other(r), v[r]);
        } else {
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) v[r] = f(v[r], other(r));
        }
      };
      if (step.operand == nullptr) with([&](int) { return k.a; });
      else with([&](int r) { return load(step.operand, r); });
    };
    switch (step.function) {
      case absolute: unary.template operator()<UnaryOp::absolute>(); break;
      case negate: unary.template operator()<UnaryOp::negate>(); break;
      case relu: unary.template operator()<UnaryOp::relu>(); break;
      case sqrt: unary.template operator()<UnaryOp::sqrt>(); break;
      case clip: unary.template operator()<UnaryOp::clip>(); break;
      case add: binary.template operator()<BinaryOp::add>(); break;
      case sub: binary.template operator()<BinaryOp::sub>(); break;
      case mul: binary.template operator()<BinaryOp::mul>(); break;
      case div: binary.template operator()<BinaryOp::div>(); break;
      case min: binary.template operator()<BinaryOp::min>(); break;
      case max: binary.template operator()<BinaryOp::max>(); break;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    if (R > 1 || lanes == L) simd::storeu(y + i + r * L, v[r]);
    else simd::store_n(y + i, v[r], lanes);
  }
}

}  // namespace detail

template <class Arch>
void run_chain_impl(std::span<const ChainStep> steps, const float* x, float* y, int64_t n) {
  constexpr int64_t L = simd::lanes<float, Arch>;
  int64_t i = 0;
  for (; i + 8 * L <= n; i += 8 * L) detail::run_chain_at<Arch, 8>(steps, x, y, i, L);
  for (; i < n; i += L) detail::run_chain_at<Arch, 1>(steps, x, y, i, std::min(L, n - i));
}

#ifdef TENON_INSTANTIATE
template void run_chain_impl<TENON_INSTANTIATE>(std::span<const ChainStep>, const float*, float*, int64_t);
#endif

}  // namespace tenon::TENON_ABI::kernels
