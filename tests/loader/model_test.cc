// Model: everything that it keeps, and its edits.
#include <doctest/doctest.h>
#include <unistd.h>

#include "loader/message.hpp"
#include "tenon/loader.hpp"
#include "tenon/op/math/relu.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

Model small() {
  return parse_text(R"(
    <ir_version: 10, opset_import: ["" : 21], producer_name: "hand", metadata_props: ["k": "v"]>
    main (float[batch, 3] x, bool c) => (float[batch, 3] y)
    <float[3] w = {1, 2, 3}, float[batch, 3] h>
    {
      h = Mul (x, w)
      y = If (c) <
        then_branch = then () => (float[batch, 3] t) { t = Relu (h) },
        else_branch = else () => (float[batch, 3] e) { e = Neg (h) }>
    })");
}

template <class Call>
std::string invalid(Call call) {
  return refusal(ErrorCode::invalid_argument, call);
}

std::vector<float> result(const Model& m, bool c) {
  Tensor<float> x(Extents{1, 3});
  x[0] = -1, x[1] = 2, x[2] = 3;
  Tensor<bool> condition(Extents{});
  condition[0] = c;
  Outputs out = Session(m.graph()).run({{"x", x}, {"c", condition}});
  const auto y = out[0].view<float>();
  return {y.data(), y.data() + y.size()};
}

TEST_CASE("a model keeps what the file said") {
  Model m = small();
  m.proto().mutable_graph()->mutable_node(0)->set_domain("private");
  m.proto().mutable_graph()->mutable_node(0)->set_op_type("Unknown");
  m.proto().mutable_graph()->mutable_node(0)->set_doc_string("why");
  const std::string bytes = m.proto().SerializeAsString();
  const Model again = parse_model(std::as_bytes(std::span(bytes)));
  CHECK(again.proto().SerializeAsString() == bytes);
  CHECK_THROWS_WITH_AS(again.graph(), doctest::Contains("private.Unknown"), Error);
  const ModelHeader h = again.header();
  CHECK(h.ir_version == 10);
  CHECK(h.producer_name == "hand");
  CHECK(h.opset_imports == std::vector<std::pair<std::string, int64_t>>{{"", 21}});
  CHECK(h.metadata == std::vector<std::pair<std::string, std::string>>{{"k", "v"}});
  Model copy = again;
  copy.rename("h", "hidden");
  CHECK(again.proto().SerializeAsString() == bytes);
}

TEST_CASE("trailing results without a name are absent") {
  Model m = parse_text(R"(
    <ir_version: 8, opset_import: ["" : 15]>
    main (float[1,1,2] x) => (float[1,1,2] y) <float[1] s = {2}, float[1] b = {1}, float[1] mean = {0}, float[1] v = {1}>
    { y, "", "" = BatchNormalization <epsilon = 0.0> (x, s, b, mean, v) })");
  CHECK_NOTHROW(infer_shapes(m, {.strict = true}));
  Tensor<float> x(Extents{1, 1, 2});
  x[0] = 1, x[1] = 2;
  CHECK(Session(m.graph()).run({{"x", x}})[0].view<float>()[1] == 5);
  m.proto().mutable_graph()->mutable_node(0)->set_output(1, "named");
  CHECK_THROWS_WITH_AS(m.graph(), doctest::Contains("2 outputs, but only training has more than 1"), Error);
}

TEST_CASE("results of calls have the names that the caller gives them") {
  const Model m = parse_text(R"(
    <ir_version: 10, opset_import: ["" : 21, "local" : 1, "ai.onnx.preview.training" : 1]>
    main (float[3] x) => (float[3] y, float[3] dx) {
      a, b = local.outer (x)
      y = Add (a, b)
      dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x)
    }
    <domain: "local", opset_import: ["" : 21, "local" : 1]>
    outer (v) => (p, q) { p = Neg (v)  n = local.inner (v)  q = Mul (n, p) }
    <domain: "local", opset_import: ["" : 21]>
    inner (v) => (r) { h = Exp (v)  r = Relu (h) })");
  const Session s(m.graph());
  const Tensor<float> zeros(Extents{3}, {0, 0, 0});
  Outputs out = s.run({{"x", zeros}}, {.outputs = {"a", "b", "dx"}});
  CHECK(out["b"].view<float>().data()[0] == 0);
  CHECK(out["dx"].view<float>().data()[0] == -2);  // d(-x - x exp(x))
  const auto name_of = [&](std::string_view value) {
    for (const auto& n : s.graph().nodes())
      for (ValueId v : n.outputs)
        if (s.graph().entry(v).name == value) return n.name;
    return std::string();
  };
  CHECK(name_of("a") == "a#1/p");
  CHECK(name_of("dx").starts_with("dx/"));
}

