// ConstantFill and GivenTensorFill get the result's extents in the same ways.
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The extents that `shape` states. With input 0, the input's extents, or (with `as_shape`) its elements,
/// followed by `extra`.
constexpr void infer_filled(Infer& i, const Ints& shape, const Ints& extra, bool as_shape) {
  if (i.has(0) && !shape.empty()) return i.fail("the attribute shape excludes an input");
  if (!i.has(0) && !extra.empty()) return i.fail("extra_shape without an input");
  if (i.has(0) && as_shape && i.dtype(0) != DType::int64 && i.dtype(0) != DType::int32)
    return i.fail_type("input_as_shape: extents of type ", i.dtype(0));
  Dims y = !i.has(0) ? Dims(std::span<const int64_t>(shape)) : as_shape ? requested_extents(i, 0) : i.dims(0);
  if (i.failed() || !y.ranked()) return;
  if (y.rank() + extra.size() > max_rank) return i.fail("the result has a rank above ", max_rank);
  for (int64_t e : extra) y.push_back(e);
  for (Dim d : y)
    if (!i.expect_at_least("extent", d, 0)) return;
  i.out(0, y);
}

}  // namespace tenon::TENON_ABI::op
