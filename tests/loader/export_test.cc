// Graphs as models: names, types, versions, bodies; the saved model runs as the graph does.
#include "loader/graph/export.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "loader/check/check.hpp"
#include "loader/format/file.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"
#include "tenon/graph/body.hpp"
#include "tenon/model.hpp"
#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/math/clip.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/nn/max_pool.hpp"
#include "tenon/op/reduction/reduce_mean.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/tensor/difference.hpp"
#include "tests/loader/refusal.hpp"

namespace example {

struct Twice {
  float factor = 2;

  static constexpr tenon::op::Spec spec{.name = "Twice",
                                        .domain = "com.example",
                                        .since = {1, 3},
                                        .inputs = {{"x", "T"}},
                                        .outputs = {{"y", "T"}},
                                        .types = {{"T", tenon::types::float32}}};
  static constexpr tenon::op::Attributes attributes{tenon::op::attr("factor", &Twice::factor)};

  constexpr void infer(tenon::op::Infer& i) const { i.out(0, i.dims(0)); }
  void compute(tenon::TensorView<const float> x, tenon::TensorView<float> y) const {
    for (int64_t k = 0; k < x.size(); ++k) y[k] = factor * x[k];
  }
  auto operator()(const auto&... in) const { return tenon::op::call(*this, in...); }
};

}  // namespace example

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr Tolerance exact{.rtol = 0, .atol = 0};

std::string operators(const onnx::GraphProto& g) {
  std::string list;
  for (const auto& n : g.node()) list += (list.empty() ? "" : " ") + n.op_type();
  return list;
}

void check_sound(const onnx::ModelProto& m) {
  for (const auto& d : loader::check(m)) CHECK_MESSAGE(d.severity != Severity::error, to_string(d));
}

std::vector<Value> results(const Session& session) {
  Feeds feeds;
  for (const ValueId v : session.graph().inputs()) {
    const Graph::ValueEntry& e = session.graph().entry(v);
    Extents extents;
    for (const Dim d : e.info.dims) extents.push_back(d.known() ? d.value() : 3);
    AnyTensor t = AnyTensor::uninitialized(e.info.type.element, extents);
    for (int64_t k = 0; k < t.size(); ++k)
      if (t.dtype() == DType::bool_) t.out().as<bool>()[k] = k % 2 == 0;
      else if (t.dtype() == DType::int64) t.out().as<int64_t>()[k] = k % 3 - 1;
      else t.out().as<float>()[k] = static_cast<float>((k * 7 + 3) % 11) - 4.5f;
    feeds.emplace_back(e.name, Value(t));
  }
  Outputs out = session.run(feeds);
  return std::move(out.values());
}

void check_same(const std::vector<Value>& ours, const std::vector<Value>& expected) {
  REQUIRE(ours.size() == expected.size());
  for (std::size_t k = 0; k < ours.size(); ++k) CHECK(difference(ours[k], expected[k], exact) == "");
}

// The model of a text's graph at an opset. Its results are the graph's.
onnx::ModelProto saved(int opset, std::string_view graph, int from) {
  INFO(graph, " from ", from, " at ", opset);
  const Model model = parse_text(str_cat("<ir_version: 8, opset_import: [\"\" : ", from, "]>\n", graph));
  const onnx::ModelProto m = loader::to_model(model.graph(), {.opset = opset});
  check_sound(m);
  CHECK(m.opset_import(0).version() == opset);
  check_same(results(Session(Model(m).graph())), results(Session(model.graph())));
  return m;
}
std::string nodes_at(int opset, std::string_view graph, int from) {
  return operators(saved(opset, graph, from).graph());
}
std::string refusal_of(const Graph& g, const ExportOptions& options = {}) {
  return refusal([&] { loader::to_model(g, options); });
}

// Operators of all kinds of versions, and weights.
Graph network() {
  Graph g;
  g.set_name("network");
  const auto x = g.input<float, Shape<dyn, 1, 8, 8>>("image");
  Tensor<float, Shape<4, 1, 3, 3>> kernel;
  for (int64_t k = 0; k < kernel.size(); ++k) kernel.data()[k] = static_cast<float>(k % 5) - 2;
  const auto features = g.add(op::Conv{.pads = {1, 1, 1, 1}}, x, g.constant(kernel, "kernel"));
  const auto pooled =
      g.add(op::MaxPool{.kernel_shape = {2, 2}, .strides = {2, 2}}, g.add(op::Relu{}, features));
  const auto clipped = g.add(op::Clip{}, pooled, 0.0f, 6.0f);
  const auto mean = g.add(op::ReduceMean{}, clipped, constant<int64_t, 2, 3>);
  const auto rows = g.add(op::Reshape{}, mean, constant<int64_t, 0, 4>);
  g.output("probabilities", g.add(op::Softmax{.axis = 1}, rows));
  return g;
}

