// The style and the script of every page of html(): the files of loader/draw/page.
#pragma once

#include <string_view>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

// The definitions are written by loader/bazel/embed_page.sh.
extern const std::string_view page_style;
extern const std::string_view page_script;

}  // namespace tenon::TENON_ABI::loader
