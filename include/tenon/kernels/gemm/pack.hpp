// Matrix products: packing. A is cut into panels of a tile's rows, B into panels of a tile's columns; zeros
// pad the last panel. A panel's cells are in the order in which a tile reads them: the cells of one place in
// K side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

using simd::element;
using simd::lanes;

/// Cells of a packed operand of `count` rows (or columns) in panels of `width`, and `depth` cells of K.
constexpr int64_t packed_size(int64_t count, int64_t width, int64_t depth) {
  return (count + width - 1) / width * width * depth;
}

/// Packs the panels of `count` columns, a multiple of `width`, of a matrix of `depth` dense rows, `row`
/// apart, into pack_panel's layout, consecutively. All are packed together, row by row: that walks through
/// the pages once, and reads a line that two panels share only once.
template <class Arch, int width, class T>
TENON_NOINLINE void pack_rows(const T* from, int64_t row, int64_t count, int64_t depth, T* to) {
  constexpr int L = lanes<T, Arch>, line = 64 / static_cast<int>(sizeof(T));
  for (int64_t p = 0; p < depth; ++p) {
    // Rows are too far apart for the hardware to prefetch them.
    const T *at = from + p * row, *ahead = from + std::min(p + 4, depth - 1) * row;
    T* panel = to + p * width;
    for (int64_t j = 0; j < count; j += width, panel += width * depth) {
#pragma GCC unroll 4
      for (int e = 0; e < width; e += line) TENON_PREFETCH(ahead + j + e, 0, 3);
      if constexpr (width % L == 0) {
#pragma GCC unroll 4
        for (int e = 0; e < width; e += L) simd::storeu(panel + e, simd::loadu<Arch>(at + j + e));
      } else {
        std::memcpy(panel, static_cast<const void*>(at + j), width * sizeof(T));
      }
    }
  }
}

/// One panel: to[p * width + i] = from[i * step + p * k_step] for i < count, p < depth; zero for i up to
/// width. `from` may be any address.
template <class Arch, int width, class T>
void pack_panel(const T* from, int64_t step, int64_t k_step, int64_t count, int64_t depth, T* to) {
  constexpr int side = simd::tile_side<T>, L = lanes<T, Arch>;
  if constexpr (width % L == 0 && !Arch::least) {
    if (count < width && step == 1) {
      for (int64_t p = 0; p < depth; ++p)
#pragma GCC unroll 4
        for (int e = 0; e < width; e += L) {
          const int64_t n = std::clamp<int64_t>(count - e, 0, L);
          simd::storeu(to + p * width + e, simd::load_n<Arch>(from + p * k_step + e, n));
        }
      return;
    }
  }
  if (count < width)
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t i = count; i < width; ++i) to[p * width + i] = T{0};
  if (step == 1) {
    if (count == width) {
      pack_rows<Arch, width>(from, k_step, width, depth, to);
    } else {
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t i = 0; i < count; ++i) to[p * width + i] = element<Arch>(from + p * k_step + i);
    }
    return;
  }
  int64_t i = 0;
  if (k_step == 1) {
    for (; i < count && count >= side; i += side) {
      i = std::min(i, count - side);  // may pack some rows twice
      int64_t p = 0;
      for (; p + side <= depth; p += side)
        simd::transpose_tile<Arch>(from + i * step + p, step, to + p * width + i, width);
      for (; p < depth; ++p)
        for (int e = 0; e < side; ++e) to[p * width + i + e] = element<Arch>(from + (i + e) * step + p);
    }
  }
  for (; i < count; ++i)
    for (int64_t p = 0; p < depth; ++p) to[p * width + i] = element<Arch>(from + i * step + p * k_step);
}

/// All panels of an operand of `count` rows (or columns) and `depth` cells of K, in blocks of `block` cells,
/// in the order in which products read them.
template <class Arch, int width, class Cell, class Pack>
void pack_whole(int64_t count, int64_t depth, int64_t block, Cell* to, const Pack& pack) {
  const int64_t panels = (count + width - 1) / width, blocks = (depth + block - 1) / block;
  parallel_for(blocks * panels, 4, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t p = task / panels * block, i = task % panels * width, d = std::min(block, depth - p);
      pack(i, std::min<int64_t>(width, count - i), p, d, to + packed_size(count, width, p) + i * d);
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels::gemm_detail
