// Documentation comments, read from the texts of headers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "loader/compile/amalgamate.hpp"

namespace tenon::TENON_ABI::loader {

/// A struct and what comments say of it, in one line each.
struct CommentedStruct {
  std::string comment{};
  std::string_view text{};  ///< what follows its name in the header

  /// The comment on the line of a member: `int64_t axis = 0;  ///< from -rank`.
  std::string comment_of(std::string_view member) const;
};

/// The struct of that name in a header, both parts empty if there is none. An alias of a template in
/// tenon/op/families has the template's text, and its comment if it has none of its own.
CommentedStruct find_struct(std::span<const HeaderText> headers, std::string_view path,
                            std::string_view name);

}  // namespace tenon::TENON_ABI::loader
