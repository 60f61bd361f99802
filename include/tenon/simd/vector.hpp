// Vectors of a length that the kernel chooses, at any level: the compiler maps them to the registers that its
// flags provide. Whole registers of a level are in batch.hpp.
#pragma once

#include "tenon/base/platform/compiler.hpp"
#include "tenon/simd/generic/array_vector.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {
template <class T, int count>
struct VectorOf {
#if defined(TENON_VISUAL_CPP)
  using type = PlainVector<T, count>;
#else
  using type [[gnu::vector_size(count * sizeof(T))]] = T;
#endif
};
}  // namespace detail

/// `count` numbers, a power of two, with T's operators for each of them. An operand may be a single number. A
/// comparison gives integers of T's size, -1 where it holds and 0 elsewhere. v[i] is a number; memcpy loads
/// and stores a vector.
template <class T, int count>
using Vector = typename detail::VectorOf<T, count>::type;

#if !defined(TENON_VISUAL_CPP)

/// Numbers `from` of the numbers of a and then b.
template <int... from, class V>
TENON_ALWAYS_INLINE inline auto shuffle(const V& a, const V& b) {
  return __builtin_shufflevector(a, b, from...);
}

/// Each number of x, in a vector of another type.
template <class To, class V>
TENON_ALWAYS_INLINE inline To convert(const V& x) {
  return __builtin_convertvector(x, To);
}

/// a's numbers where a comparison holds, else b's.
template <class Mask, class V>
TENON_ALWAYS_INLINE inline V choose(const Mask& holds, const V& a, const V& b) {
  return holds ? a : b;
}

#endif

}  // namespace tenon::TENON_ABI::simd
