// Pad: a border on each axis, or elements cut away.   onnx.ai/onnx/operators/onnx__Pad.html
#pragma once

#include "tenon/kernels/move/pad.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

namespace pad_detail {

constexpr kernels::PadMode pad_mode(std::string_view name) {
  using enum kernels::PadMode;
  return name == "reflect" ? reflect : name == "edge" ? edge : name == "wrap" ? wrap : constant;
}

/// A padded axis: elements of border, elements [first, first + taken) of the source, border again.
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

/// The rule of Pad, whose pads may have any rank.
constexpr void infer_padded(Infer& i, const Str& mode) {
  if (!i.expect_one(2) || !i.expect_rank(3, 1)) return;
  const Dims& x = i.dims(0);
  const Dim pads = i.dims(1).count(), count = i.has(3)     ? i.dims(3).count()
                                              : x.ranked() ? Dim(x.rank())
                                                           : Dim{};
  if (pads.differs(count * 2)) return i.fail(pads, " pads for ", count, " axes");
  if (!i.expect_choice("mode", mode, {"constant", "reflect", "edge", "wrap"}) || !x.ranked()) return;
  if (Dim(x.rank()).below(count)) return i.fail("pads ", count, " axes of a rank of ", x.rank());
  i.out(0, Dims::of_rank(x.rank()));
  if (!count.known()) return;
  Dims r = x;
  uint32_t seen = 0;
  for (int64_t k = 0; k < count.value(); ++k) {
    const Opt<int64_t> axis = i.has(3) ? int_at(i, 3, k) : k;
    if (!axis) return;
    const int d = i.axis(*axis, x.rank(), seen);
    if (i.failed()) return;
    const Dim front = i.element(1, k), back = i.element(1, k + count.value());
    r[d] = x[d] + (front + back);
    if (front.known() && back.known() && !(front + back).known())
      return i.fail("pads ", front, " and ", back, " do not fit an extent");
    if (!x[d].known() || !front.known() || !back.known()) continue;
    if (!r[d].known() || r[d].below(0))
      return i.fail("pads ", front, " and ", back, " do not fit an extent of ", x[d]);
    const PadAxis a = pad_axis(x[d].value(), front.value(), back.value());
    if (mode != "constant" && a.taken == 0 && !r[d].is(0))
      return i.fail("mode '", mode, "' has nothing to repeat on axis ", d);
  }
  i.out(0, r);
}

}  // namespace pad_detail

/// pads: elements before each of `axes` (default: all), then elements after each; negative numbers cut
/// elements away. The border repeats constant_value (default 0, false, ""), the outermost element (edge), or
/// the elements within, mirrored at the outermost one (reflect) or wrapped around (wrap).
/// op::Pad{}(x, constant<int64_t, 0, 1, 0, 2>) of (2,3) gives (2,6).
struct Pad {
  Str mode = "constant";

  static constexpr Spec spec{
      .name = "Pad",
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
    if (i.expect_rank(1, 1)) pad_detail::infer_padded(i, mode);
  }
  void compute(AnyView data, TensorView<const int64_t> pads, AnyView constant_value, AnyView axes,
               AnyOut output) const {
    if (output.empty()) return;
    int64_t before[max_rank] = {}, after[max_rank] = {}, offset = 0;
    Extents taken(data.extents());
    const Extents strides = dense_strides(data.extents());
    const int64_t count = pads.size() / 2;
    for (int64_t k = 0; k < count; ++k) {
      const int d = resolve_axis(axes ? int_at(axes, k) : k, data.rank());
      const pad_detail::PadAxis a = pad_detail::pad_axis(data.extent(d), pads[k], pads[k + count]);
      before[d] = a.before;
      taken[d] = a.taken;
      after[d] = a.after;
      if (!data.empty()) offset += a.first * strides[d];
    }
    kernels::pad(pad_detail::pad_mode(mode),
                 {.dtype = data.dtype(),
                  .rank = data.rank(),
                  .before = before,
                  .extents = taken.data(),
                  .after = after,
                  .from = data.data(),
                  .from_at = {offset, strides.data()},
                  .value = constant_value ? constant_value.data() : kernels::zero_element(data.dtype()),
                  .to = output.data()});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Pad)
