// The operators of a registry as a page.
#pragma once

#include <span>
#include <string>

#include "loader/compile/amalgamate.hpp"

namespace tenon::TENON_ABI::loader {

/// A kind of values in a TypeSet: "seq(float)".
struct TypeKind {
  std::string_view before, after;  ///< around the element type
  uint32_t TypeSet::* elements;
};
inline constexpr TypeKind type_kinds[] = {{"", "", &TypeSet::tensor},
                                          {"seq(", ")", &TypeSet::sequence},
                                          {"optional(", ")", &TypeSet::optional},
                                          {"optional(seq(", "))", &TypeSet::optional_sequence},
                                          {"sparse(", ")", &TypeSet::sparse_tensor},
                                          {"map(int64,", ")", &TypeSet::map_int64},
                                          {"map(string,", ")", &TypeSet::map_string},
                                          {"seq(map(int64,", "))", &TypeSet::sequence_map_int64},
                                          {"seq(map(string,", "))", &TypeSet::sequence_map_string}};

/// A page with folding and search that needs no other file and no network: the operators by domain and
/// folder, with their versions, types, operands, attributes, and the comments of their headers. An operator
/// whose header is not among `headers` has no comment.
std::string operators_page(const Registry& registry, std::span<const HeaderText> headers);

}  // namespace tenon::TENON_ABI::loader
