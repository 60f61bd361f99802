// Bodies of fold.hpp.
#pragma once

#include <cassert>

#include "tenon/kernels/elementwise/fold.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// Elements whose results are kept in the first-level cache while operand after operand is folded in.
inline constexpr int64_t fold_panel = 512;

template <FoldOp op>
struct FoldFunction {
  template <class B>
  B operator()(const B& x, const B& y) const {
    if constexpr (op == FoldOp::min) return simd::min_nan(x, y);
    else if constexpr (op == FoldOp::max) return simd::max_nan(x, y);
    else return x + y;
  }
};

// The operand's elements for the results [at, at + count): in place, or copied into `panel`.
template <class Arch, class T>
const T* fold_row(const FoldOperand<T>& x, int64_t at, int64_t count, T* panel) {
  if (x.plan.dense(0)) return x.data + at;
  const int64_t step = x.plan.strides[0][x.plan.rank - 1];
  for_each_run(x.plan, at, at + count, [&](int64_t i, const int64_t* offsets, int64_t run) {
    for (int64_t j = 0; j < run; ++j) panel[i - at + j] = x.data[offsets[0] + j * step];
  });
  return panel;
}

template <class Arch, FoldOp op, class T>
void fold_of(const FoldOperand<T>* x, int64_t operands, T* y, int64_t begin, int64_t end) {
  using W = compute_t<T>;
  alignas(64) W folded[fold_panel];
  T copied[fold_panel];
  for (int64_t at = begin; at < end; at += fold_panel) {
    const int64_t count = end - at < fold_panel ? end - at : fold_panel;
    if constexpr (std::is_integral_v<T>) {
      for (int64_t k = 0; k < operands; ++k) {
        const T* row = fold_row<Arch>(x[k], at, count, copied);
        for (int64_t i = 0; i < count; ++i) {
          const bool keep = k > 0 && (op == FoldOp::min ? folded[i] <= row[i] : folded[i] >= row[i]);
          folded[i] = keep ? folded[i] : row[i];
        }
      }
      for (int64_t i = 0; i < count; ++i) y[at + i] = folded[i];
    } else {
      constexpr int64_t width = simd::lanes<W, Arch>;
      // The last batch holds zeros past the row's end; they stay in the panel.
      const auto load = [&](const T* row, int64_t i) {
        return i + width <= count ? simd::load_wide<Arch>(row + i)
                                  : simd::load_wide<Arch>(row + i, count - i);
      };
      for (int64_t k = 0; k < operands; ++k) {
        const T* row = fold_row<Arch>(x[k], at, count, copied);
        for (int64_t i = 0; i < count; i += width)
          simd::storeu(folded + i, k == 0 ? load(row, i)
                                          : FoldFunction<op>{}(simd::loadu<Arch>(folded + i), load(row, i)));
      }
      const auto divisor = simd::broadcast<Arch>(static_cast<W>(operands));
      for (int64_t i = 0; i < count; i += width) {
        auto v = simd::loadu<Arch>(folded + i);
        if constexpr (op == FoldOp::mean) v = simd::div(v, divisor);
        if (i + width <= count) simd::store_wide<Arch>(y + at + i, v);
        else simd::store_wide<Arch>(y + at + i, v, count - i);
      }
    }
  }
}

}  // namespace detail

template <class Arch, class T>
void fold_impl(FoldOp op, const FoldOperand<T>* x, int64_t operands, T* y, int64_t begin, int64_t end) {
  switch (op) {
    case FoldOp::min: return detail::fold_of<Arch, FoldOp::min>(x, operands, y, begin, end);
    case FoldOp::max: return detail::fold_of<Arch, FoldOp::max>(x, operands, y, begin, end);
    case FoldOp::sum:
      if constexpr (!std::is_integral_v<T>)
        return detail::fold_of<Arch, FoldOp::sum>(x, operands, y, begin, end);
      break;
    case FoldOp::mean:
      if constexpr (!std::is_integral_v<T>)
        return detail::fold_of<Arch, FoldOp::mean>(x, operands, y, begin, end);
      break;
  }
  assert(false && "integers are folded into extremes only");
}

#ifdef TENON_INSTANTIATE
#define TENON_FOLD(T) \
  template void fold_impl<TENON_INSTANTIATE, T>(FoldOp, const FoldOperand<T>*, int64_t, T*, int64_t, int64_t);
TENON_FOLD(float)
TENON_FOLD(double)
TENON_FOLD(float16)
TENON_FOLD(bfloat16)
TENON_FOLD(int8_t)
TENON_FOLD(int16_t)
TENON_FOLD(int32_t)
TENON_FOLD(int64_t)
TENON_FOLD(uint8_t)
TENON_FOLD(uint16_t)
TENON_FOLD(uint32_t)
TENON_FOLD(uint64_t)
#undef TENON_FOLD
#endif

}  // namespace tenon::TENON_ABI::kernels
