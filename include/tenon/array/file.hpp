// Reading and writing whole files, for the formats of this folder.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "tenon/base/platform/path.hpp"
#include "tenon/base/platform/stdio.hpp"
#include "tenon/base/storage.hpp"

namespace tenon::TENON_ABI::array_detail {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

[[noreturn, gnu::cold]] inline void file_failed(const std::filesystem::path& file) {
  raise(ErrorCode::io, tenon::detail::path_text(file), std::strerror(errno));
}

/// The bytes of a regular file, aligned to 64. Error{io} if it does not exist or cannot be read.
inline Storage read_file(const std::filesystem::path& file) {
  if (tenon::detail::is_other_than_file(file))
    raise(ErrorCode::io, tenon::detail::path_text(file), "not a regular file");
  const File in(tenon::detail::open_file(file, false));
  if (in == nullptr) file_failed(file);
  std::error_code failed;
  const uintmax_t bytes_of_file = tenon::detail::file_size(file, in.get(), failed);
  if (failed) raise(ErrorCode::io, tenon::detail::path_text(file), failed.message());
  if (!std::in_range<std::size_t>(bytes_of_file))
    raise(ErrorCode::out_of_memory, tenon::detail::path_text(file), "larger than the address space");
  const auto size = static_cast<std::size_t>(bytes_of_file);
  Storage bytes = Storage::allocate(size);
  std::size_t read = 0;
  while (read < size) {
    const std::size_t n = std::fread(bytes.as<char>() + read, 1, size - read, in.get());
    if (n == 0) break;
    read += n;
  }
  if (std::ferror(in.get()) != 0) file_failed(file);
  return bytes.slice(0, read);
}

/// Writes parts consecutively. Error{io}; what was written so far stays.
inline void write_file(const std::filesystem::path& file, std::initializer_list<std::string_view> parts) {
  File out(tenon::detail::open_file(file, true));
  if (out == nullptr) file_failed(file);
  for (const std::string_view part : parts)
    if (std::fwrite(part.data(), 1, part.size(), out.get()) != part.size()) file_failed(file);
  if (std::fclose(out.release()) != 0) file_failed(file);
}

inline std::string_view text_of(const Storage& bytes) { return {bytes.as<const char>(), bytes.size_bytes()}; }

}  // namespace tenon::TENON_ABI::array_detail
