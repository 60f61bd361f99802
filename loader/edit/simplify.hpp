// Models with fewer nodes: values that are the same in every run are computed once.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// Like tenon::simplify.
void simplify(onnx::ModelProto& model, const SimplifyOptions& options = {});

}  // namespace tenon::TENON_ABI::loader
