// What the loader asks of the operating system, on each of them.
#include "loader/os.hpp"

#include <doctest/doctest.h>

#include <cctype>
#include <cstring>
#include <system_error>

#include "loader/format/file.hpp"
#include "tests/loader/folder.hpp"
#include "tests/loader/refusal.hpp"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#endif

using namespace tenon;  // doctest calls raise of the C library

namespace {

namespace fs = std::filesystem;
namespace os = loader::os;

std::string read(const loader::Descriptor& file) {
  const std::optional<os::Status> status = os::status_of(file);
  if (!status || !status->regular || status->size == 0) return "";
  const auto size = static_cast<std::size_t>(status->size);
  const std::byte* const data = os::map(file, 0, size);
  REQUIRE(data != nullptr);
  std::string text(reinterpret_cast<const char*>(data), size);
  os::unmap(data, size);
  return text;
}
// A file's bytes, or the reason why it was refused.
std::string taken(const os::Opened& opened) { return opened.file ? read(opened.file) : opened.refusal; }
bool refused(const os::Opened& opened, std::string_view part = "") {
  return !opened.file && !opened.refusal.empty() && holds(opened.refusal, part);
}
std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}
// Whether the system lets this user make the link.
bool link(const fs::path& to, const fs::path& name, bool folder = false) {
  std::error_code error;
#if defined(_WIN32)
  // MinGW's C++ library makes none, and wine reports success without making one.
  const DWORD flags =
      (folder ? SYMBOLIC_LINK_FLAG_DIRECTORY : 0) | SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE;
  if (!::CreateSymbolicLinkW(name.c_str(), to.c_str(), flags))
    error.assign(static_cast<int>(::GetLastError()), std::system_category());
  else if (::GetFileAttributesW(name.c_str()) == INVALID_FILE_ATTRIBUTES)
    error = std::make_error_code(std::errc::function_not_supported);
#else
  if (folder) fs::create_directory_symlink(to, name, error);
  else fs::create_symlink(to, name, error);
#endif
  if (error) MESSAGE("no symbolic links here: ", error.message());
  return !error;
}

}  // namespace

TEST_CASE("files beneath a folder") {
  const Folder folder;
  fs::create_directories(folder / "sub/deep");
  write_bytes(folder / "a.bin", "of a");
  write_bytes(folder / "sub/deep/b.bin", "of b");
  write_bytes(folder / "empty.bin", "");
  const auto open = [&](const fs::path& location) { return os::open_beneath(folder.path(), location); };
  CHECK(taken(open("a.bin")) == "of a");
  CHECK(taken(open("./a.bin")) == "of a");
  CHECK(taken(open("sub/deep/b.bin")) == "of b");
  CHECK(taken(open("sub//deep/./b.bin")) == "of b");
  CHECK(open("empty.bin").file);
  CHECK(refused(open("absent.bin")));
  CHECK(refused(open("sub"), "not a regular file"));
  CHECK(refused(open("."), "not a regular file"));
  CHECK(refused(open("a.bin/"), "no folder"));
  CHECK(refused(open("a.bin/b.bin"), "no folder"));
  CHECK(refused(open("absent/a.bin")));
  CHECK(holds(refusal(ErrorCode::io, [&] { os::open_beneath(folder / "absent", "a.bin"); }), "absent"));
  CHECK(holds(refusal(ErrorCode::io, [&] { os::open_beneath(folder / "a.bin", "a.bin"); }), "a.bin"));
}

TEST_CASE("files with several names") {
  const Folder folder;
  write_bytes(folder / "a.bin", "of a");
  fs::create_hard_link(folder / "a.bin", folder / "b.bin");
  CHECK(refused(os::open_beneath(folder.path(), "a.bin"), "hard links"));
  CHECK(taken(os::open_within(folder.path(), folder.path(), "b.bin")) == "of a");
  const auto a = os::status_of(folder / "a.bin"), b = os::status_of(folder / "b.bin");
  REQUIRE(a);
  REQUIRE(b);
  CHECK((a->device == b->device && a->index == b->index));
  fs::remove(folder / "b.bin");
  CHECK(taken(os::open_beneath(folder.path(), "a.bin")) == "of a");
}

