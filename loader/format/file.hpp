// Files as mapped memory, and files that replace others once they are complete.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "loader/os.hpp"
#include "tenon/base/storage.hpp"

namespace tenon::TENON_ABI::loader {

/// A regular file, or a part of one, mapped for reading while handles to it live.
///
/// A file that NewFile replaces stays mapped as it was. If another program truncates a file, the memory is
/// lost: the system ends the process with SIGBUS when the missing part is read.
class MappedFile {
 public:
  /// Error{io} if there is no such regular file or it cannot be mapped.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& file);
  /// The same for a file that is already open; `place` names it in errors.
  static std::shared_ptr<const MappedFile> map(const Descriptor& file, const std::string& place);
  /// The same for `size` bytes from `offset` alone, which the file must have.
  static std::shared_ptr<const MappedFile> map(const Descriptor& file, const std::string& place,
                                               const os::Status& status, std::size_t offset,
                                               std::size_t size);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return mapped_.subspan(skipped_); }
  /// Error{io} if this file still has the name and has been written to since it was mapped. A file that has
  /// replaced it is ignored.
  void check_unchanged(const std::filesystem::path& name) const;

 private:
  MappedFile(std::span<const std::byte> mapped, std::size_t skipped, const os::Status& state)
      : mapped_(mapped), skipped_(skipped), state_(state) {}

  std::span<const std::byte> mapped_;
  std::size_t skipped_;  // bytes ahead of the part, since a mapping begins at a page
  os::Status state_;
};

/// A part of a mapped file.
struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const MappedFile> file;  ///< keeps `bytes` valid

  /// Returns the memory to the system; it is filled from the file again when the part is next read.
  void forget() const {
    if (file != nullptr) FilePart(file, bytes.data(), bytes.size());
  }
};

/// The folder of a model's file, which holds its external data: "." for a bare file name.
inline std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}
/// Calls f, and prefixes the places of errors with the file's name unless they begin with it.
///
///     const Model m = in_file(file, [&] { return parse_model(bytes); });
template <class F>
decltype(auto) in_file(const std::filesystem::path& file, F f) {
  try {
    return f();
  } catch (const Error& e) {
    const std::string name = path_text(file);
    if (e.where().starts_with(name)) throw;
    throw Error(e.code(), str_cat(name, e.where().empty() ? "" : ": ", e.where()), e.message());
  }
}

/// Whether two paths name the same folder.
bool same_folder(const std::filesystem::path& a, const std::filesystem::path& b);

/// Writes a whole file as NewFile does, or leaves the old one. Error{io}.
void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace tenon::TENON_ABI::loader
