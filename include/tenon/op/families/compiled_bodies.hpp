// What compiled models call around the bodies of loops: entries along an axis, and lengths that a run gives.
#pragma once

#include "tenon/kernels/move/move.hpp"

namespace tenon::TENON_ABI::op {

/// The byte at an offset from p.
inline std::byte* byte_at(void* p, int64_t offset) { return static_cast<std::byte*>(p) + offset; }
inline const std::byte* byte_at(const void* p, int64_t offset) {
  return static_cast<const std::byte*>(p) + offset;
}

/// Copies entry t of the middle axis of an array (outer, extent, inner) to an array (outer, inner).
inline void take_entry(DType d, void* to, const void* array, int64_t outer, int64_t extent, int64_t inner,
                       int64_t t) {
  const int64_t rows[] = {outer, inner}, to_strides[] = {inner, 1}, strides[] = {extent * inner, 1};
  kernels::move(d, to, {0, to_strides}, array, {t * inner, strides}, rows);
}
/// Copies an array (outer, inner) to entry t of the middle axis of an array (outer, extent, inner).
inline void put_entry(DType d, void* array, const void* from, int64_t outer, int64_t extent, int64_t inner,
                      int64_t t) {
  const int64_t rows[] = {outer, inner}, strides[] = {extent * inner, 1}, from_strides[] = {inner, 1};
  kernels::move(d, array, {t * inner, strides}, from, {0, from_strides}, rows);
}

/// The length itself. Error{out_of_range} for one below 0 or above the longest.
inline int64_t checked_length(int64_t length, int64_t longest) {
  if (length < 0 || length > longest)
    raise(ErrorCode::out_of_range, "Scan", "sequence_lens has ", length, ", the longest is ", longest);
  return length;
}

}  // namespace tenon::TENON_ABI::op
