// Compiling a model to a header: a function with planned memory that calls the model's operators by name.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "loader/compile/amalgamate.hpp"
#include "tenon/kernels/variants.hpp"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI {

/// Extents of symbols, {"batch", {1}}, and of inputs, {"image", {1, 8, 8}}.
using ShapeSet = std::vector<std::pair<std::string, Extents>>;

struct CompileOptions {
  const Registry* registry = nullptr;  ///< as LoadOptions::registry
  /// The namespace; it is turned into a C++ identifier.
  std::string name = "model";
  /// An overload of `run` for each. Not needed for a model whose extents are all known.
  std::vector<ShapeSet> shapes{};
  /// The machine that the header is for: "aarch64", "wasm32:relaxed", "x86-64:avx2" and others, see
  /// target_of. By default it is this one, with the level in force and what its processor has in addition.
  std::string target{};
  /// Constants of at least this many bytes go to CompiledModel::weights, and `run` takes a pointer to them.
  std::optional<int64_t> weights_threshold{};
};

struct CompiledModel {
  std::string header;
  std::string weights;  ///< a file's bytes; each constant begins at a multiple of 64
};

/// A self-contained header with the model, for CompileOptions::target. `files` are Tenon's headers
/// (loader/tool/embedded_headers.hpp). The same model, options and level give the same bytes.
///
///     compile(embedded_headers(), load_model("digits.onnx"), {.name = "digits", .shapes = {{{"batch",
///     {1}}}}})
///
/// The header has `digits::Memory`, and `digits::run(image, probability, memory)` with a view of each input
/// and output. Element types and extents are part of the views' types: a pointer to the elements suffices,
/// and the size of an array, a vector or a span is checked. Among overloads for several shapes,
/// digits::TensorView<const float, digits::Shape<1, 8, 8>>(pointer) chooses one. Packed elements are passed
/// as digits::tenon::PackedPtr. `run` neither allocates nor throws; an operator that finds its data invalid
/// (an index out of range) ends the program. Results equal a session's, from `load` on the same machine at
/// the same level, to the bit if the compiler optimises as the header's second line says. Mapping the file
/// of weights gives the first result soonest; later results of a large model are a tenth faster if weights
/// and Memory lie on large pages (madvise), as in a session.
///
/// For another processor family, kernels for its registers run here, to pack constants and to measure memory.
/// They also fold the constants that nodes compute, whose last bits may then differ from a session's on
/// the target.
///
/// The bodies of If, Loop and Scan become blocks of `run`. The extents of their results and states have to be
/// the same in each run of a body. The number of a Loop's runs may depend on data if it has no scan outputs.
///
/// Error{invalid_argument} for shapes that name nothing and for extents that are left open, each named.
/// Error{not_supported} with a line for each node that a header cannot express: its results' extents are
/// known only at run time, it works on strings, sequences or maps, or another library does its work.
[[nodiscard]] CompiledModel compile(std::span<const HeaderText> files, const Model& model,
                                    const CompileOptions& options = {});

/// A model's part of a header that several models share.
struct ModelPart {
  std::string name;  ///< of its namespace
  std::string text, weights;
  std::set<std::string> headers;   ///< that the text needs
  std::set<DType> types;           ///< of the elements of its values
  std::vector<std::string> views;  ///< the types of the last overload's inputs, then of its outputs
  kernels::Variants variants{};    ///< that runs of all overloads use
  std::string target{};            ///< CompileOptions::target
};
/// The part of a model. Throws the same errors as compile.
[[nodiscard]] ModelPart compile_part(const Model& model, const CompileOptions& options);
/// A header with each part in a namespace of its own name within `space`, or in `space` itself if the names
/// are equal. Error{invalid_argument} for parts of different targets.
[[nodiscard]] std::string assemble(std::span<const HeaderText> files, std::span<const ModelPart> parts,
                                   const std::string& space);

}  // namespace tenon::TENON_ABI
