// HammingWindow: a raised cosine on a pedestal.   onnx.ai/onnx/operators/onnx__HammingWindow.html
#pragma once

#include "tenon/op/families/cosine_window.hpp"

namespace tenon::TENON_ABI::op {

/// output[n] = 25/46 - 21/46 cos(2 pi n / N). op::HammingWindow{}(constant<int64_t, 2>) gives (0.087,1).
using HammingWindow = CosineWindow<"HammingWindow", 25.0 / 46, 1 - 25.0 / 46, 0.0>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::HammingWindow)
