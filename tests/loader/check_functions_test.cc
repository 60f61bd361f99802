// The checker: functions, bodies, and types that only inference finds.
#include "loader/check/check.hpp"

#include "loader/text/parse_text.hpp"
#include "tests/loader/check_models.hpp"

namespace tenon {
namespace {

using namespace check_models;

TEST_CASE("Check: functions") {
  check_all(
      calling(),
      {{"the same twice", "function", [](auto& m) { *m.add_functions() = function("f"); }},
       {"another overload", "",
        [](auto& m) { *m.add_functions() = function("f"), m.mutable_functions(1)->set_overload("o"); }},
       {"no name", "required", [](auto& m) { *m.add_functions() = function(""); }},
       {"no domain", "required",
        [](auto& m) { *m.add_functions() = function("g"), m.mutable_functions(1)->clear_domain(); }},
       {"calls itself", "function", [](auto& m) { *m.mutable_functions(0) = function("f", "f"); }},
       {"calls itself through another", "function",
        [](auto& m) {
          *m.mutable_functions(0) = function("f", "g"), *m.add_functions() = function("g", "f");
        }},
       {"calls itself in two bodies", "function function",
        [](auto& m) {
          auto* n = m.mutable_functions(0)->mutable_node(0);
          *n = node("If", {"a"}, {"b"});
          for (const char* name : {"then_branch", "else_branch"}) {
            onnx::GraphProto g = branch("a", str_cat(name, "_out"));
            *g.mutable_node(0) = node("f", {"a"}, {str_cat(name, "_out")}, "local");
            *n->add_attribute() = body(name, g);
          }
        }},
       {"calls in a chain", "",
        [](auto& m) { *m.mutable_functions(0) = function("f", "g"), *m.add_functions() = function("g"); }},
       {"an input twice", "ssa", [](auto& m) { m.mutable_functions(0)->add_input("a"); }},
       {"an output twice", "function", [](auto& m) { m.mutable_functions(0)->add_output("b"); }},
       {"an output of nothing", "outputs", [](auto& m) { m.mutable_functions(0)->add_output("z"); }},
       {"an attribute twice", "function",
        [](auto& m) {
          m.mutable_functions(0)->add_attribute("k");
          *m.mutable_functions(0)->add_attribute_proto() = integer("k", 1);
        }},
       {"reads a value of its caller", "order",
        [](auto& m) { m.mutable_functions(0)->mutable_node(0)->set_input(0, "x"); }},
       {"assigns twice", "ssa",
        [](auto& m) { *m.mutable_functions(0)->add_node() = node("Relu", {"a"}, {"b"}); }},
       {"an opset that it does not import", "opset-import",
        [](auto& m) { m.mutable_functions(0)->mutable_opset_import(0)->set_domain("x"); }},
       {"an attribute that it declares", "",
        [](auto& m) {
          auto* f = m.mutable_functions(0);
          f->add_attribute("k");
          f->mutable_node(0)->set_op_type("Flatten");
          *f->mutable_node(0)->add_attribute() = attribute("axis", AttributeProto::INT);
          f->mutable_node(0)->mutable_attribute(0)->set_ref_attr_name("k");
        }},
       {"an attribute that it does not declare", "(function)",
        [](auto& m) {
          auto* f = m.mutable_functions(0);
          f->mutable_node(0)->set_op_type("Flatten");
          *f->mutable_node(0)->add_attribute() = attribute("axis", AttributeProto::INT);
          f->mutable_node(0)->mutable_attribute(0)->set_ref_attr_name("k");
        }},
       {"more inputs than it has", "arity", [](auto& m) { first(m).add_input("x"); }},
       {"more outputs than it has", "arity", [](auto& m) { first(m).add_output("z"); }},
       {"before IR 8", "(ir-version)", [](auto& m) { m.set_ir_version(7); }}});
  onnx::ModelProto m = calling();
  m.mutable_functions(0)->mutable_opset_import(0)->set_version(13);
  CHECK(rules(check(m)) == "opset-import");
  CHECK(rules(check(m, {.skip_opset_compatibility = true})) == "");
  m.mutable_opset_import(0)->set_version(14);  // Relu-14, but Relu-13 in the function
  CHECK(rules(check(m)) == "opset-import");
  m.mutable_functions(0)->mutable_opset_import(0)->set_version(20);
  CHECK(rules(check(m)) == "");
  CHECK(rules(check(function("f"), {}, {.opsets = {{"", 25}, {"local", 1}}})) == "");
}

// The rules that a model breaks, warnings left out.
std::string errors(std::string_view text, int ir = 10, int opset = 21) {
  const auto m = loader::parse_text<onnx::ModelProto>(str_cat(
      "<ir_version: ", ir, ", opset_import: [\"\" : ", opset, ", \"local\" : 1, \"own\" : 1]>\n", text));
  auto found = check(m, {.full = true});
  std::erase_if(found, [](const Diagnostic& d) { return d.severity != Severity::error; });
  return rules(found);
}
#define LOCAL "\n<opset_import: [\"\" : 21, \"local\" : 1], domain: \"local\">\n"

TEST_CASE("Check: functions that call themselves from bodies") {
  for (std::string_view nodes :
       {"y = If (c) <then_branch = a () => (p) { p = local.f (x, c) },"
        " else_branch = b () => (q) { q = Neg (x) }>",
        "n = Constant <value_int = 2> () y = Loop (n, c, x) <body = b (i, d, v) => (e, r)"
        " { e = Identity (d) r = local.f (v, d) }>",
        "y = Scan <num_scan_inputs = 1, body = b (v) => (r) { r = local.f (v, c) }> (x)",
        "y = If (c) <then_branch = a () => (p) { p = If (c) <then_branch = a2 () => (p2)"
        " { p2 = If (c) <then_branch = a3 () => (p3) { p3 = local.f (x, c) },"
        " else_branch = b3 () => (q3) { q3 = Neg (x) }> }, else_branch = b2 () => (q2) { q2 = Neg (x) }> },"
        " else_branch = b () => (q) { q = Neg (x) }>"})
    CHECK(errors(str_cat("g (float[2] x, bool c) => (float[2] y) { y = local.f (x, c) }" LOCAL
                         "f (x, c) => (y) { ",
                         nodes, " }")) == "function");
  const auto calls = [](std::string_view other) {
    return errors(str_cat("g (float[2] x, bool c) => (float[2] y) { y = local.f (x, c) }" LOCAL
                          "f (x, c) => (y) { y = If (c) <then_branch = a () => (p) { p = local.h (x, c) },"
                          " else_branch = b () => (q) { q = Neg (x) }> }" LOCAL "h (x, c) => (y) { ",
                          other, " }"));
  };
  CHECK(calls("y = Neg (x)") == "");
  CHECK(calls("y = local.f (x, c)") == "function");
  CHECK(calls("y = If (c) <then_branch = a () => (p) { p = local.f (x, c) },"
              " else_branch = b () => (q) { q = Neg (x) }>") == "function");
}

TEST_CASE("Check: bodies of loops, and the constants that they read") {
  const auto loop = [](std::string_view inputs, std::string_view parameters, std::string_view operand,
                       int ir) {
    return errors(str_cat("g (int64 n, bool c, float[2] x", inputs,
                          ") => (float[2] y) { y = Loop (n, c, x) <body = b (int64[] i, bool[] d, ",
                          parameters, " { e = Identity (d) r = Add (v, ", operand, ") }> }"),
                  ir, 8);
  };
  for (const int ir : {3, 10}) {
    CHECK(loop("", "float[] v) => (bool[] e, float[] r)", "v", ir) == "");
    CHECK(loop(", float[2] w = {1, 2}", "float[2] v) => (bool e, float[2] r)", "w", ir) == "");
  }
  // A constant of an input's name: before IR 4 each constant has to have one.
  constexpr std::string_view same = "float[2] v = {1, 2}) => (bool e, float[2] r)";
  CHECK(loop("", same, "v", 3) == "");
  CHECK(loop("", same, "v", 10) == "initializer");
  constexpr std::string_view own = "float[2] v) => (bool e, float[2] r) <float[2] w = {1, 2}>";
  CHECK(loop("", own, "w", 3) == "initializer");
  CHECK(loop("", own, "w", 10) == "");
}

TEST_CASE("Check: types of operands") {
  CHECK(errors("g (bool[2] x) => (bool[2] y) { y = Add (x, x) }") == "inference");
  CHECK(errors("g (float[2] x, int32[2] z) => (float[2] y) { y = Add (x, z) }") == "inference");
  CHECK(errors("g (float[2] x) => (bool[2] y) { y = Add (x, x) }") == "inference");
  CHECK(errors("g (float[1,3,4,4] x, float[3,2,3,3] w) => (float[1,4,6,6] y)"
               " { y = ConvTranspose <group = 2> (x, w) }") == "inference");
  CHECK(errors("g (opaque(a, B) x) => (opaque(a, B) y) { y = own.Op (x) }") == "");
  CHECK(errors("g (float[2] x) => (float[2] y) { y = own.Op <k : ints = []> (x) }") == "");
  // Before IR 3 no opsets are imported.
  onnx::ModelProto old = model();
  old.set_ir_version(2);
  old.clear_opset_import();
  CHECK_FALSE(has_errors(check(old)));
}

}  // namespace
}  // namespace tenon
