// Convolutions of 8-bit integers whose groups have one input channel: in floats, which hold the sums exactly.
//
// A word of bytes holds neighbouring channels of a place, of which these groups have only one, so a vector of
// floats computes as many products. A few channels at a time are copied as floats minus their zero point, and
// their sums become integers before any further step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/gemm/bytes.hpp"
#include "tenon/kernels/quant_conv/args.hpp"
#include "tenon/kernels/quant_conv/bytes.hpp"

namespace tenon::TENON_ABI::kernels::quant_conv_detail {

/// Whether each group has one input channel and few output channels, and sums of this many products of 9-bit
/// numbers stay within 2^24.
template <class Arch>
bool sums_in_floats(const ConvGeometry& g) {
  return conv_detail::depthwise<Arch>(g) && conv_detail::kernel_cells<Arch>(g) <= (1 << 24) / (255 * 255);
}

/// Elements of the packed weights: floats in the order of the plain ones.
template <class Arch>
int64_t float_weights(const ConvGeometry& g) {
  return g.out_channels * conv_detail::kernel_cells<Arch>(g);
}

/// Writes the weights minus their zero points.
template <class Arch>
void pack_float_weights(const ConvGeometry& g, const gemm_detail::ByteRows& w, int32_t* packed) {
  auto* to = reinterpret_cast<float*>(packed);
  const uint8_t* from = w.data;
  for (int64_t c = 0; c < g.out_channels; ++c)
    for (int64_t k = 0; k < w.k; ++k, ++from)
      *to++ = static_cast<float>((w.is_signed ? *from ^ 128 : *from) - w.zero_of(c));
}

/// y[i] = x[i] - zero, of bytes with the bits `flip` changed.
template <class Arch>
void bytes_to_floats(const uint8_t* x, int64_t n, int32_t flip, int32_t zero, float* y) {
  using I = simd::batch<int32_t, Arch>;
  constexpr int64_t L = simd::lanes<int32_t, Arch>;
  const I flips(flip), shift(zero);
  const auto number = [&](const I& v) { return simd::to_float(I(I(v ^ flips) - shift)); };
  int64_t i = 0;
  for (; i + L <= n; i += L) simd::storeu(y + i, number(simd::load_bytes<Arch>(x + i)));
  if (i < n) simd::store_n(y + i, number(simd::load_bytes_n<Arch>(x + i, n - i)), n - i);
}

/// Writes the outputs [at, at + n) of channel c, whose sums are readable in whole panels.
template <class Arch, int panel>
void finish_sums(const QuantConvArgs& g, int64_t c, int64_t at, const float* sums, int64_t n) {
  constexpr int L = simd::lanes<int32_t, Arch>;
  const int32_t add = g.bias != nullptr ? g.bias[c] : 0;
  alignas(64) int32_t whole[panel];
  for (int64_t i = 0; i < n; i += panel) {
    const int64_t count = std::min<int64_t>(panel, n - i);
#pragma GCC unroll 4
    for (int k = 0; k < panel; k += L)
      simd::storeu(whole + k, simd::to_int(simd::batch<float, Arch>(simd::loadu<Arch>(sums + i + k))));
    if (g.y != nullptr) {
      for (int64_t k = 0; k < count; ++k) g.y[at + i + k] = gemm_detail::wrap_add(whole[k], add);
      continue;
    }
    make_bytes<Arch>(whole, count, add, g.bytes.scale[c], g.bytes, static_cast<uint8_t*>(g.bytes.y) + at + i);
  }
}

/// Computes the convolution with weights written by pack_float_weights.
template <class Arch>
void run_in_floats(const QuantConvArgs& g, const float* weights) {
  constexpr int panel = 4 * simd::lanes<float, Arch>;
  const ConvGeometry& s = g.geometry;
  const int64_t in = conv_detail::product_of<Arch>(s.in, s.rank);
  const int64_t out = conv_detail::product_of<Arch>(s.out, s.rank);
  const int64_t kernel = conv_detail::kernel_cells<Arch>(s), each = s.out_channels / s.groups;
  // Inputs and outputs of the channels computed at once stay in the first two caches.
  constexpr int64_t cells = 2 * cache_bytes::l1 / int64_t{sizeof(float)};
  const int64_t at_once = std::clamp<int64_t>(cells / (in + each * out), 1, s.groups);
  const int64_t parts = (s.groups + at_once - 1) / at_once;
  const int64_t work = at_once * (in + each * out * (kernel + 2));
  parallel_for(
      s.batch * parts, std::max<int64_t>(task_work::products / work, 1), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        float* const x = scratch.take<float>(at_once * in);
        float* const y = scratch.take<float>(at_once * each * out + panel);
        std::fill_n(y + at_once * each * out, panel, 0.f);
        for (int64_t part = begin; part < end; ++part) {
          const int64_t image = part / parts, first = part % parts * at_once;
          ConvArgs<float> some;
          some.geometry = s;
          some.geometry.batch = 1;
          some.geometry.groups = some.geometry.in_channels = std::min(at_once, s.groups - first);
          some.geometry.out_channels = some.geometry.groups * each;
          bytes_to_floats<Arch>(static_cast<const uint8_t*>(g.x) + (image * s.groups + first) * in,
                                some.geometry.groups * in, g.x_signed ? 128 : 0,
                                g.x_signed ? g.x_zero + 128 : g.x_zero, x);
          some.x = x, some.w = weights + first * each * kernel, some.y = y;
          conv_impl<Arch, float>(some);
          for (int64_t c = 0; c < some.geometry.out_channels; ++c) {
            const int64_t channel = first * each + c;
            finish_sums<Arch, panel>(g, channel, (image * s.out_channels + channel) * out, y + c * out, out);
          }
        }
      });
}

}  // namespace tenon::TENON_ABI::kernels::quant_conv_detail
