// Files of the C library by their paths, which are wide strings on Windows.
#pragma once

#include <cstdio>
#include <filesystem>

#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI::detail {

/// std::fopen in mode "rb", or "wb" to write; nullptr with errno.
inline std::FILE* open_file(const std::filesystem::path& file, bool to_write) {
#ifdef _WIN32
  return ::_wfopen(file.c_str(), to_write ? L"wb" : L"rb");
#else
  return std::fopen(file.c_str(), to_write ? "wb" : "rb");
#endif
}

}  // namespace tenon::TENON_ABI::detail
