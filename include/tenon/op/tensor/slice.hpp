// Slice: every step-th element from a start to an end.   onnx.ai/onnx/operators/onnx__Slice.html
#pragma once

#include <limits>

#include "tenon/op/families/movement.hpp"

namespace tenon::op {

namespace slice_detail {

/// What a slice takes of one axis. `step` counts elements and is 1 where there are fewer than two.
struct SliceAxis {
  int64_t start = 0, count = 0, step = 1;
};

/// Starts and ends below 0 count from the end of the axis; beyond it they are cut. Steps are not 0.
constexpr SliceAxis slice_axis(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (extent == 0) return {};
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  SliceAxis a;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    if (end > start) a = {start, (end - start - 1) / step + 1, step};
  } else {
    start = std::clamp<int64_t>(start, 0, extent - 1);
    end = std::clamp<int64_t>(end, -1, extent - 1);
    const uint64_t back = uint64_t{0} - static_cast<uint64_t>(step);  // that of INT64_MIN is no int64
    if (start > end)
      a = {start, static_cast<int64_t>(static_cast<uint64_t>(start - end - 1) / back) + 1, step};
  }
  if (a.count < 2) a.step = 1;
  return a;
}

/// A slice on one axis, as far as it is known.
struct SlicePart {
  Opt<int64_t> axis, start, end, step;
  Dim symbolic_end{};  ///< the end as shape arithmetic has it
};
using SliceParts = InlineVector<SlicePart, max_rank>;

/// What is known of a slice's extent when not all is.
constexpr Dim slice_extent(Dim extent, const SlicePart& p) {
  // ONNX's way to say "to the end" of an extent that is not known: the greatest or smallest int32 or int64.
  constexpr int64_t far = std::numeric_limits<int32_t>::max();
  if (!p.start || !p.step) return {};
  if (*p.step == 1 && *p.start == 0 && (p.symbolic_end.same(extent) || (p.end && *p.end >= far)))
    return extent;
  if (*p.step == -1 && (*p.start == -1 || *p.start >= far) && p.end && *p.end <= -far) return extent;
  return {};
}

constexpr void infer_slice(Infer& i, const SliceParts& parts) {
  const Dims& x = i.dims(0);
  Dims r = x;
  Extents starts = Extents::filled(x.rank(), 0), steps = Extents::filled(x.rank(), 1);
  uint32_t seen = 0;
  bool exact = true;
  for (const SlicePart& p : parts) {
    if (!p.axis) return i.out(0, Dims::of_rank(x.rank()));
    const int d = i.axis(*p.axis, x.rank());
    if (i.failed()) return;
    if (seen >> d & 1) return i.fail("axis ", *p.axis, " is named twice");
    seen |= 1u << d;
    if (p.step && *p.step == 0) return i.fail("the step on axis ", d, " is 0");
    if (p.start && p.end && p.step && x[d].known()) {
      const SliceAxis a = slice_axis(*p.start, *p.end, *p.step, x[d].value());
      r[d] = a.count;
      starts[d] = a.start;
      steps[d] = a.step;
    } else {
      r[d] = slice_extent(x[d], p);
      exact = false;
    }
  }
  i.out(0, r);
  if (!exact || !propagates_array(i)) return;
  Extents strides = dense_strides(x.extents());
  int64_t offset = 0;
  for (int d = 0; d < x.rank(); ++d) {
    offset += starts[d] * strides[d];
    strides[d] *= steps[d];
  }
  propagate_strided(i, offset, strides);
}

inline void slice(AnyView x, const SliceParts& parts, AnyOut y) {
  if (y.empty()) return;
  Extents strides = dense_strides(x.extents());
  const Extents to = dense_strides(y.extents());
  int64_t offset = 0;
  for (const SlicePart& p : parts) {
    const int d = resolve_axis(*p.axis, x.rank());
    const SliceAxis a = slice_axis(*p.start, *p.end, *p.step, x.extent(d));
    offset += a.start * strides[d];
    strides[d] *= a.step;
  }
  kernels::move(x.dtype(), y.data(), {0, to.data()}, x.data(), {offset, strides.data()}, y.extents());
}

}  // namespace slice_detail

/// Negative starts and ends count from the end of their axis, and what lies beyond it is cut. Without `axes`
/// the first ones are meant, without `steps` each is 1; steps below 0 go backwards.
struct Slice {
  static constexpr Spec spec{.name = "Slice",
                             .since = {1, 10, 11, 13},
                             .inputs = {{"data", "T"},
                                        {.name = "starts", .type = "Tind", .since = 10},
                                        {.name = "ends", .type = "Tind", .since = 10},
                                        {.name = "axes", .type = "Tind", .arity = optional, .since = 10},
                                        {.name = "steps", .type = "Tind", .arity = optional, .since = 10}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4, {"Tind", {{10, types::indices}}}}};
  static constexpr Attributes attributes{
      attr_as_input<std::vector<int64_t>>("axes", 3).until(9),
      attr_as_input<std::vector<int64_t>>("ends", 2).required().until(9),
      attr_as_input<std::vector<int64_t>>("starts", 1).required().until(9)};

  constexpr void infer(Infer& i) const {
    Dim count;
    for (int k = 1; k <= 4; ++k) {
      if (!i.has(k) || !i.dims(k).ranked()) continue;
      if (!i.expect_rank(k, 1)) return;
      count = i.unify(count, i.dims(k)[0], "lengths of starts, ends, axes and steps");
    }
    if (i.failed() || !i.ranked(0)) return;
    if (!count.known()) return i.out(0, Dims::of_rank(i.dims(0).rank()));
    if (count.value() > i.dims(0).rank())
      return i.fail("slices ", count, " axes of a rank of ", i.dims(0).rank());
    slice_detail::SliceParts parts;
    for (int64_t k = 0; k < count.value(); ++k)
      parts.push_back({.axis = i.has(3) ? int_at(i, 3, k) : k,
                       .start = int_at(i, 1, k),
                       .end = int_at(i, 2, k),
                       .step = i.has(4) ? int_at(i, 4, k) : 1,
                       .symbolic_end = i.has_elements(2) ? i.element(2, k) : Dim{}});
    slice_detail::infer_slice(i, parts);
  }
  void compute(AnyView data, AnyView starts, AnyView ends, AnyView axes, AnyView steps, AnyOut output) const {
    slice_detail::SliceParts parts;
    for (int64_t k = 0; k < starts.size(); ++k)
      parts.push_back({.axis = axes ? int_at(axes, k) : k,
                       .start = int_at(starts, k),
                       .end = int_at(ends, k),
                       .step = steps ? int_at(steps, k) : 1});
    slice_detail::slice(data, parts, output);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
