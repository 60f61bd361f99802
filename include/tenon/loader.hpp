// Loading `.onnx` files and running them: link //loader. graph/session.hpp has graphs that are built in code,
// model.hpp editable models.
#pragma once

#include <filesystem>

#include "tenon/graph/state_decl.hpp"

namespace tenon::TENON_ABI {

class Registry;  // op/framework/registry.hpp

/// Every operator of ONNX. A program with operators of its own copies it and adds them:
///
///     Registry registry = standard_registry();
///     registry.add<SoftSaturate>();
///     Session s = load("model.onnx", {}, {.registry = &registry});
[[nodiscard]] const Registry& standard_registry();
/// The newest operator set of a domain in a registry (null: standard_registry()); 0 for domains without
/// operators.
[[nodiscard]] int newest_opset(std::string_view domain = "", const Registry* registry = nullptr);

/// What a model may use, where its files lie, and how large it may be.
struct LoadOptions {
  /// Operators that models may use; it must outlive the sessions of `load`. Null: standard_registry().
  const Registry* registry = nullptr;
  std::filesystem::path external_folder{};  ///< where external data lies; empty: the model's folder
  /// A folder, such as a download cache, all of whose contents the model may read: links next to the model
  /// may lead to files within it. Empty: external data that is a symbolic or hard link is refused.
  std::filesystem::path trusted_root{};
  /// Inputs of the main graph must have the extents that the model declares; a symbol is one extent in all of
  /// them, and the elements of a sequence have the extents that are declared for elements. False: these
  /// extents are ignored, as by ONNX's reference evaluator. Declared types are required in either case.
  bool declared_extents = true;
  /// Outputs of graphs and bodies must have the types that the model declares. False: these types are
  /// ignored, as by ONNX's reference evaluator. Declared extents of outputs are checked only by `check` with
  /// CheckOptions::full.
  bool declared_outputs = true;
  /// A file, which `load` writes if need be, for matrices of few bits in the kernels' layouts: the next
  /// `load` maps it instead of packing them again, and processes share the memory; on Windows, which replaces
  /// no file that is mapped, it is read. One that is damaged, or was made for another model, version or
  /// processor, is replaced; Error{io} if it cannot be. Trusted in that its numbers are the model's: keep it
  /// where others cannot write. Empty: there is none.
  std::filesystem::path packed_file{};
  // Bounds; exceeding one is an Error{limit}. SessionOptions::max_folded_bytes bounds computed constants.
  int64_t max_file_bytes = no_bound;  ///< size of the model's file without external data
  /// Bytes of constants that the file's size does not bound: densified sparse tensors, and constants of
  /// functions that do not stay in the file, once per call.
  int64_t max_bytes = int64_t{4} << 30;
  int64_t max_nodes = 1'000'000;  ///< nodes of all bodies, and of functions once per call
  int max_depth = 200;            ///< of nested bodies and calls, each of which takes stack
};

/// Reads a model's main graph. The file is mapped: raw tensor data is used in place and stays mapped while
/// anything refers to it. External data is treated likewise. Replacing such a file by renaming a new one over
/// it is safe. Truncating it removes the data, and the next read ends this process with SIGBUS. Error{io}
/// when the file cannot be read; errors of Model::graph, with the file.
[[nodiscard]] Graph load_graph(const std::filesystem::path& file, const LoadOptions& options = {});

/// Reads a model and makes it ready to run. Errors as from load_graph and from Session's constructor.
[[nodiscard]] Session load(const std::filesystem::path& file, const SessionOptions& session = {},
                           const LoadOptions& options = {});

/// Reads a value from a TensorProto, SparseTensorProto, SequenceProto, OptionalProto or MapProto file; `type`
/// tells which (default: a tensor). Error{io} when the file cannot be read, Error{invalid_model} when it is
/// no such message or its data do not fit its extents, Error{not_supported} for types that values lack.
[[nodiscard]] Value read_pb(const std::filesystem::path& file, Type type = DType::undefined);
/// Writes a value as such a file, with this name in the message. Error{io} when it cannot be written,
/// Error{not_supported} for an opaque value, and for none.
void write_pb(const std::filesystem::path& file, const Value& value, std::string_view name = {});

/// Reads and writes numpy's .npy files, see array/npy.hpp. Reading maps the file and copies its elements.
/// Writing replaces an existing file only once the new one is complete. Errors as from load_npy and save_npy;
/// Error{invalid_type} for a value that is no tensor.
[[nodiscard]] Value read_npy(const std::filesystem::path& file);
void write_npy(const std::filesystem::path& file, const Value& value);

}  // namespace tenon::TENON_ABI
