// What the pages have in common: their head, text in HTML, and the styles and scripts of loader/draw/page.
#pragma once

#include <string>
#include <string_view>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

// Defined in a unit that the build writes from page/pages.cc.in: NAME_style is NAME.css, NAME_script is
// NAME.js.
extern const std::string_view operators_style, operators_script;
extern const std::string_view page_style, page_script;

/// Text between tags and within quoted attributes.
std::string escaped(std::string_view text);
/// The start of a page, up to and including <body>. The page's policy permits this style and this script, and
/// nothing from elsewhere.
std::string page_head(std::string_view title, std::string_view style, std::string_view script);

}  // namespace tenon::TENON_ABI::loader
