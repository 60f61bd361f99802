// ReverseSequence: the first elements of each sequence reversed.
// onnx.ai/onnx/operators/onnx__ReverseSequence.html
#pragma once

#include "tenon/kernels/move/gather.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// In batch b the first sequence_lens[b] slices of the time axis come in reverse order, the others stay. The
/// two axes are 0 and 1, in either order. op::ReverseSequence{}(x, lengths) of (4,2,3) and (2) gives (4,2,3).
struct ReverseSequence {
  int64_t batch_axis = 1;
  int64_t time_axis = 0;

  static constexpr Spec spec{.name = "ReverseSequence",
                             .since = {10},
                             .inputs = {{"input", "T"}, {"sequence_lens", "tensor(int64)"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::all}},
                             .elements = Elements::order};
  static constexpr Attributes attributes{attr("batch_axis", &ReverseSequence::batch_axis),
                                         attr("time_axis", &ReverseSequence::time_axis)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("batch_axis", batch_axis, {0, 1})) return;
    if (!i.expect_choice("time_axis", time_axis, {0, 1})) return;
    if (batch_axis == time_axis) return i.fail("batch_axis and time_axis are both ", batch_axis);
    if (!i.expect_rank_at_least(0, 2) || !i.expect_rank(1, 1)) return;
    i.out(0, i.dims(0));
    if (i.ranked(0, 1)) i.unify(i.dims(0)[batch_axis], i.dims(1)[0], "extents of batch and sequence_lens");
  }
  /// Error{out_of_range} for a length outside of [0, extent of the time axis].
  void compute(AnyView input, TensorView<const int64_t> sequence_lens, AnyOut y) const {
    const int64_t times = input.extent(static_cast<int>(time_axis));
    for (const int64_t n : sequence_lens)
      if (n < 0 || n > times)
        raise(ErrorCode::out_of_range, spec.name, "length ", n, " outside of [0, ", times, "]");
    if (y.empty()) return;
    kernels::reverse_sequences(input.dtype(), y.data(), input.data(), sequence_lens.data(), time_axis == 0,
                               input.extent(0), input.extent(1), dense_strides(input.extents())[1]);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReverseSequence)
