// Floor: Y = the greatest integer that is at most X.   onnx.ai/onnx/operators/onnx__Floor.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = floor(X). op::Floor{}(-1.25f) gives -2.
using Floor = RealFunction<"Floor", kernels::UnaryOp::floor, "X", "Y", 1, 6, 13>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Floor)
