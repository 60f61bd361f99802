// A scan of a model's bytes before protobuf copies them. Large tensor data is left out of the copy and used
// in place. Truncated or too deeply nested messages are reported with their position.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// The key of the external_data entry that stands for raw data left in the file; its value is
/// "offset,length".
inline constexpr std::string_view mapped_key{"\0mapped", 7};

/// A serialised ModelProto without its large raw_data; nothing if it has none. Error{invalid_model} if the
/// bytes are not a message.
std::optional<std::string> strip_raw_data(std::span<const std::byte> model);

}  // namespace tenon::TENON_ABI::loader
