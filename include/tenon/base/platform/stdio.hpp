// Files of the C library by their paths, which are wide strings on Windows. libc++ without a file system
// (WebAssembly) has paths, and no functions on them.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "tenon/base/version.hpp"

#if defined(_LIBCPP_HAS_NO_FILESYSTEM) || (defined(_LIBCPP_HAS_FILESYSTEM) && !_LIBCPP_HAS_FILESYSTEM)
#define TENON_WITHOUT_FILESYSTEM
#endif

namespace tenon::TENON_ABI::detail {

/// std::fopen in mode "rb", or "wb" to write; nullptr with errno.
inline std::FILE* open_file(const std::filesystem::path& file, bool to_write) {
#ifdef _WIN32
  return ::_wfopen(file.c_str(), to_write ? L"wb" : L"rb");
#else
  return std::fopen(file.c_str(), to_write ? "wb" : "rb");
#endif
}

/// Whether a path leads to something other than a regular file, such as a folder; false if unknown.
inline bool is_other_than_file([[maybe_unused]] const std::filesystem::path& file) {
#ifdef TENON_WITHOUT_FILESYSTEM
  return false;
#else
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(file, failed);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
#endif
}

/// The size of a regular file, which is open as `in` at its beginning.
inline uintmax_t file_size([[maybe_unused]] const std::filesystem::path& file, [[maybe_unused]] std::FILE* in,
                           std::error_code& failed) {
#ifdef TENON_WITHOUT_FILESYSTEM
  const long size = std::fseek(in, 0, SEEK_END) == 0 ? std::ftell(in) : -1;
  if (size < 0 || std::fseek(in, 0, SEEK_SET) != 0) failed.assign(errno, std::generic_category());
  return static_cast<uintmax_t>(size);
#else
  return std::filesystem::file_size(file, failed);
#endif
}

}  // namespace tenon::TENON_ABI::detail

#undef TENON_WITHOUT_FILESYSTEM
