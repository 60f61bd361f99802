// Operators over 8-bit integers: convolution, products, sum, mean, and arbitrary functions of one byte.
#pragma once

#include <array>
#include <cmath>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/storage.hpp"
#include "tenon/graph/fused/bounds.hpp"
#include "tenon/kernels/gemm/quant_gemm.hpp"
#include "tenon/kernels/lookup.hpp"
#include "tenon/kernels/quant_conv/quant_conv.hpp"
#include "tenon/kernels/requantize.hpp"
#include "tenon/op/families/global_pool.hpp"
#include "tenon/op/families/matmul.hpp"
#include "tenon/op/families/window.hpp"
#include "tenon/op/nn/conv.hpp"

namespace tenon::TENON_ABI::passes {

inline constexpr TypeSet byte_types = types::int8 | types::uint8;

/// The scale and zero point of a tensor of 8-bit integers.
struct ByteScale {
  DType type = DType::undefined;  ///< int8 or uint8
  float scale = 1;
  int32_t zero = 0;

  static constexpr op::Attributes fields{op::attr("type", &ByteScale::type),
                                         op::attr("scale", &ByteScale::scale),
                                         op::attr("zero", &ByteScale::zero)};
  bool is_signed() const { return type == DType::int8; }
  int32_t least() const { return is_signed() ? -128 : 0; }
  friend bool operator==(const ByteScale&, const ByteScale&) = default;
};

/// How results become 8-bit integers: round(y / scale) + zero, within lo and hi.
struct ByteRange {
  ByteScale as{};
  int32_t lo = 0, hi = 255;

  static constexpr op::Attributes fields{op::attr("as", &ByteRange::as), op::attr("lo", &ByteRange::lo),
                                         op::attr("hi", &ByteRange::hi)};
  /// A type's whole range, or its part within real bounds.
  static ByteRange of(const ByteScale& as, const Bounds& b = {}) {
    const auto near = [&](double bound) {
      const double q = std::nearbyint(bound / static_cast<double>(as.scale)) + as.zero;
      return static_cast<int32_t>(
          std::clamp(q, static_cast<double>(as.least()), static_cast<double>(as.least() + 255)));
    };
    return {as, near(b.lo), near(b.hi)};
  }
};

/// Y = X (of x's type and zero point) convolved with constant 8-bit weights, plus bias, in 8 bits.
struct QuantizedConv {
  op::Conv conv{};
  ByteScale x{};
  ByteRange y{};
  Extents extents{};  ///< of the weights: (M, C/group, kernel...)
  Storage plain{};    ///< weights of int8 without zero points, until a pass packs them
  Storage weights{};  ///< as quant_conv_pack_weights writes them, or empty
  Storage bias{};     ///< int32 (M), in units of the products' scales; or empty
  Storage scales{};   ///< float (M), scales of the sums over the scale of Y

  static constexpr op::Attributes fields{
      op::attr("conv", &QuantizedConv::conv),   op::attr("x", &QuantizedConv::x),
      op::attr("y", &QuantizedConv::y),         op::attr("extents", &QuantizedConv::extents),
      op::attr("plain", &QuantizedConv::plain), op::attr("weights", &QuantizedConv::weights),
      op::attr("bias", &QuantizedConv::bias),   op::attr("scales", &QuantizedConv::scales)};
  static constexpr op::Spec spec =
      op::own_spec("QuantizedConv", {{"X", "T1"}}, {{"Y", "T2"}}, {{"T1", byte_types}, {"T2", byte_types}});

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != x.type) return i.fail("X is ", i.dtype(0), ", not ", x.type);
    op::infer_conv(i, conv.window(), conv.group, i.dims(0), Dims(extents));
    i.out(0).type = y.as.type;
  }
  void compute(AnyView in, AnyOut out) const {
    if (out.empty()) return;
    const op::WindowLayout layout(conv.window(), in.extents(), out.extents(), std::span(extents).subspan(2));
    kernels::QuantConvArgs args;
    args.geometry =
        layout.geometry<kernels::ConvGeometry>(in.extent(0), conv.group, in.extent(1), out.extent(1));
    args.x = in.data();
    args.x_signed = x.is_signed();
    args.x_zero = x.zero;
    args.w = plain.data(), args.w_signed = true;
    args.packed_w = static_cast<const int32_t*>(weights.data());
    args.bias = bias ? static_cast<const int32_t*>(bias.data()) : nullptr;
    args.bytes = {out.data(), static_cast<const float*>(scales.data()), y.as.zero, y.lo, y.hi};
    kernels::quant_conv(args);
  }
};

