// Operators over (N, spatial..., C) as functions of ONNX's over (N, C, spatial...).
#pragma once

#include <string_view>

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op {

/// The axes in the order (N, C, spatial...), of extents in the order (N, spatial..., C).
constexpr Dims with_channels_first(const Dims& d) {
  if (!d.ranked() || d.rank() < 2) return d;
  Dims r{d[0], d[d.rank() - 1]};
  for (int k = 1; k < d.rank() - 1; ++k) r.push_back(d[k]);
  return r;
}
constexpr Dims with_channels_last(const Dims& d) {
  if (!d.ranked() || d.rank() < 2) return d;
  Dims r{d[0]};
  for (int k = 2; k < d.rank(); ++k) r.push_back(d[k]);
  r.push_back(d[1]);
  return r;
}

/// A pool, or its window, as ONNX Runtime's own pools read it: ceil_mode counts with auto_pad VALID too.
template <class Pool>
constexpr Pool rounded_up(Pool p) {
  if (std::string_view(p.auto_pad) == "VALID") p.auto_pad = "NOTSET", p.pads = {};
  return p;
}

/// The rule of a pool over input 0, whose channels are the last axis where `last`.
constexpr void infer_pool_of_order(Infer& i, const WindowAttributes& stated, bool last) {
  const WindowAttributes w = rounded_up(stated);
  Dims x = last ? with_channels_first(i.dims(0)) : i.dims(0);
  const Dims kernel(w.kernel_shape);
  if (!x.ranked()) x = Dims::of_rank(kernel.rank() + 2);
  if (!i.expect_rank_at_least(0, 2) || !i.expect_entries("kernel_shape", kernel.rank(), x.rank() - 2)) return;
  Dims y{x[0], x[1]};
  infer_window(i, w, x, kernel, y);
  if (!i.failed()) i.out(0, last ? with_channels_last(y) : y);
}

/// A value of (N, spatial..., C) as (N, C, spatial...), and back; the value itself unless `last`.
template <class L>
int32_t channels_first(L& to, int32_t x, int rank, bool last) {
  return last ? function_body::transposed(to, x, function_body::channels_moved(rank, false)) : x;
}
template <class L>
int32_t channels_back(L& to, int32_t y, int rank, bool last) {
  return last ? function_body::transposed(to, y, function_body::channels_moved(rank, true)) : y;
}

}  // namespace tenon::TENON_ABI::op
