// External data: reading, sharing and refusals.
#include "loader/format/external.hpp"

#include <doctest/doctest.h>

#include "loader/check/check.hpp"
#include "loader/format/save.hpp"
#include "loader/format/sha1.hpp"
#include "loader/format/tensor.hpp"
#include "loader/text/parse_text.hpp"
#include "tenon/loader.hpp"
#include "tests/loader/folder.hpp"
#include "tests/loader/refusal.hpp"

#if !defined(_WIN32)
#include <sys/stat.h>
#endif

namespace tenon {
namespace {

namespace fs = std::filesystem;
using loader::ExternalFiles;
using Entries = std::vector<std::pair<std::string, std::string>>;

// Windows has no pipes in folders, and links not for every user: tests/loader/os_test.cc.
#if defined(_WIN32)
constexpr bool has_links = false;
void make_link(const fs::path&, const fs::path&) {}
void make_folder_link(const fs::path&, const fs::path&) {}
void make_pipe(const fs::path&) {}
#else
constexpr bool has_links = true;
void make_link(const fs::path& to, const fs::path& name) { fs::create_symlink(to, name); }
void make_folder_link(const fs::path& to, const fs::path& name) { fs::create_directory_symlink(to, name); }
void make_pipe(const fs::path& name) { REQUIRE(::mkfifo(name.c_str(), 0600) == 0); }
#endif

// A float tensor of `n` elements that lies elsewhere.
onnx::TensorProto elsewhere(const Entries& entries, int64_t n = 3, const std::string& name = "w") {
  onnx::TensorProto t;
  t.set_name(name);
  t.set_data_type(onnx::TensorProto::FLOAT);
  t.add_dims(n);
  t.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* e = t.add_external_data();
    e->set_key(key);
    e->set_value(value);
  }
  return t;
}
std::string floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float)};
}
std::string errors(const onnx::TensorProto& t, const fs::path& folder = {}) {
  std::string text;
  for (const auto& d : loader::check(t, {.folder = folder}))
    if (d.severity == Severity::error) text += to_string(d);
  return text;
}
std::string sha1(std::string_view text) {
  loader::Sha1 digest;
  digest.add(std::as_bytes(std::span(text)));
  return digest.hex();
}

