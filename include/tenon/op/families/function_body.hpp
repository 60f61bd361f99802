// What operators' functions (`lower`) share: constants, and extents as values.
#pragma once

#include <algorithm>

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op::function_body {

/// A constant vector of int64.
template <class L>
int32_t ints(L& to, const Ints& values) {
  Tensor<int64_t> t(Extents{static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.begin());
  return to.constant(t);
}

/// A constant of one element, without axes.
template <class L>
int32_t number(L& to, DType type, double value) {
  AnyTensor t = AnyTensor::uninitialized(type, {});
  convert_n(type, t.out().data(), DType::float64, &value, 1);
  return to.constant(t);
}

/// Extent `axis` of a value as a vector of one element: a constant where it is known.
template <class L>
int32_t extent(L& to, int32_t value, Dim known, int64_t axis) {
  if (known.known()) return ints(to, {known.value()});
  return to.add(Shape{.end = axis + 1, .start = axis}, {value});
}

template <class L>
int32_t reshaped(L& to, int32_t value, const Ints& extents) {
  return to.add(Reshape{}, {value, ints(to, extents)});
}

template <class L>
int32_t transposed(L& to, int32_t value, const Ints& perm) {
  for (int k = 0; k < perm.size(); ++k)
    if (perm[k] != k) return to.add(Transpose{.perm = perm}, {value});
  return value;
}

template <class L>
int32_t unsqueezed(L& to, int32_t value, const Ints& axes) {
  return to.add(Unsqueeze{}, {value, ints(to, axes)});
}

/// A value of type `from` as one of type `type`.
template <class L>
int32_t converted(L& to, int32_t value, DType from, DType type) {
  return from == type ? value : to.add(Cast{.to = static_cast<int64_t>(type)}, {value});
}

/// The axes of (N, C, spatial...) in the order (N, spatial..., C), or those back in the first order.
constexpr Ints channels_moved(int rank, bool last) {
  Ints perm{0};
  if (!last) perm.push_back(rank - 1);
  for (int k = last ? 2 : 1; k < (last ? rank : rank - 1); ++k) perm.push_back(k);
  if (last) perm.push_back(1);
  return perm;
}

}  // namespace tenon::TENON_ABI::op::function_body