/// Y (..., M, N) = A (..., M, K) times a constant 8-bit matrix, plus bias, in 8 bits.
struct QuantizedMatMul {
  ByteScale a{};
  ByteRange y{};
  bool gemm = false;  ///< A is a matrix
  int64_t k = 0, n = 0;
  Storage b{};       ///< (K, N), as quant_pack_b writes it
  Storage bias{};    ///< int32 (N), in units of the products' scales; or empty
  Storage scales{};  ///< float (N), scales of the sums over the scale of Y

  static constexpr op::Attributes fields{
      op::attr("a", &QuantizedMatMul::a),       op::attr("y", &QuantizedMatMul::y),
      op::attr("gemm", &QuantizedMatMul::gemm), op::attr("k", &QuantizedMatMul::k),
      op::attr("n", &QuantizedMatMul::n),       op::attr("b", &QuantizedMatMul::b),
      op::attr("bias", &QuantizedMatMul::bias), op::attr("scales", &QuantizedMatMul::scales)};
  static constexpr op::Spec spec =
      op::own_spec("QuantizedMatMul", {{"A", "T1"}}, {{"Y", "T2"}}, {{"T1", byte_types}, {"T2", byte_types}});

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != a.type) return i.fail("A is ", i.dtype(0), ", not ", a.type);
    if (gemm && !i.expect_rank(0, 2)) return;
    i.out(0, op::infer_matmul(i, i.dims(0), Dims{k, n}));
    i.out(0).type = y.as.type;
  }
  void compute(AnyView in, AnyOut out) const {
    if (out.empty()) return;
    Scratch scratch;
    const auto zero = static_cast<uint8_t>(a.zero);
    kernels::QuantGemmArgs args;
    args.m = out.size() / n, args.n = n, args.k = k;
    args.a = {in.data(), k, 1, a.is_signed(), &zero, 0};
    args.packed_b = static_cast<const int32_t*>(b.data());
    args.c = scratch.take<int32_t>(out.size()), args.c_row = n;
    args.col_bias = bias ? static_cast<const int32_t*>(bias.data()) : nullptr;
    kernels::quant_gemm(args);
    visit_types<int8_t, uint8_t>(y.as.type, [&]<class T>() {
      const float one = 1;
      const T y_zero = static_cast<T>(y.as.zero);
      kernels::requantize<T>({.rows = args.m,
                              .n = n,
                              .x = args.c,
                              .y = static_cast<T*>(out.data()),
                              .row_scale = &one,
                              .col_scale = static_cast<const float*>(scales.data()),
                              .zero = &y_zero,
                              .lo = static_cast<T>(y.lo),
                              .hi = static_cast<T>(y.hi)});
    });
  }
};

/// Y = A + B of equal extents, all in 8 bits.
struct QuantizedAdd {
  ByteScale a{}, b{};
  ByteRange y{};

