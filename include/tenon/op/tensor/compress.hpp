// Compress: the slices for which a condition holds.   onnx.ai/onnx/operators/onnx__Compress.html
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/move/gather.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The slices of `axis` at which condition (n) is true; without an axis, of the elements in row-major order.
/// If n and the extent differ, elements past the shorter one are left out. op::Compress{.axis = 0}(x, c) of
/// (3,2) and (true,false,true) gives (2,2).
struct Compress {
  Opt<int64_t> axis{};

  static constexpr Spec spec{.name = "Compress",
                             .since = {9, 11},
                             .inputs = {{"input", "T"}, {"condition", "T1"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::all}, {"T1", types::boolean}},
                             .elements = Elements::choice};
  static constexpr Attributes attributes{attr("axis", &Compress::axis)};

 private:
  /// The number of slices of an axis that are taken, as far as it is known.
  static constexpr Dim count(Infer& i, Dim extent) {
    if (!i.has_elements(1) || !extent.known()) return {};
    const int64_t n = std::min(i.element_count(1), extent.value());
    if (!i.in(1).propagated.known())
      return std::count(static_cast<const bool*>(i.in(1).data), static_cast<const bool*>(i.in(1).data) + n,
                        true);
    Dim taken = 0;
    for (int64_t k = 0; k < n; ++k) taken = taken + i.element(1, k);
    return taken;
  }

 public:
  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (!i.expect_rank_at_least(0, 1) || !i.expect_rank(1, 1)) return;
    if (!axis) return i.out(0, Dims{count(i, x.count())});
    if (!x.ranked()) return;
    Dims y = x;
    const int along = i.axis(*axis, x.rank());
    if (i.failed()) return;
    y[along] = count(i, x[along]);
    i.out(0, y);
  }
  void compute(AnyView input, TensorView<const bool> condition, AnyOut output) const {
    if (output.empty()) return;
    const AxisSplit split = axis ? split_at(input.extents(), resolve_axis(*axis, input.rank()))
                                 : AxisSplit{.extent = input.size()};
    Scratch scratch;
    const int64_t n = std::min(condition.size(), split.extent);
    int64_t* const taken = scratch.take<int64_t>(n);
    int64_t count = 0;
    for (int64_t k = 0; k < n; ++k) {
      taken[count] = k;
      count += condition[k];
    }
    kernels::gather(input.dtype(), output.data(), input.data(), taken, count, split.outer, split.extent,
                    split.inner);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Compress)
