// Differences in the structure of two models.
#pragma once

#include <string>
#include <vector>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// Like tenon::differences.
std::vector<std::string> differences(const onnx::ModelProto& a, const onnx::ModelProto& b, int most = 1000);

}  // namespace tenon::TENON_ABI::loader
