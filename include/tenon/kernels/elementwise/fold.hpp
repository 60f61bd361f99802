// Folds of any number of operands into one, element by element: sums, means, extremes, with broadcasting.
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/elementwise/broadcast.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// Sums are taken in the order of the operands. Extremes are NaN where an operand is.
enum class FoldOp : uint8_t { sum, mean, min, max };

/// An operand and its broadcast plan, whose second operand is the result.
template <class T>
struct FoldOperand {
  const T* data;
  BroadcastPlan<2> plan;
};

/// The serial body, in fold_impl.hpp; `begin` and `end` bound the elements of the result.
template <class Arch, class T>
void fold_impl(FoldOp op, const FoldOperand<T>* x, int64_t operands, T* y, int64_t begin, int64_t end);

/// y = op of all operands, `size` elements. Narrow floats are folded as floats and rounded once. y may be any
/// of the operands that are not broadcast. T: the floats of unary; for min and max the integers too.
template <class T>
void fold(FoldOp op, const FoldOperand<T>* x, int64_t operands, T* y, int64_t size) {
  parallel_for(size, task_work::moderate, [=](int64_t begin, int64_t end) {
    simd::dispatch([=]<class Arch>(Arch) { fold_impl<Arch>(op, x, operands, y, begin, end); });
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/elementwise/fold_impl.hpp"
#endif
