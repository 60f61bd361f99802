// What a file can do wrong ends in an Error that names the place.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "loader/format/tensor.hpp"
#include "loader/message.hpp"
#include "tenon/loader.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

onnx::ModelProto small_model() {
  onnx::ModelProto m;
  m.set_ir_version(10);
  auto* opset = m.add_opset_import();
  opset->set_domain("");
  opset->set_version(21);
  auto* g = m.mutable_graph();
  g->set_name("g");
  auto* w = g->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(80);
  w->set_raw_data(std::string(320, '\0'));  // enough to be used where it lies
  auto* x = g->add_input();
  x->set_name("x");
  x->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  x->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(80);
  auto* n = g->add_node();
  n->set_op_type("Add");
  n->add_input("x");
  n->add_input("w");
  n->add_output("y");
  g->add_output()->set_name("y");
  return m;
}

std::span<const std::byte> bytes_of(const std::string& s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

// The error's text, "" when the model loads.
std::string refusal_of(const std::string& bytes) {
  return refusal([&] { return parse_model(bytes_of(bytes)).graph(); });
}
std::string refusal_of(const onnx::ModelProto& m) { return refusal_of(m.SerializeAsString()); }

TEST_CASE("a model that is cut at any byte is refused or whole") {
  const std::string bytes = small_model().SerializeAsString();
  CHECK(refusal_of(bytes).empty());
  for (std::size_t n = 0; n < bytes.size(); ++n) refusal_of(bytes.substr(0, n));
}

TEST_CASE("a model with any byte changed is refused or loads") {
  const std::string bytes = small_model().SerializeAsString();
  for (std::size_t n = 0; n < bytes.size(); ++n)
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[n] = static_cast<char>(changed[n] ^ flip);
      refusal_of(changed);
    }
}

TEST_CASE("a file of another kind is named, with advice") {
  using namespace std::string_literals;
  const auto safetensors = "\x20\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\",\"shape\":[0]}}"s;
  for (const auto& [bytes, says] : std::initializer_list<std::pair<std::string, const char*>>{
           {"", "the file is empty"},
           {"\x14\0\0\0ORTM\0\0"s, "ONNX Runtime's own format"},
           {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n", "git lfs pull"},
           {"PK\x03\x04\x14\0\0\0"s, "torch.onnx.export"},
           {"GGUF\x03\0\0\0"s, "llama.cpp"},
           {"\x1c\0\0\0TFL3\0\0"s, "TensorFlow Lite"},
           {safetensors, "safetensors"},
           {"<!DOCTYPE html><html></html>", "HTML"},
           {"\n <html lang=\"en\"></html>", "HTML"},
           {"\xef\xbb\xbf<?xml version=\"1.0\"?>", "OpenVINO"},
           {"model.onnx"s + std::string(247, '\0') + "ustar"s, "tar archive"},
           {"<ir_version: 8>", ".onnxtxt"},
           {"Entry not found", "text, such as a server sends"},
       }) {
    CAPTURE(says);
    CHECK(holds(refusal_of(bytes), says));
  }
  CHECK(holds(refusal_of("\x0e"s), "byte 0"));
}

TEST_CASE("what the numbers of a tensor claim is checked against its data") {
  struct Row {
    std::string_view says;
    void (*change)(onnx::TensorProto&);
  } rows[] = {
      {"bytes of raw data", [](onnx::TensorProto& t) { t.set_dims(0, 81); }},
      {"bytes of raw data", [](onnx::TensorProto& t) { t.set_dims(0, int64_t{1} << 40); }},
      {"overflow", [](onnx::TensorProto& t) { t.set_dims(0, INT64_MAX), t.add_dims(4); }},
      {"negative extent", [](onnx::TensorProto& t) { t.set_dims(0, -1); }},
      {"element type 77", [](onnx::TensorProto& t) { t.set_data_type(77); }},
      {"rank",
       [](onnx::TensorProto& t) {
         for (int k = 0; k < 40; ++k) t.add_dims(1);
       }},
      {"values in its data", [](onnx::TensorProto& t) { t.clear_raw_data(), t.add_float_data(1); }},
      {"strings cannot be raw data",
       [](onnx::TensorProto& t) { t.set_data_type(onnx::TensorProto::STRING); }},
      {"not to be had here", [](onnx::TensorProto& t) { t.set_data_location(onnx::TensorProto::EXTERNAL); }},
      {"not allowed",
       [](onnx::TensorProto& t) {
         auto* e = t.add_external_data();
         e->set_key(std::string("\0mapped", 7));
         e->set_value("0,999999999");
       }},
  };
  for (const Row& row : rows) {
    onnx::ModelProto m = small_model();
    row.change(*m.mutable_graph()->mutable_initializer(0));
    const std::string text = refusal_of(m);
    CHECK_MESSAGE(holds(text, row.says), "'", text, "' lacks '", row.says, "'");
  }
}

TEST_CASE("outputs are declared of the type that they have, in bodies too, unless declarations are ignored") {
  const struct {
    std::string_view branch, output, says;
  } rows[] = {
      {"float[n] b", "float[n] y", ""},
      {"b", "y", ""},
      {"float[3, 4] b", "float[9] y", ""},  // extents are not looked at
      {"float[n] b", "int64[n] y", "graph 'g', output 'y': declared as tensor(int64), but is tensor(float)"},
      {"bool[n] b", "float[n] y",
       "graph 'otherwise', output 'b': declared as tensor(bool), but is tensor(float)"},
      {"float[n] b", "seq(float[n]) y",
       "graph 'g', output 'y': declared as seq(tensor(float)), but is tensor(float)"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.says);
    const Model m = parse_text(str_cat(R"(<ir_version: 10, opset_import: ["": 21]>
        g (bool c, float[n] x) => ()",
                                       row.output, R"() {
          y = If (c) <then_branch = then () => (float[n] a) { a = Neg (x) },
                      else_branch = otherwise () => ()",
                                       row.branch, R"() { b = Abs (x) }>
        })"));
    const std::string text = refusal([&] { (void)m.graph(); });
    CHECK_MESSAGE((row.says.empty() ? text.empty() : holds(text, row.says)), text);
    CHECK(refusal([&] { (void)m.graph({.declared_outputs = false}); }).empty());
  }
}

TEST_CASE("what a graph must not be") {
  struct Row {
    std::string_view says;
    void (*change)(onnx::ModelProto&);
  } rows[] = {
      {"ir_version", [](onnx::ModelProto& m) { m.clear_ir_version(); }},
      {"newer than 14", [](onnx::ModelProto& m) { m.set_ir_version(15); }},
      {"no graph", [](onnx::ModelProto& m) { m.clear_graph(); }},
      {"no operator set", [](onnx::ModelProto& m) { m.clear_opset_import(); }},
      {"'y' is not defined, or depends on the node",
       [](onnx::ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_input(1, "y"); }},
      {"opset 99 of ai.onnx", [](onnx::ModelProto& m) { m.mutable_opset_import(0)->set_version(99); }},
      {"defined twice", [](onnx::ModelProto& m) { *m.mutable_graph()->add_node() = m.graph().node(0); }},
      {"'z' is not defined",
       [](onnx::ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "z"); }},
      {"'q' is not produced",
       [](onnx::ModelProto& m) { m.mutable_graph()->mutable_output(0)->set_name("q"); }},
      {"no attribute 'axis'",
       [](onnx::ModelProto& m) {
         auto* a = m.mutable_graph()->mutable_node(0)->add_attribute();
         a->set_name("axis");
         a->set_type(onnx::AttributeProto::INT);
       }},
  };
  for (const Row& row : rows) {
    onnx::ModelProto m = small_model();
    row.change(m);
    const std::string text = refusal_of(m);
    CHECK_MESSAGE(holds(text, row.says), "'", text, "' lacks '", row.says, "'");
  }
}

TEST_CASE("a value that two nodes make: both are named as the file has them") {
  const struct {
    std::string_view nodes, says;
  } rows[] = {
      // Several nodes of the newest form take Softmax's place; the last of them is no Softmax.
      {"[first] y = Relu (x) [second] y = Softmax (x)",
       "node 'second' (Softmax): value 'y' is defined twice: node 'first' (Relu) makes it, too"},
      {"[first] y = Softmax (x) [second] y = Softmax (x)",
       "node 'second' (Softmax): value 'y' is defined twice: node 'first' (Softmax) makes it, too"},
      {"[first] y = Softmax (x) [second] y = local.f (x)",
       "node 'second' (f): value 'y' is defined twice: node 'first' (Softmax) makes it, too"},
      {"[first] x = Softmax (x) y = Relu (x)",
       "node 'first' (Softmax): value 'x' is defined twice: it is an input, a constant, or a value outside"},
      {"[first] y, y = Split (x)",
       "node 'first' (Split): value 'y' is defined twice: the node lists it twice"},
      {"[call] y = local.g (x)",
       "node 'r' (Softmax): value 'r' is defined twice: node 'r' (Relu) makes it, too"},
  };
  for (const auto& row : rows) {
    const Model m = parse_text(str_cat(
        "<ir_version: 7, opset_import: [\"\" : 11, \"local\" : 1]> g (float[2, 3, 4] x) => (float[2, 3, 4] "
        "y) {",
        row.nodes,
        "} <domain: \"local\", opset_import: [\"\" : 11]> f (v) => (r) { r = Relu (v) }"
        "<domain: \"local\", opset_import: [\"\" : 11]> g (v) => (r) { r = Relu (v) r = Softmax (v) }"));
    CHECK(refusal(ErrorCode::invalid_model, [&] { (void)m.graph(); }) == row.says);
  }
}

TEST_CASE("what files in the wild do") {
  onnx::ModelProto m = small_model();
  *m.add_opset_import() = m.opset_import(0);
  m.mutable_opset_import(1)->set_domain("ai.onnx");
  // The last node first: one reads the others' results, one in the branches of an If only.
  auto* g = m.mutable_graph();
  const auto node = [&](const char* type, std::initializer_list<const char*> in, const char* out) {
    auto* n = g->add_node();
    n->set_op_type(type);
    for (const char* name : in) n->add_input(name);
    n->add_output(out);
    return n;
  };
  g->clear_node();
  node("Add", {"chosen", "sum"}, "y");
  auto* choice = node("If", {"yes"}, "chosen");
  node("Cast", {"w"}, "cast")->add_attribute();
  auto* to = g->mutable_node(2)->mutable_attribute(0);
  to->set_name("to");
  to->set_type(onnx::AttributeProto::INT);
  to->set_i(onnx::TensorProto::FLOAT);
  node("Add", {"x", "cast"}, "sum");
  auto* yes = g->add_initializer();
  yes->set_name("yes");
  yes->set_data_type(onnx::TensorProto::BOOL);
  yes->add_int32_data(1);
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* a = choice->add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::GRAPH);
    a->mutable_g()->set_name(name);
    auto* n = a->mutable_g()->add_node();
    n->set_op_type("Identity");
    n->add_input("sum");
    n->add_output(name);
    a->mutable_g()->add_output()->set_name(name);
  }
  const Session session(Model(m).graph());
  Tensor<float> x(Extents{80});
  x[3] = 1.5f;
  Outputs out = session.run({{"x", x}});
  CHECK(out[0].view<float>()[3] == 3);
}

TEST_CASE("everything that is missing is listed in one error") {
  onnx::ModelProto m = small_model();
  for (const char* name : {"Frobnicate", "Quux"}) {
    auto* n = m.mutable_graph()->add_node();
    n->set_op_type(name);
    n->add_output(std::string(name) + "_out");
  }
  m.mutable_graph()->add_node()->set_domain("com.unknown");
  const std::string text = refusal_of(m);
  CHECK(holds(text, "ai.onnx.Frobnicate"));
  CHECK(holds(text, "ai.onnx.Quux"));
  CHECK(holds(text, "com.unknown"));
}

TEST_CASE("operators of known other domains are missing with advice") {
  const struct {
    const char *domain, *name, *advice;
  } rows[] = {{"com.microsoft", "Gelu", "register_com_microsoft"},
              {"com.microsoft", "BeamSearch", "export the decoder without them"},
              {"com.microsoft", "EPContext", "use the model from which it was made"},
              {"com.microsoft", "MatMulFpQ4", "to MatMulNBits"},
              {"com.microsoft.nchwc", "Conv", "level extended or below"},
              {"com.ms.internal.nhwc", "Conv", "level extended or below"},
              {"ai.onnx.contrib", "BertTokenizer", "before or after the model"},
              {"mmdeploy", "MMCVRoiAlign", "export with ONNX's own operators"},
              {"trt.plugins", "Anything", "Plugins of TensorRT"},
              {"", "EfficientNMS_TRT", "Plugins of TensorRT"},
              {"org.pytorch.aten", "ATen", "without that fallback"}};
  for (const auto& row : rows) {
    CAPTURE(row.name);
    onnx::ModelProto m = small_model();
    if (*row.domain != 0) {
      auto* opset = m.add_opset_import();
      opset->set_domain(row.domain);
      opset->set_version(1);
    }
    auto* n = m.mutable_graph()->add_node();
    n->set_domain(row.domain);
    n->set_op_type(row.name);
    n->add_output("missing_out");
    const std::string text = refusal_of(m);
    CHECK(holds(text, row.name));
    CHECK(holds(text, row.advice));
  }
}

TEST_CASE("functions that call themselves") {
  onnx::ModelProto m = small_model();
  auto* own = m.add_opset_import();
  own->set_domain("own");
  own->set_version(1);
  auto* f = m.add_functions();
  f->set_name("f");
  f->set_domain("own");
  f->add_input("a");
  f->add_output("b");
  *f->add_opset_import() = *own;
  auto* n = f->add_node();
  n->set_op_type("f");
  n->set_domain("own");
  n->add_input("a");
  n->add_output("b");
  *m.mutable_graph()->mutable_node(0) = *n;
  m.mutable_graph()->mutable_node(0)->set_input(0, "x");
  m.mutable_graph()->mutable_node(0)->set_output(0, "y");
  CHECK(holds(refusal_of(m), "calls itself"));
}

TEST_CASE("functions that call each other too deeply, and what their names add up to") {
  const auto chain = [](int functions) {
    onnx::ModelProto m = small_model();
    auto* own = m.add_opset_import();
    own->set_domain("own");
    own->set_version(1);
    for (int k = 0; k < functions; ++k) {
      auto* f = m.add_functions();
      f->set_name(str_cat("f", k));
      f->set_domain("own");
      f->add_input("a");
      f->add_output("b");
      *f->add_opset_import() = m.opset_import(0);
      *f->add_opset_import() = *own;
      auto* n = f->add_node();
      n->set_name(std::string(2000, 'n'));
      const bool last = k == functions - 1;
      n->set_op_type(last ? "Neg" : str_cat("f", k + 1));
      if (!last) n->set_domain("own");
      n->add_input("a");
      n->add_output("b");
    }
    auto* n = m.mutable_graph()->mutable_node(0);
    n->set_op_type("f0");
    n->set_domain("own");
    n->mutable_input()->RemoveLast();
    return m;
  };
  CHECK(refusal_of(chain(100)).empty());
  const std::string bytes = chain(100).SerializeAsString();
  CHECK(parse_model(bytes_of(bytes)).graph().nodes().back().name.size() < 6000);
  CHECK(holds(refusal_of(chain(300)), "are too many"));
}

TEST_CASE("sparse tensors that stand for too much") {
  onnx::ModelProto m = small_model();
  auto* s = m.mutable_graph()->add_sparse_initializer();
  loader::write_sparse_tensor({Tensor<float>(Extents{1}, {1}), Tensor<int64_t>(Extents{1}, {7}), Extents{8}},
                              *s);
  s->mutable_values()->set_name("s");
  CHECK(refusal_of(m).empty());
  s->set_dims(0, int64_t{1} << 40);
  CHECK(refusal_of(m).empty());  // as long as it is unused
  m.mutable_graph()->add_output()->set_name("s");
  CHECK(!refusal_of(m).empty());
}

TEST_CASE("a key of external data that only the loader writes") {
  onnx::TensorProto t;
  t.set_data_type(onnx::TensorProto::FLOAT);
  t.add_dims(100);
  auto* entry = t.add_external_data();
  entry->set_key(std::string("\0mapped", 7));
  entry->set_value("0,400");
  onnx::ModelProto m = small_model();
  *m.mutable_graph()->mutable_initializer(0) = t;
  CHECK(holds(refusal_of(m), "a key that is not allowed"));
  char name[] = "/tmp/tenon_pb_XXXXXX";
  const fs::path folder = ::mkdtemp(name);
  std::ofstream(folder / "t.pb", std::ios::binary) << t.SerializeAsString();
  CHECK_THROWS_WITH_AS(read_pb(folder / "t.pb", DType::float32),
                       doctest::Contains("a key that is not allowed"), Error);
  fs::remove_all(folder);
}

