#include "loader/format/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tenon::TENON_ABI::loader {
namespace {

// Sixteen digits that no other writer uses.
std::string random_digits() {
  unsigned char random[8] = {};
  if (::getrandom(random, sizeof random, 0) != sizeof random)
    throw Error(ErrorCode::io, "random numbers", last_error());
  std::string digits;
  for (const unsigned char byte : random) {
    digits += "0123456789abcdef"[byte / 16];
    digits += "0123456789abcdef"[byte % 16];
  }
  return digits;
}

std::array<int64_t, 5> state_of(const struct stat& status) {
  return {static_cast<int64_t>(status.st_dev), static_cast<int64_t>(status.st_ino), status.st_size,
          status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

// An unused name in the folder of a file.
std::string hidden_name(const std::filesystem::path& file) {
  return str_cat(".", file.filename().string().substr(0, 200), ".", random_digits());
}

// A path that leads to an open file, even one without a name.
std::string path_of_open(const Descriptor& d) { return str_cat("/proc/self/fd/", d.number()); }

}  // namespace

std::string last_error() { return std::strerror(errno); }

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

// --- MappedFile ---

std::shared_ptr<const MappedFile> MappedFile::map(const Descriptor& file, const std::string& place) {
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) throw Error(ErrorCode::io, place, last_error());
  if (!S_ISREG(status.st_mode)) throw Error(ErrorCode::io, place, "not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  const State state = state_of(status);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(nullptr, 0, state));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (data == MAP_FAILED) throw Error(ErrorCode::io, place, str_cat("cannot be mapped: ", last_error()));
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const std::byte*>(data), size, state));
}

void MappedFile::check_unchanged(const std::filesystem::path& name) const {
  struct stat status{};
  if (::stat(name.c_str(), &status) != 0) return;
  const State now = state_of(status);
  if (now[0] == state_[0] && now[1] == state_[1] && now != state_)
    throw Error(ErrorCode::io, name.string(), "was written to after it was read");
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& file) {
  // Non-blocking: a FIFO would hang here before it could be refused.
  const Descriptor d(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!d) throw Error(ErrorCode::io, file.string(), last_error());
  return map(d, file.string());
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

// --- NewFile ---

void NewFile::fail(const std::string& what) const { throw Error(ErrorCode::io, file_.string(), what); }

NewFile::NewFile(std::filesystem::path file) : file_(std::move(file)) {
  if (!file_.has_filename()) fail("no name of a file");
  struct stat status{};
  if (::stat(file_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) fail("a folder");
    out_ = Descriptor(::open(file_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    // The file may have been replaced before it was opened.
    if (!out_ || ::fstat(out_.number(), &status) != 0) fail(last_error());
    if (S_ISREG(status.st_mode)) fail("changes while it is opened");
    return;
  }
  const std::filesystem::path folder = folder_of(file_);
  folder_ = Descriptor(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!folder_) fail(last_error());
  make();
  try {
    keep_permissions();
  } catch (...) {
    if (!temporary_.empty()) ::unlinkat(folder_.number(), temporary_.c_str(), 0);
    throw;
  }
}

void NewFile::make() {
  out_ = Descriptor(::openat(folder_.number(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  // Without /proc it could not be given a name.
  if (out_ && ::access(path_of_open(out_).c_str(), F_OK) == 0) return;
  temporary_ = hidden_name(file_);
  out_ = Descriptor(::openat(folder_.number(), temporary_.c_str(),
                             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (out_) return;
  temporary_.clear();
  fail(last_error());
}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlinkat(folder_.number(), temporary_.c_str(), 0);
}

void NewFile::write(std::string_view bytes) {
  size_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t n = ::write(out_.number(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(last_error());
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool NewFile::differs_from_existing() const {
  const std::string name = file_.filename().string();
  struct stat status{};
  if (::fstatat(folder_.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_size != size_) return true;
  const Descriptor existing(
      ::openat(folder_.number(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!existing) fail(last_error());
  const auto there = MappedFile::map(existing, file_.string()), here = MappedFile::map(out_, file_.string());
  return !std::ranges::equal(there->bytes(), here->bytes());
}

// Only some users can keep the owner; otherwise other users get no more rights than they had.
void NewFile::keep_permissions() const {
  const std::string name = file_.filename().string();
  struct stat old{}, mine{};
  if (::fstatat(folder_.number(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (S_ISLNK(old.st_mode)) fail("a symbolic link: name the file that it leads to");
  if (!S_ISREG(old.st_mode)) fail("no regular file, and not replaced by one");
  if (::faccessat(folder_.number(), name.c_str(), W_OK, AT_EACCESS) != 0 ||
      ::fstat(out_.number(), &mine) != 0)
    fail(last_error());
  const bool owned = (mine.st_uid == old.st_uid && mine.st_gid == old.st_gid) ||
                     ::fchown(out_.number(), old.st_uid, old.st_gid) == 0;
  if (::fchmod(out_.number(), old.st_mode & (owned ? 0777U : 0707U)) != 0) fail(last_error());
}

bool NewFile::link(const std::string& name) const {
  return ::linkat(AT_FDCWD, path_of_open(out_).c_str(), folder_.number(), name.c_str(), AT_SYMLINK_FOLLOW) ==
         0;
}

void NewFile::put_in_place() {
  if (at_once()) return;
  keep_permissions();
  if (::fsync(out_.number()) != 0) fail(last_error());
  const std::string name = file_.filename().string();
  // An unnamed file can only be given a name that is free.
  if (temporary_.empty() && !link(name)) {
    std::string hidden = hidden_name(file_);
    if (errno != EEXIST || !link(hidden)) fail(last_error());
    temporary_ = std::move(hidden);
  }
  if (!temporary_.empty() &&
      ::renameat(folder_.number(), temporary_.c_str(), folder_.number(), name.c_str()) != 0)
    fail(last_error());
  temporary_.clear();
  ::fsync(folder_.number());  // the name; some file systems do not support this and report an error
}

bool same_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code none;
  return a == b || std::filesystem::equivalent(a, b, none);
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  NewFile out(file);
  out.write(bytes);
  out.put_in_place();
}

}  // namespace tenon::TENON_ABI::loader
