// Convolutions of 8-bit integers: the cells that the outputs of a tile see, copied side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/kernels/quant_conv/planes.hpp"

namespace tenon::TENON_ABI::kernels::quant_conv_detail {

/// Neighbouring outputs of a tile that see neighbouring cells: the first one's column, its place in the
/// planes, and their count.
struct Run {
  int64_t column, place, count;
};

/// Lists the runs of outputs [first, first + count).
template <class Arch>
int64_t list_runs(const PlaneLayout<Arch>& l, int64_t first, int64_t count, Run* runs) {
  const int inner = l.w.rank - 1;
  const int64_t out = l.w.axis[inner].out;
  int64_t n = 0;
  for (int64_t o = first; o < first + count; ++n) {
    int64_t row = o / out, place = o % out;
    const int64_t end = std::min(row * out + out, first + count);
    for (int d = inner - 1; d >= 0; --d) {
      place += row % l.w.axis[d].out * l.axis[d].pitch;
      row /= l.w.axis[d].out;
    }
    runs[n] = {o - first, place, end - o};
    o = end;
  }
  return n;
}

/// Copies the cells that the runs see at offsets `offset` to rows of S::cols cells; up to a vector past the
/// last row may be overwritten.
template <class S, class Arch>
void gather_cells(const int32_t* planes, const int64_t* offset, int64_t depth, const Run* runs, int64_t count,
                  int32_t* to) {
  constexpr int L = simd::lanes<int32_t, Arch>;
  if (count == 1) {
    for (int64_t p = 0; p < depth; ++p, to += S::cols)
#pragma GCC unroll 4
      for (int c = 0; c < S::cols; c += L)
        simd::storeu(to + c, simd::loadu<Arch>(planes + offset[p] + runs->place + c));
    return;
  }
  for (int64_t p = 0; p < depth; ++p, to += S::cols)
    for (const Run* run = runs; run < runs + count; ++run) {
      const int32_t* const from = planes + offset[p] + run->place;
      for (int64_t c = 0; c < run->count; c += L)
        simd::storeu(to + run->column + c, simd::loadu<Arch>(from + c));
    }
}

/// Cells of neighbouring places of a plain image, in gather_cells' layout: `count` columns. Up to 16 cells
/// past them may be overwritten.
template <class Ops, class S, class Arch>
void gather_bytes(const uint8_t* x, int64_t plane, int64_t channels, int64_t count, uint8_t flip,
                  int32_t zero, int32_t* to) {
  constexpr int width = 16;
  uint8_t nothing[width];
  std::fill_n(nothing, width, static_cast<uint8_t>(zero ^ flip));
  for (int64_t c = 0; c < channels; c += Ops::per_cell, to += S::cols)
    for (int64_t j = 0; j < count; j += width) {
      uint8_t last[Ops::per_cell][width];
      const uint8_t* row[Ops::per_cell];
      for (int e = 0; e < Ops::per_cell; ++e) {
        row[e] = c + e < channels ? x + (c + e) * plane + j : nothing;
        if (count - j < width && c + e < channels)
          row[e] = static_cast<uint8_t*>(std::memcpy(last[e], row[e], static_cast<std::size_t>(count - j)));
      }
      if constexpr (Ops::per_cell == 2) {
        simd::interleave_pairs<Arch>(row[0], row[1], flip, zero, to + j);
      } else {
        simd::interleave_bytes<Arch>(row[0], row[1], row[2], row[3], reinterpret_cast<uint32_t*>(to + j));
        for (int e = 0; flip != 0 && e < width; ++e) to[j + e] ^= static_cast<int32_t>(flip * 0x1010101u);
      }
    }
}

}  // namespace tenon::TENON_ABI::kernels::quant_conv_detail
