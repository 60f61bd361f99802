// Conversion of messages to graphs that run.
#pragma once

#include "loader/format/tensor.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// A message as protobuf reads it. Error{invalid_model} with the byte where it is invalid. Large raw data is
/// left out if `in_place`: read_tensor finds it in DataSource::model.
///
/// The caller's message may lie in an arena. When memory runs out, protobuf leaks the parts that it has not
/// yet put into a message outside of an arena.
void read_message(std::span<const std::byte> bytes, bool in_place, onnx::ModelProto& message);

/// A model's file as one message with all its data, of which memory holds a single copy: large raw data is
/// copied into the message part by part. Error{invalid_model} with the byte where the file is invalid.
onnx::ModelProto read_whole_message(const std::shared_ptr<const MappedFile>& file);

/// Like Model::graph. `placement` applies to the main graph's initializers.
Graph import_graph(const onnx::ModelProto& model, const LoadOptions& options, DataSource source,
                   Placement placement = Placement::aligned);

/// The options, with standard_passes() if they name none. Only one unit compiles the passes.
SessionOptions with_standard_passes(SessionOptions options);

}  // namespace tenon::TENON_ABI::loader