  static constexpr op::Attributes fields{op::attr("a", &QuantizedAdd::a), op::attr("b", &QuantizedAdd::b),
                                         op::attr("y", &QuantizedAdd::y)};
  static constexpr op::Spec spec = op::own_spec("QuantizedAdd", {{"A", "T1"}, {"B", "T2"}}, {{"Y", "T3"}},
                                                {{"T1", byte_types}, {"T2", byte_types}, {"T3", byte_types}});

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != a.type) return i.fail("A is ", i.dtype(0), ", not ", a.type);
    if (i.dtype(1) != b.type) return i.fail("B is ", i.dtype(1), ", not ", b.type);
    i.unify(i.dims(0), i.dims(1), "extents of A and B");
    i.out(0, i.dims(0));
    i.out(0).type = y.as.type;
  }
  void compute(AnyView left, AnyView right, AnyOut out) const {
    kernels::add_bytes({.n = out.size(),
                        .a = {left.data(), a.is_signed(), a.zero, a.scale},
                        .b = {right.data(), b.is_signed(), b.zero, b.scale},
                        .y = out.data(),
                        .scale = y.as.scale,
                        .zero = y.as.zero,
                        .lo = y.lo,
                        .hi = y.hi});
  }
};

/// Y = A * B, all in 8 bits. B has A's extents, or a number for each channel of A.
struct QuantizedMul {
  ByteScale a{}, b{};
  ByteRange y{};
  bool spread = false;  ///< B is (N, C, 1...)
  bool last = false;    ///< A is (N, 1, spatial..., C), and a spread B (N, 1, 1..., C)

  static constexpr op::Attributes fields{
      op::attr("a", &QuantizedMul::a), op::attr("b", &QuantizedMul::b), op::attr("y", &QuantizedMul::y),
      op::attr("spread", &QuantizedMul::spread), op::attr("last", &QuantizedMul::last)};
  static constexpr op::Spec spec = op::own_spec("QuantizedMul", {{"A", "T1"}, {"B", "T2"}}, {{"Y", "T3"}},
                                                {{"T1", byte_types}, {"T2", byte_types}, {"T3", byte_types}});

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != a.type) return i.fail("A is ", i.dtype(0), ", not ", a.type);
    if (i.dtype(1) != b.type) return i.fail("B is ", i.dtype(1), ", not ", b.type);
    Dims small = i.dims(0);
    if (spread) {
      if (!i.expect_ranked(0) || !i.expect_rank_at_least(0, 2)) return;
      const int channels = last ? small.rank() - 1 : 1;
      for (int k = 1; k < small.rank(); ++k)
        if (k != channels) small[k] = 1;
    }
    i.unify(small, i.dims(1), "extents of A and B");
    i.out(0, i.dims(0));
    i.out(0).type = y.as.type;
  }
  void compute(AnyView left, AnyView right, AnyOut out) const {
    if (out.empty()) return;
    kernels::MulBytesArgs args{.n = out.size(),
                               .a = {left.data(), a.is_signed(), a.zero, a.scale},
                               .b = {right.data(), b.is_signed(), b.zero, b.scale},
                               .y = out.data(),
                               .scale = y.as.scale,
                               .zero = y.as.zero,
                               .lo = y.lo,
                               .hi = y.hi};
    if (spread && last) {
      args.outer = out.extent(0), args.n = args.b_outer = out.extent(-1);
      args.rows = out.size() / args.outer / args.n;
    } else if (spread) {
      args.rows = out.extent(0) * out.extent(1), args.n = out.size() / args.rows;
      args.b_row = 1, args.b_column = 0;
    }
    kernels::mul_bytes(args);
  }
};

/// Y (N, C, 1...) = the mean of each channel of X, in 8 bits.
struct QuantizedGlobalAverage {
  ByteScale x{};
  ByteRange y{};
  bool last = false;  ///< X is (N, 1, spatial..., C), else (N, C, spatial...)

