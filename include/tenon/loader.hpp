// Loading `.onnx` files: link //loader.
#pragma once

#include <filesystem>

#include "tenon/graph/session.hpp"

namespace tenon {

/// Every operator that this build knows.
const Registry& standard_registry();

struct LoadOptions {
  const Registry* registry = nullptr;       ///< operators that models may use; null: standard_registry()
  std::filesystem::path external_folder{};  ///< where external data lies; empty: beside the model's file
  /// Require inputs of the main graph to have the extents that the model declares. By default these extents
  /// are ignored, as by ONNX's reference evaluator; element types are always required.
  bool declared_extents = true;
};

/// The contents of a model file, with the main graph ready for a Session.
struct Model {
  Graph graph;
  int64_t ir_version = 0;
  std::string producer_name, producer_version, domain, doc_string;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, int>> opset_imports;     ///< domain ("" is ai.onnx) and version
  std::vector<std::pair<std::string, std::string>> metadata;  ///< keys and values
};

/// Reads a model. The file is mapped: raw tensor data is used in place and stays mapped while anything refers
/// to it. Error{io} when the file cannot be read. Error{invalid_model} with the place that breaks ONNX's
/// rules. Error{not_supported} with a list of every unknown operator, domain, opset and type.
Model load_model(const std::filesystem::path& file, const LoadOptions& options = {});
/// The same from bytes in memory. Data needed after the call is copied.
Model parse_model(std::span<const std::byte> bytes, const LoadOptions& options = {});

/// Reads a model and makes it ready to run.
Session load(const std::filesystem::path& file, const SessionOptions& session = {},
             const LoadOptions& options = {});

/// Reads a value from a TensorProto, SequenceProto or OptionalProto file; `type` tells which of them
/// (default: a tensor).
Value read_pb(const std::filesystem::path& file, Type type = DType::undefined);
/// Writes a tensor, sequence or optional as such a file.
void write_pb(const std::filesystem::path& file, const Value& value, std::string_view name = {});

/// Reads and writes numpy's .npy files (versions 1 to 3, little-endian, C or Fortran order; types that numpy
/// has itself).
Value read_npy(const std::filesystem::path& file);
void write_npy(const std::filesystem::path& file, const Value& value);

}  // namespace tenon
