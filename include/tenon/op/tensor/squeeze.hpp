// Squeeze: axes of extent 1 removed.   onnx.ai/onnx/operators/onnx__Squeeze.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::op {

namespace squeeze_detail {
/// Without axes every extent of 1 goes.
constexpr void infer_squeeze(Infer& i, bool stated, const Ints& axes) {
  propagate(i);
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
}  // namespace squeeze_detail

/// Removes `axes`, or else all axes of extent 1.
struct Squeeze {
  static constexpr Spec spec{.name = "Squeeze",
                             .since = {1, 11, 13, 21, 23, 24, 25},
                             .inputs = {{"data", "T"}, {.name = "axes", .type = "tensor(int64)", .arity = optional, .since = 13}},
                             .outputs = {{"squeezed", "T"}},
                             .types = {all_tensors},
                             .memory = Memory::alias};
  static constexpr Attributes attributes{attr_as_input<std::vector<int64_t>>("axes", 1).until(12)};

  constexpr void infer(Infer& i) const {
    Ints axes;
    if (!i.has(1) || i.ints(1, axes)) return squeeze_detail::infer_squeeze(i, i.has(1), axes);
    propagate(i);
    const Dims &x = i.dims(0), &a = i.dims(1);
    if (!x.ranked() || !a.ranked()) return;
    if (!i.expect_rank(1, 1)) return;
    if (a[0].known() && a[0].value() <= x.rank())
      i.out(0, Dims::of_rank(x.rank() - static_cast<int>(a[0].value())));
  }
  void compute(AnyView data, TensorView<const int64_t>, AnyOut squeezed) const {
    copy_elements(data, squeezed);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
