// Pad: a border on each axis, or elements cut away.   onnx.ai/onnx/operators/onnx__Pad.html
#pragma once

#include "tenon/kernels/move/pad.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::op {

namespace pad_detail {

constexpr kernels::PadMode pad_mode(std::string_view name) {
  using enum kernels::PadMode;
  return name == "reflect" ? reflect : name == "edge" ? edge : name == "wrap" ? wrap : constant;
}

/// What a padded axis is made of: elements of border, elements [first, first + taken) of the source, border
/// again.
struct PadAxis {
  int64_t before = 0, first = 0, taken = 0, after = 0;
};
/// Element k of the result stands for k - front of the source; `extent + front + back` is at least 0.
constexpr PadAxis pad_axis(int64_t extent, int64_t front, int64_t back) {
  const int64_t length = extent + (front + back);
  PadAxis a;
  a.first = -std::clamp<int64_t>(front, -extent, 0);
  a.taken = std::max<int64_t>(0, extent + std::clamp<int64_t>(back, -extent, 0) - a.first);
  a.before = std::clamp<int64_t>(a.first + front, 0, length);
  a.after = length - a.before - a.taken;
  return a;
}

/// `axis_of(k)` is the k-th axis to pad, by pad(k) in front and pad(k + count) behind; both as far as they
/// are known.
template <class Axis, class Pads>
constexpr void infer_pad(Infer& i, const Str& mode, int64_t count, Axis axis_of, Pads pad) {
  if (!i.expect_choice("mode", mode, {"constant", "reflect", "edge", "wrap"})) return;
  const Dims& x = i.dims(0);
  if (!x.ranked()) return;
  if (count > x.rank()) return i.fail("pads ", count, " axes of a rank of ", x.rank());
  Dims r = x;
  uint32_t seen = 0;
  for (int64_t k = 0; k < count; ++k) {
    const Opt<int64_t> axis = axis_of(k);
    if (!axis) return i.out(0, Dims::of_rank(x.rank()));
    const int d = i.axis(*axis, x.rank());
    if (i.failed()) return;
    if (seen >> d & 1) return i.fail("axis ", *axis, " is named twice");
    seen |= 1u << d;
    const Dim front = pad(k), back = pad(k + count);
    r[d] = x[d] + (front + back);
    if (!x[d].known() || !front.known() || !back.known()) continue;
    if (!r[d].known() || r[d].value() < 0)
      return i.fail("pads ", front, " and ", back, " do not fit an extent of ", x[d]);
    const PadAxis a = pad_axis(x[d].value(), front.value(), back.value());
    if (mode != "constant" && a.taken == 0 && r[d].value() > 0)
      return i.fail("mode '", mode, "' has nothing to repeat on axis ", d);
  }
  i.out(0, r);
}

/// `value` is one element.
template <class Axis, class Pads>
void pad(const Str& mode, AnyView x, const void* value, AnyOut y, int64_t count, Axis axis_of, Pads pad) {
  if (y.empty()) return;
  int64_t before[max_rank] = {}, after[max_rank] = {};
  Extents taken(x.extents());
  const Extents strides = dense_strides(x.extents());
  int64_t offset = 0;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t axis = axis_of(k);
    const int d = resolve_axis(axis, x.rank());
    const PadAxis a = pad_axis(x.extent(d), pad(k), pad(k + count));
    before[d] = a.before;
    taken[d] = a.taken;
    after[d] = a.after;
    if (!x.empty()) offset += a.first * strides[d];
  }
  kernels::pad(pad_mode(mode), {.dtype = x.dtype(),
                                 .rank = x.rank(),
                                 .before = before,
                                 .extents = taken.data(),
                                 .after = after,
                                 .from = x.data(),
                                 .from_at = {offset, strides.data()},
                                 .value = value,
                                 .to = y.data()});
}

}  // namespace pad_detail

/// pads: elements in front of each of `axes` (default: all), then elements behind each; below 0 elements are
/// cut away. The border repeats constant_value (default 0, false, ""), the outermost element (edge), or what
/// lies within, mirrored at the outermost element (reflect) or wrapped around (wrap).
struct Pad {
  Str mode = "constant";

  static constexpr Spec spec{.name = "Pad",
                             .since = {1, 2, 11, 13, 18, 19, 21, 23, 24, 25},
                             .inputs = {{"data", "T"},
                                        {.name = "pads", .type = "tensor(int64)", .since = 11},
                                        {.name = "constant_value", .type = "T", .arity = optional, .since = 11},
                                        {.name = "axes", .type = "Tind", .arity = optional, .since = 18}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T",
                                        {{1, types::floats},
                                         {11, types::numeric},
                                         {13, types::all_ir4},
                                         {21, types::all_ir10},
                                         {23, types::all_ir11},
                                         {24, types::all_ir12},
                                         {25, types::all_ir13}}},
                                       {"Tind", {{18, types::indices}}}}};
  static constexpr Attributes attributes{
      attr("mode", &Pad::mode), attr_as_input<std::vector<int64_t>>("paddings", 1).required().until(1),
      attr_as_input<std::vector<int64_t>>("pads", 1).required().since(2).until(10),
      attr_as_input<float>("value", 2).until(10).by_default(0)};

  constexpr void infer(Infer& i) const {
    if (mode == "wrap" && i.version() < 19) return i.fail("mode 'wrap' is there since version 19");
    const Dims &pads = i.dims(1), &axes = i.dims(3);
    if (!i.expect_rank(1, 1) || !i.expect_one(2) || !i.expect_rank(3, 1)) return;
    Dim count = i.has(3) ? (axes.ranked() ? axes[0] : Dim{}) : i.ranked(0) ? Dim(i.dims(0).rank()) : Dim{};
    if (pads.ranked() && pads[0].differs(count * 2)) return i.fail(pads[0], " pads for ", count, " axes");
    if (!count.known()) {
      if (i.ranked(0)) i.out(0, Dims::of_rank(i.dims(0).rank()));
      return;
    }
    pad_detail::infer_pad(
        i, mode, count.value(), [&](int64_t k) { return i.has(3) ? int_at(i, 3, k) : Opt(k); },
        [&](int64_t k) { return i.has_elements(1) ? i.element(1, k) : Dim{}; });
  }
  void compute(AnyView data, TensorView<const int64_t> pads, AnyView constant_value, AnyView axes,
               AnyOut output) const {
    alignas(16) static constexpr char zero[16]{};
    static const std::string no_text;
    const void* value = constant_value                  ? constant_value.data()
                        : data.dtype() == DType::string ? static_cast<const void*>(&no_text)
                                                        : zero;
    pad_detail::pad(
        mode, data, value, output, pads.size() / 2, [&](int64_t k) { return axes ? int_at(axes, k) : k; },
        [&](int64_t k) { return pads[k]; });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
