// Models as drawings: for graphviz, and as a page.
#pragma once

#include <string>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// Like tenon::dot and tenon::html.
std::string dot(const onnx::ModelProto& model);
std::string html(const onnx::ModelProto& model);

}  // namespace tenon::TENON_ABI::loader
