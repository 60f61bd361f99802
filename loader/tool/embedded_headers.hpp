// The headers that the tool has in itself: all of Tenon, xsimd, and stand-ins for freestanding programs.
#pragma once

#include "loader/amalgamate.hpp"

namespace tenon::TENON_ABI::tool {

/// Sorted by path. The definition is written by loader/bazel/embed.sh.
std::span<const HeaderText> embedded_headers();

}  // namespace tenon::TENON_ABI::tool
