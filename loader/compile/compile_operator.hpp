// The text of an operator in a compiled model.
#pragma once

#include <set>
#include <string>

#include "loader/compile/amalgamate.hpp"
#include "loader/compile/compile_words.hpp"
#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI::emission {

/// An expression for an operator, and the headers that it needs.
struct OperatorText {
  std::string expression;
  std::set<std::string> headers;
  std::set<DType> types;  ///< of matrices in fewer bits than a float
  bool constant = true;   ///< in the sense of the language
};

/// Throws Refused for an operator that a header cannot express.
OperatorText text_of(const AnyOperator& op, const Registry& registry, Constants& c);

}  // namespace tenon::TENON_ABI::emission
