// Models merged, prefixed and cut out, and what differs between two.
#include "loader/edit/compose.hpp"

#include <doctest/doctest.h>

#include "loader/check/check.hpp"
#include "loader/convert/convert.hpp"
#include "loader/display.hpp"
#include "loader/edit/diff.hpp"
#include "loader/format/tensor.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"
#include "tenon/base/error.hpp"
#include "tenon/loader.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

onnx::ModelProto model_of(std::string_view text) {
  return loader::parse_text<onnx::ModelProto>(
      str_cat("<ir_version: 10, opset_import: [\"\" : 17, \"local\" : 1]>\n", text));
}
constexpr std::string_view local = "\n<opset_import: [\"\" : 17, \"local\" : 1], domain: \"local\">\n";

void check_rules(const onnx::ModelProto& m) {
  INFO(loader::print_text(m));
  for (const auto& d : loader::check(m, {.full = true})) FAIL(to_string(d));
}

// The first output for an input of {-1, 2, 3}.
std::vector<float> result(const onnx::ModelProto& m, const std::string& input = "x") {
  const Session session(Model(m).graph());
  Tensor<float> x(Extents{3});
  x[0] = -1, x[1] = 2, x[2] = 3;
  const Outputs out = session.run({{input, x}});
  const auto y = out[0].view<float>();
  return {y.data(), y.data() + y.size()};
}
using Floats = std::vector<float>;

std::string names(const auto& list) {
  std::string text;
  for (const auto& v : list) text += str_cat(text.empty() ? "" : " ", v.name());
  return text;
}

onnx::ModelProto doubles() {
  return model_of(
      str_cat("a (float[N] x) => (float[N] y, float[N] z) <float[N] t> { t = local.twice (x)\n y = Abs (t)\n "
              "z = Neg (x) }",
              local, "twice (v) => (r) { r = Add (v, v) }"));
}
onnx::ModelProto adds() {
  return model_of(
      "b (float[N] p, float[N] q) => (float[N] s) <float[1] w = {10}> {\n"
      "  c = Constant <value = bool {1}> ()\n"
      "  u = If (c) <then_branch = t () => (float[N] d) { d = Add (p, w) },\n"
      "              else_branch = e () => (float[N] f) { f = Identity (q) }>\n"
      "  s = Add (u, q) }");
}

TEST_CASE("merge connects outputs and inputs, in bodies too") {
  const auto m = loader::merge(doubles(), adds(), {.connect = {{"y", "p"}, {"z", "q"}}});
  check_rules(m);
  CHECK(names(m.graph().input()) == "x");
  CHECK(names(m.graph().output()) == "s");
  CHECK(m.graph().name() == "a_b");
  CHECK(names(m.graph().value_info()) == "t y z");
  CHECK(result(m) == Floats{13, 12, 13});

  const auto once = loader::merge(doubles(), adds(), {.connect = {{"y", "p"}}});
  CHECK(names(once.graph().input()) == "x q");
  CHECK(names(once.graph().output()) == "z s");
  const auto twice = loader::merge(doubles(), adds(), {.connect = {{"y", "p"}, {"y", "q"}}});
  CHECK(result(twice).size() == 3);
  CHECK(names(loader::merge(doubles(), adds()).graph().output()) == "y z s");
}

TEST_CASE("prefixes keep names apart") {
  CHECK(holds(refusal([] { loader::merge(doubles(), doubles(), {.connect = {{"y", "x"}}}); }), "function"));
  const auto m =
      loader::merge(doubles(), doubles(), {.connect = {{"y", "x"}}, .prefix_a = "a/", .prefix_b = "b/"});
  check_rules(m);
  CHECK(names(m.functions()) == "a/twice b/twice");
  CHECK(m.graph().node(0).op_type() == "a/twice");
  CHECK(names(m.graph().output()) == "a/z b/y b/z");

  onnx::ModelProto prefixed = adds();
  loader::add_prefix(prefixed, "n.");
  check_rules(prefixed);
  CHECK(names(prefixed.graph().input()) == "n.p n.q");
  CHECK(names(prefixed.graph().initializer()) == "n.w");
  CHECK(prefixed.graph().node(1).attribute(0).g().node(0).input(0) == "n.p");
}

