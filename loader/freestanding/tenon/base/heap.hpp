// A freestanding program has no heap. Its files are not mapped by Tenon.
#pragma once

#include <cstddef>

#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI::detail {

inline void forget_pages(const void*, std::size_t) noexcept {}

}  // namespace tenon::TENON_ABI::detail
