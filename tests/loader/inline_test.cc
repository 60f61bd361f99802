// Calls of functions, inlined: names, attributes, bodies and opsets afterwards, and refusals.
#include "loader/function/inline.hpp"

#include <doctest/doctest.h>

#include "loader/check/check.hpp"
#include "loader/infer/infer.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"
#include "tenon/base/error.hpp"
#include "tenon/loader.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

using loader::inline_functions;

onnx::ModelProto model_of(std::string_view text) { return loader::parse_text<onnx::ModelProto>(text); }

// The types of nodes, a body's in parentheses: "Abs If(Mul Mul)".
std::string operators(const onnx::GraphProto& g) {
  std::string text;
  for (const auto& n : g.node()) {
    text += str_cat(text.empty() ? "" : " ", n.op_type());
    for (const auto& a : n.attribute())
      if (a.has_g()) text += str_cat("(", operators(a.g()), ")");
  }
  return text;
}

// An inlined model, which keeps all of ONNX's rules.
onnx::ModelProto inlined(std::string_view text, const InlineOptions& options = {}) {
  onnx::ModelProto m = model_of(text);
  inline_functions(m, options);
  INFO(loader::print_text(m));
  for (const auto& d : loader::check(m, {.full = true})) FAIL(to_string(d));
  return m;
}
std::string refusal_of(std::string_view text, const InlineOptions& options = {}) {
  onnx::ModelProto m = model_of(text);
  return refusal([&] { inline_functions(m, options); });
}

// What a model makes of x = {-1, 2, 3}.
std::vector<float> result(const onnx::ModelProto& m) {
  const Session session(Model(m).graph());
  Tensor<float> x(Extents{3});
  x[0] = -1, x[1] = 2, x[2] = 3;
  const Outputs out = session.run({{"x", x}});
  const auto y = out[0].view<float>();
  return {y.data(), y.data() + y.size()};
}
// A model without functions that gives the same.
onnx::ModelProto same_result(std::string_view text) {
  INFO(text);
  onnx::ModelProto m = inlined(text);
  CHECK(m.functions_size() == 0);
  CHECK(result(m) == result(model_of(text)));
  return m;
}

#define HEAD "<ir_version: 10, opset_import: [\"\" : 17, \"local\" : 1]>\n"
#define LOCAL "\n<opset_import: [\"\" : 17, \"local\" : 1], domain: \"local\">\n"

TEST_CASE("calls in calls") {
  const auto m = same_result(HEAD "g (float[N] x) => (float[N] y) { y = local.foo (x) }" LOCAL
                                  "foo (x) => (y) { temp = Add (x, x)\n y = local.bar (temp) }" LOCAL
                                  "bar (x) => (y) { y = Mul (x, x) }");
  CHECK(operators(m.graph()) == "Add Mul");
}

TEST_CASE("two functions, and their types") {
  // As many nodes as the functions have; the operators of opset 10 stay what they are.
  const auto m = inlined(R"(
<ir_version: 8, opset_import: ["" : 10, "local" : 1]>
g (float[N, 128] x, float[128, 10] w, float[10] b) => (float[N, 10] c) {
  t = local.foo (x, w, b)
  c = local.square (t)
}
<opset_import: ["" : 10], domain: "local", doc_string: "A layer.">
foo (x, w, b) => (c) { t = MatMul (x, w)
 s = Add (t, b)
 c = Softmax (s) }
<opset_import: ["" : 10], domain: "local"> square (x) => (y) { y = Mul (x, x) })");
  CHECK(operators(m.graph()) == "MatMul Add Softmax Mul");
  CHECK(m.functions_size() == 0);
  CHECK(m.graph().node(3).output(0) == "c");
}

TEST_CASE("names are new") {
  const auto m = same_result(HEAD
                             "g (float[N] x) => (float[N] y) {\n"
                             "  temp = local.foo (x)\n temp__1 = local.foo (temp)\n"
                             "  [temp__2] y = Abs (temp__1) }" LOCAL
                             "foo (x) => (y) { [temp] temp = Add (x, x)\n y = Neg (temp) }");
  CHECK(operators(m.graph()) == "Add Neg Add Neg Abs");
}

