// What os_posix.cc and os_windows.cc have in common, and the calls of theirs that it is made of.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "loader/os.hpp"

namespace tenon::TENON_ABI::loader::os {

inline Opened refused(std::string why) { return {.refusal = std::move(why)}; }

inline bool lies_within(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

/// Whether two open files of `size` bytes have the same bytes; nullopt if one of them cannot be mapped.
std::optional<bool> same_bytes(const Descriptor& a, const Descriptor& b, int64_t size);

/// An unused hidden name in the folder of a file.
std::filesystem::path hidden_name(const std::filesystem::path& file);

// ---- For open_within where the system reports the path of an open file: Linux and Windows. ----

/// A folder, whose name leads to it as long as the result lives if the system permits that. Error{io}.
Descriptor open_folder(const std::filesystem::path& folder);
/// What `location` leads to from a folder, through links, without reading it.
Opened find_beneath(const Descriptor& folder, const std::filesystem::path& location);
/// The path that the system reports. Error{io}.
std::filesystem::path path_of(const Descriptor& file);
/// A regular file that find_beneath gave, for reading.
Opened open_found(const Descriptor& file);

/// Fills bytes with numbers that no other process finds. Error{io}.
void fill_randomly(std::span<unsigned char> bytes);

}  // namespace tenon::TENON_ABI::loader::os