TEST_CASE("symbolic links") {
  const Folder folder;
  fs::create_directories(folder / "root/model");
  fs::create_directories(folder / "root/blobs");
  fs::create_directories(folder / "roots");
  write_bytes(folder / "root/blobs/1", "blob");
  write_bytes(folder / "roots/2", "outside");
  const fs::path model = folder / "root/model";
  if (!link(folder / "root/blobs/1", model / "inside") || !link(folder / "roots/2", model / "outside") ||
      !link(folder / "root/blobs", model / "blobs", true) || !link("nowhere", model / "dangling"))
    return;
  for (const char* location : {"inside", "outside", "blobs/1", "dangling"})
    CHECK(refused(os::open_beneath(model, location)));
  CHECK(refused(os::open_beneath(model, "inside"), "symbolic link"));
  CHECK(refused(os::open_beneath(model, "blobs/1"), "symbolic link"));
  CHECK(taken(os::open_within(folder / "root", model, "inside")) == "blob");
  CHECK(taken(os::open_within(folder / "root", model, "blobs/1")) == "blob");
  CHECK(refused(os::open_within(folder / "root", model, "outside"), "outside the trusted root"));
  CHECK(refused(os::open_within(folder / "root", model, "dangling")));
  CHECK(refused(os::open_within(folder / "root", model, "blobs"), "not a regular file"));
  // A link is not replaced, whatever it leads to.
  CHECK(holds(refusal(ErrorCode::io, [&] { loader::write_file(model / "inside", "x"); }), "symbolic link"));
  CHECK(bytes_of(folder / "root/blobs/1") == "blob");
}

TEST_CASE("the trusted root") {
  const Folder folder;
  fs::create_directories(folder / "root/model");
  fs::create_directories(folder / "roo");
  write_bytes(folder / "root/model/a", "of a");
  const fs::path model = folder / "root/model";
  CHECK(taken(os::open_within(folder / "root", model, "a")) == "of a");
  CHECK(taken(os::open_within(folder / "roo", model, "a")) == "of a");
  CHECK(taken(os::open_within(folder / "root", folder / "root", "model//./a")) == "of a");
  CHECK(refused(os::open_within(folder / "root", model, "a/")));
  CHECK(refused(os::open_within(folder / "root", model, "."), "not a regular file"));
  CHECK(refused(os::open_within(folder / "root", model, "absent")));
  CHECK(holds(refusal(ErrorCode::io, [&] { os::open_within(folder / "absent", model, "a"); }), "absent"));
}

#if defined(_WIN32)
TEST_CASE("paths as text") {
  const fs::path path = L"a\u30e2\u00e9\U0001f600";
  CHECK(loader::path_text(path) == "a\xe3\x83\xa2\xc3\xa9\xf0\x9f\x98\x80");
  CHECK(loader::path_named(loader::path_text(path)) == path);
  // Halves of surrogate pairs, which path::string refuses.
  for (const wchar_t half : {wchar_t{0xd83d}, wchar_t{0xde00}})
    CHECK(loader::path_text(std::wstring{L'x', half, L'y', half}) == "x\xef\xbf\xbdy\xef\xbf\xbd");
}

TEST_CASE("devices, streams of files, roots, and ends of names that are ignored") {
  const Folder folder;
  fs::create_directory(folder / "sub");
  write_bytes(folder / "a.bin", "of a");
  const std::string rooted = "/" + (folder / "a.bin").relative_path().generic_string();
  for (const char* const location : {"NUL", "nul", "CON", "COM1", "NUL.bin", "aux", "a.bin:stream",
                                     "a.bin::$DATA", "C:a.bin", "a.bin.", "a.bin ", "a.bin. .", "sub./a.bin",
                                     "sub/.. /a.bin", "sub/.../a.bin", "\\\\server\\a.bin", rooted.c_str()}) {
    INFO(location);
    CHECK(refused(os::open_beneath(folder.path(), location)));
    CHECK(refused(os::open_within(folder.path(), folder.path(), location)));
  }
  CHECK(taken(os::open_beneath(folder.path(), "A.BIN")) == "of a");
}
#endif