TEST_CASE("A graph built in code: names, types, constants") {
  Graph g;
  g.set_name("net");
  const AnyEdge x(g, g.add_input("x", DType::float32, {g.symbol("batch"), 2}));
  const auto weight = g.constant(Tensor<float, Shape<2, 2>>{{1, 2}, {3, 4}}, "weight");
  const auto y = g.add(op::Relu{}, g.add(op::MatMul{}, x, weight));
  g.output("y", y);
  g.output("again", y);
  g.output("weights", weight);
  g.output("x", x);
  g.add(op::Relu{}, y);  // nothing reads it
  g.add_input("given", DType::float32, Dims::of_rank(0), Tensor<float, Shape<>>{5});
  const onnx::ModelProto m = loader::to_model(g);
  check_sound(m);
  CHECK(m.ir_version() == onnx::IR_VERSION);
  CHECK(m.opset_import(0).version() == newest_opset());
  const std::string text = loader::print_text(m.graph());
  CHECK(holds(text, "net (float[batch,2] x, float given) => (float[batch,2] y, float[batch,2] again, "));
  CHECK(holds(text, "float[2,2] weights =  {1,2,3,4}"));
  CHECK(holds(text, "float[batch,2] MatMul_0"));  // it had no name
  CHECK(holds(text, R"({
   [MatMul_0] MatMul_0 = MatMul (x, weights)
   [Relu_1] y = Relu (MatMul_0)
   [again] again = Identity (y)
})"));
  check_same(results(Session(Model(m).graph())), results(Session(std::move(g))));

  Graph taken;
  const auto a = taken.input<float, Shape<1>>("a");
  taken.output("a", taken.add(op::Relu{}, a));
  CHECK(holds(refusal_of(taken), "output 'a': an input has this name, and is another value"));
  CHECK(holds(refusal_of(network(), {.opset = 99}), "opset 99"));
  // Types that go together at the node's version alone.
  const Graph quantized = parse_text(R"(<ir_version: 10, opset_import: ["" : 23]>
    main (int32[2] x) => (uint8[2] y) <float16 s = {2}> { y = QuantizeLinear (x, s) })")
                              .graph();
  CHECK(refusal_of(quantized, {.opset = 23}).empty());
  CHECK(holds(refusal_of(quantized, {.opset = 21}), "node 'y' (QuantizeLinear-23)"));
  CHECK(holds(refusal_of(network(), {.ir_version = 2}), "IR version 2"));
}

TEST_CASE("Constants of all kinds") {
  Graph g;
  const auto keep = [&](std::string name, const Value& v) { g.add_output(name, g.add_constant("", v)); };
  keep("strings", Tensor<std::string, Shape<2>>{std::string("a"), std::string()});
  keep("nothing", Tensor<float>(Extents{0, 3}));
  for (DType d : {DType::bfloat16, DType::float8e4m3fn, DType::int4, DType::uint2, DType::float4e2m1,
                  DType::float8e8m0, DType::complex64, DType::bool_}) {
    AnyTensor t = AnyTensor::uninitialized(d, {3});
    std::memset(t.out().data(), 1, static_cast<std::size_t>(t.bytes()));
    keep(std::string(name_of(d)), t);
  }
  const Value one = Tensor<float, Shape<1>>{1};
  keep("sequence", Sequence{DType::float32, {one, one}});
  keep("empty", Sequence{DType::int64, {}});
  keep("optional", OptionalValue{DType::float32, std::make_shared<const Value>(one)});
  keep("none", OptionalValue{DType::float32, nullptr});
  const onnx::ModelProto m = loader::to_model(g);
  check_sound(m);
  CHECK(holds(refusal_of(g, {.opset = 17}), "a type of IR"));
  check_same(results(Session(Model(m).graph())), results(Session(std::move(g))));

  Graph map;
  map.add_output("m", map.add_constant("m", Map{Tensor<int64_t, Shape<1>>{1}, Tensor<float, Shape<1>>{1}}));
  CHECK(holds(refusal_of(map), "constant 'm': map(int64,tensor(float)) cannot be written"));
}

