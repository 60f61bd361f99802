#include "loader/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tenon::loader {
namespace {

struct Descriptor {
  int number = -1;
  explicit Descriptor(int n) : number(n) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  void reset(int n) {
    if (number >= 0) ::close(number);
    number = n;
  }
};

std::string last_error() { return std::strerror(errno); }

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::map(int descriptor, const std::string& place) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) throw Error(ErrorCode::io, place, last_error());
  if (!S_ISREG(status.st_mode)) throw Error(ErrorCode::io, place, "not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(nullptr, 0));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) throw Error(ErrorCode::io, place, concat("cannot be mapped: ", last_error()));
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const std::byte*>(data), size));
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& file) {
  // Not blocking: a FIFO would hang here before it could be refused.
  const Descriptor d(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (d.number < 0) throw Error(ErrorCode::io, file.string(), last_error());
  return map(d.number, file.string());
}

std::shared_ptr<const MappedFile> MappedFile::open_within(const std::filesystem::path& folder,
                                                          const std::string& location) {
  const std::string place = concat("external data '", location, "'");
  const auto refuse = [&](const std::string& why) { return Error(ErrorCode::invalid_model, place, why); };
  const std::filesystem::path path(location);
  if (location.empty() || location.find('\0') != std::string::npos) throw refuse("not a path");
  if (path.is_absolute()) throw refuse("the path is absolute");
  for (const auto& part : path)
    if (part == "..") throw refuse("the path leaves the model's folder");
  const std::filesystem::path base = folder.empty() ? std::filesystem::path(".") : folder;
  Descriptor d(::open(base.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (d.number < 0) throw Error(ErrorCode::io, base.string(), last_error());
  for (auto part = path.begin(); part != path.end(); ++part) {
    if (part->empty() || *part == ".") continue;
    const bool last = std::next(part) == path.end();
    const int next = ::openat(d.number, part->c_str(),
                              O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (last ? 0 : O_DIRECTORY));
    if (next < 0)
      throw refuse(errno == ELOOP || errno == ENOTDIR ? "there is a symbolic link on the way, or no folder"
                                                      : last_error());
    d.reset(next);
  }
  struct stat status{};
  if (::fstat(d.number, &status) != 0 || !S_ISREG(status.st_mode)) throw refuse("not a regular file");
  if (status.st_nlink > 1) throw refuse("the file has several hard links");
  return map(d.number, place);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  const Descriptor d(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (d.number < 0) throw Error(ErrorCode::io, file.string(), last_error());
  while (!bytes.empty()) {
    const ssize_t n = ::write(d.number, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(ErrorCode::io, file.string(), last_error());
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace tenon::loader
