// Loading `.onnx` files: link //loader.
#pragma once

#include <filesystem>

#include "tenon/graph/session.hpp"

namespace tenon {

/// Every operator that this build knows.
const Registry& standard_registry();

struct LoadOptions {
  const Registry* registry = nullptr;       ///< operators that models may name; null: standard_registry()
  std::filesystem::path external_folder{};  ///< where external data lies; empty: beside the model's file
  /// Hold inputs of the main graph to the extents that the model declares for them. Without it these extents
  /// are ignored, as ONNX's reference evaluator does; element types hold always.
  bool declared_extents = true;
};

/// A model as its file states it, with the main graph ready for a Session.
struct Model {
  Graph graph;
  int64_t ir_version = 0;
  std::string producer_name, producer_version, domain, doc_string;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, int>> opset_imports;     ///< domain ("" is ai.onnx) and version
  std::vector<std::pair<std::string, std::string>> metadata;  ///< keys and values
};

/// Reads a model. The file is mapped: raw tensor data is used where it lies and stays mapped while anything
/// refers to it. Error{io} when the file cannot be read, Error{invalid_model} naming the place where it
/// breaks ONNX's rules, Error{not_supported} listing every operator, domain, opset and type that is not
/// known.
Model load_model(const std::filesystem::path& file, const LoadOptions& options = {});
/// The same from bytes in memory, which are copied where they are needed after the call.
Model parse_model(std::span<const std::byte> bytes, const LoadOptions& options = {});

/// Reads a model and makes it ready to run.
Session load(const std::filesystem::path& file, const SessionOptions& session = {},
             const LoadOptions& options = {});

/// Reads a value from a TensorProto, SequenceProto or OptionalProto file; `type` says which (default: a
/// tensor).
Value read_pb(const std::filesystem::path& file, Type type = DType::undefined);
/// Writes a tensor, sequence or optional as such a file.
void write_pb(const std::filesystem::path& file, const Value& value, std::string_view name = {});

/// Reads and writes numpy's .npy files (versions 1 to 3, little-endian, C or Fortran order; types that numpy
/// has itself).
Value read_npy(const std::filesystem::path& file);
void write_npy(const std::filesystem::path& file, const Value& value);

}  // namespace tenon
