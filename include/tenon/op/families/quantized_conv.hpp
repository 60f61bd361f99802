// ConvInteger and QLinearConv share the rule for zero points and the kernel call.
#pragma once

#include <algorithm>

#include "tenon/kernels/quant_conv/quant_conv.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op {

/// Refuses a scale or zero point of weights that is neither one element nor one for each output channel.
constexpr void infer_per_channel(Infer& i, int input, Dim channels) {
  if (!i.has(input) || !i.ranked(input) || i.dims(input).count().is(1) || !i.expect_rank(input, 1)) return;
  // A vector of unknown length may also be one element.
  if (i.dims(input)[0].differs(channels))
    i.fail(i.name(input), ": ", i.dims(input), " does not fit ", channels, " output channels");
}

/// The element of an optional zero point of 8 bits.
inline int32_t zero_of(AnyView zero) {
  if (!zero) return 0;
  return zero.dtype() == DType::int8 ? *static_cast<const int8_t*>(zero.data())
                                     : *static_cast<const uint8_t*>(zero.data());
}

/// sums = conv(x - x_zero, w - w_zero) + bias in int32, of the extents that y has; sums are not empty.
template <class Sums>
void quantized_conv(const WindowAttributes& window, int64_t group, AnyView x, AnyView x_zero, AnyView w,
                    AnyView w_zero, const int32_t* bias, std::span<const int64_t> y, Sums* sums) {
  const WindowLayout layout(window, x.extents(), y, w.extents().subspan(2));
  kernels::QuantConvArgs args;
  args.geometry = layout.geometry<kernels::ConvGeometry>(x.extent(0), group, x.extent(1), y[1]);
  args.x = x.data();
  args.x_signed = x.dtype() == DType::int8;
  args.x_zero = zero_of(x_zero);
  args.w = w.data();
  args.w_signed = w.dtype() == DType::int8;
  args.w_zero = w_zero.data();
  args.w_zero_step = w_zero.size() > 1;
  args.bias = bias;
  args.y = sums;
  kernels::quant_conv(args);
}

/// The multiplications of a convolution whose W is operand `weights`.
template <class L>
double convolution_multiplications(const L& l, int weights) {
  const Dims& w = l.dims(weights);
  return l.elements(l.out(0)) * l.elements(w) / std::max(1.0, l.extent(w, 0));
}

}  // namespace tenon::TENON_ABI::op
