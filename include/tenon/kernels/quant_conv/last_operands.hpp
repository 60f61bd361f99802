// Convolutions of bytes over tensors of (N, H, W, C): the input image, and the writing of output bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/quant_conv/last_args.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/copy.hpp"

namespace tenon::TENON_ABI::kernels::conv_last_detail {

/// The input: pixel (n, y, x) is at data + n * image + y * row + x * pixel, in bytes.
struct Image {
  const uint8_t* data;
  int64_t image, row, pixel, height, width, pad[2];
};

template <class Arch>
Image plain_image(const QuantConvLastArgs& g) {
  const ConvGeometry& s = g.geometry;
  const int64_t row = s.in[1] * s.in_channels;
  return {static_cast<const uint8_t*>(g.x),
          s.in[0] * row,
          row,
          s.in_channels,
          s.in[0],
          s.in[1],
          {s.pads[0], s.pads[1]}};
}

/// Bytes readable from any tap of a padded copy: a plain x's last words end past the last pixel.
inline constexpr int64_t short_tap = 32;

/// Copies `count` cells of planes, which are `plane` apart, pixel by pixel.
template <class Arch>
void copy_planes(const uint8_t* from, int64_t plane, int64_t channels, int64_t count, uint8_t flip,
                 uint8_t* to) {
  const uint8_t* row[4];
  for (int64_t c = 0; c < channels; ++c) row[c] = from + c * plane;
  int64_t x = 0;
  // The bytes that interleave_rows writes past 16 pixels belong to following pixels.
  for (; x + 16 + (15 - 3 * channels) / channels <= count; x += 16, to += 16 * channels) {
    simd::interleave_rows<Arch>(row, static_cast<int>(channels), flip, to);
    for (int64_t c = 0; c < channels; ++c) row[c] += 16;
  }
  for (; x < count; ++x)
    for (int64_t c = 0; c < channels; ++c) *to++ = *row[c]++ ^ flip;
}

/// A padded copy of x, pixel by pixel, as numbers of which a word has Words::per_cell.
template <class Words, class Arch>
Image padded_copy(const QuantConvLastArgs& g, Scratch& scratch) {
  using Number = std::conditional_t<Words::per_cell == 4, uint8_t, uint16_t>;
  constexpr auto bytes = static_cast<int64_t>(sizeof(Number));
  const ConvGeometry& s = g.geometry;
  const int64_t channels = s.in_channels, in = s.in[0] * s.in[1];
  const auto span = [&](int d) {
    return (s.out[d] - 1) * s.strides[d] + (s.kernel[d] - 1) * s.dilations[d] + 1;
  };
  const int64_t height = span(0), width = span(1), row = width * channels;
  const int64_t size = s.batch * height * row, rest = short_tap / bytes;
  auto* const copy = scratch.take<Number>(size + rest);
  std::fill_n(copy + size, rest, Number{0});
  const int64_t first = std::clamp<int64_t>(s.pads[1], 0, width);
  const int64_t last = std::clamp<int64_t>(s.in[1] + s.pads[1], first, width);
  const int64_t begin = first * channels, end = last * channels;
  const uint8_t flip = g.x_signed ? 128 : 0;
  const auto copy_rows = [&](int64_t row_begin, int64_t row_end) {
    Scratch own;
    uint8_t* const line = g.plain_x && bytes > 1 ? own.take<uint8_t>(end - begin) : nullptr;
    for (int64_t r = row_begin; r < row_end; ++r) {
      Number* const to = copy + r * row;
      const int64_t y = r % height - s.pads[0];
      const bool inside = y >= 0 && y < s.in[0];
      std::fill_n(to, inside ? begin : row, static_cast<Number>(g.x_zero));
      if (!inside) continue;
      std::fill(to + end, to + row, static_cast<Number>(g.x_zero));
      const auto* from = static_cast<const uint8_t*>(g.x) + r / height * channels * in;
      const int64_t cell = y * s.in[1] + first - s.pads[1];
      if (g.plain_x) {
        uint8_t* const bytes_to = bytes > 1 ? line : reinterpret_cast<uint8_t*>(to + begin);
        copy_planes<Arch>(from + cell, in, channels, last - first, flip, bytes_to);
        from = line;
      } else {
        from += cell * channels;
      }
      if constexpr (bytes > 1) std::copy(from, from + (end - begin), to + begin);
      else if (!g.plain_x) simd::copy(to + begin, from, static_cast<std::size_t>(end - begin));
    }
  };
  parallel_for(s.batch * height, std::max<int64_t>(task_work::moderate / row, 1), copy_rows);
  return {reinterpret_cast<const uint8_t*>(copy),
          height * row * bytes,
          row * bytes,
          channels * bytes,
          height,
          width,
          {0, 0}};
}

/// Requantises sums to bytes, and adds z to them if present.
template <class Arch>
class Ending {
 public:
  explicit Ending(const QuantConvLastArgs& g)
      : g_(g),
        least_(static_cast<float>(g.lo - g.zero)),
        most_(static_cast<float>(g.hi - g.zero)),
        rate_(g.sum.rate),
        z_rate_(g.sum.z_rate),
        z_zero_(g.sum.z_zero) {}

