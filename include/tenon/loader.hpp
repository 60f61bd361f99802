// Loading `.onnx` files: link //loader.
#pragma once

#include "tenon/graph/session.hpp"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI {

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
