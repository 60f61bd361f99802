// PackedMatMulInteger: a product with a constant 8-bit matrix, which may dequantise its sums.
#pragma once

#include "tenon/graph/fused/quantized.hpp"
#include "tenon/op/math/mat_mul_integer.hpp"

namespace tenon::TENON_ABI::passes {

/// Y (..., M, N) = (A - a_zero_point) times a constant 8-bit matrix, in int32; or with scales, in floats,
/// min(max(that * (scale * scales) + bias + C, lo), hi). Zero points as MatMulInteger's.
struct PackedMatMulInteger {
  DType element = DType::undefined;  ///< of A
  int64_t k = 0, n = 0;
  Storage b{};       ///< (K, N), as quant_pack_b writes it
  Storage scales{};  ///< float (N), or empty: Y is int32
  Storage bias{};    ///< float (N), or empty
  Bounds bounds{};

  static constexpr op::Attributes fields{op::attr("element", &PackedMatMulInteger::element),
                                         op::attr("k", &PackedMatMulInteger::k),
                                         op::attr("n", &PackedMatMulInteger::n),
                                         op::attr("b", &PackedMatMulInteger::b),
                                         op::attr("scales", &PackedMatMulInteger::scales),
                                         op::attr("bias", &PackedMatMulInteger::bias),
                                         op::attr("bounds", &PackedMatMulInteger::bounds)};
  static constexpr op::Spec spec =
      op::own_spec("PackedMatMulInteger",
                   {{"A", "T1"},
                    {"a_zero_point", "T1", op::optional},
                    {"scale", "tensor(float)", op::optional},
                    {"C", "tensor(float)", op::optional}},
                   {{"Y", "T2"}}, {{"T1", byte_types}, {"T2", types::int32 | types::float32}});

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != element) return i.fail("A is ", i.dtype(0), ", not ", element);
    op::MatMulInteger::check_zeros(i, 1, i.dims(0), true);
    Dims y = op::infer_matmul(i, i.dims(0), Dims{k, n});
    if (i.has(2)) i.expect_one(2);
    infer_addend(i, 3, y);
    i.out(0, scales ? DType::float32 : DType::int32, y);
  }
  void compute(AnyView a, AnyView a_zero, TensorView<const float> scale, TensorView<const float> c,
               AnyOut y) const {
    if (y.empty()) return;
    Scratch scratch;
    kernels::QuantGemmArgs args;
    args.m = y.size() / n, args.n = n, args.k = k;
    args.a = op::MatMulInteger::matrix(a, a_zero, k);
    args.packed_b = static_cast<const int32_t*>(b.data());
    args.c = static_cast<int32_t*>(y.data()), args.c_row = n;
    kernels::SumScaling floats;
    if (scales) {
      auto* const by = scratch.take<float>(n);
      const float factor = scale ? scale.data()[0] : 1;
      for (int64_t j = 0; j < n; ++j) by[j] = factor * static_cast<const float*>(scales.data())[j];
      floats.scale = by;
      floats.bias = bias ? static_cast<const float*>(bias.data()) : nullptr;
      if (c) floats.d = c.data(), floats.d_row = n;
      floats.lo = static_cast<float>(bounds.lo), floats.hi = static_cast<float>(bounds.hi);
      args.floats = &floats;
    }
    if (a_zero.size() <= 1 || a_zero.size() == args.m) return kernels::quant_gemm(args);
    // The rows of each matrix have the same zero points.
    const int64_t matrices = args.m / a_zero.size();
    args.m = a_zero.size();
    for (int64_t matrix = 0; matrix < matrices; ++matrix) {
      kernels::quant_gemm(args);
      args.a.data = static_cast<const uint8_t*>(args.a.data) + args.m * k;
      args.c += args.m * n;
      if (floats.d != nullptr) floats.d += args.m * n;
    }
  }
};

}  // namespace tenon::TENON_ABI::passes