TEST_CASE("a value info comes along, with symbols of its own") {
  const auto m =
      inlined(HEAD "g (float[N] x) => (float[N] y) { t = local.foo (x)\n y = local.foo (t) }" LOCAL
                   "foo (x) => (y) <float[N] temp, float[N] x> { temp = Add (x, x)\n y = Neg (temp) }");
  REQUIRE(m.graph().value_info_size() == 2);
  const auto &a = m.graph().value_info(0), &b = m.graph().value_info(1);
  CHECK(a.name() == m.graph().node(0).output(0));
  CHECK(b.name() == m.graph().node(2).output(0));
  const auto symbol = [](const onnx::ValueInfoProto& v) {
    return v.type().tensor_type().shape().dim(0).dim_param();
  };
  CHECK(symbol(a) != "N");
  CHECK(symbol(a) != symbol(b));
}

TEST_CASE("calls in bodies, and bodies in functions") {
  const auto m = same_result(HEAD R"(
g (float[N] x) => (float[N] y) {
  c = Constant <value = bool {1}> ()
  y = If (c) <then_branch = a () => (float[N] p) { p = local.pick (x, c) },
              else_branch = b () => (float[N] q) { q = local.pick (x) }>
})" LOCAL R"(
pick (v, c) => (r) {
  d = Constant <value = bool {0}> ()
  w = Neg (v)
  r = If (d) <then_branch = a () => (p) { p = local.square (w) },
              else_branch = b () => (q) { q = Identity (w) }>
})" LOCAL "square (v) => (r) { r = Mul (v, v) }");
  CHECK(operators(m.graph()) ==
        "Constant If(Constant Neg If(Mul)(Identity))(Constant Neg If(Mul)(Identity))");
}

TEST_CASE("a graph that the call gives reads the function's values, and else the caller's") {
  const auto text = [](std::string_view name) {
    return str_cat(HEAD R"(
g (float[3] x) => (float[3] y) {
  v = Neg (x)
  c = Constant <value = bool {1}> ()
  y = local.pick <body = b () => (p) { p = Identity (v) }> (x, c)
})" LOCAL "pick <body> (w, c) => (r) { ",
                   name, R"( = Add (w, w)
  r = If (c) <then_branch: graph = @body, else_branch = e () => (q) { q = Identity (w) }> })");
  };
  same_result(text("v"));
  CHECK(result(same_result(text("u"))) == std::vector<float>{1, -2, -3});
  onnx::ModelProto m = model_of(text("u"));
  loader::infer_shapes(m, {.strict = true});
  CHECK(m.graph().output(0).type().tensor_type().shape().dim(0).dim_value() == 3);

  // Handed on, from within a body; a body of the graph reads the caller's values too.
  same_result(HEAD R"(
g (float[3] x) => (float[3] y) {
  v = Neg (x)
  c = Constant <value = bool {1}> ()
  y = local.outer <body = b () => (p) {
    q = If (c) <then_branch = t () => (s) { s = Abs (v) }, else_branch = e () => (s) { s = Identity (x) }>
    p = Sub (q, v) }> (x, c)
})" LOCAL R"(outer <body> (w, d) => (r) {
  r = If (d) <then_branch = t () => (a) { u = Add (w, w)  v = Mul (u, w)  b = local.inner <body: graph = @body> (d)
                                          a = Add (b, v) },
              else_branch = e () => (a) { a = Identity (w) }> })" LOCAL R"(inner <body> (k) => (r) {
  r = If (k) <then_branch: graph = @body, else_branch: graph = @body> })");
  // Nodes of the function itself read nothing of the caller.
  CHECK(holds(refusal([&] {
                Model(model_of(HEAD R"(
g (float[3] x) => (float[3] y) {
  v = Neg (x)
  c = Constant <value = bool {1}> ()
  y = local.pick <body = b () => (p) { p = Identity (v) }> (x, c)
})" LOCAL R"(pick <body> (w, c) => (r) {
  b = If (c) <then_branch: graph = @body, else_branch: graph = @body>
  r = Add (b, v) })"))
                    .graph();
              }),
              "input 'v' is not defined"));
}

TEST_CASE("a loop's body has names of its own") {
  same_result(HEAD R"(
g (float[N] x) => (float[N] y) { t = local.twice (x)
 y = local.twice (t) })" LOCAL R"(
twice (v) => (r) {
  n = Constant <value = int64 {2}> ()
  c = Constant <value = bool {1}> ()
  r = Loop (n, c, v) <body = b (int64 k, bool c0, float[M] s) => (bool c1, float[M] u) <float one = {1}> {
    c1 = Identity (c0)
    t = local.inc (s, one)
    u = Add (t, v) }>
})" LOCAL "inc (a, b) => (r) { r = Add (a, b) }");
}

