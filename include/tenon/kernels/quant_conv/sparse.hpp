// Convolutions of 8-bit integers whose planes of cells would be much larger than input and output.
#pragma once

#include <cstdint>

#include "tenon/base/parallel.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/kernels/quant_conv/args.hpp"
#include "tenon/kernels/quant_conv/bytes.hpp"
#include "tenon/kernels/quant_conv/weights.hpp"

namespace tenon::TENON_ABI::kernels::quant_conv_detail {

using sliding::SlidingWindow;
using sliding::step;

/// Computes every output separately.
template <class Ops, class Arch>
class SparseConv {
 public:
  SparseConv(const QuantConvArgs& g, const WeightLayout<Ops, Arch>& l, const SlidingWindow<Arch>& w,
             const int32_t* packed)
      : g_(g), l_(l), w_(w), packed_(packed) {}

  void run() const {
    const int64_t out = w_.out_cells();
    parallel_for(g_.geometry.batch * g_.geometry.out_channels, 1, [&](int64_t begin, int64_t end) {
      constexpr int lanes = simd::lanes<int32_t, Arch>;
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t c = plane % g_.geometry.out_channels;
        int64_t o[max_spatial] = {};
        for (int64_t e = 0; e < out; ++e) {
          const int32_t value[2 * lanes] = {sum(plane / g_.geometry.out_channels, c, o)};
          if (g_.y != nullptr) {
            g_.y[plane * out + e] = value[0];
          } else {
            make_bytes<Arch>(value, 1, 0, g_.bytes.scale[c], g_.bytes,
                             static_cast<uint8_t*>(g_.bytes.y) + plane * out + e);
          }
          step<Arch>(w_.rank, o, [&](int d) { return w_.axis[d].out; });
        }
      }
    });
  }

 private:
  /// The sum of output channel c at place `o`.
  int32_t sum(int64_t image, int64_t c, const int64_t* o) const {
    const int64_t group = c / l_.m, in = w_.in_cells();
    const uint8_t* from =
        static_cast<const uint8_t*>(g_.x) + (image * g_.geometry.in_channels + group * l_.channels) * in;
    uint32_t sum = g_.bias != nullptr ? static_cast<uint32_t>(g_.bias[c]) : 0;
    int64_t at[max_spatial] = {};
    for (int64_t t = 0; t < l_.kernel; ++t) {
      int64_t place = 0;
      bool inside = true;
      for (int d = 0; d < w_.rank; ++d) {
        const int64_t i = o[d] * w_.axis[d].stride + at[d] * w_.axis[d].dilation - w_.axis[d].pad;
        inside = inside && i >= 0 && i < w_.axis[d].in;
        place = place * w_.axis[d].in + i;
      }
      for (int64_t k = 0; inside && k < l_.channels; ++k) {
        const uint8_t byte = from[k * in + place];
        const int32_t number = g_.x_signed ? static_cast<int8_t>(byte) : int32_t{byte};
        sum += static_cast<uint32_t>((weight(c, k, t) - packed_[l_.zero() + c]) * (number - g_.x_zero));
      }
      step<Arch>(w_.rank, at, [&](int d) { return w_.axis[d].kernel; });
    }
    return static_cast<int32_t>(sum);
  }
  /// The weight of output channel c, input channel k of its group and kernel place t.
  int32_t weight(int64_t c, int64_t k, int64_t t) const {
    constexpr int bits = 32 / Ops::per_cell;
    const int64_t m = c % l_.m;
    const int32_t* row =
        packed_ + l_.panels() + c / l_.m * l_.group_size() + m / l_.rows * l_.rows * l_.depth + m % l_.rows;
    const int64_t place = k / Ops::per_cell * l_.kernel + t;
    const auto number = [&](int32_t cell) {
      return static_cast<int32_t>(static_cast<uint32_t>(cell) << (32 - bits - k % Ops::per_cell * bits)) >>
             (32 - bits);
    };
    int32_t weight = number(row[place * l_.rows]);
    if constexpr (gemm_detail::may_exceed<Ops>) {
      constexpr int64_t block = Tile<Ops, Arch>::depth;
      const Excess excess = l_.excess(packed_, c / l_.m, m, place / block);
      for (int64_t i = 0; i < excess.count; ++i)
        if (excess.places[i] == place % block) weight += number(excess.cells[i]);
    }
    return weight;
  }

  const QuantConvArgs& g_;
  const WeightLayout<Ops, Arch>& l_;
  const SlidingWindow<Arch>& w_;
  const int32_t* const packed_;
};

}  // namespace tenon::TENON_ABI::kernels::quant_conv_detail
