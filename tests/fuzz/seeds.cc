// seeds FOLDER [MORE...]: writes inputs for each target into a folder of its name in FOLDER: models that are
// made here, one of each version of each operator among them, and the files of up to 16 KiB in the folders
// MORE, whose models (*.onnx), values (*.pb, *.npy), pictures and texts (*.txt) are sorted by their names.
#include <map>

#include "loader/devices/shard.hpp"
#include "loader/format/attribute.hpp"
#include "loader/format/tensor.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"
#include "tests/fuzz/support.hpp"
#include "tests/loader/draw.hpp"

namespace tenon::fuzz {
namespace {

namespace fs = std::filesystem;

// What operators alone do not show: bodies, functions, symbols, sequences, optional and sparse values.
constexpr std::string_view texts[] = {
    R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[N,3] x) => (float[N,3] y) <float[3] b = {1, 2, 3}> { a = Add (x, b) y = Relu (a) })",
    R"(<ir_version: 11, opset_import: ["" : 21]>
g (float[N,2] x) => (float[N,2] y) <float[2,4] v = {1, 2, 3, 4, 5, 6, 7, 8}, float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
  a = MatMul (x, v) b = Relu (a) y = MatMul (b, w) })",
    R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[2] x, bool c) => (float[2] y) {
  y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) },
              else_branch = e () => (float[2] b) { b = Abs (x) }>
})",
    R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[2] x) => (float[2] y, float[N,2] z) <int64 n = {3}, bool c = {1}> {
  y, z = Loop (n, c, x) <body = l (int64 i, bool before, float[2] a) => (bool after, float[2] b, float[2] s)
                         { after = Identity (before) b = Add (a, x) s = Identity (b) }>
})",
    R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[3,2] x) => (float[2] y, float[3,2] z) <float[2] start = {0, 0}> {
  y, z = Scan <num_scan_inputs = 1, body = s (float[2] a, float[2] b) => (float[2] c, float[2] d)
               { c = Add (a, b) d = Identity (c) }> (start, x)
})",
    R"(<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x) => (float[N] y) { a = local.twice <factor = 2.0> (x) y = local.once (a) }
<domain: "local", opset_import: ["" : 21, "local" : 1]>
twice <factor> (x) => (y) { f = Constant <value_float : float = @factor> () a = Mul (x, f) y = local.once (a) }
<domain: "local", opset_import: ["" : 21]>
once (x) => (y) { y = Neg (x) })",
    R"(<ir_version: 10, opset_import: ["" : 21]>
g (seq(float[N]) s, optional(float[2]) o) => (float[M] y, bool h) {
  i = Constant <value = int64 {0}> () y = SequenceAt (s, i) h = OptionalHasElement (o)
})",
    R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[2,3,4] x) => (float[R,4] y) {
  s = Shape <start = 0, end = 2> (x) p = ReduceProd <keepdims = 1> (s) m = Constant <value_ints = [4]> ()
  t = Concat <axis = 0> (p, m) y = Reshape (x, t)
})",
    R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[1,3,8,8] x) => (float[1,2,N,M] y) <float[2,3,3,3] w, int64[4] e = {1, 2, 8, 8}> {
  z = ConstantOfShape (e) a = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, z) y = MaxPool <kernel_shape = [2, 2]> (a)
})",
    R"(<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
g (int64[4] x) => (string[4] y) {
  y = ai.onnx.ml.LabelEncoder <keys_int64s = [1, 2], values_strings = ["a", "b"], default_string = "c"> (x)
})",
    R"(<ir_version: 8, opset_import: ["" : 9], producer_name: "p", metadata_props: ["k" : "v"]>
g (float[1,4] x) => (float[1,8] y) { s = Constant <value = float[2] {1, 2}> () y = Upsample <mode = "nearest"> (x, s) })",
};

struct Corpus {
  explicit Corpus(fs::path folder) : folder_(std::move(folder)) {}

  /// A seed of a target; `choice` is the byte before it.
  void add(std::string_view target, char choice, std::string_view bytes) {
    if (bytes.size() > 1 << 14) return;
    const fs::path folder = folder_ / target;
    fs::create_directories(folder);
    std::ofstream out(folder / str_cat(++count_), std::ios::binary);
    out.put(choice).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void add_model(const onnx::ModelProto& m) {
    const std::string bytes = m.SerializeAsString();
    const auto turn = static_cast<char>(count_ % 29);
    add("load", static_cast<char>(turn % 8), bytes);
    add("check", turn % 2 == 0 ? 15 : 127, bytes);
    add("infer", static_cast<char>(turn % 8), bytes);
    add("convert", turn, bytes);
    add("compose", static_cast<char>(turn % 8), bytes);
    add("compose", 20, bytes);
    add("devices", static_cast<char>(2 * turn + 1), bytes);
    for (const int stages : {1, 2})
      accepted([&] {
        Model annotated(m);
        loader::shard(annotated, {.devices = 2, .stages = stages}, {.registry = &registry()});
        add("devices", static_cast<char>(2 * stages), annotated.proto().SerializeAsString());
      });
    for (const char* target : {"dump", "edit", "export", "simplify"})
      add(target, static_cast<char>(count_ % 251), bytes);
    add("text", 4, bytes);
    accepted([&] { add("text", 0, loader::print_text(m)); });
    if (m.graph().node_size() > 0) {
      add("check", 10, m.graph().node(0).SerializeAsString());
      accepted([&] { add("text", 3, loader::print_text(m.graph().node(0))); });
    }
    for (const auto& t : m.graph().initializer()) add("check", 12, t.SerializeAsString());
    for (const auto& f : m.functions()) {
      add("check", 9, f.SerializeAsString());
      accepted([&] { add("text", 2, loader::print_text(f)); });
    }
  }
  void add_file(const fs::path& file) {
    std::error_code none;
    if (!fs::is_regular_file(file, none) || fs::file_size(file, none) > 1 << 14) return;
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const std::string kind = file.extension().string();
    onnx::ModelProto m;
    if (kind == ".txt") {
      for (char k = 0; k < 4; ++k) add("text", k, bytes);
    } else if (kind == ".pb" || kind == ".npy") {
      add("values", kind == ".npy" ? 7 : static_cast<char>(count_ % 3), bytes);
      if (kind == ".npy") add("array", 0, bytes);
    } else if ((kind == ".onnx" || kind == ".bin") && m.ParseFromString(bytes) && m.has_graph()) {
      add_model(m);
    } else if (kind == ".bin") {
      for (char k = 8; k < 15; ++k) add("check", k, bytes);
    } else {
      add("image", 0, bytes);
    }
  }

 private:
  fs::path folder_;
  int64_t count_ = 0;
};

bool write_attribute(const op::AttributeValue& value, onnx::AttributeProto& a) {
  using P = onnx::AttributeProto;
  if (const auto* i = std::get_if<int64_t>(&value)) a.set_type(P::INT), a.set_i(*i);
  else if (const auto* f = std::get_if<float>(&value)) a.set_type(P::FLOAT), a.set_f(*f);
  else if (const auto* s = std::get_if<std::string>(&value)) a.set_type(P::STRING), a.set_s(*s);
  else if (const auto* is = std::get_if<std::vector<int64_t>>(&value)) {
    a.set_type(P::INTS);
    for (const int64_t x : *is) a.add_ints(x);
  } else if (const auto* fs = std::get_if<std::vector<float>>(&value)) {
    a.set_type(P::FLOATS);
    for (const float x : *fs) a.add_floats(x);
  } else if (const auto* ss = std::get_if<std::vector<std::string>>(&value)) {
    a.set_type(P::STRINGS);
    for (const std::string& x : *ss) a.add_strings(x);
  } else if (const auto* v = std::get_if<Value>(&value); v != nullptr && v->is_tensor()) {
    a.set_type(P::TENSOR);
    loader::write_tensor(v->tensor(), *a.mutable_t());
  } else {
    return false;
  }
  return true;
}

/// A model of one node, whose operands are inputs and initializers in turn. False where the draw has values
/// that such a model cannot state.
bool draw_model(const Registry::Key& key, const OperatorClass& c, int version, uint64_t seed,
                onnx::ModelProto& m) {
  test::Draw draw(test::seed_of(seed, version));
  test::WantedType any;
  const std::vector<op::AttributeInfo> known = c.attributes(c.create(version).get());
  m.Clear();
  m.set_ir_version(10);
  for (const std::string_view domain : {std::string_view(), std::string_view(key.first)}) {
    if (!domain.empty() || key.first.empty()) {
      auto* import = m.add_opset_import();
      import->set_domain(std::string(domain));
      import->set_version(version);
      if (key.first.empty()) break;
    } else {
      m.add_opset_import()->set_version(21);
    }
  }
  auto* g = m.mutable_graph();
  g->set_name("g");
  auto* n = g->add_node();
  n->set_op_type(key.second);
  n->set_domain(key.first);
  test::Attributes attributes = test::model_of(c.spec->name, version, DType::float32, DType::undefined);
  if (attributes.empty())
    for (const op::AttributeInfo& a : known)
      if (a.in(version) && (a.required || draw.one_in(3)))
        attributes.emplace_back(a.name, draw.attribute(c.spec->name, a, DType::undefined));
  for (const auto& [name, value] : attributes) {
    auto* a = n->add_attribute();
    a->set_name(std::string(name));
    if (!write_attribute(value, *a)) return false;
  }
  tenon::make_operator(c, version, attributes);
  int k = 0;
  for (const Value& v : test::draw_operands(draw, *c.spec, version, any)) {
    const std::string name = v ? str_cat("x", k) : "";
    n->add_input(name);
    if (!v) continue;
    if (v.is_tensor() && k++ % 2 == 1) {
      loader::write_tensor(v.tensor(), *g->add_initializer());
      g->mutable_initializer(g->initializer_size() - 1)->set_name(name);
      continue;
    }
    auto* input = g->add_input();
    input->set_name(name);
    onnx::TypeProto* type = input->mutable_type();
    if (v.is_sequence()) type = type->mutable_sequence_type()->mutable_elem_type();
    else if (v.is_optional()) type = type->mutable_optional_type()->mutable_elem_type();
    else if (!v.is_tensor()) return false;
    type->mutable_tensor_type()->set_elem_type(static_cast<int>(v.type().element));
    if (!v.is_tensor()) continue;
    auto* shape = type->mutable_tensor_type()->mutable_shape();
    for (const int64_t e : v.tensor().extents()) shape->add_dim()->set_dim_value(e);
  }
  for (int r = 0; r < std::max(1, c.spec->min_outputs(version)); ++r) {
    n->add_output(str_cat("y", r));
    g->add_output()->set_name(str_cat("y", r));
  }
  return true;
}

int write(const fs::path& folder, std::span<char*> more) {
  Corpus corpus(folder);
  for (const std::string_view text : texts) {
    corpus.add("text", 0, text);
    corpus.add_model(loader::parse_text<onnx::ModelProto>(text));
  }
  for (const auto& [key, versions] : registry().operators())
    for (const auto& [version, c] : versions) {
      onnx::ModelProto m;
      for (uint64_t seed = 1; seed <= 30; ++seed)
        if (bool made = false;
            accepted([&] { made = draw_model(key, *c, version, seed, m); }) && made && accepted([&] {
              const std::string bytes = m.SerializeAsString();
              (void)parse_model(std::as_bytes(std::span(bytes))).graph({.registry = &registry()});
            })) {
          corpus.add_model(m);
          break;
        }
    }
  std::mt19937 random(1);
  for (int k = 0; k < 2000; ++k) {
    std::string bytes(40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    corpus.add("operators", static_cast<char>(random()), bytes);
  }
  corpus.add("external", 0,
             "type 1\ndims 2 3\nlocation w.bin\noffset 4\nlength 24\n--1234567890123456789012345678");
  corpus.add("external", 0, "type 9\ndims 5\nlocation ./w.bin\n--12345");
  corpus.add("external", 0, "type 22\ndims 3 3\nlocation w.bin\nchecksum 0\n--12345");
  for (const DType d : {DType::float32, DType::int4, DType::string, DType::bool_, DType::complex64}) {
    const AnyTensor t = test::Draw(1).tensor(d, {2, 3});
    onnx::TensorProto p;
    loader::write_tensor(t, p);
    corpus.add("values", 0, p.SerializeAsString());
    onnx::SequenceProto s;
    s.set_elem_type(onnx::SequenceProto::TENSOR);
    *s.add_tensor_values() = p;
    corpus.add("values", 1, s.SerializeAsString());
    onnx::OptionalProto o;
    *o.mutable_tensor_value() = p;
    corpus.add("values", 2, o.SerializeAsString());
    onnx::MapProto map;
    map.set_key_type(onnx::TensorProto::INT64);
    map.add_keys(1);
    *map.mutable_values() = s;
    corpus.add("values", 4, map.SerializeAsString());
    const fs::path npy = folder / "value.npy";
    if (accepted([&] { write_npy(npy, t); })) {
      std::ifstream in(npy, std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      corpus.add("values", 7, bytes);
      corpus.add("array", 0, bytes);
    }
    fs::remove(npy);
  }
  for (char k = 1; k < 8; ++k) {
    corpus.add("array", k, "1,0\r\n\"1\", +0\n\n1,1");
    corpus.add("array", static_cast<char>(32 + 8 + k), "a;\"b \"\"c\"\"\nd\"\n1;0\n");
    corpus.add("array", static_cast<char>(16 + k), "-1.5e-3\tinf\tnan\n(1-2j)\t\"\"\ttrue\n");
  }
  corpus.add("image", 0, "P3 2 1 255 1 2 3 4 5 6");
  corpus.add("image", 0, "P5 2 2 65535 12345678");
  for (const char* name : more)
    for (const auto& entry : fs::recursive_directory_iterator(name)) corpus.add_file(entry.path());
  return 0;
}

}  // namespace
}  // namespace tenon::fuzz

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: seeds FOLDER [MORE...]\n");
    return 2;
  }
  std::filesystem::create_directories(arguments[1]);
  return tenon::fuzz::write(arguments[1], {arguments + 2, static_cast<size_t>(count - 2)});
}
