// SequenceErase: a sequence without one tensor.   onnx.ai/onnx/operators/onnx__SequenceErase.html
#pragma once

#include "tenon/op/families/sequence.hpp"

namespace tenon::TENON_ABI::op {

/// The sequence without the tensor at `position`, a scalar in [-n, n) for a sequence of n; negative positions
/// count from the end, and without a position the last tensor is removed. Error{out_of_range} outside.
/// op::SequenceErase{}(sequence, int64_t{0}) gives all but the first.
struct SequenceErase {
  static constexpr Spec spec{.name = "SequenceErase",
                             .since = {11},
                             .inputs = {{"input_sequence", "S"}, {"position", "I", optional}},
                             .outputs = {{"output_sequence", "S"}},
                             .types = {{"S", seq(types::all)}, {"I", types::indices}}};

  constexpr void infer(Infer& i) const {
    i.expect_one(1);
    i.out(0, i.dims(0));
  }
  Value compute(const Value& input_sequence, AnyView position) const {
    const Sequence& from = input_sequence.sequence();
    const int64_t n = static_cast<int64_t>(from.items.size()), last = -1;
    const AnyView at = position ? position : TensorView<const int64_t>(&last, {});
    const std::size_t gone = position_in(spec.name, at, n, n);
    Sequence s{.element = from.element, .items = {}};
    s.items.reserve(from.items.size() - 1);
    for (std::size_t k = 0; k < from.items.size(); ++k)
      if (k != gone) s.items.push_back(from.items[k]);
    return s;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SequenceErase)
