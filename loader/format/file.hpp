// Files as mapped memory, and files that replace others once they are complete.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "tenon/base/error.hpp"
#include "tenon/base/storage.hpp"

namespace tenon::TENON_ABI::loader {

/// An open file or folder.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

/// The system's message for the last call that failed.
std::string last_error();

/// A regular file, mapped for reading while handles to it live.
///
/// A file that NewFile replaces stays mapped as it was. If another program truncates a file, the memory is
/// lost: the system ends the process with SIGBUS when the missing part is read.
class MappedFile {
 public:
  /// Error{io} if there is no such regular file or it cannot be mapped.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& file);
  /// The same for a file that is already open; `place` names it in errors.
  static std::shared_ptr<const MappedFile> map(const Descriptor& file, const std::string& place);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Error{io} if this file still has the name and has been written to since it was mapped. A file that has
  /// replaced it is ignored.
  void check_unchanged(const std::filesystem::path& name) const;

 private:
  using State =
      std::array<int64_t, 5>;  // device, inode number, size, seconds and nanoseconds of the last change

  MappedFile(const std::byte* data, std::size_t size, const State& state)
      : data_(data), size_(size), state_(state) {}

  const std::byte* data_;
  std::size_t size_;
  State state_;
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

/// A file that gets its name once it is complete. Until then, an existing file of that name stays, and
/// nothing is left of the new one if it is abandoned. Where the file system supports unnamed files it has no
/// name until then, so that even a killed program leaves nothing; elsewhere it has a hidden name.
///
///     NewFile out("model.onnx");
///     out.write(bytes);
///     out.put_in_place();
///
/// If the name belongs to something other than a regular file, a pipe or a terminal, that is written to
/// directly.
class NewFile {
 public:
  /// Error{io} for folders, symbolic links, files without write permission, and where no file can be created.
  explicit NewFile(std::filesystem::path file);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  void write(std::string_view bytes);
  int64_t size() const { return size_; }
  /// Whether the name belongs to something other than a regular file.
  bool at_once() const { return !folder_; }
  /// Another name in the same folder.
  void rename(const std::string& name) { file_.replace_filename(name); }
  /// Whether another file has the name, with different bytes.
  bool differs_from_existing() const;
  /// Gives the file its name once all of it is on disk. It takes the permissions of the file it replaces.
  void put_in_place();

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void make();
  void keep_permissions() const;
  bool link(const std::string& name) const;

  std::filesystem::path file_;
  Descriptor folder_, out_;
  std::string temporary_;  // its name in the folder; "" while there is none
  int64_t size_ = 0;
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
    const std::string name = file.string();
    if (e.where().starts_with(name)) throw;
    throw Error(e.code(), str_cat(name, e.where().empty() ? "" : ": ", e.where()), e.message());
  }
}

/// Whether two paths name the same folder.
bool same_folder(const std::filesystem::path& a, const std::filesystem::path& b);

/// Writes a whole file as NewFile does, or leaves the old one. Error{io}.
void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace tenon::TENON_ABI::loader
