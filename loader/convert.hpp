// Conversion of models between operator sets of ai.onnx.
#pragma once

#include "loader/onnx.pb.h"

namespace tenon::loader {

/// The newest operator set of ai.onnx that this library knows.
int newest_opset();

/// Rewrites a model so that it means the same at another operator set of ai.onnx, in steps of one set. Bodies
/// and training graphs go along; other domains and functions keep the sets that they import. Constants that
/// become attributes are left out where nothing else reads them, together with the input of their name.
/// Outputs of unknown rank get what inference tells of them.
///
/// Error{invalid_model} for models that break ONNX's rules, Error{not_supported} with the operator and the
/// reason where the other set cannot say what a node means. The model is then as it was.
void convert_opset(onnx::ModelProto& model, int opset);

}  // namespace tenon::loader
