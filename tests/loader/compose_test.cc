// Models merged, prefixed and cut out, and what differs between two.
#include "loader/compose.hpp"

#include <doctest/doctest.h>

#include "loader/check.hpp"
#include "loader/diff.hpp"
#include "loader/parse_text.hpp"
#include "loader/print_text.hpp"
#include "tenon/base/error.hpp"
#include "tenon/loader.hpp"

namespace tenon {
namespace {

onnx::ModelProto model_of(std::string_view text) {
  return loader::parse_text<onnx::ModelProto>(
      concat("<ir_version: 10, opset_import: [\"\" : 17, \"local\" : 1]>\n", text));
}
constexpr std::string_view local = "\n<opset_import: [\"\" : 17, \"local\" : 1], domain: \"local\">\n";

void check_rules(const onnx::ModelProto& m) {
  INFO(loader::print_text(m));
  for (const auto& d : loader::check(m, {.full = true})) FAIL(to_string(d));
}
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// The first output for an input of {-1, 2, 3}.
std::vector<float> result(const onnx::ModelProto& m, const std::string& input = "x") {
  const Session session(Model(m).graph());
  Tensor<float> x(Extents{3});
  x[0] = -1, x[1] = 2, x[2] = 3;
  const auto y = session.run({{input, x}})[0].view<float>();
  return {y.data(), y.data() + y.size()};
}
using Floats = std::vector<float>;

std::string names(const auto& list) {
  std::string text;
  for (const auto& v : list) text += concat(text.empty() ? "" : " ", v.name());
  return text;
}

onnx::ModelProto doubles() {
  return model_of(
      concat("a (float[N] x) => (float[N] y, float[N] z) <float[N] t> { t = local.twice (x)\n y = Abs (t)\n "
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
  CHECK(holds(merged(doubles(), other, {.connect = {{"y", "p"}}}), "element types"));
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