  static constexpr op::Attributes fields{op::attr("x", &QuantizedGlobalAverage::x),
                                         op::attr("y", &QuantizedGlobalAverage::y),
                                         op::attr("last", &QuantizedGlobalAverage::last)};
  static constexpr op::Spec spec = op::own_spec("QuantizedGlobalAverage", {{"X", "T1"}}, {{"Y", "T2"}},
                                                {{"T1", byte_types}, {"T2", byte_types}});

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != x.type) return i.fail("X is ", i.dtype(0), ", not ", x.type);
    if (!last) {
      op::infer_global_pool(i);
    } else {
      if (!i.expect_ranked(0) || !i.expect_rank_at_least(0, 4)) return;
      const Dims& from = i.dims(0);
      Dims y_dims{from[0], from[from.rank() - 1]};
      for (int k = 2; k + 1 < from.rank(); ++k) y_dims.push_back(1);
      i.out(0, y_dims);
    }
    i.out(0).type = y.as.type;
  }
  void compute(AnyView in, AnyOut out) const {
    if (out.empty()) return;
    const int64_t cells = in.size() / out.size(), channels = out.extent(1);
    const double rate = cells == 0 ? std::nan("")
                                   : static_cast<double>(x.scale) / static_cast<double>(y.as.scale) /
                                         static_cast<double>(cells);
    const uint8_t flip = x.is_signed() ? 128 : 0;
    const auto* from = static_cast<const uint8_t*>(in.data());
    auto* to = static_cast<uint8_t*>(out.data());
    // Adjacent channels, which are summed together.
    const int64_t together = last ? std::min<int64_t>(channels, 256) : 1, step = last ? channels : 1;
    const int64_t blocks = (channels + together - 1) / together;
    parallel_for(out.extent(0) * blocks, std::max<int64_t>(task_work::cheap / (together * (cells + 1)), 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t b = begin; b < end; ++b) {
                     const int64_t image = b / blocks, c = b % blocks * together;
                     const int64_t count = std::min(together, channels - c);
                     const uint8_t* first = from + image * channels * cells + (last ? c : c * cells);
                     int64_t sums[256];
                     std::fill_n(sums, count, -cells * (x.zero + flip));
                     // Sums of 2^20 bytes fit into 32 bits.
                     for (int64_t k = 0, stop; k < cells; k = stop) {
                       stop = std::min(cells, k + (int64_t{1} << 20));
                       uint32_t part[256] = {};
                       if (last) {
                         for (int64_t j = k; j < stop; ++j, first += step)
                           for (int64_t e = 0; e < count; ++e) part[e] += uint32_t{first[e]} ^ flip;
                       } else {
                         for (int64_t j = k; j < stop; ++j) part[0] += uint32_t{first[j]} ^ flip;
                       }
                       for (int64_t e = 0; e < count; ++e) sums[e] += part[e];
                     }
                     for (int64_t e = 0; e < count; ++e) {
                       const double q = std::nearbyint(static_cast<double>(sums[e]) * rate) + y.as.zero;
                       to[image * channels + c + e] = static_cast<uint8_t>(static_cast<int32_t>(
                           q > y.lo ? std::min(q, static_cast<double>(y.hi)) : static_cast<double>(y.lo)));
                     }
                   }
                 });
  }
};

/// Y = table[X]: any function of one number of 8 bits.
struct ByteTable {
  DType x = DType::undefined, y = DType::undefined;
  std::array<uint8_t, 256> table{};  ///< by the bits of X, the bits of Y

  static constexpr op::Attributes fields{op::attr("x", &ByteTable::x), op::attr("y", &ByteTable::y),
                                         op::attr("table", &ByteTable::table)};
  static constexpr op::Spec spec =
      op::own_spec("ByteTable", {{"X", "T1"}}, {{"Y", "T2"}}, {{"T1", byte_types}, {"T2", byte_types}});

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != x) return i.fail("X is ", i.dtype(0), ", not ", x);
    i.out(0, i.dims(0));
    i.out(0).type = y;
  }
  void compute(AnyView in, AnyOut out) const {
    kernels::look_up_bytes(table.data(), static_cast<const uint8_t*>(in.data()), out.size(),
                           static_cast<uint8_t*>(out.data()));
  }
};

}  // namespace tenon::TENON_ABI::passes
