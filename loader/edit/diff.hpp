// Differences in the structure of two models.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// Like tenon::differences. `folder_a` and `folder_b` contain the models' external data; empty: it is not
/// read.
std::vector<std::string> differences(const onnx::ModelProto& a, const onnx::ModelProto& b, int most = 1000,
                                     const std::filesystem::path& folder_a = {},
                                     const std::filesystem::path& folder_b = {});

}  // namespace tenon::TENON_ABI::loader
