// Convolutions of 8-bit integers: the planes of cells into which the input is copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/kernels/gemm/bytes.hpp"

namespace tenon::TENON_ABI::kernels::quant_conv_detail {

using sliding::SlidingWindow;
using sliding::step;
using sliding::steps_to_zero;

/// The places of an input's cells in its planes. Padded cell q * stride + phase of an axis is at q in that
/// phase.
template <class Arch>
struct PlaneLayout {
  struct Split {
    int64_t phases, period, length, pitch;
  };
  SlidingWindow<Arch> w;
  Split axis[max_spatial];
  int64_t box = 1, phases = 1;  // cells of a phase; phases of all axes

  explicit PlaneLayout(const ConvGeometry& g)
      : w(true, g.rank, g.in, g.out, g.kernel, g.strides, g.dilations, g.pads) {
    for (int d = w.rank - 1; d >= 0; --d) {
      const sliding::Axis& a = w.axis[d];
      const int64_t period = a.stride / std::gcd(a.stride, a.dilation);
      axis[d] = {std::min(std::max<int64_t>(a.kernel, 1), period), period,
                 a.out + std::max<int64_t>(a.kernel - 1, 0) * a.dilation / a.stride, box};
      box = tenon::detail::bounded_product(box, axis[d].length, most);
      phases = tenon::detail::bounded_product(phases, axis[d].phases, most);
    }
  }
  /// Whether the planes have a reasonable size compared to input and output. If not, nothing else may be
  /// called.
  bool fits() const {
    const int64_t given = std::min(w.in_cells(), most / 16) + std::min(w.out_cells(), most / 16);
    return tenon::detail::bounded_product(box, phases, most) <= 4 * given + 4096;
  }
  int64_t cells() const { return box * phases; }
  /// The place that output 0 sees through kernel place `at`.
  int64_t tap(const int64_t* at) const {
    int64_t phase = 0, place = 0;
    for (int d = 0; d < w.rank; ++d) {
      phase = phase * axis[d].phases + at[d] % axis[d].period;
      place += at[d] * w.axis[d].dilation / w.axis[d].stride * axis[d].pitch;
    }
    return phase * box + place;
  }

 private:
  static constexpr int64_t most = int64_t{1} << 60;  // more than any memory has
};

/// Words of four channels: to[j] has from[c][j * stride] of channels c < channels, else 0, for j < count
/// <= 64.
template <class Arch>
void gather_words(const uint8_t* from, int64_t plane, int64_t channels, int64_t stride, int64_t count,
                  uint32_t* to) {
  if (channels == 1) {
    if (stride == 1)
      for (int64_t e = 0; e < count; ++e) to[e] = from[e];
    else
      for (int64_t e = 0; e < count; ++e) to[e] = from[e * stride];
    return;
  }
  int64_t j = 0;
  if (stride == 1 && channels >= 4)
    for (; j + 16 <= count; j += 16)
      simd::interleave_bytes<Arch>(from + j, from + plane + j, from + 2 * plane + j, from + 3 * plane + j,
                                   to + j);
  if (j == count) return;
  alignas(16) uint8_t rows[4][64] = {};
  for (int64_t c = 0; c < std::min<int64_t>(channels, 4); ++c) {
    const uint8_t* row = from + c * plane;
    if (stride == 1) std::memcpy(rows[c] + j, row + j, static_cast<std::size_t>(count - j));
    else if (stride == 2)
      for (int64_t e = 0; e < count; ++e) rows[c][e] = row[2 * e];
    else
      for (int64_t e = 0; e < count; ++e) rows[c][e] = row[e * stride];
  }
  alignas(16) uint32_t words[16];
  for (; j < count; j += 16) {
    simd::interleave_bytes<Arch>(rows[0] + j, rows[1] + j, rows[2] + j, rows[3] + j, words);
    std::memcpy(to + j, words, static_cast<std::size_t>(std::min<int64_t>(16, count - j)) * 4);
  }
}

/// Copies up to four channels to their planes of cells (`planes`, cells() apart).
template <class Ops, class Arch>
void fill_planes(const PlaneLayout<Arch>& l, const uint8_t* x, bool is_signed, int32_t zero, int64_t channels,
                 int32_t* planes) {
  const SlidingWindow<Arch>& w = l.w;
  const int inner = w.rank - 1;
  const int64_t in = w.in_cells(), cells = l.cells(), length = l.axis[inner].length;
  const bool two = Ops::per_cell == 2 && channels > 2;
  const int32_t border =
      Ops::per_cell == 2 ? 0 : static_cast<int32_t>(static_cast<uint32_t>(zero) * 0x1010101u);
  alignas(64) int32_t zeros[64], spare[64];
  std::fill_n(zeros, 64, zero);
  int64_t rows = 1;
  for (int d = 0; d < inner; ++d) rows *= l.axis[d].length;
  int64_t phase[max_spatial] = {};
  for (int64_t f = 0; f < l.phases; ++f) {
    const auto first = [&](int d) {  // the input cell at place 0 of the phase
      return phase[d] * w.axis[d].dilation % w.axis[d].stride - w.axis[d].pad;
    };
    const int64_t start = first(inner), stride = w.axis[inner].stride;
    const int64_t head = std::min(steps_to_zero(start, stride), length);
    const int64_t end = std::max(head, std::min(steps_to_zero(start - w.axis[inner].in, stride), length));
    int64_t at[max_spatial] = {};
    for (int64_t r = 0; r < rows; ++r) {
      int32_t* to = planes + f * l.box + r * length;
      int64_t row = 0;
      bool inside = true;
      for (int d = 0; d < inner; ++d) {
        const int64_t c = first(d) + at[d] * w.axis[d].stride;
        inside = inside && c >= 0 && c < w.axis[d].in;
        row = row * w.axis[d].in + c;
      }
      const int64_t from = inside ? head : length, until = inside ? end : length;
      for (int32_t* plane : {to, two ? to + cells : spare}) {
        if (plane == spare) continue;
        std::fill(plane, plane + from, border);
        std::fill(plane + until, plane + length, border);
      }
      for (int64_t j = from; j < until; j += 64) {
        const int64_t count = std::min<int64_t>(64, until - j);
        alignas(64) uint32_t words[64];
        gather_words<Arch>(x + row * w.axis[inner].in + start + j * stride, in, channels, stride, count,
                           words);
        const uint32_t flip = is_signed ? 0x80808080u : 0;
        if constexpr (Ops::per_cell == 2) {
          for (int64_t e = 0; e < count; ++e) words[e] ^= flip;
          gemm_detail::split_quads<Arch>(words, zeros, count, to + j, two ? to + cells + j : spare);
        } else {
          for (int64_t e = 0; e < count; ++e) to[j + e] = static_cast<int32_t>(words[e] ^ flip);
        }
      }
      step<Arch>(inner, at, [&](int d) { return l.axis[d].length; });
    }
    step<Arch>(w.rank, phase, [&](int d) { return l.axis[d].phases; });
  }
}

}  // namespace tenon::TENON_ABI::kernels::quant_conv_detail
