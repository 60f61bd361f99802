// Amalgamating: Tenon's headers, and xsimd's, as one text that includes standard headers only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI {

/// A header as a program includes it: path "tenon/op/nn/conv.hpp" or "xsimd/xsimd.hpp". The paths of those
/// that stand in for a header in freestanding texts begin with "freestanding/", and "NOTICE" is printed
/// first.
struct HeaderText {
  std::string_view path, text;
};

struct Amalgamation {
  /// A namespace for everything, or "". Namespaces tenon and xsimd are then within it, and macros have its
  /// name before theirs and are undefined at the end, so that several such texts live in one program, or one
  /// source, whatever flags each is compiled with. A name that nothing in Tenon has, or a::b.
  std::string enclosing{};
  /// For programs without heap, exceptions and threads. Headers of loader/freestanding take the place of
  /// the headers of their names; `throw` and `raise` become calls of tenon::fail. Before the text the macros
  /// ENCLOSING_TENON_USES_VNNI and ENCLOSING_TENON_USES_AMX are to say, 0 or 1, what kernels may use.
  bool freestanding = false;
  /// Freestanding: the element types that calls are compiled for where only the run tells the type; all, if
  /// empty.
  std::vector<DType> types{};
};

/// The headers and what they include, each once, as one text; two calls give the same bytes.
/// Error{invalid_argument} for a header that is not among `files`. Kernels come along with their bodies, as
/// if TENON_COMPILED were not defined. amalgamate(files, {{"tenon/op/nn/conv.hpp"}})
std::string amalgamate(std::span<const HeaderText> files, std::span<const std::string> headers,
                       const Amalgamation& options = {});

/// The header of an operator: "tenon/op/nn/conv.hpp" for "Conv". The domain may stand before the name, as in
/// "ai.onnx.ml.Normalizer"; without it, the first domain that has the name is meant, and ai.onnx is first.
/// Error{invalid_argument} for a name that no operator has, with names near it, and for operators that need
/// libraries beside xsimd.
std::string operator_header(const Registry& registry, std::string_view name);

}  // namespace tenon::TENON_ABI
