// SmallMatMul: a small product, whose extents are known when its code is generated.
#pragma once

#include "tenon/graph/fused/bounds.hpp"
#include "tenon/kernels/gemm/gemm_impl.hpp"

namespace tenon::TENON_ABI::passes {

/// Y (M, N) = min(max(alpha A B + beta C, lo), hi), where C has these strides, or is null. Calls the kernel
/// that `gemm` selects for these extents, so that the others need not be compiled. `trans_b`: B's memory is
/// (N, K).
template <class T, int64_t M, int64_t K, int64_t N, bool trans_b = false>
struct SmallMatMul {
  T alpha = 1, beta = 1;
  Bounds bounds{};
  int64_t c_row = 0, c_col = 0;

  void compute(const void* a, const void* b, const void* c, void* y) const {
    static_assert(is_small_product(M, K, N) && (!trans_b || (M <= 4 && K > 1 && N > 1)));
    namespace gemm = kernels::gemm_detail;
    using Arch = simd::Native;
    kernels::GemmArgs<T> args;
    args.m = M, args.n = N, args.k = K;
    args.a = static_cast<const T*>(a), args.a_row = K, args.a_col = 1;
    args.b = static_cast<const T*>(b), args.b_row = trans_b ? 1 : N, args.b_col = trans_b ? K : 1;
    args.c = static_cast<T*>(y), args.c_row = N;
    args.alpha = alpha, args.beta = beta;
    args.d = static_cast<const T*>(c), args.d_row = c_row, args.d_col = c_col;
    args.lo = static_cast<T>(bounds.lo), args.hi = static_cast<T>(bounds.hi);
    const gemm::Finish<T> finish{alpha, beta, args.d, c_row, c_col, nullptr, nullptr, args.lo, args.hi};
    if constexpr (trans_b)
      gemm::Skinny<Arch, T>{M, args.a, K, 1, args.b, K, K, true, finish, args.c, N}.run(0, N);
    else if constexpr (N <= 2 * gemm::Tile<gemm::Single<T>, Arch>::cols)
      gemm::tiny_product<Arch>(args, args.a, args.b, finish, args.c);
    else kernels::gemm(args);
  }
};

}  // namespace tenon::TENON_ABI::passes
