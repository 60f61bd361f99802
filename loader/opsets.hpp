// The operator sets that a model or a function imports, and the names of functions.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "loader/onnx.pb.h"
#include "tenon/base/error.hpp"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// "ai.onnx" and "" are one domain.
inline std::string_view canonical(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}
inline std::string display(std::string_view domain) {
  return std::string(domain.empty() ? "ai.onnx" : domain);
}

/// The registry that options name, else the standard one.
inline const Registry& registry_of(const Registry* named) {
  return named != nullptr ? *named : standard_registry();
}

/// Whether a node's operator is the ai.onnx operator of that name.
inline bool is_standard(const onnx::NodeProto& n, std::string_view op) {
  return n.op_type() == op && canonical(n.domain()).empty();
}

/// The identity of a function: domain, name, overload.
using FunctionKey = std::tuple<std::string, std::string, std::string>;
inline FunctionKey key_of(const onnx::FunctionProto& f) {
  return {std::string(canonical(f.domain())), f.name(), f.overload()};
}
/// The key of the function that a node calls, if there is one.
inline FunctionKey key_of(const onnx::NodeProto& n) {
  return {std::string(canonical(n.domain())), n.op_type(), n.overload()};
}

/// Whether an operator takes sparse tensors as that input. All others get sparse constants in the dense form.
inline bool takes_sparse(const op::Spec& spec, int version, std::size_t input) {
  const auto k = static_cast<int>(input);
  return (k < spec.inputs.size() || spec.variadic_inputs()) &&
         spec.permits(spec.input(k), version).sparse_tensor != 0;
}

/// Versions by domain.
using Opsets = std::map<std::string, int, std::less<>>;

/// Of several versions of one domain, which the IR forbids, the last counts, as in ONNX Runtime.
/// Error{invalid_model} for an invalid version.
template <class List>
Opsets read_opsets(const List& imports, const std::string& where) {
  std::map<std::string, int64_t, std::less<>> stated;
  for (const auto& i : imports) stated.insert_or_assign(std::string(canonical(i.domain())), i.version());
  Opsets opsets;
  for (const auto& [domain, version] : stated) {
    if (version < 1 || version > 1'000'000)
      throw Error(ErrorCode::invalid_model, where,
                  str_cat("opset version ", version, " of ", display(domain)));
    opsets.emplace(domain, static_cast<int>(version));
  }
  return opsets;
}

}  // namespace tenon::TENON_ABI::loader
