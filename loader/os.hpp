// What the loader asks of the operating system, for files above all: os_posix.cc answers on Linux, whose own
// calls it prefers, on macOS and on the BSDs; os_windows.cc on Windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/error.hpp"
#include "tenon/base/platform/path.hpp"

namespace tenon::TENON_ABI::loader {

using tenon::detail::path_named;
using tenon::detail::path_text;

/// An open file or folder: a file descriptor, or a HANDLE of Windows.
class Descriptor {
 public:
  explicit Descriptor(std::intptr_t number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  std::intptr_t number() const { return number_; }
  explicit operator bool() const { return number_ != -1; }

 private:
  std::intptr_t number_;
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
/// directly. Files that are mapped: os::replaces_mapped.
class NewFile {
 public:
  /// Error{io} for folders, symbolic links, files without write permission, and where no file can be created.
  explicit NewFile(std::filesystem::path file);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  void write(std::string_view bytes);
  /// Appends bytes of another file in the system's own way: some file systems let files share them. Returns
  /// how many; the others have to be written.
  int64_t copy(const Descriptor& from, int64_t offset, int64_t size);
  int64_t size() const { return size_; }
  /// Whether the name belongs to something other than a regular file.
  bool at_once() const { return !folder_; }
  /// Another name in the same folder.
  void rename(const std::string& name) { file_.replace_filename(path_named(name)); }
  /// Whether another file has the name, with different bytes.
  bool differs_from_existing() const;
  /// Gives the file its name once all of it is on disk. It takes the permissions of the file it replaces.
  void put_in_place();

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::io, path_text(file_), what);
  }
  void make();
  void begin_to_save(int64_t bytes) const;
  void keep_permissions() const;

  std::filesystem::path file_;
  Descriptor folder_, out_;
  std::string temporary_;  // its name in the folder; "" while there is none
  int64_t size_ = 0;
};

namespace os {

/// The system's message for the last call that failed.
std::string last_error();

/// What the system knows about a file.
struct Status {
  bool regular = false;
  uint64_t device = 0, index = 0;        ///< names of one file have the same pair
  int64_t size = 0;                      ///< in bytes
  int64_t seconds = 0, nanoseconds = 0;  ///< of the last change of its bytes

  bool operator==(const Status&) const = default;
};
/// Of an open file; none if the system refuses.
std::optional<Status> status_of(const Descriptor& file);
/// Of the file that a path leads to, through links.
std::optional<Status> status_of(const std::filesystem::path& file);

/// Opens a file for reading. Does not wait for the other end of a pipe.
Descriptor open_to_read(const std::filesystem::path& file);

/// A file that was opened in a folder, or the reason why it was refused.
struct Opened {
  Descriptor file{};
  std::string refusal{};
};
/// Opens a regular file beneath a folder. `location` is relative and has no "..". Each of its parts is opened
/// within the previous one, so that nothing put in its place meanwhile leads elsewhere. Refused: links on the
/// way, anything but regular files, and files with several hard links. Error{io} if the folder cannot be
/// opened.
Opened open_beneath(const std::filesystem::path& folder, const std::filesystem::path& location);
/// The same with links, if they lead to a regular file within `root` or the folder.
Opened open_within(const std::filesystem::path& root, const std::filesystem::path& folder,
                   const std::filesystem::path& location);

/// Parts of files that are mapped begin at multiples of this: Windows' granularity, and no system's page is
/// larger.
inline constexpr std::size_t map_alignment = std::size_t{1} << 16;
/// `size` > 0 bytes of a file from `offset`, a multiple of map_alignment, as memory to be read; nullptr if
/// they cannot be mapped.
const std::byte* map(const Descriptor& file, std::size_t offset, std::size_t size);
void unmap(const std::byte* data, std::size_t size);
/// Whether a file that is mapped can be replaced. Windows refuses.
#if defined(_WIN32)
inline constexpr bool replaces_mapped = false;
#else
inline constexpr bool replaces_mapped = true;
#endif

/// Sixteen hexadecimal digits that no other process finds. Error{io}.
std::string random_digits();

/// A new folder for temporary files, whose name begins with `prefix` and which other users cannot read.
/// Error{io}.
std::filesystem::path make_temporary_folder(const std::string& prefix);

/// Whether the system takes a file's name, whatever its folder and extension, for a device, as Windows does
/// "aux".
bool names_device(const std::string& stem);

/// Whether a user sees standard error.
bool is_terminal();

/// From now on what the program prints is UTF-8, byte for byte. Windows would take it for the user's own
/// encoding, and print a carriage return before each new line. Text becomes a path by path_named: MinGW's
/// paths take the bytes of strings for Latin-1.
void use_utf8();

/// The last words of the command line, which `main` got, in UTF-8. Windows gives `main` the user's own
/// encoding, which lacks most characters. Words that are not `main`'s are returned as they are.
std::vector<std::string> command_line(int argc, char** argv);

/// The most memory that this process has had so far, in bytes; 0 if unknown.
int64_t peak_memory();

void set_variable(const char* name, const std::string& value);

/// Runs f in a copy of this process, which ends with f's result; whether that was 0. Error{io} if there can
/// be no copy, which Windows does not have.
bool run_in_copy(const std::function<int()>& f);

}  // namespace os
}  // namespace tenon::TENON_ABI::loader
