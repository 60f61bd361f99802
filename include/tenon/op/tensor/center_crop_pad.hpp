// CenterCropPad: extents as requested, cropped or padded evenly.
// onnx.ai/onnx/operators/onnx__CenterCropPad.html
#pragma once

#include "tenon/kernels/move/pad.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// Axis axes[k] (by default k) gets the extent shape[k]: the middle elements are taken, or zeros (strings:
/// empty ones) added around. An odd one is at the end. op::CenterCropPad{}(x, constant<int64_t, 2, 4>) of
/// (4,3) gives (2,4).
struct CenterCropPad {
  Ints axes{};

  static constexpr Spec spec{.name = "CenterCropPad",
                             .since = {18},
                             .inputs = {{"input_data", "T"}, {"shape", "Tind"}},
                             .outputs = {{"output_data", "T"}},
                             .types = {{"T", types::all_ir4}, {"Tind", types::indices}}};
  static constexpr Attributes attributes{attr("axes", &CenterCropPad::axes)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank(1, 1) || !i.ranked(0)) return;
    Dims y = i.dims(0);
    const Dim count = i.length(1);
    const int64_t expected = axes.empty() ? y.rank() : axes.size();
    if (count.differs(expected)) return i.fail("shape has ", count, " elements for ", expected, " axes");
    uint32_t seen = 0;
    for (int64_t k = 0; k < expected; ++k) {
      const int d = i.axis(axes.empty() ? k : axes[k], y.rank(), seen);
      if (i.failed()) return;
      y[d] = i.has_elements(1) ? i.element(1, k) : Dim();
      if (!i.expect_at_least("extent", y[d], 0)) return;
    }
    i.out(0, y);
  }
  void compute(AnyView input_data, AnyView, AnyOut output_data) const {
    if (output_data.empty()) return;
    const Extents strides = dense_strides(input_data.extents());
    Extents taken;
    int64_t before[max_rank], after[max_rank], offset = 0;
    for (int d = 0; d < input_data.rank(); ++d) {
      const int64_t x = input_data.extent(d), y = output_data.extent(d);
      taken.push_back(std::min(x, y));
      before[d] = (y - taken[d]) / 2;
      after[d] = y - taken[d] - before[d];
      if (!input_data.empty()) offset += (x - taken[d]) / 2 * strides[d];
    }
    kernels::pad(kernels::PadMode::constant, {.dtype = input_data.dtype(),
                                              .rank = input_data.rank(),
                                              .before = before,
                                              .extents = taken.data(),
                                              .after = after,
                                              .from = input_data.data(),
                                              .from_at = {offset, strides.data()},
                                              .value = kernels::zero_element(input_data.dtype()),
                                              .to = output_data.data()});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::CenterCropPad)