TEST_CASE("attributes: given, by default, left out, handed on, graphs") {
  const auto m = same_result(
      HEAD R"(
g (float[N] x) => (float[N] y) {
  a = local.outer <alpha = 3.0> (x)
  b = local.outer (x)
  c = local.inner (x)
  y = Sum (a, b, c) })" LOCAL
           "outer <alpha: float = 2.0> (v) => (r) { r = local.inner <slope: float = @alpha> (v) }" LOCAL
           "inner <slope> (v) => (r) { r = LeakyRelu <alpha: float = @slope> (v) }");
  CHECK(m.graph().node(0).attribute(0).f() == 3);
  CHECK(m.graph().node(1).attribute(0).f() == 2);
  CHECK(m.graph().node(2).attribute_size() == 0);

  // Names in a graph of the call are the function's where it has them, as in ONNX's inliner and evaluator.
  const auto bodies = inlined(HEAD R"(
g (float[N] x) => (float[N] y) {
  v = Neg (x)
  y = local.choose <body = b () => (float[N] p) { p = local.twice (v) }> (x) })" LOCAL R"(
choose <body> (v) => (r) {
  c = Constant <value = bool {1}> ()
  r = If (c) <then_branch: graph = @body, else_branch = e () => (p) { p = Identity (v) }> })" LOCAL
                                   "twice (v) => (r) { r = Add (v, v) }");
  CHECK(bodies.graph().node(2).attribute(0).g().node(0).input(0) == "x");
  CHECK(bodies.graph().node(2).attribute(1).g().node(0).input(0) == "x");
  CHECK(operators(bodies.graph()) == "Neg Constant If(Add)(Identity)");
}

TEST_CASE("operands left out") {
  const auto m =
      same_result(HEAD
                  "g (float[N] x) => (float[N] y) { z = Constant <value = float {0}> ()\n"
                  "  a = local.clip (x, z)\n b = local.clip (x, , z)\n y = Add (a, b) }" LOCAL
                  "clip (v, low, high) => (r, unused) { r = Clip (v, low, high)\n unused = Abs (v) }");
  CHECK(operators(m.graph()) == "Constant Clip Abs Clip Abs Add");
  CHECK(m.graph().node(3).input(1).empty());
}

TEST_CASE("an input that is an output") {
  const auto m =
      same_result(HEAD "g (float[N] x) => (float[N] y) { y = local.same (x) }" LOCAL "same (v) => (v) {}");
  CHECK(operators(m.graph()) == "Identity");
}

constexpr std::string_view two = HEAD
    "g (float[N] x) => (float[N] y) { t = local.square (x)\n y = local.both (t) }" LOCAL
    "both (x) => (y) { t = Add (x, x)\n y = local.square (t) }" LOCAL "square (x) => (y) { y = Mul (x, x) }";

TEST_CASE("selected functions") {
  for (const InlineOptions& options :
       {InlineOptions{.only = {{{"local", "square"}}}}, InlineOptions{.except = {{"local", "both"}}}}) {
    const auto m = inlined(two, options);
    CHECK(operators(m.graph()) == "Mul both");
    REQUIRE(m.functions_size() == 1);
    CHECK(m.functions(0).node(0).op_type() == "Add");
    CHECK(m.functions(0).node(1).op_type() == "Mul");
    CHECK(result(m) == result(model_of(two)));
  }
  const auto m = inlined(two, {.only = {{{"local", "both"}}}});
  CHECK(operators(m.graph()) == "square Add square");
  CHECK(m.functions_size() == 1);
  CHECK(inlined(two, {.only = {{}}}).SerializeAsString() == model_of(two).SerializeAsString());
}

