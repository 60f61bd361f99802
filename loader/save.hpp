// Models as files, with external data beside them.
#pragma once

#include <optional>

#include "loader/tensor.hpp"

namespace tenon::loader {

enum class ModelFormat : uint8_t { binary, text };
/// The format that a file's name asks for: ONNX's textual syntax for ".onnxtxt" and ".onnxtext", else binary.
/// Error{not_supported} for names of protobuf's text format, and of JSON.
ModelFormat format_of(const std::filesystem::path& file);

struct SaveOptions {
  /// Initializers of at least so many bytes go to a file beside the model, and others into the model's file.
  /// Absent: each stays where it is, and external data of another folder goes to a file beside the model.
  std::optional<int64_t> external_threshold{};
  /// Also tensors in attributes. Those that are external already go by the threshold in any case.
  bool external_attributes = false;
  /// The name of that file. "": one made of the model's name and of a digest of the data,
  /// "model.onnx.0123456789abcdef.data".
  std::string external_file{};
};

/// Writes a model. `source` says where the tensors' data lies that is not in the message.
///
///     save_model(std::move(model), "model.onnx", {.external_threshold = 1 << 20});
///
/// The same model, options and name give the same bytes. What the message has stays as it is, unknown fields
/// too, but for the data that goes from one place to another: elements in fields of their type become raw
/// data on the way. External data begins at multiples of 64 bytes, and at whole pages from 64 KiB on; tensors
/// that share their data still do.
///
/// The model's file is replaced whole or not at all, after the data is on the disk. Since other data has
/// another name, a model that is replaced has its own data until then, and so has everyone that has it open.
/// The data of a replaced model is left: other models may refer to it.
///
/// External data of a model whose folder is not known (`source.external` null) is left alone.
///
/// Error{io} when files cannot be written, or `external_file` is there already with other data.
/// Error{not_supported} for 2 GB and more in the model's file. Error{invalid_argument} for an `external_file`
/// that is no plain name. Error{invalid_model} for data that is to be moved, and is refused.
void save_model(onnx::ModelProto model, const std::filesystem::path& file, const SaveOptions& options = {},
                const DataSource& source = {});

}  // namespace tenon::loader
