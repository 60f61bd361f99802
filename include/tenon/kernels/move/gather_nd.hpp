// Slices taken from the places named by rows of indices. Elements of any type.
#pragma once

#include "tenon/kernels/move/scatter.hpp"

namespace tenon::TENON_ABI::kernels {

/// to (count, inner) = the slices of `from` named by plan's index rows, `per_batch` rows for each batch; the
/// batches of `from` are `batch_step` elements apart.
inline void gather_nd(DType d, void* to, const void* from, const ScatterPlan& plan, int64_t per_batch,
                      int64_t batch_step) {
  if (plan.count == 0 || plan.inner == 0) return;
  detail::with_mover(d, to, from, [&]<class Mover>(Mover mover) {
    detail::for_rows(plan.count, plan.inner * Mover::size, detail::shares_bytes<Mover>,
                     [=](int64_t begin, int64_t end) {
                       for (int64_t u = begin; u < end;) {
                         const int64_t b = u / per_batch, stop = std::min(end, (b + 1) * per_batch);
                         for (; u < stop; ++u) {
                           const int64_t at = b * batch_step + plan.place(u);
                           if (plan.inner == 1) mover.row(u, 0, at, 0, 1);
                           else mover.row(u * plan.inner, 1, at, 1, plan.inner);
                         }
                       }
                     });
  });
}

}  // namespace tenon::TENON_ABI::kernels
