// What differs in the structure of two models.
#pragma once

#include <string>
#include <vector>

#include "loader/onnx.pb.h"

namespace tenon::loader {

/// A line for each difference, the place first, in the order of the first model; none for equal models:
///
///     main, node 'c' (Conv), attribute 'group': 1, and 2
///     main, initializer 'w': only in the first
///
/// Nodes are the same node where their first outputs have the same name. The order of initializers, value
/// infos, attributes, imports, functions and metadata tells nothing. Tensors are compared as they are stored,
/// external data by its place. After `most` lines the rest is left out.
std::vector<std::string> differences(const onnx::ModelProto& a, const onnx::ModelProto& b, int most = 1000);

}  // namespace tenon::loader
