// One differing element among equal ones along an axis. Elements of any type.
#pragma once

#include "tenon/kernels/move/move.hpp"

namespace tenon::TENON_ABI::kernels {

/// to (outer, depth, inner) is values[0] throughout, except values[1] at (o, indices[o, i], i) if that index
/// is below depth. Indices from -depth on count from the end if `negative`.
inline void one_hot(DType d, void* to, const int64_t* indices, const void* values, int64_t outer,
                    int64_t depth, int64_t inner, bool negative) {
  fill(d, to, values, outer * depth * inner);
  detail::with_mover(d, to, values, [&]<class Mover>(Mover mover) {
    detail::for_rows(outer, inner * Mover::size, detail::shares_bytes<Mover>,
                     [=](int64_t begin, int64_t end) {
                       for (int64_t o = begin; o < end; ++o)
                         for (int64_t i = 0; i < inner; ++i) {
                           int64_t at = indices[o * inner + i];
                           if (at < 0 && at >= -depth && negative) at += depth;
                           if (at >= 0 && at < depth) mover.row((o * depth + at) * inner + i, 0, 1, 0, 1);
                         }
                     });
  });
}

}  // namespace tenon::TENON_ABI::kernels
