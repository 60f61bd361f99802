// Files of packed constants: what they keep, and that nothing else comes out of them.
#include "loader/format/packed_file.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "tenon/model.hpp"
#include "tests/loader/folder.hpp"

namespace tenon {
namespace {

using loader::PackedFile;

Storage numbers(std::size_t bytes, int seed) {
  Storage s = Storage::make<uint8_t>(static_cast<int64_t>(bytes));
  for (std::size_t k = 0; k < bytes; ++k) s.as<uint8_t>()[k] = static_cast<uint8_t>(k * 7 + k / 256 + seed);
  return s;
}
bool same(const Storage& a, const Storage& b) {
  return a.size_bytes() == b.size_bytes() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

const std::pair<std::string_view, PackedStore::Parts> kept[] = {{"one", {numbers(100, 1), numbers(3, 2)}},
                                                                {"two", {numbers(64, 3), {}}},
                                                                {"", {numbers(1, 4), numbers(65, 5)}}};

std::string write_kept(const std::filesystem::path& file) {
  PackedFile store(file);
  for (const auto& [key, parts] : kept) store.add(key, parts);
  store.finish();
  return bytes_of(file);
}

// How many of the kept objects the file has. What it has must be as it was.
int found_in(const std::filesystem::path& file) {
  PackedFile store(file);
  int found = 0;
  for (const auto& [key, parts] : kept) {
    const PackedStore::Parts now = store.find(key);
    if (!now[0]) continue;
    ++found;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      REQUIRE(now[k].size_bytes() == parts[k].size_bytes());
      REQUIRE((!parts[k] || same(now[k], parts[k])));
      REQUIRE(reinterpret_cast<std::uintptr_t>(now[k].data()) % storage_alignment == 0);
    }
  }
  return found;
}

TEST_CASE("packed file: it returns what it was given") {
  const Folder folder;
  const auto file = folder / "weights";
  CHECK(found_in(file) == 0);
  write_kept(file);
  CHECK(found_in(file) == 3);
  PackedFile store(file);
  CHECK(!store.find("three")[0]);
}

TEST_CASE("packed file: what no process uses is left out when another thing is added") {
  const Folder folder;
  const auto file = folder / "weights";
  const std::string before = write_kept(file);
  {
    PackedFile store(file);
    CHECK(store.find("two")[0]);
    store.finish();
  }
  CHECK(bytes_of(file) == before);
  PackedFile store(file);
  const PackedStore::Parts two = store.find("two");
  store.add("three", {numbers(10, 6), {}});
  store.finish();
  store.add("four", {numbers(10, 7), {}});
  store.finish();
  CHECK(same(two[0], kept[1].second[0]));  // of the file that was replaced
  CHECK(found_in(file) == 1);
  PackedFile again(file);
  CHECK(same(again.find("three")[0], numbers(10, 6)));
  CHECK(!again.find("four")[0]);
}

TEST_CASE("packed file: a changed byte loses objects, and changes none") {
  const Folder folder;
  const auto file = folder / "weights";
  const std::string right = write_kept(file);
  int lost = 0;
  for (std::size_t at = 0; at < right.size(); ++at)
    for (const int change : {1, 0x80, 0xff}) {
      std::string wrong = right;
      wrong[at] = static_cast<char>(wrong[at] ^ change);
      write_bytes(file, wrong);
      lost += found_in(file) < 3;
    }
  CHECK(lost > 3 * 300);  // the others are between parts
}

TEST_CASE("packed file: other lengths and other files have nothing") {
  const Folder folder;
  const auto file = folder / "weights";
  const std::string right = write_kept(file);
  for (std::size_t size = 0; size < right.size(); ++size) {
    write_bytes(file, right.substr(0, size));
    REQUIRE(found_in(file) == 0);
  }
  for (const std::string& other : {right + '\0', right + right}) {
    write_bytes(file, other);
    CHECK(found_in(file) == 0);
  }
  write_kept(file);
  CHECK(bytes_of(file) == right);
}

TEST_CASE("packed file: what is none is left as it is") {
  const Folder folder;
  const auto file = folder / "weights";
  for (const std::string& other : {std::string(5000, '\xff'), std::string(5000, '\0'), std::string("x")}) {
    write_bytes(file, other);
    CHECK(found_in(file) == 0);
    CHECK_THROWS_AS(write_kept(file), Error);
    CHECK(bytes_of(file) == other);
  }
}

TEST_CASE("packed file: a table whose digest is right, but whose places are not in the file") {
  const Folder folder;
  const auto file = folder / "weights";
  const std::string right = write_kept(file);
  constexpr std::size_t header = 16 + 8 + 8 + 16 + 16, entry = 16 + 2 * 32, entries = 3;
  for (const uint64_t offset : {uint64_t{1}, uint64_t{1} << 20, ~uint64_t{63}, uint64_t{right.size()}})
    for (const uint64_t bytes : {uint64_t{100}, ~uint64_t{0}, uint64_t{1} << 40}) {
      std::string wrong = right;
      for (std::size_t n = 0; n < entries; ++n) {
        std::memcpy(wrong.data() + header + n * entry + 16, &offset, 8);
        std::memcpy(wrong.data() + header + n * entry + 24, &bytes, 8);
      }
      const auto digest =
          detail::digest_of(reinterpret_cast<const std::byte*>(wrong.data()) + header, entries * entry);
      std::memcpy(wrong.data() + header - 16, &digest, 16);
      write_bytes(file, wrong);
      CHECK(found_in(file) == 0);
    }
}

TEST_CASE("packed file: a folder in its place") {
  const Folder folder;
  PackedFile store(folder.path());
  CHECK(!store.find("one")[0]);
  store.add("one", kept[0].second);
  CHECK_THROWS_WITH_AS(store.finish(), doctest::Contains(folder.path().filename().string().c_str()), Error);
}

TEST_CASE("load: the second time, matrices of few bits come from the file, with the same results") {
  const Folder folder;
  save(parse_text(
           R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[N, 32] x) => (float[N, 70] y)
<uint4[70, 32] w = {)" +
           [] {
             std::string codes;
             for (int k = 0; k < 70 * 32; ++k) codes += str_cat(k == 0 ? "" : ", ", k * 7 % 16);
             return codes;
           }() +
           R"(}, float[70, 1] s = {)" +
           [] {
             std::string scales;
             for (int k = 0; k < 70; ++k) scales += str_cat(k == 0 ? "" : ", ", k + 1);
             return scales;
           }() +
           R"(}> {
  r = DequantizeLinear <axis = 1, block_size = 32> (w, s)
  t = Transpose <perm = [1, 0]> (r)
  y = MatMul (x, t)
})"),
       folder / "m.onnx");
  const Tensor<float> x = [] {
    Tensor<float> t({3, 32});
    for (int64_t k = 0; k < t.size(); ++k) t[k] = static_cast<float>(k % 5 - 2);
    return t;
  }();
  const auto result = [&](const LoadOptions& options) {
    const Value y = load(folder / "m.onnx", {}, options).run({{"x", x}})["y"];
    const auto view = y.view<float>();
    return std::vector<float>(view.begin(), view.end());
  };
  const auto file = folder / "m.packed";
  const std::vector<float> want = result({});
  CHECK(result({.packed_file = file}) == want);
  const std::string written = bytes_of(file);
  CHECK(written.size() > 70 * 16);
  CHECK(result({.packed_file = file}) == want);
  CHECK(bytes_of(file) == written);
  write_bytes(file, written.substr(0, 500));
  CHECK(result({.packed_file = file}) == want);
  CHECK(bytes_of(file) == written);
}

}  // namespace
}  // namespace tenon
