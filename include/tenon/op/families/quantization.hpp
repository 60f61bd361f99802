// QuantizeLinear and DequantizeLinear share the rule by which the extents of scales determine the elements
// that each applies to.
#pragma once

#include "tenon/kernels/quantize.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The result types of QuantizeLinear by version; DequantizeLinear accepts these and int32.
inline constexpr TypeSet quantized_8 = types::int8 | types::uint8;
inline constexpr TypeSet quantized_19 = quantized_8 | types::float8s;
inline constexpr TypeSet quantized_21 = quantized_19 | types::int16 | types::uint16 | types::int4s;
inline constexpr TypeSet quantized_23 = quantized_21 | types::float4s;
inline constexpr TypeSet quantized_25 = quantized_23 | types::int2s;

/// The rule for input 0 and its scales and zero points, inputs 1 and 2: one scale, one for each index of the
/// axis, or one for each block of `block_size` along it. Output 0 has input 0's extents. Before version
/// `axis_since` there is one scale.
constexpr void infer_quantization(Infer& i, int64_t axis, int64_t block_size, int axis_since = 13) {
  const Dims &x = i.dims(0), &scale = i.dims(1), &zero = i.dims(2);
  i.out(0, x);
  if (!i.expect_at_least("block_size", block_size, 0)) return;
  // One scale and one zero point may differ in rank.
  if (scale.count().differs(1) || zero.count().differs(1))
    i.unify(scale, zero, "extents of scale and zero point");
  // Scales of unknown extents may be a single one.
  if (i.failed() || !i.ranked(0, 1) || !scale.count().differs(1)) return;
  if (i.version() < axis_since)
    return i.fail("before version ", axis_since, " there is one scale, not ", scale);
  if (x.rank() == 0) return i.fail("a scalar takes one scale, not ", scale);
  const int a = i.axis(axis, x.rank());
  if (i.failed()) return;
  if (block_size == 0) {
    if (scale.rank() != 1) return i.fail("scale ", scale, " does not have one axis, and block_size is 0");
    if (x[a].differs(scale[0])) i.fail("scale ", scale, " does not fit axis ", a, " of ", x);
    return;
  }
  if (scale.rank() != x.rank()) return i.fail("blocks: scale ", scale, " and ", x, " differ in rank");
  for (int d = 0; d < x.rank(); ++d) {
    const Dim blocks = x[d] / block_size + (x[d] % block_size).differs(0);
    if (scale[d].differs(d == a ? blocks : x[d]))
      return i.fail("scale ", scale, " does not fit ", x, " in blocks of ", block_size, " along axis ", a);
  }
}

/// The loops over the axes of input 0. Blocks that share a scale stay together.
template <class L>
void add_quantization_loops(L& l, int64_t axis, int64_t block_size) {
  const Dims &x = l.dims(0), &scale = l.dims(1);
  const Dim scales = scale.count();
  if (!x.ranked() || !scales.known()) return;
  const int along = scales.is(1) ? -1 : resolve_axis(axis, x.rank());
  for (int d = 0; d < x.rank(); ++d) {
    int of_scale = -1;
    if (along >= 0 && block_size > 0) of_scale = d;
    else if (d == along) of_scale = 0;
    const bool blocks = d == along && block_size > 0;
    if (!blocks || (x[d] % block_size).is(0))
      l.over({{0, d}, {1, of_scale}, {2, of_scale}}, {{0, d}}, blocks ? scale[d] : x[d]);
  }
}

/// The scales' layout for the kernel; infer_quantization() has checked the extents.
inline kernels::QuantGrid quant_grid(AnyView x, AnyView scale, int64_t axis, int64_t block_size) {
  if (scale.size() == 1 || x.empty()) return kernels::QuantGrid::per_tensor(x.size());
  const auto [outer, extent, inner] = split_at(x.extents(), resolve_axis(axis, x.rank()));
  return block_size > 0 ? kernels::QuantGrid::blocked(outer, extent, inner, block_size)
                        : kernels::QuantGrid::per_axis(outer, extent, inner);
}

}  // namespace tenon::TENON_ABI::op
