// Loading `.onnx` files and running them: link //loader. graph/session.hpp has the graphs that programs build
// in code, model.hpp models as their files say them.
#pragma once

#include <filesystem>

#include "tenon/graph/session_decl.hpp"

namespace tenon::TENON_ABI {

class Registry;  // op/framework/registry.hpp

/// Every operator of ONNX. A program that has others as well copies it and adds them:
///
///     Registry registry = standard_registry();
///     registry.add<SoftSaturate>();
///     Session s = load("model.onnx", {}, {.registry = &registry});
[[nodiscard]] const Registry& standard_registry();
/// The newest operator set of a domain in a registry, or for null in standard_registry(); 0 for domains that
/// it has no operator of.
[[nodiscard]] int newest_opset(std::string_view domain = "", const Registry* registry = nullptr);

struct LoadOptions {
  /// Operators that models may use, which outlive the sessions of `load`; null: standard_registry().
  const Registry* registry = nullptr;
  std::filesystem::path external_folder{};  ///< where external data lies; empty: beside the model's file
  /// A folder in which nobody puts what the model may not read, as a cache of downloads: links beside the
  /// model may lead to files within it. Empty: symbolic links and hard links in external data's place are
  /// refused.
  std::filesystem::path trusted_root{};
  /// Inputs of the main graph have to have the extents that the model declares for them. False: these extents
  /// are ignored, as by ONNX's reference evaluator. Declared types are required in either case.
  bool declared_extents = true;
  /// Outputs of graphs and bodies have to have the types that the model declares for them. False: these types
  /// are ignored, as by ONNX's reference evaluator. Extents that are declared for outputs are not looked at
  /// here, but by `check` with CheckOptions::full.
  bool declared_outputs = true;
  // Bounds; Error{limit} past one. SessionOptions::max_folded_bytes bounds the constants that are computed.
  int64_t max_file_bytes = no_bound;  ///< size of the model's file, external data not included
  /// Bytes of constants that the file's size does not bound: sparse tensors made dense, and the constants of
  /// functions, as often as they are called, where they do not stay in the file.
  int64_t max_bytes = int64_t{4} << 30;
  int64_t max_nodes = 1'000'000;  ///< nodes of all bodies, and of functions once for each call
  int max_depth = 200;            ///< of bodies and calls within each other, each of which takes stack
};

/// Reads a model's main graph. The file is mapped: raw tensor data is used in place and stays mapped while
/// anything refers to it; so is external data. Replacing such a file is safe, as writers that rename a new
/// one do; a program that cuts it short takes the data away, and the system ends this process (SIGBUS) at the
/// next read. Error{io} when the file cannot be read; errors of Model::graph, with the file.
[[nodiscard]] Graph load_graph(const std::filesystem::path& file, const LoadOptions& options = {});

/// Reads a model and makes it ready to run.
[[nodiscard]] Session load(const std::filesystem::path& file, const SessionOptions& session = {},
                           const LoadOptions& options = {});

/// Reads a value from a TensorProto, SparseTensorProto, SequenceProto, OptionalProto or MapProto file; `type`
/// tells which of them (default: a tensor).
[[nodiscard]] Value read_pb(const std::filesystem::path& file, Type type = DType::undefined);
/// Writes a value as such a file.
void write_pb(const std::filesystem::path& file, const Value& value, std::string_view name = {});

/// Reads and writes numpy's .npy files, as array/npy.hpp says. The file is mapped, and its elements copied;
/// the file that is written takes the place of one that is there when it is complete.
[[nodiscard]] Value read_npy(const std::filesystem::path& file);
void write_npy(const std::filesystem::path& file, const Value& value);

}  // namespace tenon::TENON_ABI
