#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
// After windows.h, whose types it needs.
#include <bcrypt.h>
#include <io.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include "loader/os.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

namespace fs = std::filesystem;

HANDLE handle_of(const Descriptor& d) { return reinterpret_cast<HANDLE>(d.number()); }
// INVALID_HANDLE_VALUE is -1.
Descriptor owner_of(HANDLE handle) { return Descriptor(reinterpret_cast<std::intptr_t>(handle)); }

std::string message_of(DWORD error) { return std::system_category().message(static_cast<int>(error)); }

// Opens a file or a folder itself, not what a link leads to. As long as the handle lives, nothing can take
// the name away if `pinned`.
Descriptor open_itself(const fs::path& path, DWORD access, bool pinned) {
  const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | (pinned ? 0 : FILE_SHARE_DELETE);
  return owner_of(::CreateFileW(path.c_str(), access, share, nullptr, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
}

std::optional<BY_HANDLE_FILE_INFORMATION> information_of(const Descriptor& d) {
  BY_HANDLE_FILE_INFORMATION i;
  if (!::GetFileInformationByHandle(handle_of(d), &i)) return std::nullopt;
  return i;
}
bool is_link(const BY_HANDLE_FILE_INFORMATION& i) {
  return (i.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
}
bool is_folder(const BY_HANDLE_FILE_INFORMATION& i) {
  return (i.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

// Device names, such as NUL or COM1, need no folder.
bool is_regular(const Descriptor& d, const BY_HANDLE_FILE_INFORMATION& i) {
  return ::GetFileType(handle_of(d)) == FILE_TYPE_DISK && !is_link(i) && !is_folder(i);
}

// An unused name in the folder of a file.
fs::path hidden_name(const fs::path& file) {
  return fs::path(L"." + file.filename().wstring().substr(0, 200) + L".").concat(os::random_digits());
}

os::Opened refused(std::string why) { return {.refusal = std::move(why)}; }

// Opens what `location` names beneath a folder. Folders on the way are pinned while the next part is opened.
os::Opened walk(const fs::path& folder, const fs::path& location) {
  std::vector<Descriptor> pinned;
  fs::path at = folder.empty() ? "." : folder;
  pinned.push_back(
      owner_of(::CreateFileW(at.c_str(), FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                             OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr)));
  if (!pinned.back()) throw Error(ErrorCode::io, at.string(), os::last_error());
  for (auto part = location.begin(); part != location.end(); ++part) {
    if (part->empty() || *part == ".") continue;
    // A colon names a stream of a file.
    if (part->native().find(L':') != std::wstring::npos) return refused("the path has a colon");
    at /= *part;
    const bool last = std::next(part) == location.end();
    Descriptor next = open_itself(at, last ? GENERIC_READ : FILE_READ_ATTRIBUTES, true);
    if (!next) return refused(os::last_error());
    const auto i = information_of(next);
    if (!i) return refused(os::last_error());
    if (is_link(*i) || (!last && !is_folder(*i)))
      return refused("there is a symbolic link on the way, or no folder");
    if (last && !is_regular(next, *i)) return refused("not a regular file");
    pinned.push_back(std::move(next));
  }
  if (pinned.size() == 1) return refused("not a regular file");
  return {std::move(pinned.back())};
}

bool lies_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ != -1) ::CloseHandle(handle_of(*this));
}

namespace os {

std::string last_error() { return message_of(::GetLastError()); }

std::optional<Status> status_of(const Descriptor& file) {
  const auto i = information_of(file);
  if (!i) return std::nullopt;
  const auto joined = [](DWORD high, DWORD low) { return static_cast<uint64_t>(high) << 32 | low; };
  // The time is in units of 100 ns.
  const auto changed =
      static_cast<int64_t>(joined(i->ftLastWriteTime.dwHighDateTime, i->ftLastWriteTime.dwLowDateTime));
  return Status{.regular = is_regular(file, *i),
                .device = i->dwVolumeSerialNumber,
                .index = joined(i->nFileIndexHigh, i->nFileIndexLow),
                .size = static_cast<int64_t>(joined(i->nFileSizeHigh, i->nFileSizeLow)),
                .seconds = changed / 10'000'000,
                .nanoseconds = changed % 10'000'000 * 100};
}
std::optional<Status> status_of(const fs::path& file) {
  const Descriptor d = owner_of(::CreateFileW(file.c_str(), FILE_READ_ATTRIBUTES,
                                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                              OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  return d ? status_of(d) : std::nullopt;
}

Descriptor open_to_read(const fs::path& file) {
  return owner_of(::CreateFileW(file.c_str(), GENERIC_READ,
                                FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr));
}

Opened open_beneath(const fs::path& folder, const fs::path& location) {
  Opened opened = walk(folder, location);
  if (!opened.file) return opened;
  const auto i = information_of(opened.file);
  if (!i) return refused(last_error());
  if (i->nNumberOfLinks > 1) return refused("the file has several hard links");
  return opened;
}

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
    if (lies_within(path, base)) return walk(base, path.lexically_relative(base));
  return refused("it is outside the trusted root and the model's folder");
}

const std::byte* map(const Descriptor& file, std::size_t size) {
  // The view keeps the mapping after its handle is closed.
  const HANDLE made = ::CreateFileMappingW(handle_of(file), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (made == nullptr) return nullptr;
  const void* const data = ::MapViewOfFile(made, FILE_MAP_READ, 0, 0, size);
  const DWORD error = ::GetLastError();
  ::CloseHandle(made);
  ::SetLastError(error);
  return static_cast<const std::byte*>(data);
}
void unmap(const std::byte* data, std::size_t) { ::UnmapViewOfFile(data); }

std::string random_digits() {
  unsigned char random[8] = {};
  if (::BCryptGenRandom(nullptr, random, sizeof random, BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0)
    throw Error(ErrorCode::io, "random numbers", "the system has none");
  std::string digits;
  for (const unsigned char byte : random) {
    digits += "0123456789abcdef"[byte / 16];
    digits += "0123456789abcdef"[byte % 16];
  }
  return digits;
}

// Folders inherit the rights of the user's own temporary folder.
fs::path make_temporary_folder(const std::string& prefix) {
  const fs::path folder = fs::temp_directory_path() / (prefix + random_digits());
  std::error_code error;
  if (!fs::create_directory(folder, error)) throw Error(ErrorCode::io, folder.string(), "cannot be made");
  return folder;
}

bool is_terminal() { return ::_isatty(::_fileno(stderr)) != 0; }

void set_variable(const char* name, const std::string& value) { ::_putenv_s(name, value.c_str()); }

bool run_in_copy(const std::function<int()>&) {
  throw Error(ErrorCode::io, "process", "Windows cannot copy a process");
}

}  // namespace os

// --- NewFile ---

NewFile::NewFile(fs::path file) : file_(std::move(file)) {
  if (!file_.has_filename()) fail("no name of a file");
  if (fs::is_directory(file_)) fail("a folder");
  std::error_code error;
  const fs::file_type type = fs::status(file_, error).type();
  if (type != fs::file_type::regular && type != fs::file_type::not_found) {
    out_ = owner_of(::CreateFileW(file_.c_str(), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                                  OPEN_EXISTING, 0, nullptr));
    if (!out_) fail(os::last_error());
    if (::GetFileType(handle_of(out_)) == FILE_TYPE_DISK) fail("changes while it is opened");
    return;
  }
  const fs::path folder = file_.has_parent_path() ? file_.parent_path() : fs::path(".");
  folder_ = owner_of(::CreateFileW(folder.c_str(), FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                   nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!folder_) fail(os::last_error());
  keep_permissions();
  make();
}

// The folder is open without FILE_SHARE_DELETE: its name leads to it as long as this object lives.
void NewFile::make() {
  const fs::path hidden = file_.parent_path() / hidden_name(file_);
  out_ = owner_of(::CreateFileW(hidden.c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_READ,
                                nullptr, CREATE_NEW, FILE_ATTRIBUTE_HIDDEN, nullptr));
  if (!out_) fail(os::last_error());
  temporary_ = hidden.filename().string();
}

// A closed file is deleted by its name, an open one by its handle.
NewFile::~NewFile() {
  if (temporary_.empty()) return;
  FILE_DISPOSITION_INFO info{TRUE};
  ::SetFileInformationByHandle(handle_of(out_), FileDispositionInfo, &info, sizeof info);
}

void NewFile::write(std::string_view bytes) {
  size_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    DWORD n = 0;
    const auto some = static_cast<DWORD>(std::min<std::size_t>(bytes.size(), 1U << 30));
    if (!::WriteFile(handle_of(out_), bytes.data(), some, &n, nullptr) || n == 0) fail(os::last_error());
    bytes.remove_prefix(n);
  }
}

bool NewFile::differs_from_existing() const {
  const Descriptor existing = open_itself(file_, GENERIC_READ, false);
  if (!existing) {
    const DWORD error = ::GetLastError();
    if (error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND) return false;
    fail(message_of(error));
  }
  const std::optional<os::Status> now = os::status_of(existing);
  if (!now || !now->regular || now->size != size_) return true;
  if (size_ == 0) return false;
  const auto size = static_cast<std::size_t>(size_);
  const std::byte *const there = os::map(existing, size), *const here = os::map(out_, size);
  const bool mapped = there != nullptr && here != nullptr;
  const bool differs = mapped && std::memcmp(there, here, size) != 0;
  if (there != nullptr) os::unmap(there, size);
  if (here != nullptr) os::unmap(here, size);
  if (!mapped) fail("cannot be mapped");
  return differs;
}

// The rights come from the folder.
void NewFile::keep_permissions() const {
  const DWORD attributes = ::GetFileAttributesW(file_.c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) return;
  if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0)
    fail("a symbolic link: name the file that it leads to");
  if ((attributes & FILE_ATTRIBUTE_READONLY) != 0) fail("the file is read-only");
}

// The file is renamed by its handle: its own name may have been given to another one.
void NewFile::put_in_place() {
  if (at_once()) return;
  keep_permissions();
  if (!::FlushFileBuffers(handle_of(out_))) fail(os::last_error());
  FILE_BASIC_INFO plain{};
  plain.FileAttributes = FILE_ATTRIBUTE_NORMAL;
  ::SetFileInformationByHandle(handle_of(out_), FileBasicInfo, &plain, sizeof plain);
  const std::wstring name = fs::absolute(file_).wstring();
  std::vector<std::max_align_t> memory(
      (sizeof(FILE_RENAME_INFO) + name.size() * sizeof(wchar_t)) / sizeof(std::max_align_t) + 1);
  auto* const info = reinterpret_cast<FILE_RENAME_INFO*>(memory.data());
  info->ReplaceIfExists = TRUE;
  info->RootDirectory = nullptr;
  info->FileNameLength = static_cast<DWORD>(name.size() * sizeof(wchar_t));
  std::memcpy(info->FileName, name.c_str(), (name.size() + 1) * sizeof(wchar_t));
  const auto bytes = static_cast<DWORD>(memory.size() * sizeof(std::max_align_t));
  if (!::SetFileInformationByHandle(handle_of(out_), FileRenameInfo, info, bytes)) fail(os::last_error());
  temporary_.clear();
}

}  // namespace tenon::TENON_ABI::loader

#endif
