// SequenceEmpty: a sequence without tensors.   onnx.ai/onnx/operators/onnx__SequenceEmpty.html
#pragma once

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The empty sequence of tensors of element type `dtype` (ONNX's number), by default float.
/// op::SequenceEmpty{}() gives a seq(tensor(float)) of no tensors.
struct SequenceEmpty {
  Opt<int64_t> dtype{};

  static constexpr Spec spec{.name = "SequenceEmpty",
                             .since = {11},
                             .inputs = {},
                             .outputs = {{"output", "S"}},
                             .types = {{"S", seq(types::all)}}};
  static constexpr Attributes attributes{attr("dtype", &SequenceEmpty::dtype)};

  constexpr void infer(Infer& i) const {
    i.out(0).type = Type(Kind::sequence, dtype ? i.element_type("dtype", *dtype) : DType::float32);
  }
  Value compute() const {
    return Sequence{.element = dtype ? dtype_from_onnx(*dtype) : DType::float32, .items = {}};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SequenceEmpty)