TEST_CASE("SHA-1 of parts, whatever their sizes") {
  CHECK(sha1("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(sha1("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  CHECK(sha1(std::string(1'000'000, 'a')) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  const std::string text(200, 'x');
  for (std::size_t part = 1; part <= text.size(); ++part) {
    loader::Sha1 digest;
    for (std::size_t at = 0; at < text.size(); at += part)
      digest.add(std::as_bytes(std::span(text).subspan(at, std::min(part, text.size() - at))));
    CHECK(digest.hex() == sha1(text));
    CHECK(sha1(std::string_view(text).substr(part)) != digest.hex());
  }
}

TEST_CASE("what a tensor says of external data, read and checked alike") {
  const Folder folder;
  fs::create_directories(folder / "sub");
  write_bytes(folder / "w.bin", std::string(16, '\1'));
  write_bytes(folder / "sub/w.bin", std::string(12, '\1'));
  write_bytes(folder / "empty.bin", "");
  write_bytes(folder / "モデル.bin", std::string(12, '\1'));
  write_bytes(folder / "hard.bin", std::string(12, '\1'));
  fs::create_hard_link(folder / "hard.bin", folder / "linked.bin");
  make_link("w.bin", folder / "symbolic.bin");
  make_link("/etc/hostname", folder / "outside.bin");
  make_link("nowhere", folder / "dangling.bin");
  make_folder_link(".", folder / "loop");
  make_folder_link("/etc", folder / "etc");
  make_link("self", folder / "self");
  make_pipe(folder / "fifo");
  const std::string digest = sha1(std::string(16, '\1'));
  std::string capitals = digest;
  for (char& c : capitals) c = static_cast<char>(std::toupper(c));
  struct Row {
    Entries entries;
    std::string_view says;
    bool of_file = false;  // whether only the file tells the error
  } rows[] = {
      {{{"location", "w.bin"}}, ""},
      {{{"location", "./w.bin"}, {"offset", "4"}, {"length", "12"}}, ""},
      {{{"location", "sub//w.bin"}, {"offset", "0"}, {"length", "12"}}, ""},
      {{{"location", "モデル.bin"}}, ""},
      {{{"location", "w.bin"}, {"checksum", digest}}, ""},
      {{{"location", "w.bin"}, {"checksum", capitals}}, ""},
      {{{"location", "w.bin"}, {"basepath", "/etc"}}, ""},
      {{}, "no location"},
      {{{"offset", "0"}}, "no location"},
      {{{"location", ""}}, "not a path"},
      {{{"location", std::string("w.bin\0x", 7)}}, "zero"},
      {{{"location", "/etc/hostname"}}, "absolute"},
      {{{"location", (folder / "w.bin").generic_string()}},
       (folder / "w.bin").has_root_name() ? "drive" : "absolute"},
      {{{"location", ".."}}, "leaves"},
      {{{"location", "../w.bin"}}, "leaves"},
      {{{"location", "sub/../../w.bin"}}, "leaves"},
      {{{"location", "sub/../w.bin"}}, "leaves"},
      {{{"location", "..\\w.bin"}}, "backslash"},
      {{{"location", "sub\\w.bin"}}, "backslash"},
      {{{"location", "C:\\w.bin"}}, "backslash"},
      {{{"location", "\\\\server\\w.bin"}}, "backslash"},
      {{{"location", "C:/w.bin"}}, "drive"},
      {{{"location", "c:w.bin"}}, "drive"},
      {{{"location", "w\xff.bin"}}, "not UTF-8"},
      {{{"location", "w.bin"}, {"location", "sub/w.bin"}}, "'location' twice"},
      {{{"location", "w.bin"}, {"offset", "-4"}}, "offset is '-4'"},
      {{{"location", "w.bin"}, {"offset", "four"}}, "offset is 'four'"},
      {{{"location", "w.bin"}, {"offset", ""}}, "offset is ''"},
      {{{"location", "w.bin"}, {"offset", "4.0"}}, "offset is '4.0'"},
      {{{"location", "w.bin"}, {"offset", " 4"}}, "offset is ' 4'"},
      {{{"location", "w.bin"}, {"offset", "0x4"}}, "offset is '0x4'"},
      {{{"location", "w.bin"}, {"offset", "9223372036854775808"}}, "no number of bytes"},
      {{{"location", "w.bin"}, {"length", "-12"}}, "length is '-12'"},
      {{{"location", "w.bin"}, {"length", "x"}}, "length is 'x'"},
      {{{"location", "w.bin"}, {"length", "8"}}, "8 bytes, 12 are needed"},
      {{{"location", "w.bin"}, {"length", "16"}}, "16 bytes, 12 are needed"},
      {{{"location", "w.bin"}, {"color", "red"}, {"__class__", "x"}}, "'color', '__class__'"},
      {{{"location", "absent.bin"}}, "absent.bin", true},
      {{{"location", "w.bin/"}}, "no folder", true},
      {{{"location", "w.bin/w.bin"}}, "no folder", true},
      {{{"location", "sub"}}, "not a regular file", true},
      {{{"location", "."}}, "not a regular file", true},
      {{{"location", "fifo"}}, "not a regular file", true},
      {{{"location", "symbolic.bin"}}, "symbolic link", true},
      {{{"location", "outside.bin"}}, "symbolic link", true},
      {{{"location", "dangling.bin"}}, "symbolic link", true},
      {{{"location", "loop/w.bin"}}, "symbolic link", true},
      {{{"location", "etc/hostname"}}, "symbolic link", true},
      {{{"location", "self"}}, "symbolic link", true},
      {{{"location", "hard.bin"}}, "hard links", true},
      {{{"location", "empty.bin"}}, "reaches beyond the file's 0", true},
      {{{"location", "w.bin"}, {"offset", "5"}}, "reaches beyond", true},
      {{{"location", "w.bin"}, {"offset", "17"}}, "reaches beyond", true},
      {{{"location", "w.bin"}, {"offset", "9223372036854775807"}}, "reaches beyond", true},
      {{{"location", "w.bin"}, {"checksum", "abc123"}}, "checksum", true},
      {{{"location", "w.bin"}, {"checksum", ""}}, "", true},
      {{{"location", "w.bin"}, {"checksum", digest + "0"}}, "checksum", true},
      {{{"location", "sub/w.bin"}, {"checksum", digest}}, "checksum", true},
  };
  for (const Row& row : rows) {
    if (!has_links && (row.says == "symbolic link" || row.entries == Entries{{"location", "fifo"}})) continue;
    const onnx::TensorProto t = elsewhere(row.entries);
    std::string shown;
    for (const auto& [key, value] : row.entries) shown += str_cat(key, "=", value, " ");
    INFO(shown);
    const auto agrees = [&](const std::string& text) {
      return row.says.empty() ? text.empty() : holds(text, row.says);
    };
    ExternalFiles files(folder.path());
    const std::string read = refusal([&] { files.find(t); });
    CHECK_MESSAGE(agrees(read), read);
    CHECK_MESSAGE(agrees(errors(t, folder.path())), errors(t, folder.path()));
    // Without a folder only the entries are looked at.
    CHECK((errors(t) == "") == (row.says.empty() || row.of_file));
    onnx::ModelProto m = loader::parse_text<onnx::ModelProto>(
        "<ir_version: 10, opset_import: [\"\" : 21]>\n"
        "g () => (float[3] y) { y = Identity (w) }");
    *m.mutable_graph()->add_initializer() = t;
    write_bytes(folder / "model.onnx", m.SerializeAsString());
    const std::string loaded = refusal([&] { return load_graph(folder / "model.onnx"); });
    CHECK_MESSAGE(agrees(loaded), loaded);
    CHECK((row.says.empty() || holds(loaded, "tensor 'w'")));
  }
}

TEST_CASE("elements, extents and types that external data has not") {
  const Folder folder;
  write_bytes(folder / "w.bin", std::string(16, '\1'));
  ExternalFiles files(folder.path());
  const Entries entries{{"location", "w.bin"}};
  CHECK(files.find(elsewhere(entries, 0)).bytes.empty());
  CHECK(files.find(elsewhere({{"location", "w.bin"}, {"offset", "16"}, {"length", "0"}}, 0)).bytes.empty());
  CHECK(
      holds(refusal([&] { files.find(elsewhere({{"location", "w.bin"}, {"offset", "17"}}, 0)); }), "beyond"));
  onnx::TensorProto t = elsewhere(entries);
  t.set_dims(0, -1);
  CHECK(holds(refusal([&] { files.find(t); }), "extents"));
  t.set_dims(0, INT64_MAX);
  CHECK(holds(refusal([&] { files.find(t); }), "overflow"));
  t.add_dims(INT64_MAX);
  CHECK(holds(refusal([&] { files.find(t); }), "extents"));
  t = elsewhere(entries);
  t.set_data_type(onnx::TensorProto::STRING);
  CHECK(holds(refusal([&] { files.find(t); }), "strings"));
  CHECK(holds(errors(t), "strings"));
  // A type of later versions of ONNX: the length says how many bytes it has.
  t.set_data_type(99);
  CHECK(holds(refusal([&] { files.find(t); }), "no length"));
  t = elsewhere({{"location", "w.bin"}, {"length", "7"}});
  t.set_data_type(99);
  CHECK(files.find(t).bytes.size() == 7);
  // Packed elements.
  t = elsewhere({{"location", "w.bin"}, {"length", "3"}, {"offset", "8"}}, 5);
  t.set_data_type(onnx::TensorProto::INT4);
  CHECK(files.find(t).bytes.size() == 3);
}

TEST_CASE("tensors share a file, and segments that are the same, but none that overlap") {
  const Folder folder;
  write_bytes(folder / "w.bin", std::string(64, '\1'));
  ExternalFiles files(folder.path());
  const auto at = [&](const char* offset, int64_t n, const char* location = "w.bin") {
    return files.find(elsewhere({{"location", location}, {"offset", offset}}, n));
  };
  const auto first = at("16", 4);
  CHECK(at("16", 4).bytes.data() == first.bytes.data());
  CHECK(at("16", 4, "./w.bin").file == first.file);  // another name of the same file
  CHECK(at("32", 4).file == first.file);
  CHECK(at("0", 4).bytes.data() + 16 == first.bytes.data());
  at("20", 0);  // nothing overlaps no bytes
  for (const char* offset : {"12", "15", "17", "20", "28", "31"})
    CHECK(holds(refusal([&] { at(offset, 4); }), "overlap"));
  for (const auto& [offset, n] : {std::pair("16", 3), {"16", 5}, {"20", 1}, {"0", 16}, {"44", 2}})
    CHECK(holds(refusal([&] { at(offset, n, ".//w.bin"); }), "overlap"));
  CHECK(at("48", 4).bytes.size() == 16);
  // Another reader of the model knows nothing of these.
  ExternalFiles others(folder.path());
  CHECK(others.find(elsewhere({{"location", "w.bin"}}, 16)).bytes.size() == 64);

  // In the checker, a model's tensors are looked at together.
  onnx::ModelProto m = loader::parse_text<onnx::ModelProto>(
      "<ir_version: 10, domain: \"d\", opset_import: [\"\" : 21]>\n"
      "g () => (float[3] y) { y = Add (v, w) }");
  *m.mutable_graph()->add_initializer() = elsewhere({{"location", "w.bin"}}, 3, "v");
  *m.mutable_graph()->add_initializer() = elsewhere({{"location", "w.bin"}, {"offset", "8"}}, 3, "w");
  CHECK(!has_errors(loader::check(m)));
  CHECK(has_errors(loader::check(m, {.folder = folder.path()})));
  m.mutable_graph()->mutable_initializer(1)->mutable_external_data(1)->set_value("12");
  CHECK(!has_errors(loader::check(m, {.folder = folder.path()})));
}

TEST_CASE("links within a trusted root") {
  const Folder root;  // as caches lay files out that several models have
  if (!has_links) return;
  fs::create_directories(root / "blobs");
  fs::create_directories(root / "models/a");
  write_bytes(root / "blobs/0123", std::string(12, '\1'));
  fs::create_hard_link(root / "blobs/0123", root / "models/a/hard.bin");
  make_link("../../blobs/0123", root / "models/a/relative.bin");
  make_link(root / "blobs/0123", root / "models/a/absolute.bin");
  make_folder_link(root / "blobs", root / "models/a/blobs");
  make_link("/etc/hostname", root / "models/a/outside.bin");
  make_link("/dev/zero", root / "models/a/zero");
  make_folder_link("/etc", root / "models/a/etc");
  write_bytes(root / "models/a/own.bin", std::string(12, '\1'));
  make_link("own.bin", root / "models/a/alias.bin");
  make_pipe(root / "models/a/fifo");
  const auto said = [&](const std::string& location, const fs::path& trusted) {
    ExternalFiles files(root / "models/a", trusted);
    return refusal([&] { files.find(elsewhere({{"location", location}})); });
  };
  for (const char* location :
       {"own.bin", "hard.bin", "relative.bin", "absolute.bin", "blobs/0123", "alias.bin"})
    CHECK(said(location, root.path()) == "");
  for (const char* location : {"hard.bin", "own.bin", "alias.bin"})
    CHECK(said(location, root / "models") == "");
  for (const char* location : {"relative.bin", "absolute.bin", "blobs/0123"}) {
    CHECK(said(location, root / "blobs") == "");
    CHECK(holds(said(location, root / "models"), "outside the trusted root"));
    // Not within "blobs", though the name begins so.
    fs::create_directories(root / "blob");
    CHECK(holds(said(location, root / "blob"), "outside the trusted root"));
    CHECK(holds(said(location, {}), "symbolic link"));
  }
  for (const char* location : {"outside.bin", "etc/hostname", "zero"})
    CHECK(holds(said(location, root.path()), "outside the trusted root"));
  CHECK(holds(said("fifo", root.path()), "not a regular file"));
  CHECK(holds(said("zero", "/"), "not a regular file"));
  CHECK(holds(said("../../blobs/0123", root.path()), "leaves"));
  CHECK(holds(said((root / "blobs/0123").string(), root.path()), "absolute"));
  CHECK(holds(said("own.bin", root / "absent"), "absent"));
}

TEST_CASE("files of more than 4 GB are mapped, and data that is in place stays") {
  const Folder folder;
  constexpr int64_t offset = (int64_t{9} << 30) + 64;
  write_bytes(folder / "w.bin", "");
  fs::resize_file(folder / "w.bin", offset);
  std::ofstream(folder / "w.bin", std::ios::binary | std::ios::app) << floats({1, 2, 3});
  onnx::ModelProto m = loader::parse_text<onnx::ModelProto>(
      "<ir_version: 10, opset_import: [\"\" : 21]>\n"
      "g () => (float[3] y) { y = Add (w, w) }");
  *m.mutable_graph()->add_initializer() =
      elsewhere({{"location", "w.bin"}, {"offset", std::to_string(offset)}});
  write_bytes(folder / "model.onnx", m.SerializeAsString());
  {
    const Session session = load(folder / "model.onnx");
#if !defined(_WIN32)  // removes no file that is mapped
    fs::remove(folder / "w.bin");
#endif
    const auto y = session.run({})[0];
    CHECK(y.view<float>()[2] == 6);
  }

  ExternalFiles files(folder.path());
  write_bytes(folder / "w.bin",
              std::string(3, '\0') + floats({4, 5, 6}) + std::string(1, '\0') + floats({7, 8, 9}));
  const loader::DataSource source{.external = std::make_shared<ExternalFiles>(folder.path())};
  const AnyTensor in_place = read_tensor(elsewhere({{"location", "w.bin"}, {"offset", "16"}}), source);
  const AnyTensor copied = read_tensor(elsewhere({{"location", "w.bin"}, {"offset", "3"}}), source);
  CHECK(in_place.data() ==
        source.external->find(elsewhere({{"location", "w.bin"}, {"offset", "16"}})).bytes.data());
  CHECK(static_cast<const float*>(in_place.data())[2] == 9);
  CHECK(static_cast<const float*>(copied.data())[2] == 6);
}

TEST_CASE("parts of a tensor, mapped by themselves") {
  const Folder folder;
  constexpr int64_t rows = 400, columns = 300;
  Tensor<float> numbers(Extents{rows, columns});
  for (int64_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<float>(k);
  for (const std::size_t skipped : {0, 3, 70000}) {
    const std::string padding(skipped, '-');
    write_bytes(folder / "w.bin", padding + std::string(reinterpret_cast<const char*>(numbers.data()),
                                                        rows * columns * sizeof(float)));
    onnx::TensorProto t =
        elsewhere({{"location", "w.bin"}, {"offset", std::to_string(padding.size())}}, rows);
    t.add_dims(columns);
    ExternalFiles files(folder.path(), {}, loader::Mapping::pieces);
    loader::expect_external(t, files);
    const auto part = [&](int axis, int64_t first, int64_t end, int64_t stretches = 1) {
      return loader::read_part(t, files, {axis, first, end, stretches});
    };
    const AnyTensor all = part(-1, 0, 0);
    CHECK(all.extents() == Extents{rows, columns});
    CHECK(std::memcmp(all.data(), numbers.data(), static_cast<std::size_t>(all.bytes())) == 0);
    const AnyTensor some_rows = part(0, 17, 350);
    CHECK(some_rows.extents() == Extents{333, columns});
    CHECK(std::memcmp(some_rows.data(), numbers.data() + 17 * columns,
                      static_cast<std::size_t>(some_rows.bytes())) == 0);
    const AnyTensor some_columns = part(1, 299, 300);
    CHECK(some_columns.extents() == Extents{rows, 1});
    for (int64_t r = 0; r < rows; ++r)
      CHECK(static_cast<const float*>(some_columns.data())[r] == numbers[r * columns + 299]);
    const AnyTensor of_rows = part(0, 17, 95, 4), of_columns = part(1, 40, 99, 3);
    CHECK(of_rows.extents() == Extents{312, columns});
    for (int64_t r = 0; r < 312; ++r)
      CHECK(std::memcmp(static_cast<const float*>(of_rows.data()) + r * columns,
                        numbers.data() + (r / 78 * 100 + 17 + r % 78) * columns,
                        columns * sizeof(float)) == 0);
    CHECK(of_columns.extents() == Extents{rows, 177});
    for (int64_t k = 0; k < of_columns.size(); ++k) {
      const int64_t c = k % 177, from = k / 177 * columns + c / 59 * 100 + 40 + c % 59;
      CHECK(static_cast<const float*>(of_columns.data())[k] == numbers[from]);
    }
    CHECK(part(1, 5, 5).size() == 0);
    CHECK(part(0, 400, 400).size() == 0);

    // The file is the one that was checked.
    fs::rename(folder / "w.bin", folder / "old.bin");
    CHECK(holds(refusal([&] { part(0, 0, 1); }), "tensor 'w': external data 'w.bin'"));
    write_bytes(folder / "w.bin", bytes_of(folder / "old.bin"));
    CHECK(holds(refusal([&] { part(0, 0, 1); }), "was replaced or written to"));
  }
  // Bools are 0 or 1, whichever part is read.
  std::string bytes(100000, '\0');
  bytes[99999] = '\7';
  write_bytes(folder / "b.bin", bytes);
  onnx::TensorProto t = elsewhere({{"location", "b.bin"}}, 100000);
  t.set_data_type(onnx::TensorProto::BOOL);
  ExternalFiles files(folder.path(), {}, loader::Mapping::pieces);
  const AnyTensor last = loader::read_part(t, files, {0, 99990, 100000});
  CHECK(static_cast<const uint8_t*>(last.data())[9] == 1);

  // References are checked as they are where files are mapped as a whole.
  const auto said = [&](const Entries& entries, int64_t n = 20000) {
    return refusal([&] { loader::expect_external(elsewhere(entries, n), files); });
  };
  CHECK(said({{"location", "b.bin"}, {"offset", "0"}, {"checksum", sha1(bytes)}}) == "");
  CHECK(holds(said({{"location", "b.bin"}, {"checksum", sha1("")}}), "the checksum of the file is"));
  CHECK(holds(said({{"location", "b.bin"}, {"offset", "100"}}), "overlap another tensor"));
  CHECK(holds(said({{"location", "b.bin"}}, 25001), "reaches beyond the file's 100000"));
  CHECK(holds(said({{"location", "none.bin"}}), "tensor 'w'"));
}

TEST_CASE("external data wherever a model has tensors") {
  const Folder folder;
  const float values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  const int64_t indices[] = {0, 2};
  write_bytes(folder / "w.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
  write_bytes(folder / "i.bin", std::string(reinterpret_cast<const char*>(indices), sizeof indices));
  onnx::ModelProto m = loader::parse_text<onnx::ModelProto>(R"(
      <ir_version: 10, opset_import: ["" : 21, "local" : 1]>
      g (bool c) => (float[2] a, float[2] b, float[2] d, float[4] s) {
        a = Constant <value = float[2] w = ["location": "w.bin", "offset": "8"]> ()
        b = local.f ()
        d = If (c) <then_branch = yes () => (float[2] r) <float[2] w = ["location": "w.bin", "offset": "24"]> {
                      r = Identity (w) },
                    else_branch = no () => (float[2] r) {
                      r = Constant <value = float[2] w = ["location": "w.bin", "offset": "32"]> () }>
        s = Constant ()
      }
      <opset_import: ["" : 21], domain: "local">
      f () => (r) { r = Constant <value = float[2] w = ["location": "w.bin", "offset": "16"]> () })");
  auto& sparse = *m.mutable_graph()->mutable_node(3)->add_attribute();
  sparse.set_name("sparse_value");
  sparse.set_type(onnx::AttributeProto::SPARSE_TENSOR);
  sparse.mutable_sparse_tensor()->add_dims(4);
  *sparse.mutable_sparse_tensor()->mutable_values() = elsewhere({{"location", "w.bin"}, {"offset", "40"}}, 2);
  onnx::TensorProto& i = *sparse.mutable_sparse_tensor()->mutable_indices();
  i = elsewhere({{"location", "i.bin"}}, 2);
  i.set_data_type(onnx::TensorProto::INT64);
  write_bytes(folder / "model.onnx", m.SerializeAsString());
  const auto first = [&](bool c) {
    Tensor<bool> condition(Extents{});
    condition.data()[0] = c;
    Outputs outputs = load(folder / "model.onnx").run({{"c", condition}});
    return std::vector<float>{outputs[0].view<float>()[0], outputs[1].view<float>()[0],
                              outputs[2].view<float>()[0]};
  };
  CHECK(first(true) == std::vector<float>{3, 5, 7});
  CHECK(first(false) == std::vector<float>{3, 5, 9});
  for (const auto& d : loader::check(m, {.folder = folder.path()})) CHECK(d.severity != Severity::error);
  // Sparse indices that lie in a file are checked there.
  const int64_t wrong[] = {2, 0};
  write_bytes(folder / "i.bin", std::string(reinterpret_cast<const char*>(wrong), sizeof wrong));
  CHECK(has_errors(loader::check(m, {.folder = folder.path()})));

  onnx::ModelProto whole = m;
  ExternalFiles files(folder.path());
  CHECK(loader::embed_external_data(whole, files));
  int external = 0, tensors = 0, in_attributes = 0;
  loader::for_each_tensor(whole, [&](const onnx::TensorProto& t, bool in_attribute) {
    ++tensors, external += loader::is_external(t), in_attributes += in_attribute;
  });
  CHECK(tensors == 6);
  CHECK(in_attributes == 5);
  CHECK(external == 0);
  CHECK(!loader::embed_external_data(whole, files));
}

TEST_CASE("names of a model and of its data that differ in case only") {
  const Folder folder;
  const auto exists_as = [&](std::string_view written, std::string_view asked) {
    write_bytes(folder / written, "");
    const bool there = fs::exists(folder / asked);
    fs::remove(folder / written);
    return there;
  };
  struct Row {
    std::string_view model, data;
  } rows[] = {{"m.onnx", "M.onnx"}, {"é.onnx", "É.ONNX"}};
  for (const Row& row : rows) {
    const auto m = loader::parse_text<onnx::ModelProto>(
        R"(<ir_version: 10, opset_import: ["" : 21]>
           g () => (float[3] y) <float[3] w = {1, 2, 3}> { y = Identity (w) })");
    const bool one_file = exists_as(row.data, row.model);
    const std::string said = refusal(ErrorCode::invalid_argument, [&] {
      loader::save_model(m, folder / row.model,
                         {.external_threshold = 1, .external_file = std::string(row.data)});
    });
    if (one_file) {
      CHECK(holds(said, "is the model's own file"));
      CHECK(fs::is_empty(folder.path()));
    } else {
      CHECK(said == "");
      CHECK(load(folder / row.model).run({})[0].view<float>()[2] == 3);
    }
  }
}

}  // namespace
}  // namespace tenon
