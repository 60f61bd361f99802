// BlackmanWindow: a sum of two cosines.   onnx.ai/onnx/operators/onnx__BlackmanWindow.html
#pragma once

#include "tenon/op/families/cosine_window.hpp"

namespace tenon::TENON_ABI::op {

/// output[n] = 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N). op::BlackmanWindow{}(constant<int64_t, 2>)
/// gives (0,1).
using BlackmanWindow = CosineWindow<"BlackmanWindow", 0.42, 0.5, 0.08>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::BlackmanWindow)