TEST_CASE("messages nested without end") {
  // Graph in attribute in node in graph …, deeper than any model.
  std::string inner;
  const auto wrap = [&inner](char tag) {
    std::string length;
    for (std::size_t n = inner.size();; n >>= 7) {
      length.push_back(static_cast<char>(n > 127 ? (n & 127) | 128 : n));
      if (n <= 127) break;
    }
    inner = tag + length + inner;
  };
  for (int k = 0; k < 2000; ++k) {
    wrap(0x32);  // AttributeProto.g
    wrap(0x2a);  // NodeProto.attribute
    wrap(0x0a);  // GraphProto.node
  }
  wrap(0x3a);  // ModelProto.graph
  CHECK(holds(refusal_of(inner), "nested more than 96 deep"));
}

TEST_CASE("a session reads its file again for values that it gave up") {
  char name[] = "/tmp/tenon_again_XXXXXX";
  const fs::path folder = ::mkdtemp(name);
  onnx::ModelProto m = small_model();
  const std::vector<float> w(80, 3);
  m.mutable_graph()->mutable_initializer(0)->set_raw_data(w.data(), w.size() * sizeof(float));
  std::ofstream(folder / "m.onnx", std::ios::binary) << m.SerializeAsString();
  const Session s = load(folder / "m.onnx");
  Tensor<float> x({80});
  std::fill_n(x.data(), 80, 1.0f);
  CHECK(!s.graph().entry(0).content);
  CHECK(s.run({{"x", x}})["y"].view<float>()[79] == 4);
  CHECK(s.run({{"x", x}}, {.outputs = {"w"}})["w"].view<float>()[79] == 3);

  // The file that it has mapped, whatever has the name now.
  const auto reread = [&](const std::vector<std::string>& outputs) {
    return s.run({{"x", x}}, {.outputs = outputs})["w"].view<float>()[0];
  };
  fs::rename(folder / "m.onnx", folder / "old.onnx");
  CHECK(reread({"w", "y"}) == 3);
  m.mutable_graph()->mutable_initializer(0)->mutable_raw_data()->assign(w.size() * sizeof(float), 0);
  std::ofstream(folder / "m.onnx", std::ios::binary) << m.SerializeAsString();
  CHECK(reread({"y", "w"}) == 3);
  fs::remove(folder / "m.onnx");
  CHECK(reread({"w", "w"}) == 3);

  // The same file with other bytes, or fewer.
  fs::rename(folder / "old.onnx", folder / "m.onnx");
  fs::resize_file(folder / "m.onnx", 10);
  CHECK_THROWS_WITH_AS(reread({"w", "x"}), doctest::Contains("m.onnx: was written to after it was read"),
                       Error);
  CHECK(reread({"w"}) == 3);
  fs::remove_all(folder);
}

TEST_CASE("a session reads its external data again") {
  char name[] = "/tmp/tenon_again_XXXXXX";
  const fs::path folder = ::mkdtemp(name);
  onnx::ModelProto m = small_model();
  const std::vector<float> w(80, 3);
  m.mutable_graph()->mutable_initializer(0)->set_raw_data(w.data(), w.size() * sizeof(float));
  save(Model(m), folder / "m.onnx", {.external_threshold = 1, .external_file = "w.bin"});
  const Session s = load(folder / "m.onnx");
  Tensor<float> x({80});
  const auto reread = [&](const std::vector<std::string>& outputs) {
    return s.run({{"x", x}}, {.outputs = outputs})["w"].view<float>()[0];
  };
  CHECK(reread({"w"}) == 3);
  fs::rename(folder / "w.bin", folder / "old.bin");
  std::ofstream(folder / "w.bin", std::ios::binary) << std::string(1000, '\0');
  CHECK(reread({"w", "y"}) == 3);
  fs::rename(folder / "old.bin", folder / "w.bin");
  fs::resize_file(folder / "w.bin", 10);
  CHECK_THROWS_WITH_AS(reread({"y", "w"}), doctest::Contains("w.bin: was written to after it was read"),
                       Error);
  fs::remove_all(folder);
}

TEST_CASE("a file that is none") {
  CHECK_THROWS_AS(load_model("/nonexistent/model.onnx"), Error);
  CHECK_THROWS_AS(load_model("/tmp"), Error);
  CHECK_THROWS_AS(load_model("/dev/zero"), Error);
}

}  // namespace
}  // namespace tenon
