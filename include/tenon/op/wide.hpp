// Narrow floats for kernels that take only wider ones: copies in scratch, converted on the way in and on the
// way out.
#pragma once

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/base/types.hpp"

namespace tenon::op {

/// What T is computed in: float for float16 and bfloat16, else T.
template <class T>
using wide_t = std::conditional_t<NarrowFloatElement<T>, float, T>;

/// The scratch that copies lie in; it is none of the kernels' own.
struct WideCopies;
using WideScratch = Scratch<WideCopies>;

/// The n elements at x as wide_t<T>: those at x themselves, or a copy. Null stays null.
template <class T>
const wide_t<T>* widen(WideScratch& scratch, const T* x, int64_t n) {
  if constexpr (std::is_same_v<T, wide_t<T>>) {
    return x;
  } else {
    if (x == nullptr) return nullptr;
    float* wide = scratch.take<float>(n);
    parallel_for(n, 1 << 14, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) wide[i] = static_cast<float>(x[i]);
    });
    return wide;
  }
}

/// Where a kernel writes what narrow() then brings to y: y itself, or scratch.
template <class T>
wide_t<T>* wide_result(WideScratch& scratch, T* y, int64_t n) {
  if constexpr (std::is_same_v<T, wide_t<T>>) return y;
  else return scratch.take<float>(n);
}

/// The n results at `wide` to y, rounded; nothing where they are at y already.
template <class T>
void narrow(const wide_t<T>* wide, T* y, int64_t n) {
  if constexpr (!std::is_same_v<T, wide_t<T>>)
    parallel_for(n, 1 << 14, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(wide[i]);
    });
}

}  // namespace tenon::op