TEST_CASE("a domain that is not imported has its newest version") {
  Model m = small();
  m.proto().mutable_graph()->mutable_node(0)->set_domain("ai.onnx.ml");
  m.proto().mutable_graph()->mutable_node(0)->set_op_type("Binarizer");
  m.proto().mutable_graph()->mutable_node(0)->mutable_input()->RemoveLast();
  CHECK(result(m, true) == std::vector<float>{0, 1, 1});
  const auto inner = [&] {
    return m.proto().mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  };
  inner()->mutable_node(0)->set_domain("ai.onnx.ml");
  inner()->mutable_node(0)->set_op_type("Binarizer");
  CHECK(result(m, true) == std::vector<float>{0, 1, 1});
  inner()->mutable_node(0)->set_op_type("Unknown");
  CHECK_THROWS_WITH_AS(m.graph(), doctest::Contains("ai.onnx.ml.Unknown (the domain is not imported)"),
                       Error);
  // ONNX's own operators differ too much among its versions.
  m = small();
  m.proto().mutable_opset_import(0)->set_domain("ai.onnx.ml");
  m.proto().mutable_opset_import(0)->set_version(1);
  CHECK_THROWS_WITH_AS(m.graph(), doctest::Contains("ai.onnx.Mul (the domain is not imported)"), Error);
}

TEST_CASE("of several versions of a domain the last counts") {
  // Softmax-11 takes all axes from the first on as one, Softmax-13 the last.
  Model m = parse_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    main (float[1,2,2] x) => (float[1,2,2] y) { y = Softmax (x) })");
  Tensor<float> x(Extents{1, 2, 2});
  for (int k = 0; k < 4; ++k) x[k] = 0;
  const auto first = [&] { return Session(m.graph()).run({{"x", x}})[0].view<float>()[0]; };
  CHECK(first() == 0.5f);
  m.proto().add_opset_import()->set_version(11);
  CHECK(first() == 0.25f);
  m.proto().mutable_opset_import(1)->set_domain("ai.onnx");
  CHECK(first() == 0.25f);
  m.proto().mutable_opset_import(0)->set_version(0);
  CHECK(first() == 0.25f);
  m.proto().add_opset_import()->set_version(13);
  CHECK(first() == 0.5f);
}

TEST_CASE("a model made by edits") {
  Model m;
  m.add_input("float[batch, 3] x");
  Tensor<float> w(Extents{3});
  w[0] = 1, w[1] = 2, w[2] = 3;
  m.add_initializer("w", w);
  CHECK(invalid([&] { m.add_node("y = Neg (h)"); }).find("no value 'h'") != std::string::npos);
  m.add_node("h = Mul (x, w)");
  m.add_node("y = Neg (h)");
  m.add_output("float[batch, 3] y");
  m.add_node("r = Relu (h)");  // and takes its place before Neg, which does not matter
  m.add_output("float[batch, 3] r");
  CHECK(m.proto().graph().node(1).op_type() == "Relu");
  CHECK_FALSE(has_errors(check(m, {.full = true})));
  Tensor<float> x(Extents{1, 3});
  x[0] = -1, x[1] = 2, x[2] = 3;
  Outputs out = Session(m.graph()).run({{"x", x}});
  CHECK(out["y"].view<float>()[2] == -9);
  CHECK(out["r"].view<float>()[0] == 0);

  CHECK(invalid([&] { m.remove("h"); }) == "model: 'h' is read by another node");
  CHECK(invalid([&] { m.remove("r"); }) == "model: 'r' is an output");
  m.remove_output("r");
  m.remove("r");
  CHECK(m.proto().graph().node_size() == 2);
  CHECK_FALSE(has_errors(check(m, {.full = true})));
}

TEST_CASE("a value that is an output twice") {
  const Model m = parse_text(R"(<ir_version: 10, opset_import: ["" : 21]>
      g (float[2] x, bool c) => (float[2] y, float[2] y, float[2] z) {
        y, z = If (c) <then_branch = a () => (p, p) { p = Neg (x) },
                       else_branch = b () => (q, r) { q = Abs (x) r = Exp (x) }>
      })");
  CHECK_FALSE(has_errors(check(m)));
  Session s(m.graph());
  Outputs out = s.run({{"x", Tensor<float>({2}, {1, -2})}, {"c", Tensor<bool>({}, {true})}});
  REQUIRE(out.size() == 3);
  for (int k = 0; k < 3; ++k) CHECK(out[static_cast<std::size_t>(k)].view<float>()[1] == 2);
}

