// Identity: the input.   onnx.ai/onnx/operators/onnx__Identity.html
#pragma once

#include "tenon/op/movement.hpp"

namespace tenon::op {

/// The input, be it a tensor, a sequence or an optional. The elements are shared with it, not copied.
struct Identity {
 private:
  static constexpr TypeSet others = seq(types::all) | optional_of(types::all | seq(types::all));

 public:
  static constexpr Spec spec{.name = "Identity",
                             .since = {14, 16, 19, 21, 23, 24, 25},
                             .inputs = {{"input", "V"}},
                             .outputs = {{"output", "V"}},
                             .types = {{"V",
                                        {{14, types::all_ir4 | seq(types::all)},
                                         {16, types::all_ir4 | others},
                                         {19, types::all_ir9 | others},
                                         {21, types::all_ir10 | others},
                                         {23, types::all_ir11 | others},
                                         {24, types::all_ir12 | others},
                                         {25, types::all_ir13 | others}}}},
                             .memory = Memory::alias};
  static constexpr Attributes attributes{};

  constexpr void infer(Infer& i) const {
    carry(i);
    i.out(0, i.dims(0));
  }
  Value compute(const Value& input) const {
    // What is merely lent may end before the result does.
    if (input.is_tensor() && input.tensor().storage().use_count() == 0) return input.tensor().clone();
    return input;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Tensors only.
struct Identity_1 {
  static constexpr Spec spec{.name = "Identity",
                             .since = {1, 13},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", {{1, types::all}, {13, types::all_ir4}}}},
                             .memory = Memory::alias};
  static constexpr Attributes attributes{};

  constexpr void infer(Infer& i) const {
    carry(i);
    i.out(0, i.dims(0));
  }
  void compute(AnyView input, AnyOut output) const { copy_elements(input, output); }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
