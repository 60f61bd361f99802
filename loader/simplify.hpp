// Models with fewer nodes: what is the same in every run is computed once.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::loader {

/// As tenon::simplify.
void simplify(onnx::ModelProto& model, const SimplifyOptions& options = {});

}  // namespace tenon::loader
