#ifndef _WIN32

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "loader/os_parts.hpp"

#if defined(__linux__) || defined(__APPLE__)
#include <sys/random.h>
#endif

namespace tenon::TENON_ABI::loader {
namespace {

namespace fs = std::filesystem;

int number_of(const Descriptor& d) { return static_cast<int>(d.number()); }

// A handle for what lies in a folder, or for the file itself without reading it. Linux alone can open a file
// so without effects on devices and pipes.
#ifdef O_PATH
constexpr int handle_only = O_PATH;
#else
constexpr int handle_only = O_RDONLY | O_NONBLOCK;
#endif

os::Status status_from(const struct stat& s) {
#ifdef __APPLE__
  const timespec changed = s.st_mtimespec;
#else
  const timespec changed = s.st_mtim;
#endif
  return {.regular = S_ISREG(s.st_mode),
          .device = static_cast<uint64_t>(s.st_dev),
          .index = static_cast<uint64_t>(s.st_ino),
          .size = static_cast<int64_t>(s.st_size),
          .seconds = static_cast<int64_t>(changed.tv_sec),
          .nanoseconds = static_cast<int64_t>(changed.tv_nsec)};
}

// A path that leads to an open file, even one without a name, where there is /proc.
std::string path_of_open(const Descriptor& d) { return str_cat("/proc/self/fd/", number_of(d)); }

bool link_open(const Descriptor& file, const Descriptor& folder, const std::string& name) {
  return ::linkat(AT_FDCWD, path_of_open(file).c_str(), number_of(folder), name.c_str(), AT_SYMLINK_FOLLOW) ==
         0;
}

// Opens what `location` names beneath a folder, without following links.
os::Opened walk(Descriptor folder, const fs::path& location) {
  os::Opened result{std::move(folder)};
  for (auto part = location.begin(); part != location.end(); ++part) {
    if (part->empty() || *part == ".") continue;
    const int kind = std::next(part) == location.end() ? O_RDONLY | O_NONBLOCK : handle_only | O_DIRECTORY;
    Descriptor next(::openat(number_of(result.file), part->c_str(), kind | O_CLOEXEC | O_NOFOLLOW));
    if (!next)
      return os::refused(errno == ELOOP || errno == ENOTDIR
                             ? "there is a symbolic link on the way, or no folder"
                             : os::last_error());
    result.file = std::move(next);
  }
  struct stat status{};
  if (::fstat(number_of(result.file), &status) != 0 || !S_ISREG(status.st_mode))
    return os::refused("not a regular file");
  return result;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(static_cast<int>(number_));
}

namespace os {

std::string last_error() { return std::strerror(errno); }

std::optional<Status> status_of(const Descriptor& file) {
  struct stat status{};
  if (::fstat(number_of(file), &status) != 0) return std::nullopt;
  return status_from(status);
}
std::optional<Status> status_of(const fs::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return status_from(status);
}

Descriptor open_to_read(const fs::path& file) {
  return Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

Descriptor open_folder(const fs::path& folder) {
  Descriptor d(::open(folder.empty() ? "." : folder.c_str(), handle_only | O_CLOEXEC | O_DIRECTORY));
  if (!d) throw Error(ErrorCode::io, folder.string(), last_error());
  return d;
}

Opened open_beneath(const fs::path& folder, const fs::path& location) {
  Opened opened = walk(open_folder(folder), location);
  struct stat status{};
  if (!opened.file) return opened;
  if (::fstat(number_of(opened.file), &status) != 0) return refused(last_error());
  if (status.st_nlink > 1) return refused("the file has several hard links");
  return opened;
}

#ifdef __linux__

fs::path path_of(const Descriptor& file) {
  std::string path(PATH_MAX, '\0');
  const ssize_t n = ::readlink(path_of_open(file).c_str(), path.data(), path.size());
  if (n < 0) throw Error(ErrorCode::io, "/proc/self/fd", last_error());
  path.resize(static_cast<std::size_t>(n));
  return path;
}

// This handle refers to the file without reading it: opening a device or a pipe might have an effect.
Opened find_beneath(const Descriptor& folder, const fs::path& location) {
  Descriptor d(::openat(number_of(folder), location.c_str(), O_PATH | O_CLOEXEC));
  if (!d) return refused(last_error());
  return {std::move(d)};
}

Opened open_found(const Descriptor& file) {
  struct stat status{};
  if (::fstat(number_of(file), &status) != 0 || !S_ISREG(status.st_mode))
    return refused("not a regular file");
  Descriptor d(::open(path_of_open(file).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!d) return refused(last_error());
  return {std::move(d)};
}

#else

// The path that the links lead to is opened without following any: links that have changed are refused.
Opened open_within(const fs::path& root, const fs::path& folder, const fs::path& location) {
  std::error_code error;
  const fs::path from = fs::canonical(folder.empty() ? "." : folder, error);
  if (error) throw Error(ErrorCode::io, folder.string(), error.message());
  const fs::path most = fs::canonical(root, error);
  if (error) throw Error(ErrorCode::io, root.string(), error.message());
  const fs::path path = fs::canonical(from / location, error);
  if (error) return refused(error.message());
  for (const fs::path& base : {most, from})
    if (lies_within(path, base)) return walk(open_folder(base), path.lexically_relative(base));
  return refused("it is outside the trusted root and the model's folder");
}

#endif

const std::byte* map(const Descriptor& file, std::size_t offset, std::size_t size) {
  void* const data =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, number_of(file), static_cast<off_t>(offset));
  return data == MAP_FAILED ? nullptr : static_cast<const std::byte*>(data);
}
void unmap(const std::byte* data, std::size_t size) { ::munmap(const_cast<std::byte*>(data), size); }

void fill_randomly(std::span<unsigned char> bytes) {
  if (::getentropy(bytes.data(), bytes.size()) != 0)
    throw Error(ErrorCode::io, "random numbers", last_error());
}

fs::path make_temporary_folder(const std::string& prefix) {
  std::string name = (fs::temp_directory_path() / (prefix + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) throw Error(ErrorCode::io, name, "cannot be made");
  return name;
}

bool is_terminal() { return ::isatty(STDERR_FILENO) != 0; }

bool names_device(const std::string&) { return false; }

void use_utf8() {}

std::vector<std::string> command_line(int argc, char** argv) { return {argv, argv + argc}; }

// Not from getrusage, which reports the parent's peak if that was greater.
int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return int64_t{1024} * std::strtoll(line.c_str() + 6, nullptr, 10);
  return 0;
}

void set_variable(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

bool run_in_copy(const std::function<int()>& f) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw Error(ErrorCode::io, "process", "no process can be started");
  if (child == 0) {
    const int code = f();
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace os

// --- NewFile ---

NewFile::NewFile(fs::path file) : file_(std::move(file)) {
  if (!file_.has_filename()) fail("no name of a file");
  struct stat status{};
  if (::stat(file_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) fail("a folder");
    out_ = Descriptor(::open(file_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    // The file may have been replaced before it was opened.
    if (!out_ || ::fstat(number_of(out_), &status) != 0) fail(os::last_error());
    if (S_ISREG(status.st_mode)) fail("changes while it is opened");
    return;
  }
  const fs::path folder = file_.has_parent_path() ? file_.parent_path() : fs::path(".");
  folder_ = Descriptor(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!folder_) fail(os::last_error());
  make();
  try {
    keep_permissions();
  } catch (...) {
    if (!temporary_.empty()) ::unlinkat(number_of(folder_), temporary_.c_str(), 0);
    throw;
  }
}

void NewFile::make() {
#ifdef O_TMPFILE
  out_ = Descriptor(::openat(number_of(folder_), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  // Without /proc it could not be given a name.
  if (out_ && ::access(path_of_open(out_).c_str(), F_OK) == 0) return;
#endif
  temporary_ = os::hidden_name(file_);
  out_ = Descriptor(::openat(number_of(folder_), temporary_.c_str(),
                             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (out_) return;
  temporary_.clear();
  fail(os::last_error());
}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlinkat(number_of(folder_), temporary_.c_str(), 0);
}

void NewFile::write(std::string_view bytes) {
  const int64_t all = std::ssize(bytes);
  size_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t n = ::write(number_of(out_), bytes.data(), std::min<std::size_t>(bytes.size(), 1U << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(os::last_error());
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  begin_to_save(all);
}

// Starts writing a large number of bytes back to disk at once, so that put_in_place waits less. put_in_place
// reports a failure.
void NewFile::begin_to_save([[maybe_unused]] int64_t bytes) const {
#ifdef SYNC_FILE_RANGE_WRITE
  if (bytes >= int64_t{1} << 20 && !at_once())
    static_cast<void>(::sync_file_range(number_of(out_), 0, 0, SYNC_FILE_RANGE_WRITE));
#endif
}

int64_t NewFile::copy([[maybe_unused]] const Descriptor& from, [[maybe_unused]] int64_t offset,
                      [[maybe_unused]] int64_t size) {
  int64_t copied = 0;
#ifdef __linux__
  for (auto at = static_cast<off_t>(offset); copied < size;) {
    const ssize_t n = ::copy_file_range(number_of(from), &at, number_of(out_), nullptr,
                                        static_cast<std::size_t>(size - copied), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;  // two file systems, or one that cannot; `write` reports what else is wrong
    copied += n;
  }
  size_ += copied;
  begin_to_save(copied);
#endif
  return copied;
}

bool NewFile::differs_from_existing() const {
  const std::string name = file_.filename().string();
  struct stat status{};
  if (::fstatat(number_of(folder_), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_size != size_) return true;
  const Descriptor existing(
      ::openat(number_of(folder_), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const std::optional<os::Status> now = existing ? os::status_of(existing) : std::nullopt;
  if (!now) fail(os::last_error());
  if (!now->regular || now->size != size_) return true;
  const std::optional<bool> same = os::same_bytes(existing, out_, size_);
  if (!same) fail(str_cat("cannot be mapped: ", os::last_error()));
  return !*same;
}

// Only some users can keep the owner; otherwise other users get no more rights than they had.
void NewFile::keep_permissions() const {
  const std::string name = file_.filename().string();
  struct stat old{}, mine{};
  if (::fstatat(number_of(folder_), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (S_ISLNK(old.st_mode)) fail("a symbolic link: name the file that it leads to");
  if (!S_ISREG(old.st_mode)) fail("no regular file, and not replaced by one");
  if (::faccessat(number_of(folder_), name.c_str(), W_OK, AT_EACCESS) != 0 ||
      ::fstat(number_of(out_), &mine) != 0)
    fail(os::last_error());
  const bool owned = (mine.st_uid == old.st_uid && mine.st_gid == old.st_gid) ||
                     ::fchown(number_of(out_), old.st_uid, old.st_gid) == 0;
  if (::fchmod(number_of(out_), old.st_mode & (owned ? 0777U : 0707U)) != 0) fail(os::last_error());
}

void NewFile::put_in_place() {
  if (at_once()) return;
  keep_permissions();
  if (::fsync(number_of(out_)) != 0) fail(os::last_error());
  const std::string name = file_.filename().string();
  // An unnamed file can only be given a name that is free.
  if (temporary_.empty() && !link_open(out_, folder_, name)) {
    const bool taken = errno == EEXIST;
    if (!taken) fail(os::last_error());
    std::string hidden = os::hidden_name(file_);
    if (!link_open(out_, folder_, hidden)) fail(os::last_error());
    temporary_ = std::move(hidden);
  }
  if (!temporary_.empty() &&
      ::renameat(number_of(folder_), temporary_.c_str(), number_of(folder_), name.c_str()) != 0)
    fail(os::last_error());
  temporary_.clear();
  ::fsync(number_of(folder_));  // the name; some file systems do not support this and report an error
}

}  // namespace tenon::TENON_ABI::loader

#endif