TEST_CASE("merge refuses models that do not fit") {
  const auto merged = [](const onnx::ModelProto& a, const onnx::ModelProto& b, const MergeOptions& options) {
    return refusal([&] { loader::merge(a, b, options); });
  };
  onnx::ModelProto other = adds();
  CHECK(holds(merged(doubles(), other, {.connect = {{"none", "p"}}}), "no output 'none'"));
  CHECK(holds(merged(doubles(), other, {.connect = {{"y", "none"}}}), "no input 'none'"));
  CHECK(holds(merged(doubles(), other, {.connect = {{"y", "p"}, {"z", "p"}}}), "'p' is connected twice"));
  CHECK(holds(merged(other, other, {.connect = {{"s", "p"}}}), "values with the names"));
  other.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(7);
  CHECK(holds(merged(doubles(), other, {.connect = {{"y", "p"}}}), "'y' is float["));
  other = adds();
  other.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
  CHECK(holds(merged(doubles(), other, {.connect = {{"y", "p"}}}), "and 'p' is float["));
  other = adds();
  other.set_ir_version(9);
  CHECK(holds(merged(doubles(), other, {}), "IR versions 10 and 9"));
  other = adds();
  other.mutable_opset_import(0)->set_version(18);
  CHECK(holds(merged(doubles(), other, {}), "different opsets of 'ai.onnx'"));
  onnx::ModelProto one = doubles();
  other = adds();
  for (auto* m : {&one, &other}) {
    auto* entry = m->add_metadata_props();
    entry->set_key("k");
    entry->set_value(m == &one ? "1" : "2");
  }
  CHECK(holds(merged(one, other, {}), "different metadata for 'k'"));
  other.mutable_metadata_props(0)->set_value("1");
  CHECK(loader::merge(one, other).metadata_props_size() == 1);
  other.add_training_info();
  CHECK(holds(merged(one, other, {}), "training"));
}

onnx::ModelProto three_in() {
  return model_of(
      "a (float[N] A0, float[N] A1, float[N] A2) => (float[N] B0, float[N] B1, float[N] B2)"
      " { B0 = Add (A0, A1) B1 = Sub (A0, A1) B2 = Mul (A0, A1) }");
}
onnx::ModelProto three_out() {
  return model_of(
      "b (float[N] C0, float[N] C1, float[N] C2) => (float[N] D0)"
      " { E0 = Add (C0, C1) E1 = Sub (C1, C2) D0 = Mul (E0, E1) }");
}
std::string operators(const auto& nodes) {
  std::string text;
  for (const auto& n : nodes) text += str_cat(text.empty() ? "" : " ", n.op_type());
  return text;
}

TEST_CASE("merge: inputs and outputs that stay, in order") {
  struct Row {
    MergeOptions options;
    std::string_view inputs, outputs;
  };
  for (const Row& row : {
           Row{{.connect = {{"B0", "C0"}, {"B1", "C1"}, {"B2", "C2"}}}, "A0 A1 A2", "D0"},
           {{.connect = {{"B0", "C0"}, {"B0", "C1"}, {"B0", "C2"}}}, "A0 A1 A2", "B1 B2 D0"},
           {{.connect = {{"B0", "C0"}, {"B1", "C1"}}}, "A0 A1 A2 C2", "B2 D0"},
           {{}, "A0 A1 A2 C0 C1 C2", "B0 B1 B2 D0"},
       }) {
    const auto m = loader::merge(three_in(), three_out(), row.options);
    check_rules(m);
    CHECK(names(m.graph().input()) == row.inputs);
    CHECK(names(m.graph().output()) == row.outputs);
    CHECK(operators(m.graph().node()) == "Add Sub Mul Add Sub Mul");
  }
  // Of a merged model, a part.
  auto m = loader::merge(three_in(), three_out(), {.connect = {{"B0", "C0"}, {"B0", "C1"}, {"B0", "C2"}}});
  m = loader::extract(m, {"A0", "A1"}, {"D0"});
  check_rules(m);
  CHECK(operators(m.graph().node()) == "Add Add Sub Mul");

  // The same name on both sides, and a name on both sides of each.
  m = loader::merge(model_of("a (float[N] A) => (float[N] B) { B = Add (A, A) }"),
                    model_of("b (float[N] B) => (float[N] C) { C = Add (B, B) }"), {.connect = {{"B", "B"}}});
  check_rules(m);
  CHECK(str_cat(names(m.graph().input()), names(m.graph().output())) == "AC");
  const auto sum = model_of("a (float[N] A, float[N] B) => (float[N] C) { C = Add (A, B) }");
  m = loader::merge(sum, sum, {.connect = {{"C", "A"}}, .prefix_a = "m1/", .prefix_b = "m2/"});
  check_rules(m);
  CHECK(names(m.graph().input()) == "m1/A m1/B m2/B");
  CHECK(names(m.graph().output()) == "m2/C");

  // Opsets that differ, until one model is converted.
  auto older = three_in();
  older.mutable_opset_import(0)->set_version(10);
  CHECK(holds(refusal([&] { loader::merge(older, three_out()); }), "different opsets"));
  loader::convert_opset(older, 17);
  check_rules(loader::merge(older, three_out(), {.connect = {{"B0", "C0"}}}));
}

