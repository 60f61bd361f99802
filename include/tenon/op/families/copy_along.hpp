// Parts of tensors along an axis.
#pragma once

#include "tenon/kernels/move/move.hpp"
#include "tenon/tensor/view.hpp"

namespace tenon::TENON_ABI::op {

/// Copies entries [from, from + count) of x along an axis to y, from its entry `to` on. x and y are dense and
/// differ in the extent of that axis alone.
inline void copy_along(int axis, AnyView x, int64_t from, AnyOut y, int64_t to, int64_t count) {
  if (count == 0 || x.empty() || y.empty()) return;  // extents may overflow
  const AxisSplit in = split_at(x.extents(), axis), out = split_at(y.extents(), axis);
  const int64_t extents[] = {in.outer, count * in.inner}, in_strides[] = {in.extent * in.inner, 1},
                out_strides[] = {out.extent * out.inner, 1};
  kernels::move(x.dtype(), y.data(), {to * out.inner, out_strides}, x.data(), {from * in.inner, in_strides},
                extents);
}

}  // namespace tenon::TENON_ABI::op