TEST_CASE("opsets") {
  // The same operators at both: inlined.
  const auto model = [](std::string_view node) {
    return str_cat(HEAD
                   "g (float[N] x) => (float[N] y) { y = local.foo (x) }\n"
                   "<opset_import: [\"\" : 18, \"other\" : 3], domain: \"local\">\n"
                   "foo (x) => (y) { y = ",
                   node, " }");
  };
  CHECK(operators(same_result(model("Add (x, x)")).graph()) == "Add");
  // A domain is imported for a node that needs it.
  const auto imports = [&](std::string_view node) {
    onnx::ModelProto m = model_of(model(node));
    inline_functions(m, {});
    return m.opset_import();
  };
  CHECK(imports("Neg (x)").size() == 2);
  const auto three = imports("other.Neg (x)");
  CHECK(three.size() == 3);
  CHECK(three[2].domain() == "other");
  CHECK(three[2].version() == 3);
  CHECK(imports("If (x) <then_branch = t () => (float p) { p = other.F (x) },"
                " else_branch = e () => (float q) { q = Neg (x) }>")
            .size() == 3);

  // Without conversion, the versions decide.
  for (const std::string node : {"Add (x, x)", "ReduceMax <keepdims = 1> (x)"}) {
    CHECK(refusal_of(model(node), {.convert_opsets = false}) ==
          "function 'local.foo': ai.onnx 18 is another opset than 17 of its caller");
    onnx::ModelProto kept = model_of(model(node));
    inline_functions(kept, {.convert_opsets = false, .keep_incompatible = true});
    CHECK(operators(kept.graph()) == "foo");
    CHECK(kept.functions_size() == 1);
  }
}

// The operators of a model whose function is of opset `opset`, and the model of 17.
std::string converted(int opset, std::string_view call, std::string_view function,
                      std::string_view more = "") {
  const std::string text =
      str_cat(HEAD "g (float[3] x) => (float[M] y) ", more, " { y = local.foo ", call,
              " }\n<opset_import: [\"\" : ", opset, "], domain: \"local\">\nfoo ", function);
  return operators(same_result(text).graph());
}

TEST_CASE("functions of other opsets are converted where they are called") {
  CHECK(converted(18, "(x)", "(x) => (y) { y = ReduceMax <keepdims = 1> (x) }") == "ReduceMax");
  // Constants of the function, and of its caller, become attributes.
  CHECK(converted(18, "(x)", "(x) => (y) { a = Constant <value_ints = [0]> ()\n y = ReduceMax (x, a) }") ==
        "ReduceMax");
  CHECK(converted(18, "(x, a)", "(x, a) => (y) { y = ReduceMax (x, a) }", "<int64[1] a = {0}>") ==
        "ReduceMax");
  // An attribute of the call becomes a constant, in each place anew.
  CHECK(converted(11, "<axes = [0]> (x)",
                  "<axes> (x) => (y) { a = Unsqueeze <axes: ints = @axes> (x)\n"
                  "y = Squeeze <axes: ints = @axes> (a) }") == "Constant Unsqueeze Constant Squeeze");
  // The rank is known from the caller: this is the Softmax of matrices.
  CHECK(converted(11, "(x)", "(x) => (y) { y = Softmax <axis = 0> (x) }").find("Softmax") !=
        std::string::npos);
  // The rank of a value between two calls, in a function and in another one that stays.
  const std::string between =
      "<ir_version: 10, opset_import: [\"\" : 11, \"local\" : 1]>\n"
      "g (float[3] x) => (float[3, 1] y) <int64[2] s = {3, 1}> { u = Reshape (x, s)\n y = local.outer (u) }\n"
      "<opset_import: [\"\" : 11, \"local\" : 1], domain: \"local\">\n"
      "outer (x) => (y) { h = Neg (x)\n a = Constant <value = int64[1] {0}> ()\n y = local.inner (h, a) }\n"
      "<opset_import: [\"\" : 18], domain: \"local\">\n"
      "inner (x, a) => (y) { m = ReduceMax (x, a)\n d = Sub (x, m)\n y = Softmax <axis = 0> (d) }";
  CHECK(holds(operators(same_result(between).graph()), "Transpose Softmax Transpose"));
  onnx::ModelProto inner = model_of(between);
  const auto expected = result(inner);
  inline_functions(inner, {.except = {{"local", "outer"}}});
  CHECK(inner.functions_size() == 1);
  CHECK(result(inner) == expected);
  // Calls within calls, each at its own opset.
  const std::string text = HEAD
      "g (float[3] x) => (float[M, K] y) { y = local.outer (x) }\n"
      "<opset_import: [\"\" : 18, \"local\" : 1], domain: \"local\">\n"
      "outer (x) => (y) { h = local.inner (x)\n y = ReduceMax (h) }\n"
      "<opset_import: [\"\" : 11], domain: \"local\">\n"
      "inner (x) => (y) { h = Unsqueeze <axes = [0]> (x)\n y = Neg (h) }";
  CHECK(operators(same_result(text).graph()) == "Constant Unsqueeze Neg ReduceMax");
}

