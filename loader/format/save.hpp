// Models as files, with external data next to them.
#pragma once

#include "loader/format/tensor.hpp"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

enum class ModelFormat : uint8_t { binary, text };
/// The format that a file's name implies: ONNX's textual syntax for ".onnxtxt" and ".onnxtext", else binary.
/// Error{not_supported} for extensions of protobuf's text format and of JSON.
ModelFormat format_of(const std::filesystem::path& file);

/// Like tenon::save. `source` locates tensor data that is not in the message.
void save_model(onnx::ModelProto model, const std::filesystem::path& file, const SaveOptions& options = {},
                const DataSource& source = {});

}  // namespace tenon::TENON_ABI::loader
