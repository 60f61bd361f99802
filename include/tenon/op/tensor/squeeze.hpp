// Squeeze: axes of extent 1 removed.   onnx.ai/onnx/operators/onnx__Squeeze.html
#pragma once

#include "tenon/op/movement.hpp"

namespace tenon::op {

namespace detail {
/// Without axes every extent of 1 goes.
constexpr void infer_squeeze(Infer& i, bool stated, const Ints& axes) {
  carry(i);
  const Dims& x = i.dims(0);
  if (!x.ranked()) return;
  const uint32_t named = i.axes(axes, x.rank());
  if (i.failed()) return;
  Dims r{};
  r.ranked_ = true;
  for (int d = 0; d < x.rank(); ++d) {
    const bool here = named >> d & 1;
    if (here && x[d].differs(1)) return i.fail("axis ", d, " of ", x, " is not 1");
    if (!stated && !x[d].known()) return;  // not even the rank is known
    if (stated ? !here : !x[d].is(1)) r.push_back(x[d]);
  }
  i.out(0, r);
}
}  // namespace detail

/// Removes `axes`, or else all axes of extent 1.
struct Squeeze {
  static constexpr Spec spec{.name = "Squeeze",
                             .since = {13, 21, 23, 24, 25},
                             .inputs = {{"data", "T"}, {"axes", "tensor(int64)", optional}},
                             .outputs = {{"squeezed", "T"}},
                             .types = {all_tensors},
                             .memory = Memory::alias};
  static constexpr Attributes attributes{};

  constexpr void infer(Infer& i) const {
    Ints axes;
    if (!i.has(1) || i.ints(1, axes)) return detail::infer_squeeze(i, i.has(1), axes);
    carry(i);
    const Dims &x = i.dims(0), &a = i.dims(1);
    if (!x.ranked() || !a.ranked()) return;
    if (a.rank() != 1) return i.fail("axes have rank ", a.rank(), ", not 1");
    if (a[0].known() && a[0].value() <= x.rank())
      i.out(0, Dims::of_rank(x.rank() - static_cast<int>(a[0].value())));
  }
  void compute(AnyView data, TensorView<const int64_t>, AnyOut squeezed) const {
    copy_elements(data, squeezed);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// The axes are an attribute.
struct Squeeze_1 {
  Ints axes{};

  static constexpr Spec spec{.name = "Squeeze",
                             .since = {1, 11},
                             .inputs = {{"data", "T"}},
                             .outputs = {{"squeezed", "T"}},
                             .types = {{"T", types::all}},
                             .memory = Memory::alias};
  static constexpr Attributes attributes{attr("axes", &Squeeze_1::axes)};

  constexpr void infer(Infer& i) const { detail::infer_squeeze(i, !axes.empty(), axes); }
  void compute(AnyView data, AnyOut squeezed) const { copy_elements(data, squeezed); }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
