// SequenceConstruct: tensors become a sequence.   onnx.ai/onnx/operators/onnx__SequenceConstruct.html
#pragma once

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The sequence of copies of the inputs, which share one element type. op::SequenceConstruct{}(x, y) gives
/// (x,y).
struct SequenceConstruct {
  static constexpr Spec spec{.name = "SequenceConstruct",
                             .since = {11},
                             .inputs = {{"inputs", "T", variadic}},
                             .outputs = {{"output_sequence", "S"}},
                             .types = {{"T", types::all}, {"S", seq(types::all)}}};

  constexpr void infer(Infer& i) const {
    Dims d = i.dims(0);
    for (int k = 0; k < i.inputs(); ++k) {
      d = common(d, i.dims(k));
      if (i.in(k).type.kind == Kind::tensor) i.out(0).type = Type(Kind::sequence, i.dtype(k));
    }
    i.out(0, d);
  }
  Value compute(Context& c, std::span<const AnyView> inputs) const {
    Sequence s{.element = inputs[0].dtype(), .items = {}};
    for (const AnyView& x : inputs) s.items.push_back(AnyTensor::copy_of(x, c.allocator()));
    return s;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SequenceConstruct)