TEST_CASE("outputs with one more extent") {
  for (const auto& [axis, extents] :
       {std::pair(0, "[1, N, M]"), {2, "[N, M, 1]"}, {-1, "[N, M, 1]"}, {-3, "[1, N, M]"}}) {
    Model m = parse_text(
        "<ir_version: 10, opset_import: [\"\" : 21]>"
        "g (float[N, M] a, float[N, M] b) => (float[N, M] s, float[N, M] p)"
        "{ s = Add (a, b) p = Mul (a, b) }");
    Tensor<int64_t> axes(Extents{1});
    axes[0] = axis;
    m.add_initializer("axes", axes);
    for (const std::string name : {"s", "p"}) {
      m.rename(name, name + "_flat");
      m.remove_output(name + "_flat");
      m.add_node(str_cat(name, " = Unsqueeze (", name, "_flat, axes)"));
      m.add_output(str_cat("float", extents, " ", name));
    }
    CHECK_FALSE(has_errors(check(m, {.full = true})));
    CHECK(m.proto().graph().output(0).name() == "s");
    CHECK(m.proto().graph().output(0).type().tensor_type().shape().dim_size() == 3);
  }
}

TEST_CASE("names are changed wherever they mean the value") {
  Model m = small();
  const std::vector<float> then = result(m, true), otherwise = result(m, false);
  m.rename("h", "hidden");
  m.rename("w", "weights");
  CHECK(print_text(m).find("Relu (hidden)") != std::string::npos);
  CHECK(result(m, true) == then);
  CHECK(result(m, false) == otherwise);
  CHECK_FALSE(has_errors(check(m, {.full = true})));
  CHECK(invalid([&] { m.rename("hidden", "x"); }) == "model: the name 'x' is taken");
  CHECK(invalid([&] { m.rename("hidden", "t"); }) == "model: the name 't' is taken");
  CHECK(invalid([&] { m.rename("h", "i"); }) == "model: there is no value 'h'");
}

TEST_CASE("extents are stated anew") {
  Model m = small();
  m.set_extents("x", "[2, 3]");
  CHECK(print_text(m).find("float[2,3] x") != std::string::npos);
  CHECK(invalid([&] { m.set_extents("nothing", "[2]"); }) == "model: the type of 'nothing' is not stated");
  Model bare;  // an output without a type
  bare.proto().mutable_graph()->add_output()->set_name("y");
  CHECK(invalid([&] { bare.set_extents("y", "[2]"); }) == "model: 'y' is no tensor");
  CHECK(!bare.proto().graph().output(0).has_type());
  m.set_symbol("batch", 2);
  CHECK(print_text(m).find("batch") == std::string::npos);
  CHECK(invalid([&] { m.set_symbol("batch", -1); }) == "model: the extent of 'batch' cannot be -1");
}

TEST_CASE("models and graphs saved and loaded") {
  const auto folder = std::filesystem::temp_directory_path() / str_cat("tenon_model_", getpid());
  std::filesystem::create_directory(folder);
  const Model m = small();
  save(m, folder / "m.onnx");
  CHECK(load_model(folder / "m.onnx").proto().SerializeAsString() == m.proto().SerializeAsString());
  save(m, folder / "m.onnxtxt");
  CHECK(differences(load_model(folder / "m.onnxtxt"), m).empty());
  save(m, folder / "old.onnx", {.opset = 9, .ir_version = 3, .external_threshold = 1});
  save(m, folder / "モデル.onnx");
  CHECK_FALSE(has_errors(check(load_model(folder / "モデル.onnx"), {.full = true})));
  const Model old = load_model(folder / "old.onnx");
  CHECK(old.header().ir_version == 3);
  CHECK(old.header().opset_imports.front().second == 9);
  CHECK(result(old, true) == result(m, true));
  Graph g;
  g.output("y", g.add(op::Relu{}, g.input<float, Shape<dyn>>("x")));
  save(g, folder / "g.onnx", {.opset = 17, .ir_version = 8});
  CHECK(load_model(folder / "g.onnx").header().ir_version == 8);
  CHECK_FALSE(has_errors(check(load_model(folder / "g.onnx"), {.full = true})));
  CHECK(dot(m).starts_with("digraph"));
  CHECK(html(m).find("</html>") != std::string::npos);
  Model folded = parse_text(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[2, 3] x) => (int64[2] s) { s = Shape (x) })");
  simplify(folded);
  CHECK(folded.proto().graph().node_size() <= 1);
  CHECK(to_model(folded.graph()).proto().graph().output(0).name() == "s");
  std::filesystem::remove_all(folder);
}

TEST_CASE("functions on models") {
  Model m = small();
  convert_opset(m, 13);
  CHECK(m.header().opset_imports.front().second == 13);
  CHECK(result(m, false) == result(small(), false));
  CHECK(differences(m, small()).size() == 1);
  const Model part = extract(m, {"h"}, {"h"});
  CHECK(part.proto().graph().node_size() == 0);
  add_prefix(m, "p/");
  CHECK(m.proto().graph().input(0).name() == "p/x");
  CHECK(newest_opset() >= 28);
  CHECK(newest_opset("unknown") == 0);
}

}  // namespace
}  // namespace tenon
