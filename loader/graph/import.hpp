// Conversion of messages to graphs that run.
#pragma once

#include <filesystem>
#include <functional>

#include "loader/format/tensor.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// Like Model::graph. `placement` applies to the main graph's initializers.
Graph import_graph(const onnx::ModelProto& model, const LoadOptions& options, DataSource source,
                   Placement placement = Placement::aligned);

/// Like load_graph, but tensors are as of Placement::outside, and those in other files are mapped one by one.
/// `look` sees the message first, without the large raw data that stays in the file.
Graph load_without_weights(
    const std::filesystem::path& file, const LoadOptions& options,
    const std::function<void(const onnx::ModelProto&, const std::shared_ptr<ExternalFiles>&)>& look);

/// The options, with standard_passes() if they name none. Only one unit compiles the passes.
SessionOptions with_standard_passes(SessionOptions options);

}  // namespace tenon::TENON_ABI::loader
