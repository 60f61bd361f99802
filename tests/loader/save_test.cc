// Models written to files: the same again, with external data, and replaced whole or not at all.
#include "loader/format/save.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "loader/check/check.hpp"
#include "loader/format/wire.hpp"
#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"
#include "tenon/loader.hpp"
#include "tests/loader/folder.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using loader::DataSource;
using loader::ExternalFiles;
using loader::save_model;

onnx::ModelProto model_of(const fs::path& file) {
  onnx::ModelProto m;
  REQUIRE(m.ParseFromString(bytes_of(file)));
  return m;
}
DataSource in_folder(const fs::path& folder) { return {.external = std::make_shared<ExternalFiles>(folder)}; }
int files_in(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
}
onnx::TensorProto tensor(const std::string& name, int64_t n, float first, bool raw = true) {
  onnx::TensorProto t;
  t.set_name(name);
  t.set_data_type(onnx::TensorProto::FLOAT);
  t.add_dims(n);
  std::vector<float> values;
  for (int64_t k = 0; k < n; ++k) values.push_back(first + static_cast<float>(k));
  if (raw) t.set_raw_data(values.data(), values.size() * sizeof(float));
  else t.mutable_float_data()->Add(values.begin(), values.end());
  return t;
}
// "large" has 80,000 bytes, "typed" 400, "small" 12, the constant 256, the body's 40.
onnx::ModelProto example() {
  auto m = loader::parse_text<onnx::ModelProto>(R"(
      <ir_version: 10, opset_import: ["" : 21]>
      g (bool c) => (float[20000] a, float[100] b, float[3] d, float[64] e, float[10] f) {
        a = Identity (large)
        b = Identity (typed)
        d = Identity (small)
        e = Constant ()
        f = If (c) <then_branch = yes () => (float[10] r) { r = Identity (inner) },
                    else_branch = no () => (float[10] r) { r = Neg (inner2) }>
      })");
  auto& g = *m.mutable_graph();
  *g.add_initializer() = tensor("small", 3, 1);
  *g.add_initializer() = tensor("typed", 100, 2, false);
  *g.add_initializer() = tensor("large", 20000, 3);
  auto& value = *g.mutable_node(3)->add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = tensor("", 64, 4);
  *g.mutable_node(4)->mutable_attribute(0)->mutable_g()->add_initializer() = tensor("inner", 10, 5);
  *g.mutable_node(4)->mutable_attribute(1)->mutable_g()->add_initializer() = tensor("inner2", 10, 6);
  return m;
}
std::vector<float> results(const fs::path& file, bool c = true) {
  Tensor<bool> condition(Extents{});
  condition.data()[0] = c;
  Outputs outputs = load(file).run({{"c", condition}});
  std::vector<float> all;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto view = outputs[k].view<float>();
    all.insert(all.end(), view.data(), view.data() + view.size());
  }
  return all;
}
std::string entry(const onnx::TensorProto& t, std::string_view key) {
  for (const auto& e : t.external_data())
    if (e.key() == key) return e.value();
  return "";
}
// The names of external tensors, and the file that they are in.
std::string external_of(onnx::ModelProto m, std::string* location = nullptr) {
  std::string names;
  loader::for_each_tensor(m, [&](const onnx::TensorProto& t, bool in_attribute) {
    if (!loader::is_external(t)) return;
    CHECK(t.raw_data().empty());
    names += str_cat(names.empty() ? "" : " ", in_attribute ? "constant" : t.name());
    if (location != nullptr) *location = entry(t, "location");
  });
  return names;
}

TEST_CASE("models of ONNX's test data are the same after saving") {
  const fs::path data = "/usr/share/libonnx-testdata/data";
  REQUIRE_MESSAGE(fs::is_directory(data), "Debian's libonnx-testdata is not installed");
  const Folder folder;
  int models = 0;
  for (const auto& file : fs::recursive_directory_iterator(data)) {
    if (file.path().extension() != ".onnx") continue;
    // Of the many nodes some, because writing to a disk takes its time.
    if (file.path().string().find("/node/") != std::string::npos && ++models % 16 != 0) continue;
    INFO(file.path().string());
    const std::string bytes = bytes_of(file.path());
    const onnx::ModelProto m = model_of(file.path());
    save_model(m, folder / "m.onnx");
    CHECK(bytes_of(folder / "m.onnx") == m.SerializeAsString());
    // As the loader has it, without the raw data.
    onnx::ModelProto stripped;
    REQUIRE(
        stripped.ParseFromString(loader::strip_raw_data(std::as_bytes(std::span(bytes))).value_or(bytes)));
    const DataSource source{.model = std::as_bytes(std::span(bytes))};
    save_model(stripped, folder / "m.onnx", {}, source);
    CHECK(bytes_of(folder / "m.onnx") == m.SerializeAsString());
    // There and back.
    save_model(stripped, folder / "e.onnx", {.external_threshold = 1, .external_attributes = true}, source);
    save_model(model_of(folder / "e.onnx"), folder / "m.onnx", {.external_threshold = INT64_MAX},
               in_folder(folder.path()));
    CHECK(external_of(model_of(folder / "m.onnx")) == "");
    for (const auto& d : loader::check(model_of(folder / "e.onnx"), {.folder = folder.path()}))
      CHECK_MESSAGE(d.severity != Severity::error, to_string(d));
  }
  CHECK(models > 0);
}

