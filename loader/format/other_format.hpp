// Files that are not ONNX, known by their first bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// What a file with these bytes is if not a binary ONNX model, and how its user gets one; empty if unknown.
std::string_view other_format(std::span<const std::byte> bytes);

}  // namespace tenon::TENON_ABI::loader