TEST_CASE("Nodes come to the opset, and stay where it has them") {
  const std::string sum = "g (float[2, 3] x) => (float[1, 3] y) { y = ReduceSum <axes = [0]> (x) }";
  CHECK(nodes_at(28, sum, 11) == "ReduceSum");
  CHECK(nodes_at(11, sum, 11) == "ReduceSum");
  CHECK(saved(11, sum, 11).graph().initializer_size() == 0);
  CHECK(saved(28, sum, 11).graph().initializer_size() == 1);
  CHECK(nodes_at(28, "g (float[4] x) => (float[4] y) { y = Clip <min = -1.5> (x) }", 9) == "Clip");
  CHECK(nodes_at(9, "g (float[4] x) => (float[4] y) { y = Clip <min = -1.5> (x) }", 9) == "Clip");
  const std::string softmax = "g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = 1> (x) }";
  CHECK(nodes_at(11, softmax, 11) == "Softmax");
  CHECK(nodes_at(13, softmax, 11) == "Shape Flatten Softmax Reshape");
  CHECK(nodes_at(11, softmax, 13) == "Transpose Softmax Transpose");
  CHECK(nodes_at(28,
                 "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) { y = Upsample <scales = [1.0, 1.0, 2.0, "
                 "2.0]> (x) }",
                 8) == "Resize");
  CHECK(nodes_at(28, "g (float[2, 3] x, float[3] b) => (float[2, 3] y) { y = Add <broadcast = 1> (x, b) }",
                 6) == "Add");
  CHECK(nodes_at(28, "g (float[4] x) => (float[2] a, float[2] b) { a, b = Split (x) }", 13) == "Split");
  CHECK(nodes_at(28, "g (float[2, 2] x) => (float[2, 4] y) { y = Concat (x, x) }", 1) == "Concat");
  CHECK(nodes_at(28,
                 "g (int64[4] x) => (float[4, 3] y) <int64[1] d = {3}, float[2] v = {0, 1}> { y = OneHot "
                 "(x, d, v) }",
                 9) == "Cast Less Where OneHot");
  CHECK(nodes_at(10,
                 "g (int64[4] x) => (float[4, 3] y) <int64[1] d = {3}, float[2] v = {0, 1}> { y = OneHot "
                 "(x, d, v) }",
                 9) == "OneHot");
  const Model scan = parse_text(R"(<ir_version: 8, opset_import: ["" : 8]>
g (float[1, 2] s, float[1, 3, 2] x) => (float[1, 2] t, float[1, 3, 2] y) {
   t, y = Scan <num_scan_inputs = 1, body = b (float[2] s0, float[2] x0) => (float[2] s1, float[2] y0) {
      s1 = Add (s0, x0)
      y0 = Identity (s1)
   }> ("", s, x)
})");
  const onnx::ModelProto m = loader::to_model(scan.graph());
  check_sound(m);
  CHECK(operators(m.graph()) == "Squeeze Squeeze Scan Unsqueeze Unsqueeze");
  check_same(results(Session(Model(m).graph())), results(Session(scan.graph())));

  CHECK(holds(refusal_of(parse_text(R"(<ir_version: 8, opset_import: ["" : 28]>
g (float[2] x) => (float[2] y) { y = Gelu (x) })")
                             .graph(),
                         {.opset = 19}),
              "node 'y' (Gelu-20): from opset 20 to 19: opset 19 has no such operator"));
}

TEST_CASE("Before IR 4 constants are nodes") {
  Graph g;
  const auto x = g.input<float, Shape<2>>("x");
  g.output("y", g.add(op::Mul{}, x, g.constant(Tensor<float, Shape<2>>{2, 3}, "two")));
  const onnx::ModelProto m = loader::to_model(g, {.opset = 8});
  CHECK(m.ir_version() == 3);
  CHECK(m.graph().initializer_size() == 0);
  CHECK(operators(m.graph()) == "Constant Mul");
  check_sound(m);
  check_same(results(Session(Model(m).graph())), results(Session(std::move(g))));
}

TEST_CASE("Bodies read the values around them by name") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n")}),
                c = g.add_input("c", DType::bool_, Dims::of_rank(0));
  const ValueId w = g.add_constant("w", Tensor<float>({1}, {10}));
  const ValueId unnamed = g.add_node("", AnyOperator::make(op::Relu{}), {x}, {})[0];
  Graph yes = Graph::inside(g), no = Graph::inside(g);
  const std::string inside[] = {"x2"};
  yes.add_output(
      "r", yes.add_node("", AnyOperator::make(op::Mul{}), {yes.capture(unnamed), yes.capture(w)}, inside)[0]);
  no.add_output("r", no.capture(x));
  g.add_output("y", g.add_node("branch",
                               AnyOperator::make(op::If{.else_branch = body(std::move(no)),
                                                        .then_branch = body(std::move(yes))}),
                               {c}, {})[0]);
  const onnx::ModelProto m = loader::to_model(g);
  check_sound(m);
  REQUIRE(m.graph().initializer_size() == 1);  // the branch has no copy
  CHECK(m.graph().initializer(0).name() == "w");
  for (const auto& a : m.graph().node(1).attribute()) {
    CHECK(a.g().initializer_size() == 0);
    CHECK(operators(a.g()) == (a.name() == "then_branch" ? "Mul" : "Identity"));
  }
  check_same(results(Session(Model(m).graph())), results(Session(std::move(g))));
}

