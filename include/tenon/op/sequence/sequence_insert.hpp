// SequenceInsert: a sequence with one more tensor.   onnx.ai/onnx/operators/onnx__SequenceInsert.html
#pragma once

#include "tenon/op/families/sequence.hpp"

namespace tenon::TENON_ABI::op {

/// The sequence with a copy of the tensor in front of `position`, a scalar in [-n, n] for a sequence of n;
/// negative positions count from the end, and without a position the tensor comes last. Error{out_of_range}
/// outside. op::SequenceInsert{}(sequence, x) gives the tensors of the sequence, then x.
struct SequenceInsert {
  static constexpr Spec spec{
      .name = "SequenceInsert",
      .since = {11},
      .inputs = {{"input_sequence", "S"}, {"tensor", "T"}, {"position", "I", optional}},
      .outputs = {{"output_sequence", "S"}},
      .types = {{"T", types::all}, {"S", seq(types::all)}, {"I", types::indices}}};

  constexpr void infer(Infer& i) const {
    i.expect_one(2);
    const Type s = i.in(0).type, t = i.in(1).type;
    if (s.kind == Kind::sequence && t.kind == Kind::tensor && s.element != t.element)
      return i.fail_type("a tensor(", t.element, ") in a sequence of tensor(", s.element, ")");
    i.out(0, common(i.dims(0), i.dims(1)));
  }
  Value compute(Context& c, const Value& input_sequence, AnyView tensor, AnyView position) const {
    const Sequence& from = input_sequence.sequence();
    const int64_t n = static_cast<int64_t>(from.items.size());
    const std::size_t at = position ? position_in(spec.name, position, n, n + 1) : from.items.size();
    Sequence s{.element = from.element, .items = {}};
    s.items.reserve(from.items.size() + 1);
    s.items = from.items;
    s.items.insert(s.items.begin() + static_cast<std::ptrdiff_t>(at),
                   AnyTensor::copy_of(tensor, c.allocator()));
    return s;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SequenceInsert)
