// Headers for programs without heap, exceptions and threads.
#pragma once

#include <string>
#include <string_view>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::amalgamation {

/// Whether a header of the standard library is one whose place tenon/base/standin.hpp takes.
bool has_standin(std::string_view standard_header);

/// The text with functions that choose among kernels inlined. The attribute stands here, because in a
/// session, whose calls do not state the numbers, it would only make code larger.
std::string freestanding_text(std::string_view text);

}  // namespace tenon::TENON_ABI::amalgamation
