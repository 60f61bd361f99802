#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX  // which MinGW's C++ library defines
#define NOMINMAX
#endif
#include <windows.h>
// After windows.h, whose types it needs.
#include <bcrypt.h>
#include <fcntl.h>
#include <io.h>
#include <psapi.h>
#include <shellapi.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include "loader/os_parts.hpp"

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

// Opens what a path leads to, through links. Pinned as above.
Descriptor open_target(const fs::path& path, DWORD access, bool pinned) {
  const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | (pinned ? 0 : FILE_SHARE_DELETE);
  return owner_of(::CreateFileW(path.c_str(), access, share, nullptr, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS, nullptr));
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

// Why a location does not name a file beneath a folder; "" if it may. A colon names a drive, or a stream of a
// file. The system ignores dots and spaces at the end of a name, which would then be another file's.
std::string refusal_of(const fs::path& location) {
  if (location.native().find(L':') != std::wstring::npos) return "the path has a colon";
  if (location.has_root_path()) return "the path is absolute";
  for (const fs::path& part : location)
    if (part != "." && !part.empty() && (part.native().back() == L'.' || part.native().back() == L' '))
      return "a part of the path ends with a dot or a space";
  return "";
}

// Opens what `location` names beneath a folder. Folders on the way are pinned while the next part is opened.
os::Opened walk(Descriptor folder, fs::path at, const fs::path& location) {
  if (const std::string why = refusal_of(location); !why.empty()) return os::refused(why);
  std::vector<Descriptor> pinned;
  pinned.push_back(std::move(folder));
  for (auto part = location.begin(); part != location.end(); ++part) {
    if (part->empty() || *part == ".") continue;
    at /= *part;
    const bool last = std::next(part) == location.end();
    Descriptor next = open_itself(at, last ? GENERIC_READ : FILE_READ_ATTRIBUTES, true);
    if (!next) return os::refused(os::last_error());
    const auto i = information_of(next);
    if (!i) return os::refused(os::last_error());
    if (is_link(*i) || (!last && !is_folder(*i)))
      return os::refused("there is a symbolic link on the way, or no folder");
    if (last && !is_regular(next, *i)) return os::refused("not a regular file");
    pinned.push_back(std::move(next));
  }
  if (pinned.size() == 1) return os::refused("not a regular file");
  return {std::move(pinned.back())};
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
  const Descriptor d = open_target(file, FILE_READ_ATTRIBUTES, false);
  return d ? status_of(d) : std::nullopt;
}

Descriptor open_to_read(const fs::path& file) {
  return owner_of(::CreateFileW(file.c_str(), GENERIC_READ,
                                FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr));
}

Descriptor open_folder(const fs::path& folder) {
  Descriptor d = open_target(folder.empty() ? fs::path(".") : folder, FILE_READ_ATTRIBUTES, true);
  if (!d) throw Error(ErrorCode::io, path_text(folder), last_error());
  const auto i = information_of(d);
  if (!i || !is_folder(*i)) throw Error(ErrorCode::io, path_text(folder), "no folder");
  return d;
}

Opened open_beneath(const fs::path& folder, const fs::path& location) {
  Opened opened = walk(open_folder(folder), folder.empty() ? fs::path(".") : folder, location);
  if (!opened.file) return opened;
  const auto i = information_of(opened.file);
  if (!i) return refused(last_error());
  if (i->nNumberOfLinks > 1) return refused("the file has several hard links");
  return opened;
}

fs::path path_of(const Descriptor& file) {
  std::wstring path(MAX_PATH, L'\0');
  for (;;) {
    const auto room = static_cast<DWORD>(path.size());
    const DWORD n = ::GetFinalPathNameByHandleW(handle_of(file), path.data(), room, FILE_NAME_NORMALIZED);
    if (n == 0) throw Error(ErrorCode::io, "path of an open file", last_error());
    path.resize(n);
    if (n < room) return path;
  }
}

Opened find_beneath(const Descriptor& folder, const fs::path& location) {
  if (const std::string why = refusal_of(location); !why.empty()) return refused(why);
  // Paths as path_of gives them have neither '/' nor ".", and the C++ library does not join them.
  std::wstring path = path_of(folder).native();
  for (const fs::path& part : location)
    if (part != ".") path += L'\\' + part.native();
  Descriptor d = open_target(path, FILE_READ_ATTRIBUTES, true);
  if (!d) return refused(last_error());
  return {std::move(d)};
}

Opened open_found(const Descriptor& file) {
  const auto i = information_of(file);
  if (!i || !is_regular(file, *i)) return refused("not a regular file");
  Descriptor d = owner_of(::ReOpenFile(handle_of(file), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, 0));
  if (!d) return refused(last_error());
  return {std::move(d)};
}

const std::byte* map(const Descriptor& file, std::size_t offset, std::size_t size) {
  // The view keeps the mapping after its handle is closed.
  const HANDLE made = ::CreateFileMappingW(handle_of(file), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (made == nullptr) return nullptr;
  const auto at = static_cast<uint64_t>(offset);
  const void* const data =
      ::MapViewOfFile(made, FILE_MAP_READ, static_cast<DWORD>(at >> 32), static_cast<DWORD>(at), size);
  const DWORD error = ::GetLastError();
  ::CloseHandle(made);
  ::SetLastError(error);
  return static_cast<const std::byte*>(data);
}
void unmap(const std::byte* data, std::size_t) { ::UnmapViewOfFile(data); }

void fill_randomly(std::span<unsigned char> bytes) {
  if (::BCryptGenRandom(nullptr, bytes.data(), static_cast<ULONG>(bytes.size()),
                        BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0)
    throw Error(ErrorCode::io, "random numbers", "the system has none");
}

// Folders inherit the rights of the user's own temporary folder.
fs::path make_temporary_folder(const std::string& prefix) {
  const fs::path folder = fs::temp_directory_path() / (prefix + random_digits());
  std::error_code error;
  if (!fs::create_directory(folder, error)) throw Error(ErrorCode::io, path_text(folder), "cannot be made");
  return folder;
}

bool is_terminal() { return ::_isatty(::_fileno(stderr)) != 0; }

bool names_device(const std::string& stem) {
  wchar_t path[MAX_PATH];
  const DWORD n = ::GetFullPathNameW(path_named(stem + ".bin").c_str(), MAX_PATH, path, nullptr);
  return n > 0 && n < MAX_PATH && std::wstring_view(path, n).starts_with(LR"(\\.\)");
}

void use_utf8() {
  // For Visual C++. MinGW's C library has no such locale: paths there are named by path_named alone.
  std::setlocale(LC_CTYPE, ".UTF-8");
  for (std::FILE* const stream : {stdout, stderr}) ::_setmode(::_fileno(stream), _O_BINARY);
  ::SetConsoleOutputCP(CP_UTF8);
}

std::vector<std::string> command_line(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  int count = 0;
  wchar_t** const wide = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  if (wide == nullptr) return words;
  if (count == __argc && argc <= count && std::equal(words.begin(), words.end(), __argv + (count - argc)))
    for (int k = 0; k < argc; ++k) words[static_cast<std::size_t>(k)] = path_text(wide[count - argc + k]);
  ::LocalFree(wide);
  return words;
}

int64_t peak_memory() {
  PROCESS_MEMORY_COUNTERS now{};
  if (!::GetProcessMemoryInfo(::GetCurrentProcess(), &now, sizeof now)) return 0;
  return static_cast<int64_t>(now.PeakWorkingSetSize);
}

void set_variable(const char* name, const std::string& value) { ::_putenv_s(name, value.c_str()); }

bool run_in_copy(const std::function<int()>&) {
  throw Error(ErrorCode::io, "process", "Windows cannot copy a process");
}

}  // namespace os

// --- NewFile ---

NewFile::NewFile(fs::path file) : file_(std::move(file)) {
  if (!file_.has_filename()) fail("no name of a file");
  std::error_code error;
  const fs::file_type type = fs::status(file_, error).type();
  if (type == fs::file_type::directory) fail("a folder");
  if (type != fs::file_type::regular && type != fs::file_type::not_found) {
    out_ = owner_of(::CreateFileW(file_.c_str(), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                                  OPEN_EXISTING, 0, nullptr));
    if (!out_) fail(os::last_error());
    if (::GetFileType(handle_of(out_)) == FILE_TYPE_DISK) fail("changes while it is opened");
    return;
  }
  const fs::path folder = file_.has_parent_path() ? file_.parent_path() : fs::path(".");
  folder_ = open_target(folder, FILE_READ_ATTRIBUTES, true);
  if (!folder_) fail(os::last_error());
  keep_permissions();
  make();
}

// The folder is open without FILE_SHARE_DELETE: its name leads to it as long as this object lives.
void NewFile::make() {
  const fs::path hidden = file_.parent_path() / os::hidden_name(file_);
  out_ = owner_of(::CreateFileW(hidden.c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_READ,
                                nullptr, CREATE_NEW, FILE_ATTRIBUTE_HIDDEN, nullptr));
  if (!out_) fail(os::last_error());
  temporary_ = path_text(hidden.filename());
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

int64_t NewFile::copy(const Descriptor&, int64_t, int64_t) { return 0; }

bool NewFile::differs_from_existing() const {
  const Descriptor existing = open_itself(file_, GENERIC_READ, false);
  if (!existing) {
    const DWORD error = ::GetLastError();
    if (error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND) return false;
    fail(message_of(error));
  }
  const std::optional<os::Status> now = os::status_of(existing);
  if (!now || !now->regular || now->size != size_) return true;
  const std::optional<bool> same = os::same_bytes(existing, out_, size_);
  if (!same) fail(str_cat("cannot be mapped: ", os::last_error()));
  return !*same;
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
  // Others cannot open the file by its name as long as this handle may delete it.
  out_ = Descriptor();
}

}  // namespace tenon::TENON_ABI::loader

#endif
