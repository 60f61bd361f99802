// Triangles of matrices: the elements on one side of a diagonal.
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/kernels/move/move.hpp"

namespace tenon::TENON_ABI::kernels {

/// Copies dense matrices of rows x columns elements, `count` elements in all, with zeros (strings: empty
/// ones) below the k-th diagonal or, if not `upper`, above it. Types of packed elements are not supported.
inline void triangle(DType d, void* to, const void* from, int64_t count, int64_t rows, int64_t columns,
                     int64_t k, bool upper) {
  if (count == 0) return;
  const int64_t element = packed_bytes(1, d);
  const void* nothing = zero_element(d);
  auto* out = static_cast<std::byte*>(to);
  auto* in = static_cast<const std::byte*>(from);
  parallel_for(count / columns, std::max<int64_t>(1, task_work::moderate / columns),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   // The diagonal passes a row before column r + k; k may be any number.
                   const int64_t row = r % rows, low = -row, high = columns - row;
                   const int64_t cut = row + std::clamp(k < high ? k + !upper : high, low, high);
                   const int64_t first = upper ? cut : 0, kept = upper ? columns - cut : cut;
                   std::byte* y = out + r * columns * element;
                   copy(d, y + first * element, in + (r * columns + first) * element, kept);
                   fill(d, y + (upper ? 0 : kept) * element, nothing, columns - kept);
                 }
               });
}

}  // namespace tenon::TENON_ABI::kernels
