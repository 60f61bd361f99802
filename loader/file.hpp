// Files as mapped memory.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "tenon/base/error.hpp"

namespace tenon::loader {

/// A regular file, mapped for reading while handles on it live.
class MappedFile {
 public:
  /// Error{io} when there is no such regular file or it cannot be mapped.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& file);
  /// A file that a model names, relative to `folder`. Error{invalid_model} for absolute paths, `..`, symbolic
  /// links on the way, and anything that is no regular file. The opened file is checked, not its name.
  static std::shared_ptr<const MappedFile> open_within(const std::filesystem::path& folder,
                                                       const std::string& location);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  static std::shared_ptr<const MappedFile> map(int descriptor, const std::string& place);

  const std::byte* data_;
  std::size_t size_;
};

/// Writes a whole file. Error{io}.
void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace tenon::loader