  /// Writes a pixel's bytes for n channels, which lie in NV vectors.
  template <int NV>
  void write(const simd::batch<int32_t, Arch>* sum, const float* scale, const uint8_t* z, uint8_t* y,
             int64_t n) const {
    F rate[NV], q[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v)
      rate[v] = v + 1 < NV || n == NV * L ? F(simd::loadu<Arch>(scale + v * L))
                                          : simd::load_n<Arch>(scale + v * L, n - v * L);
    if (z == nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) q[v] = simd::to_float(sum[v]) * rate[v];
      return simd::store_rounded_n<NV>(y, q, g_.zero, g_.lo, g_.hi, n);
    }
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      F own = simd::to_float(sum[v]) * rate[v];
      own = simd::min(simd::max(own, least_), most_);
      own = simd::nearbyint(own) * rate_;
      const I bytes =
          v + 1 < NV ? simd::load_bytes<Arch>(z + v * L) : simd::load_bytes_n<Arch>(z + v * L, n - v * L);
      const F other = simd::to_float(bytes - z_zero_);
      q[v] = simd::mul_add(other, z_rate_, own);
    }
    simd::store_rounded_n<NV>(y, q, g_.sum.zero, g_.sum.lo, g_.sum.hi, n);
  }

  /// The same for n channels of `pixels` pixels, whose sums are `row` apart and whose bytes are `step` apart.
  void write(int64_t n, int64_t pixels, const int32_t* sums, int64_t row, const float* scale,
             const uint8_t* z, uint8_t* y, int64_t step) const {
    const auto write_all = [&]<int NV>(std::integral_constant<int, NV>) {
      for (int64_t p = 0; p < pixels; ++p) {
        I sum[NV];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[v] = simd::loadu<Arch>(sums + p * row + v * L);
        write<NV>(sum, scale, z == nullptr ? nullptr : z + p * step, y + p * step,
                  std::min<int64_t>(n, NV * L));
      }
    };
    for (; n > 4 * L; n -= 4 * L, sums += 4 * L, scale += 4 * L, y += 4 * L) {
      write_all(std::integral_constant<int, 4>{});
      if (z != nullptr) z += 4 * L;
    }
    switch ((n + L - 1) / L) {
      case 1: return write_all(std::integral_constant<int, 1>{});
      case 2: return write_all(std::integral_constant<int, 2>{});
      case 3: return write_all(std::integral_constant<int, 3>{});
      default: return write_all(std::integral_constant<int, 4>{});
    }
  }

 private:
  using I = simd::batch<int32_t, Arch>;
  using F = simd::batch<float, Arch>;
  static constexpr int L = simd::lanes<int32_t, Arch>;
  const QuantConvLastArgs& g_;
  const F least_, most_, rate_, z_rate_;
  const I z_zero_;
};

}  // namespace tenon::TENON_ABI::kernels::conv_last_detail