TEST_CASE("merge: constants and value infos of inputs that are no more") {
  const auto a = model_of("a (float[2] x) => (float[2] y) { y = Identity (x) }");
  auto b = model_of("b (float[2] x = {0, 0}) => (float[2] y) <float[2] x> { y = Identity (x) }");
  const MergeOptions options{.connect = {{"y", "x"}}, .prefix_a = "a/"};
  auto m = loader::merge(a, b, options);
  check_rules(m);
  CHECK(m.graph().initializer_size() == 0);
  CHECK(names(m.graph().value_info()) == "a/y");
  b.mutable_graph()->clear_initializer();
  auto& s = *b.mutable_graph()->add_sparse_initializer();
  s.mutable_values()->set_name("x");
  s.mutable_values()->set_data_type(1);
  s.mutable_values()->add_dims(1);
  s.mutable_values()->add_float_data(5);
  s.mutable_indices()->set_data_type(7);
  s.mutable_indices()->add_dims(1);
  s.mutable_indices()->add_int64_data(1);
  s.add_dims(2);
  m = loader::merge(a, b, options);
  check_rules(m);
  CHECK(m.graph().sparse_initializer_size() == 0);
  // The type that an output had is told of the value that it is now.
  CHECK(m.graph().value_info(0).type().tensor_type().shape().dim(0).dim_value() == 2);
}

TEST_CASE("merge: names that both models have") {
  const auto model = [](std::string_view in, std::string_view out, std::string_view between,
                        std::string_view constant) {
    return model_of(str_cat("g (float[1] ", in, ") => (float[1] ", out, ") <float[1] ", between,
                            ", float[1] ", constant, " = {1}> { ", between, " = Add (", in, ", ", constant,
                            ") ", out, " = Neg (", between, ") }"));
  };
  const auto a = model("i0", "o0", "v0", "w0");
  for (const auto& [b, name] : {std::pair{model("i0", "o1", "v1", "w1"), "'i0'"},
                                {model("i1", "o0", "v1", "w1"), "'o0'"},
                                {model("i1", "o1", "v0", "w1"), "'v0'"},
                                {model("i1", "o1", "v1", "w0"), "'w0'"},
                                {model("w0", "o1", "v1", "w1"), "'w0'"}}) {
    CHECK(holds(refusal([&] { loader::merge(a, b); }), name));
    check_rules(loader::merge(a, b, {.prefix_a = "a/"}));
  }
  auto sparse = model("i1", "o1", "v1", "w1");
  auto& s = *sparse.mutable_graph()->add_sparse_initializer();
  *s.mutable_values() = sparse.graph().initializer(0);
  s.mutable_values()->set_name("w0");
  s.mutable_indices()->set_data_type(7);
  s.mutable_indices()->add_dims(1);
  s.mutable_indices()->add_int64_data(1);
  s.add_dims(2);
  CHECK(holds(refusal([&] { loader::merge(a, sparse); }), "'w0'"));
  check_rules(loader::merge(a, sparse, {.prefix_b = "b/"}));

  // Functions of the same name, and the calls of them.
  const auto calls = [](std::string_view functions) {
    return model_of(str_cat("g (float x0, float x1) => (float y) { y = local.f (x0, x1) }", functions));
  };
  const auto one = calls(str_cat(local, "f (a, b) => (c) { c = Add (a, b) }"));
  const auto two = calls(str_cat(local, "h (a, b) => (c) { c = Mul (a, b) }", local,
                                 "f (a, b) => (c) { d = local.h (a, b) c = Sub (d, b) }"));
  const auto m =
      loader::merge(one, two, {.connect = {{"y", "x0"}, {"y", "x1"}}, .prefix_a = "m1/", .prefix_b = "m2/"});
  check_rules(m);
  CHECK(operators(m.graph().node()) == "m1/f m2/f");
  CHECK(names(m.functions()) == "m1/f m2/h m2/f");
  CHECK(operators(m.functions(2).node()) == "m2/h Sub");
}

