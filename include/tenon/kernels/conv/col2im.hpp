// Adds blocks, one per column, into an image.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/conv/sliding.hpp"

namespace tenon::TENON_ABI::kernels {

/// Cell k of block b on an axis is image cell b * stride + k * dilation - pad; cells outside are left out.
template <class T>
struct Col2ImArgs {
  int rank = 0;  ///< spatial axes, 1 to max_spatial
  int64_t planes = 0;
  const int64_t* image = nullptr;      ///< [rank] extents of a plane
  const int64_t* block = nullptr;      ///< [rank] extents of a block
  const int64_t* blocks = nullptr;     ///< [rank] number of blocks along each axis
  const int64_t* strides = nullptr;    ///< [rank], >= 1
  const int64_t* dilations = nullptr;  ///< [rank], >= 1
  const int64_t* pads = nullptr;       ///< [rank], before each axis
  const T* x = nullptr;                ///< (planes, block..., blocks...)
  T* y = nullptr;                      ///< (planes, image...)
};

namespace detail {

/// Adds one cell of all blocks, at `cell` in its block, to a plane.
template <class T, class Sum>
void add_block_cell(const Col2ImArgs<T>& a, const int64_t* cell, const T* x, Sum* plane) {
  const int inner = a.rank - 1;
  const int64_t stride = a.strides[inner], width = a.blocks[inner];
  const int64_t start = cell[inner] * a.dilations[inner] - a.pads[inner];
  const int64_t skip = std::min(sliding::steps_to_zero(start, stride), width);
  const int64_t stop = std::min(sliding::steps_to_zero(start - a.image[inner], stride), width);
  int64_t rows = 1;
  for (int d = 0; d < inner; ++d) rows *= a.blocks[d];
  int64_t at[max_spatial] = {};
  for (int64_t r = 0; r < rows; ++r, x += width) {
    int64_t offset = 0;
    bool inside = true;
    for (int d = 0; d < inner; ++d) {
      const int64_t place = at[d] * a.strides[d] + cell[d] * a.dilations[d] - a.pads[d];
      inside = inside && place >= 0 && place < a.image[d];
      offset = (offset + place) * a.image[d + 1];
    }
    if (inside) {
      Sum* to = plane + offset + start;
      for (int64_t k = skip; k < stop; ++k) {
        if constexpr (std::is_same_v<T, bool>) to[k * stride] = to[k * stride] || x[k];
        else to[k * stride] += static_cast<Sum>(x[k]);
      }
    }
    for (int d = inner - 1; d >= 0 && ++at[d] == a.blocks[d]; --d) at[d] = 0;
  }
}

}  // namespace detail

/// See Col2ImArgs. T: any type; narrow floats are summed in float, bool is true where one cell is, strings
/// are joined in the order of cells in the block.
template <class T>
void col2im(const Col2ImArgs<T>& a) {
  int64_t image = 1, block = 1, blocks = 1;
  for (int d = 0; d < a.rank; ++d) image *= a.image[d], block *= a.block[d], blocks *= a.blocks[d];
  const int64_t work = std::max<int64_t>(1, image + block * blocks);
  parallel_for(a.planes, std::max<int64_t>(1, task_work::cheap / work), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const auto add_to = [&](auto* plane) {
        std::fill_n(plane, image, std::remove_pointer_t<decltype(plane)>{});
        const T* x = a.x + p * block * blocks;
        int64_t cell[max_spatial] = {};
        for (int64_t k = 0; k < block; ++k, x += blocks) {
          detail::add_block_cell(a, cell, x, plane);
          for (int d = a.rank - 1; d >= 0 && ++cell[d] == a.block[d]; --d) cell[d] = 0;
        }
      };
      T* y = a.y + p * image;
      if constexpr (std::is_same_v<T, compute_t<T>>) {
        add_to(y);
      } else {
        Scratch own;
        compute_t<T>* sums = own.take<compute_t<T>>(image);
        add_to(sums);
        for (int64_t k = 0; k < image; ++k) y[k] = static_cast<T>(sums[k]);
      }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels
