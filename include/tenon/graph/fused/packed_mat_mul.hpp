// PackedMatMul: a product with a constant matrix that is laid out for the kernel.
#pragma once

#include <type_traits>

#include "tenon/base/storage.hpp"
#include "tenon/graph/fused/bounds.hpp"
#include "tenon/kernels/gemm/narrow_gemm.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"

namespace tenon::TENON_ABI::passes {

/// Y (..., M, N) = min(max(alpha A' B + beta C + bias, lo), hi), where A' is A (..., M, K) or with trans_a
/// its transpose, and C has Y's extents, or with gemm broadcasts to them, or is left out.
struct PackedMatMul {
  float alpha = 1, beta = 1;
  bool trans_a = false;
  bool gemm = false;  ///< A and Y are matrices, and C may broadcast
  Bounds bounds{};
  DType element = DType::undefined;  ///< of A
  int64_t k = 0, n = 0;
  Storage b{};                     ///< (K, N), as pack_b or narrow_pack writes it, or by these strides:
  int64_t b_row = 0, b_col = 0;    ///< of an unpacked matrix, maybe not AnyTensor::aligned
  Storage zeros{};                 ///< of narrow_pack
  Storage bias{};                  ///< (N), or empty
  kernels::NarrowMatrix narrow{};  ///< describes b and zeros, if narrow_pack wrote them

  static constexpr op::Attributes fields{op::attr("alpha", &PackedMatMul::alpha),
                                         op::attr("beta", &PackedMatMul::beta),
                                         op::attr("trans_a", &PackedMatMul::trans_a),
                                         op::attr("gemm", &PackedMatMul::gemm),
                                         op::attr("bounds", &PackedMatMul::bounds),
                                         op::attr("element", &PackedMatMul::element),
                                         op::attr("k", &PackedMatMul::k),
                                         op::attr("n", &PackedMatMul::n),
                                         op::attr("b", &PackedMatMul::b),
                                         op::attr("b_row", &PackedMatMul::b_row),
                                         op::attr("b_col", &PackedMatMul::b_col),
                                         op::attr("zeros", &PackedMatMul::zeros),
                                         op::attr("bias", &PackedMatMul::bias),
                                         op::attr("narrow", &PackedMatMul::narrow)};
  static constexpr op::Spec spec = op::own_spec("PackedMatMul", {{"A", "T"}, {"C", "T", op::optional}},
                                                {{"Y", "T"}}, {{"T", types::floats_bf16}});

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != element) return i.fail("A is ", i.dtype(0), ", B is ", element);
    const Dims matrix{k, n};
    if (gemm) return op::gemm_detail::infer_gemm(i, trans_a, false, i.dims(0), matrix, i.dims(1));
    Dims y = op::infer_matmul(i, i.dims(0), matrix);
    infer_addend(i, 1, y);
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> c, TensorView<T> y) const {
    compute_with(a, c, y, [](const auto&) {});
  }
  /// The same; find(args) may set another B for the kernel.
  template <class T, class Find>
  void compute_with(TensorView<const T> a, TensorView<const T> c, TensorView<T> y, Find find) const {
    using W = compute_t<T>;
    if (y.empty()) return;
    Scratch scratch;
    kernels::GemmArgs<W> args;
    args.m = y.size() / n;
    args.n = n;
    args.k = k;
    args.a = op::widen(scratch, a.data(), a.size());
    args.a_row = trans_a ? 1 : k;
    args.a_col = trans_a ? args.m : 1;
    (b_row == 0 ? args.packed_b : args.b) = static_cast<const W*>(b.data());
    args.b_row = b_row;
    args.b_col = b_col;
    find(args);
    args.alpha = alpha;
    args.beta = beta;
    if (beta != 0) op::gemm_detail::set_addend(args, scratch, c);
    if (args.d && c.rank() > 2) args.d_row = n, args.d_col = 1;
    args.col_bias = bias ? static_cast<const W*>(bias.data()) : nullptr;
    args.c = op::wide_result(scratch, y.data(), y.size());
    args.c_row = n;
    args.lo = static_cast<W>(bounds.lo);
    args.hi = static_cast<W>(bounds.hi);
    if (narrow.type == DType::undefined) {
      kernels::gemm(args);
    } else if constexpr (std::is_same_v<W, float>) {
      kernels::NarrowMatrix matrix = narrow;
      args.parts = narrow.type == dtype_of<T> ? op::parts_of<T> : 0;
      matrix.data = static_cast<const std::byte*>(b.data());
      matrix.zeros = zeros ? static_cast<const uint8_t*>(zeros.data()) : nullptr;
      kernels::narrow_gemm(args, matrix);
    }
    op::narrow(args.c, y.data(), y.size());
  }
};

}  // namespace tenon::TENON_ABI::passes
