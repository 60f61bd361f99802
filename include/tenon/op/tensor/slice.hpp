// Slice: every step-th element from a start to an end.   onnx.ai/onnx/operators/onnx__Slice.html
#pragma once

#include <limits>

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

namespace slice_detail {

/// The elements that a slice takes of one axis. `step` is 1 where there are fewer than two.
struct SliceAxis {
  int64_t start = 0, count = 0, step = 1;
};

/// Starts and ends below 0 count from the end of the axis; beyond it they are clamped. Steps are not 0.
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
    const uint64_t back = uint64_t{0} - static_cast<uint64_t>(step);  // -INT64_MIN is no int64
    if (start > end)
      a = {start, static_cast<int64_t>(static_cast<uint64_t>(start - end - 1) / back) + 1, step};
  }
  if (a.count < 2) a.step = 1;
  return a;
}

/// The extent of a slice whose start, end, step or whole extent is unknown, as far as it can be told.
/// `symbolic_end` is the end as it is propagated.
constexpr Dim slice_extent(Dim extent, Opt<int64_t> start, Opt<int64_t> end, Dim symbolic_end,
                           Opt<int64_t> step) {
  // ONNX's way to say "to the end" of an unknown extent: the greatest or smallest int32 or int64.
  constexpr int64_t far = std::numeric_limits<int32_t>::max();
  if (!start || !step) return {};
  if (*step == 1 && *start == 0 && (symbolic_end.same(extent) || (end && *end >= far))) return extent;
  if (*step == -1 && (*start == -1 || *start >= far) && end && *end <= -far) return extent;
  return {};
}

}  // namespace slice_detail

/// Negative starts and ends count from the end of their axis, to which they are clamped. Without `axes` the
/// first axes are meant, without `steps` each is 1; steps below 0 go backwards. op::Slice{}(x,
/// constant<int64_t, 1>, constant<int64_t, 3>) of (4,5) gives (2,5).
struct Slice {
  static constexpr Spec spec{.name = "Slice",
                             .since = {1, 10, 11, 13},
                             .inputs = {{"data", "T"},
                                        {.name = "starts", .type = "Tind", .since = 10},
                                        {.name = "ends", .type = "Tind", .since = 10},
                                        {.name = "axes", .type = "Tind", .arity = optional, .since = 10},
                                        {.name = "steps", .type = "Tind", .arity = optional, .since = 10}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4, {"Tind", {{10, types::indices}}}},
                             .elements = Elements::choice};
  static constexpr Attributes attributes{
      attr_as_input<std::vector<int64_t>>("axes", 3).until(9),
      attr_as_input<std::vector<int64_t>>("ends", 2).required().until(9),
      attr_as_input<std::vector<int64_t>>("starts", 1).required().until(9)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    Dim count;
    for (int k = 1; k <= 4; ++k) {
      if (!i.has(k) || !i.dims(k).ranked()) continue;
      if (!i.expect_rank(k, 1)) return;
      count = i.unify(count, i.dims(k)[0], "lengths of starts, ends, axes and steps");
    }
    if (i.failed() || !x.ranked()) return;
    if (Dim(x.rank()).below(count)) return i.fail("slices ", count, " axes of a rank of ", x.rank());
    i.out(0, Dims::of_rank(x.rank()));
    if (!count.known()) return;
    Dims r = x;
    const bool carried = propagates_array(i);
    Extents steps = dense_strides(carried ? x.extents() : Extents::filled(x.rank(), 0));
    int64_t offset = 0;
    uint32_t seen = 0;
    bool exact = true;
    for (int64_t k = 0; k < count.value(); ++k) {
      const Opt<int64_t> axis = i.has(3) ? int_at(i, 3, k) : k, start = int_at(i, 1, k),
                         end = int_at(i, 2, k), step = i.has(4) ? int_at(i, 4, k) : 1;
      if (!axis) return;
      const int d = i.axis(*axis, x.rank(), seen);
      if (i.failed()) return;
      if (step && *step == 0) return i.fail("the step on axis ", d, " is 0");
      if (start && end && step && x[d].known()) {
        const slice_detail::SliceAxis a = slice_detail::slice_axis(*start, *end, *step, x[d].value());
        r[d] = a.count;
        offset += a.start * steps[d];
        steps[d] *= a.step;
      } else {
        r[d] = slice_detail::slice_extent(x[d], start, end, i.element(2, k), step);
        exact = false;
      }
    }
    i.out(0, r);
    if (exact && carried) propagate_strided(i, offset, steps);
  }
  void compute(AnyView data, AnyView starts, AnyView ends, AnyView axes, AnyView steps, AnyOut output) const {
    if (output.empty()) return;
    Extents strides = dense_strides(data.extents());
    const Extents to = dense_strides(output.extents());
    int64_t offset = 0;
    for (int64_t k = 0; k < starts.size(); ++k) {
      const int d = resolve_axis(axes ? int_at(axes, k) : k, data.rank());
      const slice_detail::SliceAxis a = slice_detail::slice_axis(
          int_at(starts, k), int_at(ends, k), steps ? int_at(steps, k) : 1, data.extent(d));
      offset += a.start * strides[d];
      strides[d] *= a.step;
    }
    kernels::move(data.dtype(), output.data(), {0, to.data()}, data.data(), {offset, strides.data()},
                  output.extents());
  }
  template <class L>
  void loops(L& l) const {
    const Dims& x = l.dims(0);
    Ints axes;
    if (!x.ranked() || !l.dims(1).count().known() || !l.integers(3, axes)) return;
    if (!l.has(3))
      for (int k = 0; k < l.dims(1).count().value(); ++k) axes.push_back(k);
    uint32_t cut = 0;
    for (const int64_t axis : axes) cut |= 1u << resolve_axis(axis, x.rank());
    for (int d = 0; d < x.rank(); ++d)
      if (!(cut >> d & 1)) l.over({{0, d}}, {{0, d}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Slice)
