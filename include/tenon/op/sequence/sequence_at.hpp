// SequenceAt: one tensor of a sequence.   onnx.ai/onnx/operators/onnx__SequenceAt.html
#pragma once

#include "tenon/op/families/sequence.hpp"

namespace tenon::TENON_ABI::op {

/// The tensor at `position`, a scalar in [-n, n) for a sequence of n; negative positions count from the end.
/// op::SequenceAt{}(sequence, int64_t{-1}) gives the last tensor.
struct SequenceAt {
  static constexpr Spec spec{.name = "SequenceAt",
                             .since = {11},
                             .inputs = {{"input_sequence", "S"}, {"position", "I"}},
                             .outputs = {{"tensor", "T"}},
                             .types = {{"S", seq(types::all)}, {"T", types::all}, {"I", types::indices}}};

  constexpr void infer(Infer& i) const {
    i.expect_one(1);
    if (i.in(0).type.kind == Kind::sequence) i.out(0).type = i.dtype(0);
    i.out(0, i.dims(0));
  }
  Value compute(const Value& input_sequence, AnyView position) const {
    const std::vector<Value>& items = input_sequence.sequence().items;
    return items[position_in(spec.name, position, std::ssize(items), std::ssize(items))];
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SequenceAt)