TEST_CASE("merge: metadata of both models") {
  auto a = three_in(), b = three_out();
  const auto add = [](onnx::ModelProto& m, const char* key, const char* value) {
    auto* entry = m.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  };
  add(a, "p1", "v1"), add(a, "p2", "v2"), add(b, "p3", "v3"), add(b, "p4", "v4");
  CHECK(loader::merge(a, b).metadata_props_size() == 4);
  b.mutable_metadata_props(0)->set_key("p1");
  CHECK(holds(refusal([&] { loader::merge(a, b); }), "different metadata for 'p1'"));
  b.mutable_metadata_props(0)->set_value("v1");
  CHECK(loader::merge(a, b).metadata_props_size() == 3);
}

TEST_CASE("prefixes in bodies, and on every name") {
  auto m = model_of(R"(
    g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}, float w0 = {1}, float[2] h> {
      [first] h = Add (x, w)
      [choice] y = If (c) <
        then_branch = t () => (float[2] p) <float[2] k = {1, 2}, float[2] u> { [in] u = Add (h, k) p = If (c) <
          then_branch = t2 () => (float[2] p2) { p2 = Neg (u) },
          else_branch = e2 () => (float[2] q2) { q2 = Neg (h) }> },
        else_branch = e () => (float[2] q) { q = Clip (x, "", w0) }>
    })");
  check_rules(m);
  loader::add_prefix(m, "pre/");
  check_rules(m);
  const auto& g = m.graph();
  CHECK(str_cat(names(g.input()), " ", names(g.output()), " ", names(g.initializer()), " ",
                names(g.value_info()), " ",
                names(g.node())) == "pre/x pre/c pre/y pre/w pre/w0 pre/h pre/first pre/choice");
  const auto& t = g.node(1).attribute(0).g();
  CHECK(str_cat(names(t.output()), " ", names(t.initializer()), " ", names(t.value_info()), " ",
                t.node(0).name(), " ", t.node(0).input(0)) == "pre/p pre/k pre/u pre/in pre/h");
  CHECK(t.node(1).attribute(0).g().node(0).input(0) == "pre/u");
  CHECK(g.node(1).attribute(1).g().node(0).input(1).empty());
}

TEST_CASE("extract cuts out what the outputs need") {
  const auto all = doubles();
  auto m = loader::extract(all, {"x"}, {"t"});
  check_rules(m);
  CHECK(m.graph().node_size() == 1);
  CHECK(m.functions_size() == 1);
  CHECK(result(m) == Floats{-2, 4, 6});

  m = loader::extract(all, {"t"}, {"y"});
  check_rules(m);
  CHECK(m.functions_size() == 0);
  CHECK(result(m, "t") == Floats{1, 2, 3});

  // Functions come along as far as they are called, also by other functions.
  const auto calling = model_of(
      str_cat("g (int8[5] i0, int8[5] i1) => (int8[5] o0, int8[5] o1, int8[5] o2)"
              " { o0 = Add (i0, i1) t = local.add (i0, i1) o1 = Neg (t) o2 = local.both (t, i1) }",
              local, "same (a) => (b) { b = Identity (a) }", local, "add (a, b) => (c) { c = Add (a, b) }",
              local, "both (a, b) => (c) { d = local.same (a) e = local.same (b) c = local.add (d, e) }"));
  struct Row {
    std::vector<std::string> outputs;
    std::string_view functions;
  };
  for (const Row& row :
       {Row{{"o0"}, ""}, {{"o1"}, "add"}, {{"o2"}, "same add both"}, {{"o0", "o1", "o2"}, "same add both"}}) {
    m = loader::extract(calling, {"i0", "i1"}, row.outputs);
    check_rules(m);
    CHECK(names(m.functions()) == row.functions);
  }

  // Bodies keep what they read; constants stay, or become inputs where they are named.
  m = loader::extract(adds(), {"p", "q"}, {"u"});
  check_rules(m);
  CHECK(m.graph().node_size() == 2);
  CHECK(names(m.graph().initializer()) == "w");
  m = loader::extract(adds(), {"p", "w", "q"}, {"u"});
  check_rules(m);
  CHECK(m.graph().initializer_size() == 0);
  CHECK(names(m.graph().input()) == "p w q");
  CHECK(loader::extract(adds(), {"u", "q"}, {"s"}).graph().node_size() == 1);

  const auto refused = [&](const std::vector<std::string>& in, const std::vector<std::string>& out) {
    return refusal([&] { loader::extract(adds(), in, out); });
  };
  CHECK(holds(refused({"p"}, {"u"}), "need the input 'q'"));
  CHECK(holds(refused({"p", "p"}, {"u"}), "named twice"));
  CHECK(holds(refused({"p", "q"}, {}), "no outputs"));
  CHECK(holds(refused({"p", "q"}, {"d"}), "no value 'd'"));
}

