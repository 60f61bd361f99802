// Convolution whose windows see displaced, interpolated cells.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/inline_vector.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/gemm/gemm.hpp"

namespace tenon::TENON_ABI::kernels {

/// y = conv(x, w) + bias, where each kernel cell of each output cell sees the input at its place plus an
/// offset, interpolated linearly between neighbours and multiplied by a mask. The input is zero outside of
/// its extents. T: float, double.
template <class T>
struct DeformConvArgs {
  ConvGeometry geometry;
  int64_t offset_groups = 1;  ///< divides the input channels; each group of them shares offsets and masks
  const T* x = nullptr;       ///< (N, Cin, in...)
  const T* w = nullptr;       ///< (Cout, Cin / groups, kernel...)
  const T* offset = nullptr;  ///< (N, offset_groups, kernel..., rank, out...)
  const T* mask = nullptr;    ///< (N, offset_groups, kernel..., out...) or nullptr
  const T* bias = nullptr;    ///< (Cout) or nullptr
  T* y = nullptr;             ///< (N, Cout, out...)
};

namespace detail {

/// The neighbours of the places that a few output cells see through one kernel cell: for each of 2^rank
/// corners a number of an input cell and its weight.
template <class T>
class DeformPlaces {
 public:
  DeformPlaces(Scratch& scratch, const ConvGeometry& g, int64_t capacity)
      : g_(g),
        corners_(1 << g.rank),
        capacity_(capacity),
        cell_(scratch.take<int64_t>(corners_ * capacity)),
        weight_(scratch.take<T>(corners_ * capacity)) {}

  /// Finds the places of output cells [first, first + count) and a kernel cell. The offsets of
  /// neighbouring axes lie `step` elements apart; `offset` and `mask` start with the first output cell.
  void find(const int64_t* kernel_at, int64_t first, int64_t count, const T* offset, int64_t step,
            const T* mask) {
    count_ = count;
    int64_t at[max_spatial];
    for (int d = g_.rank - 1; d >= 0; --d) {
      at[d] = first % g_.out[d];
      first /= g_.out[d];
    }
    for (int64_t k = 0; k < count; ++k) {
      int64_t low[max_spatial];
      T high_weight[max_spatial];
      bool inside = true;
      for (int d = 0; d < g_.rank; ++d) {
        const int64_t place = at[d] * g_.strides[d] + kernel_at[d] * g_.dilations[d] - g_.pads[d];
        const T p = static_cast<T>(place) + offset[d * step + k];
        inside = inside && p > -1 && p < static_cast<T>(g_.in[d]);
        if (!inside) break;
        const T floor = std::floor(p);
        low[d] = static_cast<int64_t>(floor);
        high_weight[d] = p - floor;
      }
      const T whole = !inside ? T(0) : mask != nullptr ? mask[k] : T(1);
      for (int64_t c = 0; c < corners_; ++c) {
        int64_t cell = 0;
        T weight = whole;
        for (int d = 0; inside && d < g_.rank; ++d) {
          const bool high = c >> d & 1;
          const int64_t i = low[d] + high;
          weight *= high ? high_weight[d] : T(1) - high_weight[d];
          if (i < 0 || i >= g_.in[d]) {
            cell = 0;
            weight = 0;
            break;
          }
          cell = cell * g_.in[d] + i;
        }
        cell_[c * capacity_ + k] = cell;
        weight_[c * capacity_ + k] = weight;
      }
      for (int d = g_.rank - 1; d >= 0 && ++at[d] == g_.out[d]; --d) at[d] = 0;
    }
  }
  /// to[k] = the interpolated cell of a plane at place k.
  void read(const T* plane, T* to) const {
    std::fill_n(to, count_, T(0));
    for (int64_t c = 0; c < corners_; ++c) {
      const int64_t* cell = cell_ + c * capacity_;
      const T* weight = weight_ + c * capacity_;
      // A weight of zero means no cell, whatever the cell's value.
      for (int64_t k = 0; k < count_; ++k) to[k] += weight[k] != 0 ? weight[k] * plane[cell[k]] : T(0);
    }
  }

 private:
  const ConvGeometry& g_;
  int64_t corners_, capacity_, count_ = 0;
  int64_t* cell_;
  T* weight_;
};

}  // namespace detail

/// See DeformConvArgs. A task gathers the cells that some output cells see into a matrix, which is multiplied
/// by the weights.
template <class T>
void deform_conv(const DeformConvArgs<T>& a) {
  const ConvGeometry& g = a.geometry;
  int64_t in = 1, out = 1, kernel = 1;
  for (int d = 0; d < g.rank; ++d) in *= g.in[d], out *= g.out[d], kernel *= g.kernel[d];
  if (g.batch <= 0 || g.out_channels <= 0 || out <= 0) return;
  const int64_t rows = g.in_channels * kernel, group_rows = rows / g.groups;
  const int64_t group_out = g.out_channels / g.groups, shared = g.in_channels / a.offset_groups;
  // The matrix of a tile's columns stays in the second-level cache.
  constexpr int64_t cells = cache_bytes::l2 / int64_t{sizeof(float)};
  const int64_t tile = std::min(out, std::clamp<int64_t>(cells / std::max<int64_t>(rows, 1), 16, 512));
  const int64_t tiles = (out + tile - 1) / tile;
  parallel_for(g.batch * tiles, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    T* columns = scratch.take<T>(rows * tile);
    detail::DeformPlaces<T> places(scratch, g, tile);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t item = t / tiles, first = t % tiles * tile, count = std::min(tile, out - first);
      for (int64_t o = 0; o < a.offset_groups; ++o) {
        int64_t at[max_spatial] = {};
        for (int64_t k = 0; k < kernel; ++k) {
          const int64_t number = (item * a.offset_groups + o) * kernel + k;
          places.find(at, first, count, a.offset + number * g.rank * out + first, out,
                      a.mask != nullptr ? a.mask + number * out + first : nullptr);
          for (int64_t c = o * shared; c < (o + 1) * shared; ++c)
            places.read(a.x + (item * g.in_channels + c) * in, columns + (c * kernel + k) * tile);
          for (int d = g.rank - 1; d >= 0 && ++at[d] == g.kernel[d]; --d) at[d] = 0;
        }
      }
      for (int64_t group = 0; group < g.groups; ++group) {
        GemmArgs<T> product;
        product.m = group_out, product.n = count, product.k = group_rows;
        product.a = a.w + group * group_out * group_rows, product.a_row = group_rows;
        product.b = columns + group * group_rows * tile, product.b_row = tile;
        product.c = a.y + (item * g.out_channels + group * group_out) * out + first, product.c_row = out;
        product.row_bias = a.bias != nullptr ? a.bias + group * group_out : nullptr;
        gemm(product);
      }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels
