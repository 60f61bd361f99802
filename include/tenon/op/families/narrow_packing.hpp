// Packing of matrices in few bits by all threads.
#pragma once

#include <atomic>

#include "tenon/base/parallel.hpp"
#include "tenon/kernels/gemm/narrow_gemm.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI::op {

/// Columns of a matrix that are packed together: whole panels, and whole bytes of codes.
inline constexpr int64_t narrow_group = 64;

/// Some groups of columns of a transposed matrix.
inline kernels::NarrowSource groups_of(const kernels::NarrowSource& s, int64_t first, int64_t last) {
  kernels::NarrowSource part = s;
  const int64_t j = first * narrow_group;
  const auto codes_of = [&](const void* codes, int64_t count) -> const void* {
    return codes == nullptr ? nullptr : static_cast<const std::byte*>(codes) + packed_bytes(count, s.type);
  };
  part.n = std::min(s.n, last * narrow_group) - j;
  part.codes = codes_of(s.codes, j * s.k);
  if (s.scale != nullptr) part.scale = s.scale + j * s.scale_col;
  part.zero = codes_of(s.zero, j * s.scale_col);
  return part;
}

/// kernels::narrow_pack, by many threads if columns are adjacent.
inline kernels::NarrowMatrix pack_by_threads(const kernels::NarrowSource& s, std::byte* data,
                                             uint8_t* zeros) {
  if (!s.transposed) return kernels::narrow_pack(s, data, zeros);
  std::atomic<bool> any_zeros = false;
  const kernels::NarrowSize step = kernels::narrow_size(groups_of(s, 0, 1));
  const int64_t groups = (s.n - 1) / narrow_group + 1;
  parallel_for(groups, std::max<int64_t>(1, (1 << 16) / s.k / narrow_group),
               [&](int64_t first, int64_t last) {
                 const kernels::NarrowMatrix part = kernels::narrow_pack(
                     groups_of(s, first, last), data + first * step.data, zeros + first * step.zeros);
                 if (part.zeros != nullptr) any_zeros = true;
               });
  return {s.type, s.k, s.n, s.block, data, any_zeros ? zeros : nullptr};
}

}  // namespace tenon::TENON_ABI::op
