// Messages turned into graphs that run.
#pragma once

#include "loader/tensor.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/model.hpp"

namespace tenon::loader {

/// A message as protobuf reads it. Error{invalid_model} with the byte where it is none. Large raw data is
/// left out if `in_place`: read_tensor finds it in DataSource::model.
onnx::ModelProto read_message(std::span<const std::byte> bytes, bool in_place);

/// As Model::graph. `placement` is of the main graph's initializers.
Graph import_graph(const onnx::ModelProto& model, const LoadOptions& options, DataSource source,
                   Placement placement = Placement::aligned);

/// The options with standard_passes() where they name none. One unit compiles the passes.
SessionOptions with_standard_passes(SessionOptions options);

}  // namespace tenon::loader
