// SequenceLength: how many tensors a sequence has.   onnx.ai/onnx/operators/onnx__SequenceLength.html
#pragma once

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The number of tensors, as a scalar. op::SequenceLength{}(sequence) of (x,y) gives 2.
struct SequenceLength {
  static constexpr Spec spec{.name = "SequenceLength",
                             .since = {11},
                             .inputs = {{"input_sequence", "S"}},
                             .outputs = {{"length", "I"}},
                             .types = {{"S", seq(types::all)}, {"I", types::int64}}};

  constexpr void infer(Infer& i) const { i.out(0, Dims::of_rank(0)); }
  void compute(const Value& input_sequence, TensorView<int64_t> length) const {
    length[0] = static_cast<int64_t>(input_sequence.sequence().items.size());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SequenceLength)