TEST_CASE("unknown fields are kept") {
  const Folder folder;
  onnx::ModelProto m = example();
  std::string bytes = m.SerializeAsString();
  bytes += std::string("\xfa\x3e\x05hello", 8);  // field 1007
  REQUIRE(m.ParseFromString(bytes));
  save_model(m, folder / "m.onnx");
  CHECK(bytes_of(folder / "m.onnx") == bytes);
  save_model(m, folder / "m.onnx", {.external_threshold = 1});
  CHECK(holds(bytes_of(folder / "m.onnx"), "hello"));
}

TEST_CASE("data of at least a size goes to a file next to the model") {
  const Folder folder;
  const onnx::ModelProto m = example();
  save_model(m, folder / "m.onnx");
  const auto expected = results(folder / "m.onnx"), expected_else = results(folder / "m.onnx", false);
  struct Row {
    SaveOptions options;
    std::string_view external;
  } rows[] = {
      {{.external_threshold = 80'001}, ""},
      {{.external_threshold = 80'000}, "large"},
      {{.external_threshold = 400}, "typed large"},
      {{.external_threshold = 41}, "typed large"},
      {{.external_threshold = 40}, "typed large inner inner2"},
      {{.external_threshold = 0}, "small typed large inner inner2"},
      {{.external_threshold = 256, .external_attributes = true}, "typed large constant"},
      {{.external_threshold = 1, .external_attributes = true}, "small typed large constant inner inner2"},
      {{.external_threshold = 0, .external_file = "weights.bin"}, "small typed large inner inner2"},
  };
  for (const Row& row : rows) {
    const Folder to;
    save_model(m, to / "m.onnx", row.options);
    std::string location;
    CHECK(external_of(model_of(to / "m.onnx"), &location) == row.external);
    CHECK(files_in(to.path()) == (row.external.empty() ? 1 : 2));
    CHECK(results(to / "m.onnx") == expected);
    CHECK(results(to / "m.onnx", false) == expected_else);
    for (const auto& d : loader::check(model_of(to / "m.onnx"), {.folder = to.path()}))
      CHECK_MESSAGE(d.severity != Severity::error, to_string(d));
    if (row.external.empty()) continue;
    CHECK(fs::exists(to / location));
    if (!row.options.external_file.empty()) CHECK(location == row.options.external_file);
    else CHECK((location.starts_with("m.onnx.") && location.ends_with(".data") && location.size() == 28));
    loader::for_each_tensor(*std::make_unique<onnx::ModelProto>(model_of(to / "m.onnx")),
                            [](const onnx::TensorProto& t, bool) {
                              if (!loader::is_external(t)) return;
                              const int64_t offset = std::stoll(entry(t, "offset"));
                              CHECK(offset % (std::stoll(entry(t, "length")) < 65536 ? 64 : 4096) == 0);
                            });
    // The same input gives the same bytes, over an old file and elsewhere.
    const std::string bytes = bytes_of(to / "m.onnx"), data = bytes_of(to / location);
    save_model(m, to / "m.onnx", row.options);
    CHECK(bytes_of(to / "m.onnx") == bytes);
    CHECK(files_in(to.path()) == 2);
    const Folder other;
    save_model(m, other / "m.onnx", row.options);
    CHECK(bytes_of(other / "m.onnx") == bytes);
    CHECK(bytes_of(other / location) == data);
  }
}

TEST_CASE("references are kept, or their data goes along") {
  const Folder from, to;
  save_model(example(), from / "m.onnx", {.external_threshold = 400, .external_file = "w.bin"});
  const onnx::ModelProto m = model_of(from / "m.onnx");
  const auto expected = results(from / "m.onnx");

  // In the same folder, by whatever name it goes.
  fs::create_directory_symlink(from.path(), to / "link");
  save_model(m, from / "again.onnx", {}, in_folder(to / "link"));
  CHECK(bytes_of(from / "again.onnx") == m.SerializeAsString());
  CHECK(files_in(from.path()) == 3);
  // A model whose folder is not known.
  save_model(m, to / "unknown.onnx");
  CHECK(bytes_of(to / "unknown.onnx") == m.SerializeAsString());
  save_model(m, to / "unknown.onnx", {.external_threshold = 1 << 30});
  CHECK(external_of(model_of(to / "unknown.onnx")) == "typed large");
  fs::remove(to / "unknown.onnx");

  struct Row {
    SaveOptions options;
    std::string_view external;
  } rows[] = {{{}, "typed large"},
              {{.external_threshold = 401}, "large"},
              {{.external_threshold = 12}, "small typed large inner inner2"},
              {{.external_threshold = INT64_MAX}, ""}};
  for (const Row& row : rows)
    for (const fs::path& file : {to / "m.onnx", from / "n.onnx"}) {
      save_model(m, file, row.options, in_folder(from.path()));
      CHECK(external_of(model_of(file)) == row.external);
      CHECK(results(file) == expected);
    }
  CHECK(bytes_of(from / "m.onnx") == m.SerializeAsString());

  // Tensors that share their data still do, also where a name of the file differs.
  onnx::ModelProto tied = m;
  onnx::TensorProto& second = *tied.mutable_graph()->add_initializer();
  second = tied.graph().initializer(2);
  second.set_name("second");
  second.mutable_external_data(0)->set_value("./w.bin");
  const Folder apart;
  std::string location;
  save_model(tied, apart / "tied.onnx", {}, in_folder(from.path()));
  CHECK(external_of(model_of(apart / "tied.onnx"), &location) == "typed large second");
  CHECK(fs::file_size(apart / location) == 4096 + 80'000);

  // A refused model is refused before any file is written.
  fs::resize_file(from / "w.bin", 1000);
  CHECK(
      holds(refusal([&] { save_model(m, apart / "m.onnx", {}, in_folder(from.path())); }), "tensor 'large'"));
  fs::remove(from / "w.bin");
  CHECK(holds(refusal([&] { save_model(m, apart / "m.onnx", {}, in_folder(from.path())); }), "w.bin"));
  CHECK(files_in(apart.path()) == 2);
}

TEST_CASE("a model that is replaced is the old one or the new one") {
  const Folder folder;
  const fs::path file = folder / "m.onnx";
  onnx::ModelProto m = example();
  save_model(m, file, {.external_threshold = 400});
  const auto before = results(file);
  ::chmod(file.c_str(), 0640);
  const Session open = load(file);

  // Saved over itself, with its own data read meanwhile.
  save_model(model_of(file), file, {.external_threshold = 1}, in_folder(folder.path()));
  CHECK(results(file) == before);
  CHECK((fs::status(file).permissions() & fs::perms::all) == fs::perms(0640));

  // Readers meanwhile see one of the models.
  m.mutable_graph()->mutable_initializer(2)->CopyFrom(tensor("large", 20000, 1000));
  save_model(m, folder / "other.onnx");
  const auto after = results(folder / "other.onnx");
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int k = 0; k < 10; ++k)
      save_model(k % 2 == 0 ? m : example(), file, {.external_threshold = 400 + k});
    done = true;
  });
  int reads = 0;
  while (!done || reads == 0) {
    const auto seen = results(file);
    CHECK((seen == before || seen == after));
    ++reads;
  }
  writer.join();

  // What was open has its own data.
  Tensor<bool> c(Extents{});
  c.data()[0] = true;
  CHECK(open.run({{"c", c}})[0].view<float>()[19'999] == before[19'999]);
}

TEST_CASE("data gets a name that no other file has") {
  const Folder folder;
  const fs::path file = folder / "m.onnx";
  const auto saved = [&] {
    std::string location;
    save_model(example(), file, {.external_threshold = 400});
    external_of(model_of(file), &location);
    return location;
  };
  const std::string first = saved();
  const auto expected = results(file);
  CHECK(saved() == first);
  CHECK(files_in(folder.path()) == 2);
  write_bytes(folder / first, "others' data");
  const std::string second = saved();
  CHECK(second != first);
  fs::remove(folder / second);
  fs::create_symlink(first, folder / second);
  const std::string third = saved();
  CHECK(third != first);
  CHECK(third != second);
  CHECK(bytes_of(folder / first) == "others' data");
  CHECK(results(file) == expected);
}

TEST_CASE("a failed write leaves existing files unchanged") {
  const Folder folder;
  const fs::path file = folder / "m.onnx";
  write_bytes(file, "old");
  write_bytes(folder / "w.bin", "old data");
  fs::create_symlink("m.onnx", folder / "link.onnx");
  fs::create_symlink("absent", folder / "dangling.onnx");
  fs::create_symlink("w.bin", folder / "link.bin");
  fs::create_directories(folder / "sub.onnx");
  const onnx::ModelProto m = example();
  struct Row {
    std::string file, external_file;
    std::string_view says;
  } rows[] = {{"link.onnx", "", "symbolic link"},
              {"dangling.onnx", "", "symbolic link"},
              {"sub.onnx", "", "a folder"},
              {"", "", "name of a file"},
              {"none/m.onnx", "", "No such file"},
              {"m.onnx/m.onnx", "", "Not a directory"},
              {"m.onnx", "w.bin", "is there already, with other data"},
              {"m.onnx", "link.bin", "is there already"},
              {"m.onnx", "sub.onnx", "is there already"},
              {"m.onnx", "m.onnx", "own file"},
              {"m.onnx", "../w.bin", "not the name of a file"},
              {"m.onnx", "sub.onnx/w.bin", "not the name of a file"},
              {"m.onnx", "/tmp/w.bin", "not the name of a file"},
              {"m.onnx", "..", "leaves"},
              {"m.onnx", ".", "not the name of a file"},
              {"m.onnx", "a\\b", "backslash"},
              {"m.onnx", "a\xff", "not UTF-8"},
              {"m.onnx", "c:b", "drive"},
              {"m.json", "", "JSON"},
              {"m.textproto", "", "text format"}};
  for (const Row& row : rows) {
    const std::string text = refusal([&] {
      save_model(m, folder / row.file, {.external_threshold = 1, .external_file = row.external_file});
    });
    CHECK_MESSAGE(holds(text, row.says), row.file, " ", row.external_file, ": '", text, "'");
  }
  // A disk that is full.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit most{}, old{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  most = old, most.rlim_cur = 50'000;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &most) == 0);
  const std::string inside = refusal([&] { save_model(m, file); });
  const std::string outside = refusal([&] { save_model(m, file, {.external_threshold = 1}); });
  const std::string value = refusal([&] { write_npy(folder / "w.bin", Tensor<float>(Extents{20000})); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
  CHECK(holds(inside, "too large"));
  CHECK(holds(outside, "too large"));
  CHECK(holds(value, "too large"));
  CHECK(bytes_of(file) == "old");
  CHECK(bytes_of(folder / "w.bin") == "old data");
  CHECK(files_in(folder.path()) == 6);
  // The name is free for data that is the same.
  save_model(m, file, {.external_threshold = 1, .external_file = "new.bin"});
  save_model(m, file, {.external_threshold = 1, .external_file = "new.bin"});
  CHECK(files_in(folder.path()) == 7);
}

TEST_CASE("a file has no name until it is complete") {
  const Folder folder;
  const bool without = [&] {
    const int d = ::open(folder.path().c_str(), O_TMPFILE | O_WRONLY, 0600);
    return d >= 0 && ::close(d) == 0;
  }();
  for (const std::string_view bytes : {"new", "replaced"}) {
    const int before = files_in(folder.path());
    loader::NewFile out(folder / "m.onnx");
    out.write(bytes);
    CHECK(files_in(folder.path()) == before + (without ? 0 : 1));
    out.put_in_place();
    CHECK(bytes_of(folder / "m.onnx") == bytes);
    CHECK(files_in(folder.path()) == 1);
  }
  {
    loader::NewFile(folder / "m.onnx").write("given up");
  }
  CHECK(bytes_of(folder / "m.onnx") == "replaced");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("external data of a model with a long name has a part of it") {
  struct Row {
    std::string name;
    std::size_t kept;
  };
  const std::string letters(240, 'a');
  std::string umlauts;
  for (int k = 0; k < 118; ++k) umlauts += "\u00e4";
  for (const Row& row : {Row{letters + ".onnx", 233}, Row{umlauts + ".onnx", 232},
                         Row{"a" + umlauts + ".onnx", 233}, Row{"b.onnx", 6}}) {
    const Folder folder;
    save_model(example(), folder / row.name, {.external_threshold = 400});
    CHECK(files_in(folder.path()) == 2);
    for (const auto& entry : fs::directory_iterator(folder.path()))
      if (const std::string name = entry.path().filename(); name != row.name)
        CHECK_MESSAGE(name.find('.', row.kept - 1) == row.kept, name);
    CHECK(results(folder / row.name).size() > 0);
  }
}

TEST_CASE("pipes and terminals are written to as they are") {
  const Folder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::string read;
  std::thread reader([&] { read = bytes_of(folder / "pipe"); });
  save_model(example(), folder / "pipe");
  reader.join();
  CHECK(read == example().SerializeAsString());
  CHECK(fs::is_fifo(folder / "pipe"));
  save_model(example(), "/dev/null");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(holds(refusal([&] { save_model(example(), "/dev/null", {.external_threshold = 1}); }),
              "it is not a file"));
}

TEST_CASE("text, by the name of the file") {
  const Folder folder, to;
  save_model(example(), folder / "m.onnxtxt", {.external_threshold = 400});
  const auto m = loader::parse_text<onnx::ModelProto>(bytes_of(folder / "m.onnxtxt"));
  std::string location;
  CHECK(external_of(m, &location) == "typed large");
  CHECK(fs::exists(folder / location));
  save_model(m, to / "m.onnx", {}, in_folder(folder.path()));
  save_model(example(), folder / "n.onnx");
  CHECK(results(to / "m.onnx") == results(folder / "n.onnx"));
}

TEST_CASE("nodes are written after those whose results they read") {
  const Folder folder;
  const auto m = loader::parse_text<onnx::ModelProto>(R"(
      <ir_version: 10, opset_import: ["" : 21, "own" : 1]>
      g (bool c, float[4] x) => (float[4] y, float[4] z) {
        z = Neg (x)
        y = If (c) <then_branch = yes () => (float[4] r) { r = Relu (s) s = Neg (a) },
                    else_branch = no () => (float[4] t) { t = Identity (b) }>
        b = Exp (a)
        a = own.F (x)
      }
      <domain: "own", opset_import: ["" : 21]>
      F (p) => (q) { q = Relu (o) o = Neg (p) })");
  REQUIRE(!loader::check(m).empty());
  save_model(m, folder / "m.onnx");
  const onnx::ModelProto sorted = model_of(folder / "m.onnx");
  CHECK(loader::check(sorted).empty());
  const auto operators = [](const auto& nodes) {
    std::string text;
    for (const auto& n : nodes) text += n.op_type() + " ";
    return text;
  };
  CHECK(operators(sorted.graph().node()) == "Neg F Exp If ");
  CHECK(operators(sorted.graph().node(3).attribute(0).g().node()) == "Neg Relu ");
  CHECK(operators(sorted.functions(0).node()) == "Neg Relu ");
  save_model(sorted, folder / "again.onnx");
  CHECK(bytes_of(folder / "again.onnx") == bytes_of(folder / "m.onnx"));
}

TEST_CASE("2 GB and more") {
  const Folder folder;
  constexpr int64_t size = int64_t{1} << 31;
  fs::create_directories(folder / "from");
  write_bytes(folder / "from/w.bin", "");
  fs::resize_file(folder / "from/w.bin", size);
  onnx::ModelProto m = loader::parse_text<onnx::ModelProto>(
      "<ir_version: 10, opset_import: [\"\" : 21]> g () => (uint8[N] y) { y = Identity (w) }");
  onnx::TensorProto& t = *m.mutable_graph()->add_initializer();
  t.set_name("w");
  t.set_data_type(onnx::TensorProto::UINT8);
  t.add_dims(size);
  loader::set_reference(t, {.location = "w.bin", .offset = 0, .size = size, .checksum = {}});
  const std::string text = refusal([&] {
    save_model(m, folder / "m.onnx", {.external_threshold = INT64_MAX}, in_folder(folder / "from"));
  });
  CHECK(holds(text, "external_threshold"));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a message without large raw data is parsed as it lies") {
  onnx::ModelProto m;
  onnx::TensorProto& t = *m.mutable_graph()->add_initializer();
  const auto stripped = [&] {
    const std::string bytes = m.SerializeAsString();
    return loader::strip_raw_data(std::as_bytes(std::span(bytes)));
  };
  t.set_raw_data(std::string(255, 'z'));
  CHECK(!stripped());
  t.set_raw_data(std::string(256, 'z'));
  REQUIRE(stripped());
  CHECK(stripped()->find('z') == std::string::npos);
}

}  // namespace
}  // namespace tenon