TEST_CASE("Operators of one's own") {
  Graph g;
  g.output("y", g.add(example::Twice{.factor = 3}, g.input<float, Shape<2>>("x")));
  const onnx::ModelProto m = loader::to_model(g);
  check_sound(m);
  REQUIRE(m.opset_import_size() == 2);
  CHECK(m.opset_import(1).domain() == "com.example");
  CHECK(m.opset_import(1).version() == 3);
  CHECK(m.graph().node(0).domain() == "com.example");
  Registry registry;
  registry.add<example::Twice>();
  check_same(results(Session(Model(m).graph({.registry = &registry}))), results(Session(std::move(g))));
}

TEST_CASE("Derivatives are written with ONNX's operators") {
  const Model m = parse_text(R"(<ir_version: 8, opset_import: ["" : 12, "ai.onnx.preview.training" : 1]>
g (float[n, 3] x, float[m] b) => (float[n, 3] s, float[m] db) {
   s = Add (x, b)
   db = ai.onnx.preview.training.Gradient <xs = ["b"], y = "s"> (b)
})");
  const onnx::ModelProto saved = loader::to_model(m.graph());
  check_sound(saved);
  check_same(results(Session(Model(saved).graph())), results(Session(m.graph())));
}

struct Folder {
  fs::path path = fs::temp_directory_path() / str_cat("tenon_export_test_", std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

TEST_CASE("ONNX's own checker accepts opset 17, IR 8, where it is installed") {
  const onnx::ModelProto m = loader::to_model(network(), {.opset = 17, .ir_version = 8});
  check_sound(m);
  check_same(results(Session(Model(m).graph())), results(Session(network())));
  std::string python;
  for (const char* p : {"python3", "/usr/bin/python3"})
    if (python.empty() && std::system(str_cat(p, " -c 'import onnx.checker' 2>/dev/null").c_str()) == 0)
      python = p;
  if (python.empty()) {
    std::puts("skipped: ONNX's checker is not installed");
    return;
  }
  const Folder folder;
  const fs::path file = folder.path / "model.onnx";
  loader::write_file(file, m.SerializeAsString());
  CHECK(std::system(str_cat(python, " -c 'import onnx; onnx.checker.check_model(onnx.load(\"", file.string(),
                            "\"), full_check=True)'")
                        .c_str()) == 0);
}

// Feeds of a recorded case; nothing where a file does not fit.
Feeds read_feeds(const Graph& g, const fs::path& set) {
  Feeds feeds;
  std::vector<ValueId> ids;
  for (ValueId v : g.inputs())
    if (!g.entry(v).optional) ids.push_back(v);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const fs::path file = set / str_cat("input_", k, ".pb");
    if (fs::exists(file)) feeds.emplace_back(g.entry(ids[k]).name, read_pb(file, g.entry(ids[k]).info.type));
  }
  return feeds;
}

TEST_CASE("ONNX's test models: saved, they give the same bits") {
  const fs::path data = "/usr/share/libonnx-testdata/data";
  REQUIRE_MESSAGE(fs::is_directory(data), "Debian's libonnx-testdata is not installed");
  int same = 0, random = 0, refused = 0, skipped = 0;
  for (const auto& entry : fs::recursive_directory_iterator(data)) {
    if (entry.path().filename() != "model.onnx") continue;
    const fs::path set = entry.path().parent_path() / "test_data_set_0";
    INFO(entry.path().string());
    Graph graph;
    std::vector<Value> expected;
    bool draws = false;
    try {
      graph = load_graph(entry.path());
      const Session session(load_graph(entry.path()));
      const Feeds feeds = read_feeds(session.graph(), set);
      expected = std::move(session.run(feeds).values());
      for (int run = 0; run < 6; ++run) {
        Outputs again = session.run(feeds);
        for (std::size_t k = 0; k < expected.size(); ++k)
          draws |= difference(again[k], expected[k], exact) != "";
      }
    } catch (const Error&) {
      ++skipped;
      continue;  // a case that `tenon test` fails, or has without declared extents
    }
    if (draws) {
      ++random;
      continue;
    }
    onnx::ModelProto m;
    try {
      m = loader::to_model(graph);
    } catch (const Error& e) {
      CHECK(holds(e.what(), "tf_half_pixel_for_nn"));  // newest Resizes have no such mode
      ++refused;
      continue;
    }
    const Session session(Model(m).graph());
    check_same(session.run(read_feeds(session.graph(), set)).values(), expected);
    ++same;
  }
  MESSAGE(same, " the same, ", random, " random, ", refused, " refused, ", skipped, " that do not run");
  CHECK(same > 1000);
  CHECK(refused <= 1);
}

}  // namespace
}  // namespace tenon
