// Narrow floats for kernels that take only float: copies in scratch, converted on input and on output; and
// operands of a type of their own.
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/elementwise/half.hpp"
#include "tenon/tensor/view.hpp"

namespace tenon::TENON_ABI::op {

/// The n elements at x as compute_t<T>: x itself, or a copy. Null stays null.
template <class T>
const compute_t<T>* widen(Scratch& scratch, const T* x, int64_t n) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    return x;
  } else {
    if (x == nullptr) return nullptr;
    float* wide = scratch.take<float>(n);
    kernels::convert_half(x, wide, n);
    return wide;
  }
}

/// kernels::GemmArgs::parts of operands of T.
template <class T>
inline constexpr int parts_of = std::is_same_v<T, bfloat16>  ? 1
                                : std::is_same_v<T, float16> ? 2
                                                             : 0;

/// Where a kernel writes n results, from which narrow() brings them to y: y itself, or scratch.
template <class T>
compute_t<T>* wide_result(Scratch& scratch, T* y, int64_t n) {
  if constexpr (std::is_same_v<T, compute_t<T>>) return y;
  else return scratch.take<float>(n);
}

/// Brings the n results at `wide` to y, rounded; does nothing if they are already at y.
template <class T>
void narrow(const compute_t<T>* wide, T* y, int64_t n) {
  if constexpr (!std::is_same_v<T, compute_t<T>>) kernels::convert_half(wide, y, n);
}

/// The elements of v, one of float_types, as C, float or double: in v's own memory, or a copy.
template <class C>
const C* numbers(Scratch& scratch, AnyView v) {
  if (v.dtype() == dtype_of<C>) return static_cast<const C*>(v.data());
  C* p = scratch.take<C>(v.size());
  visit_types(float_types{}, v.dtype(), [&]<class T>() {
    const T* from = v.as<T>().data();
    if constexpr (!std::is_same_v<T, compute_t<T>> && std::is_same_v<C, float>)
      kernels::convert_half(from, p, v.size());
    else
      for (int64_t k = 0; k < v.size(); ++k) p[k] = convert<C>(from[k]);
  });
  return p;
}

}  // namespace tenon::TENON_ABI::op
