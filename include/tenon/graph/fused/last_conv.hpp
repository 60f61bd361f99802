// Quantised convolutions with channels last, and the conversions to and from this layout.
#pragma once

#include "tenon/graph/fused/quantized.hpp"
#include "tenon/kernels/move/move.hpp"
#include "tenon/kernels/quant_conv/last.hpp"

namespace tenon::TENON_ABI::passes {

/// Signed bytes shifted to the unsigned range, with their zero point.
inline ByteScale raised(ByteScale s) {
  if (s.is_signed()) s.type = DType::uint8, s.zero += 128;
  return s;
}
inline ByteRange raised(ByteRange r) {
  if (r.as.is_signed()) r.lo += 128, r.hi += 128;
  r.as = raised(r.as);
  return r;
}

/// Y (N, 1, spatial..., C) from X (N, C, spatial...), or with `back` X from Y. Bytes of int8 are raised by
/// 128.
struct MoveChannels {
  DType type = DType::undefined;  ///< int8 or uint8, of (N, C, spatial...)
  bool back = false;

  static constexpr op::Attributes fields{op::attr("type", &MoveChannels::type),
                                         op::attr("back", &MoveChannels::back)};
  static constexpr op::Spec spec =
      op::own_spec("MoveChannels", {{"X", "T1"}}, {{"Y", "T2"}}, {{"T1", byte_types}, {"T2", byte_types}});

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != (back ? DType::uint8 : type)) return i.fail("X is ", i.dtype(0));
    if (!i.expect_ranked(0) || !i.expect_rank_at_least(0, back ? 4 : 3)) return;
    const Dims& x = i.dims(0);
    const int last = x.rank() - 1;
    Dims y{x[0], back ? x[last] : Dim(1)};
    for (int k = 2; k < (back ? last : last + 1); ++k) y.push_back(x[k]);
    if (!back) y.push_back(x[1]);
    i.out(0, y);
    i.out(0).type = back ? type : DType::uint8;
  }
  void compute(AnyView x, AnyOut y) const {
    if (y.empty()) return;
    const int64_t channels = back ? y.extent(1) : x.extent(1), cells = y.size() / x.extent(0) / channels;
    const int64_t extents[] = {x.extent(0), back ? cells : channels, back ? channels : cells};
    constexpr int64_t permutation[] = {0, 2, 1};
    kernels::transpose(DType::uint8, y.data(), x.data(), extents, permutation);
    if (type == DType::uint8) return;
    auto* to = static_cast<uint8_t*>(y.data());
    for (int64_t k = 0, n = y.size(); k < n; ++k) to[k] ^= 128;
  }
};

/// QuantizedConv with channels last, plus Z if `sum` is present.
struct LastConv {
  op::Conv conv{};
  ByteScale x{};  ///< the bytes of X are raised unless it is plain
  ByteRange y{};  ///< raised
  Extents extents{};
  bool plain_x = false;  ///< X is (N, C, H, W)
  Storage weights{};     ///< as quant_conv_last_pack writes them
  Storage scales{};      ///< float (M), scales of the sums over the scale of Y
  struct Sum {
    ByteScale z{};  ///< undefined type: no sum
    ByteRange y{};

    static constexpr op::Attributes fields{op::attr("z", &Sum::z), op::attr("y", &Sum::y)};
    explicit operator bool() const { return z.type != DType::undefined; }
  };
  Sum sum{};

  static constexpr op::Attributes fields{op::attr("conv", &LastConv::conv),
                                         op::attr("x", &LastConv::x),
                                         op::attr("y", &LastConv::y),
                                         op::attr("extents", &LastConv::extents),
                                         op::attr("plain_x", &LastConv::plain_x),
                                         op::attr("weights", &LastConv::weights),
                                         op::attr("scales", &LastConv::scales),
                                         op::attr("sum", &LastConv::sum)};
  static constexpr op::Spec spec = op::own_spec("LastConv", {{"X", "T1"}, {"Z", "T2", op::optional}},
                                                {{"Y", "T2"}}, {{"T1", byte_types}, {"T2", types::uint8}});

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != x.type) return i.fail("X is ", i.dtype(0), ", not ", x.type);
    if (!i.expect_ranked(0) || !i.expect_rank(0, plain_x ? 4 : 5)) return;
    const Dims& in = i.dims(0);
    op::infer_conv(i, conv.window(), conv.group, Dims{in[0], plain_x ? in[1] : in[4], in[2], in[3]},
                   Dims(extents));
    if (i.failed() || !i.out(0).dims.ranked()) return;
    Dims out = i.out(0).dims;
    out[1] = 1;
    out.push_back(extents[0]);
    i.expect_extents(1, out);
    i.out(0, out);
    i.out(0).type = DType::uint8;
  }
  void compute(AnyView in, AnyView z, AnyOut out) const {
    if (out.empty()) return;
    const op::WindowLayout l(conv.window(), in.extents(), out.extents(), std::span(extents).subspan(2));
    kernels::QuantConvLastArgs args;
    args.geometry =
        l.geometry<kernels::ConvGeometry>(in.extent(0), conv.group, extents[1] * conv.group, extents[0]);
    args.plain_x = plain_x;
    args.x_signed = x.is_signed();
    args.x = in.data();
    args.x_zero = raised(x).zero;
    args.packed_w = static_cast<const int32_t*>(weights.data());
    args.scale = static_cast<const float*>(scales.data());
    args.zero = y.as.zero, args.lo = y.lo, args.hi = y.hi;
    args.y = static_cast<uint8_t*>(out.data());
    if (sum)
      args.sum = {static_cast<const uint8_t*>(z.data()),
                  sum.z.zero,
                  y.as.scale / sum.y.as.scale,
                  sum.z.scale / sum.y.as.scale,
                  sum.y.as.zero,
                  sum.y.lo,
                  sum.y.hi};
    kernels::quant_conv_last(args);
  }
};

}  // namespace tenon::TENON_ABI::passes