TEST_CASE("extract: types that the model leaves open") {
  for (std::string_view stated : {"", "float[]", "float[?, 2]", "float[3, ?]"})
    for (bool element : {true, false}) {
      auto m = model_of(
          "g (float[N, 2] x) => (float[2, 3] y) <int64[2] s = {3, 2}> { h = Reshape (x, s) y = Transpose (h) "
          "}");
      if (!stated.empty()) {
        auto& h = *m.mutable_graph()->add_value_info();
        h = loader::parse_text<onnx::GraphProto>(str_cat("g (", stated, " h) => () {}")).input(0);
        if (!element) h.mutable_type()->mutable_tensor_type()->clear_elem_type();
      }
      for (const auto& cut : {loader::extract(m, {"h"}, {"y"}).graph().input(0),
                              loader::extract(m, {"x"}, {"h"}).graph().output(0)}) {
        INFO(stated, element ? "" : " without its element type");
        CHECK(cut.name() == "h");
        CHECK(loader::type_text(cut.type()) == "float[3,2]");
      }
    }
  auto m = model_of("g (float[2] x) => (float[2] y) { y = Add (x, w) }");
  auto& s = *m.mutable_graph()->add_sparse_initializer();
  loader::write_sparse_tensor({Tensor<float>(Extents{1}, {5}), Tensor<int64_t>(Extents{1}, {1}), Extents{2}},
                              s);
  s.mutable_values()->set_name("w");
  m = loader::extract(m, {"w", "x"}, {"y"});
  check_rules(m);
  CHECK(loader::type_text(m.graph().input(0).type()) == "float[2]");
}

TEST_CASE("diff names the place of each difference") {
  const auto lines = [](const onnx::ModelProto& a, const onnx::ModelProto& b) {
    std::string text;
    for (const auto& line : loader::differences(a, b)) text += line + "\n";
    return text;
  };
  CHECK(lines(adds(), adds()) == "");
  onnx::ModelProto m = adds();
  m.set_ir_version(9);
  m.mutable_opset_import(0)->set_version(18);
  onnx::GraphProto& g = *m.mutable_graph();
  g.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(11);
  g.mutable_initializer(0)->add_dims(1);
  g.mutable_node(1)->mutable_attribute(1)->mutable_g()->mutable_node(0)->set_op_type("Neg");
  g.mutable_node(2)->set_input(1, "w");
  g.mutable_node(2)->mutable_output(0)->assign("r");
  CHECK(lines(adds(), m) ==
        "model, ir_version: 10, and 9\n"
        "model, opset 'ai.onnx': 17, and 18\n"
        "main, input 'p': float[N], and double[N]\n"
        "main, initializer 'w': FLOAT[1], and FLOAT[1,1]\n"
        "main, node of 'u' (If), attribute 'else_branch', node of 'f' (Identity), operator: 'Identity', and "
        "'Neg'\n"
        "main, node of 's': only in the first\n"
        "main, node of 'r': only in the second\n");
  CHECK(loader::differences(adds(), m, 2).size() == 3);

  // A tensor in another field, and one with another value.
  m = adds();
  onnx::TensorProto& w = *m.mutable_graph()->mutable_initializer(0);
  const float number = w.float_data_size() > 0 ? w.float_data(0) : 0;
  w.clear_float_data();
  w.set_raw_data(&number, sizeof number);
  CHECK(lines(adds(), m) == "main, initializer 'w': values equal, storage differs\n");
  w.set_doc_string("d");
  CHECK(lines(adds(), m) ==
        "main, initializer 'w', doc_string: '', and 'd'\n"
        "main, initializer 'w': values equal, storage differs\n");
  w = adds().graph().initializer(0);
  w.set_doc_string("d");
  CHECK(lines(adds(), m) == "main, initializer 'w', doc_string: '', and 'd'\n");
  w = adds().graph().initializer(0);
  w.set_float_data(0, number + 1);
  CHECK(lines(adds(), m) == "main, initializer 'w': the values differ\n");
  w.add_float_data(1);
  CHECK(lines(adds(), m) == "main, initializer 'w': the data, or how it is stored, differs\n");

  m = doubles();
  m.mutable_graph()->mutable_node()->SwapElements(0, 2);
  m.mutable_functions(0)->mutable_node(0)->set_input(1, "w");
  m.mutable_functions(0)->mutable_node(0)->set_name("n");
  CHECK(lines(doubles(), m) ==
        "main: the nodes stand in another order\n"
        "function 'local.twice', node of 'r' (Add), name: '', and 'n'\n"
        "function 'local.twice', node of 'r' (Add), inputs: ('v', 'v'), and ('v', 'w')\n");
}

}  // namespace
}  // namespace tenon
