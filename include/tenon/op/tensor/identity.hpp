// Identity: the input.   onnx.ai/onnx/operators/onnx__Identity.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The input, be it a tensor, a sequence or an optional. The result shares its elements.
/// op::Identity{}(x) gives x.
struct Identity {
 private:
  static constexpr TypeSet others = seq(types::all) | optional_of(types::all | seq(types::all));

 public:
  static constexpr Spec spec{.name = "Identity",
                             .since = {1, 13, 14, 16, 19, 21, 23, 24, 25},
                             .inputs = {{"input", "V"}},
                             .outputs = {{"output", "V"}},
                             .types = {{"V",
                                        {{14, types::all_ir4 | seq(types::all)},
                                         {16, types::all_ir4 | others},
                                         {19, types::all_ir9 | others},
                                         {21, types::all_ir10 | others},
                                         {23, types::all_ir11 | others},
                                         {24, types::all_ir12 | others},
                                         {25, types::all_ir13 | others}}},
                                       all_tensors_ir4},
                             .elements = Elements::order,
                             .memory = Memory::alias,
                             .old_inputs = {{13, 0, {"input", "T"}}},
                             .old_outputs = {{13, 0, {"output", "T"}}}};

  constexpr void infer(Infer& i) const {
    propagate(i);
    i.out(0, i.dims(0));
  }
  Value compute(Context& c, const Value& input) const {
    // Borrowed memory may end before the result does.
    if (input.is_tensor() && input.tensor().storage().use_count() == 0)
      return input.tensor().clone(c.allocator());
    return input;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Identity)