TEST_CASE("a new file gets its name once it is complete") {
  const Folder folder;
  const fs::path file = folder / "モデル.bin";
  {
    loader::NewFile abandoned(file);
    abandoned.write("lost");
    CHECK_FALSE(fs::exists(file));
  }
  CHECK(entries(folder.path()) == 0);
  loader::NewFile out(file);
  out.write("first ");
  out.write("words");
  CHECK(out.size() == 11);
  CHECK_FALSE(out.at_once());
  CHECK_FALSE(out.differs_from_existing());
  out.put_in_place();
  CHECK(bytes_of(file) == "first words");
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("a new file takes bytes of another one") {
  const Folder folder;
  write_bytes(folder / "from", "0123456789");
  const loader::Descriptor from = os::open_to_read(folder / "from");
  REQUIRE(static_cast<bool>(from));
  loader::NewFile out(folder / "to");
  out.write("ab");
  // What the system does not copy is written.
  const auto copied = static_cast<std::size_t>(out.copy(from, 3, 5));
  CHECK(copied <= 5);
  out.write(std::string_view("34567").substr(copied));
  CHECK(out.copy(from, 20, 5) == 0);
  out.write("c");
  CHECK(out.size() == 8);
  out.put_in_place();
  CHECK(bytes_of(folder / "to") == "ab34567c");
}

TEST_CASE("a file is replaced as a whole") {
  const Folder folder;
  const fs::path file = folder / "a.bin";
  write_bytes(file, "of old");
  loader::NewFile same(file), other(file), longer(file);
  same.write("of old");
  other.write("of new");
  longer.write("of new ones");
  CHECK_FALSE(same.differs_from_existing());
  CHECK(other.differs_from_existing());
  CHECK(longer.differs_from_existing());
  CHECK(bytes_of(file) == "of old");
  longer.put_in_place();
  CHECK(bytes_of(file) == "of new ones");
  other.put_in_place();
  CHECK(bytes_of(file) == "of new");
  CHECK(holds(refusal(ErrorCode::io, [&] { loader::NewFile(folder.path()); }), "folder"));
  CHECK(holds(refusal(ErrorCode::io, [&] { loader::NewFile(folder / "absent/a.bin"); }), "a.bin"));
  fs::permissions(file, fs::perms::owner_read);
  // The administrator may write to files without permission.
  std::ofstream open(file, std::ios::app);
  if (!open) CHECK_FALSE(refusal(ErrorCode::io, [&] { loader::write_file(file, "x"); }).empty());
  open.close();
  fs::permissions(file, fs::perms::owner_all);
}

TEST_CASE("a mapped file keeps its bytes when its name gets others") {
  const Folder folder;
  const fs::path file = folder / "a.bin";
  write_bytes(file, "of old");
  const auto mapped = loader::MappedFile::open(file);
  REQUIRE(mapped->bytes().size() == 6);
  const std::string said = refusal(ErrorCode::io, [&] { loader::write_file(file, "of new"); });
  CHECK(said.empty() == os::replaces_mapped);
  CHECK(bytes_of(file) == (os::replaces_mapped ? "of new" : "of old"));
  CHECK(std::memcmp(mapped->bytes().data(), "of old", 6) == 0);
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("temporary folders and random digits") {
  const fs::path folder = os::make_temporary_folder("tenon_os_test_");
  CHECK(fs::is_directory(folder));
  CHECK(holds(folder.filename().string(), "tenon_os_test_"));
  const fs::path other = os::make_temporary_folder("tenon_os_test_");
  CHECK(other != folder);
  fs::remove(folder), fs::remove(other);
  const std::string digits = os::random_digits();
  CHECK(digits.size() == 16);
  for (const char c : digits) CHECK(std::isxdigit(static_cast<unsigned char>(c)));
  CHECK(os::random_digits() != digits);
}

TEST_CASE("files without bytes, and absent ones") {
  const Folder folder;
  write_bytes(folder / "empty.bin", "");
  CHECK(loader::MappedFile::open(folder / "empty.bin")->bytes().empty());
  CHECK(
      holds(refusal(ErrorCode::io, [&] { loader::MappedFile::open(folder / "absent.bin"); }), "absent.bin"));
  CHECK_FALSE(refusal(ErrorCode::io, [&] { loader::MappedFile::open(folder.path()); }).empty());
  CHECK_FALSE(os::status_of(folder / "absent.bin"));
}