TEST_CASE("a graph that a call gives is of its caller's opsets") {
  // At opset 18, which the functions import, the axes are an input.
  const std::string text = HEAD
      "g (float[3] x) => (float[M] y) {\n"
      "  y = local.outer <b = t () => (float[K] r) { r = ReduceMax <axes = [0]> (x) }> (x)\n"
      "}\n"
      "<opset_import: [\"\" : 18, \"local\" : 1], domain: \"local\">\n"
      "outer <b> (x) => (y) { y = local.inner <b: graph = @b> (x) }\n"
      "<opset_import: [\"\" : 18], domain: \"local\">\n"
      "inner <b> (x) => (y) {\n"
      "  c = Constant <value = bool {1}> ()\n"
      "  y = If (c) <then_branch: graph = @b, else_branch: graph = @b>\n"
      "}";
  same_result(text);
  onnx::ModelProto m = model_of(text);
  loader::infer_shapes(m, {.strict = true});
  CHECK(m.graph().output(0).type().tensor_type().shape().dim(0).dim_value() == 1);
}

TEST_CASE("functions that cannot be converted") {
  const auto model = [](std::string_view call, std::string_view function) {
    return str_cat(HEAD "g (float[3] x) => (float[3] y) { y = local.foo ", call,
                   " }\n<opset_import: [\"\" : 20], domain: \"local\">\nfoo ", function);
  };
  const std::string gelu = model("(x)", "(x) => (y) { y = Gelu (x) }");
  CHECK(holds(refusal_of(gelu), "function 'local.foo', node 'y' (Gelu): from opset 20 to 19"));
  onnx::ModelProto kept = model_of(gelu);
  inline_functions(kept, {.keep_incompatible = true});
  CHECK(operators(kept.graph()) == "foo");
  CHECK(kept.functions_size() == 1);
  CHECK(holds(refusal_of(model("<b = t () => (float[3] y) { y = Neg (x) }> (x)",
                               "<b> (x) => (y) { c = Constant <value = bool {1}> ()\n"
                               "d = ReduceMax <keepdims = 1> (x)\n"
                               "y = If (c) <then_branch: graph = @b, else_branch: graph = @b> }")),
              "gives it a graph"));
}

TEST_CASE("errors") {
  const std::string head = HEAD "g (float[N] x) => (float[N] y) { y = local.f (x) }" LOCAL;
  CHECK(holds(refusal_of(head + "f (x) => (y) { y = local.f (x) }"), "calls itself"));
  CHECK(holds(refusal_of(head + "f (x) => (y) { y = local.g (x) }" LOCAL "g (x) => (y) { y = local.f (x) }"),
              "calls itself"));
  CHECK(holds(refusal_of(head + "f (x) => (y) { c = Constant <value = bool {1}> ()\n"
                                " y = If (c) <then_branch = a () => (p) { p = local.f (x) }> }"),
              "calls itself"));
  CHECK(holds(refusal_of(head + "f () => (y) { y = Constant <value = float {1}> () }"), "more inputs"));
  CHECK(holds(refusal_of(head + "f (v) => (r) { r = Add (v, x) }"), "nothing defines 'x'"));
  CHECK(
      holds(refusal_of(head + "f (v) => (r) { r = Neg (v) }" LOCAL "f (v) => (r) { r = Abs (v) }"), "twice"));
}

TEST_CASE("functions that multiply end") {
  std::string text = HEAD "g (float[N] x) => (float[N] y) { y = local.f60 (x) }" LOCAL "f0 (x) => (x) {}";
  for (int k = 1; k <= 60; ++k)
    text += str_cat(LOCAL "f", k, " (x) => (y) { t = local.f", k - 1, " (x)\n y = local.f", k - 1, " (t) }");
  CHECK(holds(refusal_of(text, {.max_nodes = 20'000}), "multiply nodes beyond max_nodes"));
  CHECK(holds(refusal_of(text, {.max_bytes = 1 << 20}), "multiply nodes beyond max_bytes"));

  text = HEAD "g (float[N] x) => (float[N] y) { y = local.f1000 (x) }" LOCAL "f0 (x) => (x) {}";
  for (int k = 1; k <= 1000; ++k) text += str_cat(LOCAL "f", k, " (x) => (y) { y = local.f", k - 1, " (x) }");
  CHECK(holds(refusal_of(text), "too deep"));
}

}  // namespace
}  // namespace tenon
