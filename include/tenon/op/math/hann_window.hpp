// HannWindow: a raised cosine.   onnx.ai/onnx/operators/onnx__HannWindow.html
#pragma once

#include "tenon/op/families/cosine_window.hpp"

namespace tenon::TENON_ABI::op {

/// output[n] = 0.5 - 0.5 cos(2 pi n / N). op::HannWindow{}(constant<int64_t, 4>) gives (0,0.5,1,0.5).
using HannWindow = CosineWindow<"HannWindow", 0.5, 0.5, 0.0>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::HannWindow)
