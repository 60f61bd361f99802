// Crop: a rectangle of images; experimental, withdrawn with opset 10.
// github.com/onnx/onnx/blob/v1.4.1/docs/Operators.md#experimental-crop
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// Images (N, C, H, W) without their `border` (left, top, right, bottom); with `scale` (height, width) that
/// many rows and columns after the top and left border. op::Crop{.border = {1, 1, 1, 1}}(x) of (1,3,8,8)
/// gives (1,3,6,6).
struct Crop {
  Ints border{};
  Ints scale{};

  static constexpr Spec spec{.name = "Crop",
                             .since = {1},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats}},
                             .until = 9};
  static constexpr Attributes attributes{attr("border", &Crop::border), attr("scale", &Crop::scale)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank(0, 4)) return;
    if (!border.empty() && !i.expect_entries("border", border.size(), 4)) return;
    if (!scale.empty() && !i.expect_entries("scale", scale.size(), 2)) return;
    Dims y = i.dims(0);
    if (!y.ranked()) y = Dims::of_rank(4);
    for (int d = 2; d < 4; ++d) {
      const int64_t far = border.empty() || !scale.empty() ? 0 : border[d == 2 ? 3 : 2];
      if (!i.expect_at_least("border", before(d), 0) || !i.expect_at_least("border", far, 0)) return;
      const Dim inner = y[d].below(before(d)) ? Dim(-1) : y[d] - before(d),
                left = scale.empty() ? far : scale[d - 2];
      if (!i.expect_at_least("scale", left, 0)) return;
      if (inner.below(left)) return i.fail("reaches beyond axis ", d, " of ", y);
      y[d] = scale.empty() ? inner - left : left;
    }
    i.out(0, y);
  }
  void compute(AnyView input, AnyOut output) const {
    if (output.empty()) return;
    const Extents from = dense_strides(input.extents()), to = dense_strides(output.extents());
    const int64_t offset = before(2) * from[2] + before(3) * from[3];
    kernels::move(input.dtype(), output.data(), {0, to.data()}, input.data(), {offset, from.data()},
                  output.extents());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// The first row (axis 2) or column (axis 3) that is taken.
  constexpr int64_t before(int d) const { return border.empty() ? 0 : border[d == 2 ? 1 : 0]; }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Crop)
