// Copies of steps, which are parts of tensors along an axis or of caches, and what they are copied to.
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/kernels/move/move.hpp"
#include "tenon/tensor/paged_rows.hpp"

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

/// A tensor of zeros, or empty strings.
inline AnyTensor zeros(DType dtype, const Extents& extents, Allocator& allocator = default_allocator()) {
  AnyTensor t = AnyTensor::uninitialized(dtype, extents, allocator);
  kernels::fill(dtype, t.out().data(), kernels::zero_element(dtype), t.size());
  return t;
}

/// The tensor (batch, heads, m, n) as (batch, heads, n, m).
inline AnyTensor with_swapped_axes(AnyView x, Allocator& allocator = default_allocator()) {
  const std::span<const int64_t> e = x.extents();
  const Extents swapped{e[0], e[1], e[3], e[2]};
  AnyTensor y = AnyTensor::uninitialized(x.dtype(), swapped, allocator);
  const int64_t from[] = {e[1] * e[2] * e[3], e[2] * e[3], 1, e[3]}, to[] = {from[0], from[1], e[2], 1};
  kernels::move(x.dtype(), y.out().data(), {0, to}, x.data(), {0, from}, swapped);
  return y;
}

/// The tensor, or one of another type with its numbers.
inline AnyTensor with_type(const AnyTensor& x, DType type, Allocator& allocator = default_allocator()) {
  if (x.dtype() == type) return x;
  AnyTensor y = AnyTensor::uninitialized(type, x.extents(), allocator);
  convert_n(type, y.out().data(), x.dtype(), x.data(), x.size());
  return y;
}

/// Copies the first steps of a cache to `to` (batch, heads, steps, size), as many as it has.
inline void copy_steps(const PagedRows& from, AnyOut to) {
  if (from.stored() != from.dtype()) {
    const int64_t heads = from.batch() * from.heads(), steps = to.extent(2), size = from.size();
    visit_types(CodedTypes{}, from.dtype(), [&]<class T>() {
      from.for_each_page([&](const void* data, int64_t first, int64_t count) {
        for (int64_t r = 0; r < heads; ++r)
          for (int64_t s = 0; s < std::min(count, steps - first); ++s) {
            const int64_t row = r * from.page_steps() + s;
            decode_row(static_cast<const int8_t*>(data) + row * size, from.scales(data)[row], size,
                       static_cast<T*>(to.data()) + (r * steps + first + s) * size);
          }
      });
    });
    return;
  }
  const Extents page{from.batch(), from.heads(), from.page_steps(), from.size()};
  from.for_each_page([&](const void* data, int64_t first, int64_t count) {
    count = std::min(count, to.extent(2) - first);
    if (count > 0) copy_along(2, AnyView(from.dtype(), data, page), 0, to, first, count);
  });
}

}  // namespace tenon::TENON_ABI::op
