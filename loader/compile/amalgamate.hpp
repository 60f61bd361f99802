// Amalgamating: Tenon's headers, and xsimd's, as one text that includes standard headers only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI {

/// A header as a program includes it: path "tenon/op/nn/conv.hpp" or "xsimd/xsimd.hpp". Paths that begin with
/// "freestanding/" are stand-ins for headers in freestanding texts; "NOTICE" is printed first.
struct HeaderText {
  std::string_view path, text;
};

struct Amalgamation {
  /// A namespace that encloses everything, or "". Namespaces tenon and xsimd are then nested in it. Macros
  /// get its name as a prefix and are undefined at the end, so that several such texts can share a program,
  /// or a source, whatever flags each is compiled with. A name that Tenon does not use, or a::b.
  std::string enclosing{};
  /// For programs without heap, exceptions and threads. Headers of loader/freestanding replace the headers of
  /// the same names, and functions that choose among kernels are inlined. The macros
  /// ENCLOSING_TENON_USES_VNNI and ENCLOSING_TENON_USES_AMX must be defined before the text, as 0 or 1, to
  /// say what kernels may use. ENCLOSING_TENON_VARIANTS may list the words of kernels::Variants, so that no
  /// other variants are compiled.
  bool freestanding = false;
  /// Freestanding: the element types that calls are compiled for where the type is known only at run time;
  /// empty: all.
  std::vector<DType> types{};
};

/// The headers and what they include, each once, as one text; two calls give the same bytes.
/// Error{invalid_argument} for a header that is not among `files`. Kernels are included with their bodies, as
/// if TENON_COMPILED were not defined. amalgamate(files, {{"tenon/op/nn/conv.hpp"}})
std::string amalgamate(std::span<const HeaderText> files, std::span<const std::string> headers,
                       const Amalgamation& options = {});

/// The header of an operator: "tenon/op/nn/conv.hpp" for "Conv". The name may be qualified by its domain, as
/// in "ai.onnx.ml.Normalizer"; otherwise the first domain that has the name is taken, starting with ai.onnx.
/// Error{invalid_argument} for an unknown name, with similar names, and for operators that need libraries
/// other than xsimd.
std::string operator_header(const Registry& registry, std::string_view name);

}  // namespace tenon::TENON_ABI
