// The checker: each rule, by a model that breaks it and nothing else.
#include "loader/check/check.hpp"

#include <functional>

#include "loader/text/parse_text.hpp"
#include "tests/loader/check_models.hpp"

namespace tenon {
namespace {

using namespace check_models;

TEST_CASE("Check: what a model says of itself") {
  check_all(model(),
            {{"no IR version", "ir-version opset-import", [](auto& m) { m.clear_ir_version(); }},
             {"an IR version to come", "ir-version", [](auto& m) { m.set_ir_version(99); }},
             {"no opset", "opset-import opset-import",
              [](auto& m) {
                m.clear_opset_import(), import(m, "x", 1), m.clear_opset_import();
                first(m).set_domain("x");
              }},
             {"an opset before IR 3", "opset-import", [](auto& m) { m.set_ir_version(2); }},
             {"two versions of a domain", "opset-import", [](auto& m) { import(m, "ai.onnx", 24); }},
             {"a domain twice", "(opset-import)", [](auto& m) { import(m, "ai.onnx", 25); }},
             {"version 0", "opset-import", [](auto& m) { import(m, "ai.onnx.ml", 0); }},
             {"a version beyond int", "opset-import", [](auto& m) { import(m, "x", int64_t{1} << 40); }},
             {"metadata twice", "metadata",
              [](auto& m) {
                m.add_metadata_props()->set_key("k");
                m.add_metadata_props()->set_key("k");
              }},
             {"no graph", "required", [](auto& m) { m.clear_graph(); }},
             {"no name of the graph", "required", [](auto& m) { graph(m).clear_name(); }}});
  CHECK(rules(check(model(), {.pedantic = true})) == "(names)");
}

TEST_CASE("Check: inputs and outputs") {
  check_all(
      model(),
      {{"no name", "required", [](auto& m) { *graph(m).add_input() = value(""); }},
       {"no type", "type", [](auto& m) { graph(m).mutable_input(0)->clear_type(); }},
       {"a type that says nothing", "type",
        [](auto& m) { graph(m).mutable_input(0)->mutable_type()->clear_value(); }},
       {"no element type", "type",
        [](auto& m) { graph(m).mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_elem_type(); }},
       {"no shape", "type",
        [](auto& m) { graph(m).mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape(); }},
       {"an element type of none", "element-type",
        [](auto& m) { graph(m).mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(77); }},
       {"an element type of a later IR", "element-type",
        [](auto& m) {
          m.set_ir_version(9);
          graph(m).mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::INT4);
        }},
       {"a sequence of nothing", "type",
        [](auto& m) { graph(m).mutable_input(0)->mutable_type()->mutable_sequence_type(); }},
       {"an optional of nothing", "type",
        [](auto& m) { graph(m).mutable_input(0)->mutable_type()->mutable_optional_type(); }},
       {"a map of nothing to nothing", "type type",
        [](auto& m) { graph(m).mutable_input(0)->mutable_type()->mutable_map_type(); }},
       {"a map from floats", "type type",
        [](auto& m) {
          graph(m).mutable_input(0)->mutable_type()->mutable_map_type()->set_key_type(TensorProto::FLOAT);
        }},
       {"an opaque type without a name", "type",
        [](auto& m) { graph(m).mutable_input(0)->mutable_type()->mutable_opaque_type()->set_domain("d"); }},
       {"a negative extent", "(extents)", [](auto& m) { *graph(m).mutable_input(0) = value("x", {-1}); }},
       {"an input twice", "ssa", [](auto& m) { *graph(m).add_input() = value("x"); }},
       {"an output of nothing", "outputs", [](auto& m) { *graph(m).add_output() = value("z"); }},
       {"a value twice described", "(value-info)",
        [](auto& m) { *graph(m).add_value_info() = value("v"), *graph(m).add_value_info() = value("v"); }}});
}

TEST_CASE("Check: order, single assignment and scopes") {
  check_all(model(),
            {{"an input of nothing", "order", [](auto& m) { first(m).set_input(0, "z"); }},
             {"an input of a later node", "order",
              [](auto& m) {
                first(m).set_input(0, "z");
                *graph(m).add_node() = node("Relu", {"x"}, {"z"});
              }},
             {"an output twice", "ssa", [](auto& m) { *graph(m).add_node() = node("Relu", {"x"}, {"y"}); }},
             {"an output that is an input", "ssa",
              [](auto& m) { *graph(m).add_node() = node("Relu", {"x"}, {"x"}); }},
             {"an output that is an initializer", "ssa", [](auto& m) {
                *graph(m).add_initializer() = floats("w", {1});
                *graph(m).add_node() = node("Relu", {"x"}, {"w"});
              }}});
  check_all(
      choice(),
      {{"a body reads a value to come", "order",
        [](auto& m) {
          *then_branch(m) = branch("later", "a");
          *graph(m).add_node() = node("Relu", {"x"}, {"later"});
        }},
       {"a body reads a value of its sibling", "order", [](auto& m) { *then_branch(m) = branch("b", "a"); }},
       {"a body takes a name that is visible", "ssa", [](auto& m) { *then_branch(m) = branch("x", "c"); }},
       {"a body gives a value around it", "outputs",
        [](auto& m) { then_branch(m)->mutable_output(0)->set_name("x"); }},
       {"the graph reads a value of a body", "order",
        [](auto& m) { *graph(m).add_node() = node("Relu", {"a"}, {"z"}); }},
       {"a body without a name", "required", [](auto& m) { then_branch(m)->clear_name(); }},
       {"an output without a name", "required outputs",
        [](auto& m) { then_branch(m)->mutable_output(0)->clear_name(); }}});
  // Values of a body are its own: the same name may be used after it, and in the other one.
  onnx::ModelProto m = choice();
  m.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g()->mutable_node(0)->set_output(0, "a");
  m.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g()->mutable_output(0)->set_name("a");
  *graph(m).add_node() = node("Relu", {"x"}, {"a"});
  CHECK(rules(check(m)) == "");
}

TEST_CASE("Check: initializers by IR version") {
  onnx::ModelProto m = model();
  *graph(m).add_initializer() = floats("w", {1, 2});
  CHECK(rules(check(m)) == "");
  m.set_ir_version(3);
  CHECK(rules(check(m)) == "initializer");
  *graph(m).add_input() = value("w");
  CHECK(rules(check(m)) == "");
  m.set_ir_version(13);
  CHECK(rules(check(m)) == "");
  *graph(m).add_initializer() = floats("w", {1, 2});
  CHECK(rules(check(m)) == "initializer");
  *graph(m).mutable_initializer(1) = floats("", {1});
  CHECK(rules(check(m)) == "required");
  *graph(m).mutable_initializer(1) = floats("x", {1, 2, 3});
  CHECK(rules(check(m)) == "(initializer)");
  CHECK(rules(check(m, {.full = true})) == "(initializer) inference");

  m = choice();
  *then_branch(m)->add_input() = value("i");
  *then_branch(m)->add_initializer() = floats("i", {1});
  CHECK(rules(check(m)).starts_with("initializer"));
  m.set_ir_version(3);
  CHECK(rules(check(m)).find("initializer ") == std::string::npos);
}

TEST_CASE("Check: nodes against their operators") {
  check_all(
      model(),
      {{"no op_type", "required operator", [](auto& m) { first(m).clear_op_type(); }},
       {"an unknown operator", "operator", [](auto& m) { first(m).set_op_type("Rolu"); }},
       {"a domain that is not imported", "opset-import", [](auto& m) { first(m).set_domain("x"); }},
       {"a domain by its long name", "", [](auto& m) { first(m).set_domain("ai.onnx"); }},
       {"an operator of a later opset", "operator",
        [](auto& m) { m.mutable_opset_import(0)->set_version(5), first(m).set_op_type("Gelu"); }},
       {"a deprecated operator", "operator",
        [](auto& m) {
          m.mutable_opset_import(0)->set_version(11), first(m) = node("Scatter", {"x", "x", "x"}, {"y"});
        }},
       {"an experiment", "(operator)", [](auto& m) { first(m).set_op_type("Affine"); }},
       {"an operator of a domain that is not ONNX's", "",
        [](auto& m) { import(m, "x", 1), first(m).set_domain("x"), first(m).set_op_type("Rolu"); }},
       {"no operands", "arity arity arity outputs", [](auto& m) { first(m) = node("Relu", {}, {}); }},
       {"too few inputs", "arity", [](auto& m) { first(m) = node("Add", {"x"}, {"y"}); }},
       {"too many inputs", "arity", [](auto& m) { first(m) = node("Relu", {"x", "x"}, {"y"}); }},
       {"too many outputs", "arity", [](auto& m) { first(m) = node("Relu", {"x"}, {"y", "z"}); }},
       {"an input left out", "arity", [](auto& m) { first(m) = node("Add", {"x", ""}, {"y"}); }},
       {"an optional input left out", "", [](auto& m) { first(m) = node("Clip", {"x", "", "x"}, {"y"}); }},
       {"a variadic operator without inputs", "arity",
        [](auto& m) {
          first(m) = node("Concat", {}, {"y"}), *first(m).add_attribute() = integer("axis", 0);
        }},
       {"a variadic operator with many", "",
        [](auto& m) { first(m) = node("Max", {"x", "x", "x", "x"}, {"y"}); }},
       {"an unknown attribute", "attribute",
        [](auto& m) { *first(m).add_attribute() = integer("alpha", 1); }},
       {"an attribute of the writer's own", "",
        [](auto& m) { *first(m).add_attribute() = integer("__alpha", 1); }},
       {"an attribute twice", "attribute",
        [](auto& m) {
          first(m).set_op_type("Flatten");
          *first(m).add_attribute() = integer("axis", 1);
          *first(m).add_attribute() = integer("axis", 1);
        }},
       {"an attribute of another type", "attribute",
        [](auto& m) { first(m).set_op_type("Elu"), *first(m).add_attribute() = integer("alpha", 1); }},
       {"an attribute missing", "attribute", [](auto& m) { first(m).set_op_type("Cast"); }},
       {"an attribute of another version", "attribute",
        [](auto& m) {
          first(m).set_op_type("Clip"), *first(m).add_attribute() = attribute("min", AttributeProto::FLOAT);
        }},
       {"a graph missing", "attribute",
        [](auto& m) {
          m = choice();
          first(m).mutable_attribute(0)->clear_g();
        }},
       {"statistics in part", "arity",
        [](auto& m) { first(m) = node("BatchNormalization", {"x", "x", "x", "x", "x"}, {"y", "z"}); }},
       {"GroupNormalization as it never was", "operator", [](auto& m) {
          m.mutable_opset_import(0)->set_version(18);
          first(m) = node("GroupNormalization", {"x", "x", "x"}, {"y"});
          *first(m).add_attribute() = integer("num_groups", 1);
        }}});
  onnx::ModelProto m = model();
  import(m, "x", 1), first(m).set_domain("x");
  CHECK(rules(check(m, {.custom_domains = true})) == "operator");
}

TEST_CASE("Check: the form of attributes") {
  const auto found = [](const std::function<void(AttributeProto&)>& change, int64_t ir = 13) {
    AttributeProto a = integer("a", 1);
    change(a);
    return rules(check(a, {}, {.ir_version = ir}));
  };
  CHECK(found([](auto&) {}) == "");
  CHECK(found([](auto& a) { a.clear_name(); }) == "required");
  CHECK(found([](auto& a) { a.clear_type(); }) == "required");
  CHECK(found([](auto& a) { a.clear_type(); }, 1) == "");
  CHECK(found([](auto& a) { a.set_type(AttributeProto::UNDEFINED); }) == "required");
  CHECK(found([](auto& a) { a.set_type(AttributeProto::FLOAT); }) == "attribute");
  CHECK(found([](auto& a) { a.set_f(1); }) == "attribute attribute");
  CHECK(found([](auto& a) { a.clear_i(); }) == "");
  CHECK(found([](auto& a) { a.clear_i(), a.set_ref_attr_name("r"); }) == "");
  CHECK(found([](auto& a) { a.set_ref_attr_name("r"); }) == "attribute");
  CHECK(found([](auto& a) {
          a = attribute("a", AttributeProto::TENSORS), *a.add_tensors() = floats("t", {1}),
          a.mutable_tensors(0)->add_dims(7);
        }) == "tensor-data");
  check_all(model(), {{"a reference outside of functions", "attribute", [](auto& m) {
                         first(m).set_op_type("Flatten");
                         *first(m).add_attribute() = attribute("axis", AttributeProto::INT);
                         first(m).mutable_attribute(0)->set_ref_attr_name("r");
                       }}});
}

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

TEST_CASE("Check: symbols of extents") {
  onnx::ModelProto m = model();
  *graph(m).mutable_input(0) = symbolic("x", "N");
  *graph(m).add_input() = symbolic("z", "N");
  *graph(m).add_initializer() = floats("x", {1, 2, 3});
  CHECK(rules(check(m)) == "");
  *graph(m).add_initializer() = floats("z", {1, 2, 3, 4});
  CHECK(rules(check(m)) == "dim-param");
  *graph(m).mutable_initializer(1) = floats("z", {1, 2, 3});
  CHECK(rules(check(m)) == "");
  *graph(m).add_output() = value("x", {4});
  CHECK(rules(check(m)) == "(initializer) dim-param");
  *graph(m).mutable_output(1) = value("x", {3, 1});
  CHECK(rules(check(m)) == "(initializer) dim-param");
}

TEST_CASE("Check: annotations") {
  const auto annotate = [](onnx::ModelProto& m, const char* tensor, const char* scale) {
    auto* q = graph(m).add_quantization_annotation();
    q->set_tensor_name(tensor);
    q->add_quant_parameter_tensor_names()->set_key("SCALE_TENSOR");
    q->mutable_quant_parameter_tensor_names(0)->set_value(scale);
  };
  check_all(model(), {{"sound", "", [&](auto& m) { annotate(m, "y", "x"); }},
                      {"of nothing", "quantization", [&](auto& m) { annotate(m, "z", "x"); }},
                      {"a scale that is not there", "quantization", [&](auto& m) { annotate(m, "y", "z"); }},
                      {"metadata of a node twice", "metadata", [](auto& m) {
                         first(m).add_metadata_props()->set_key("k");
                         first(m).add_metadata_props()->set_key("k");
                       }}});
}

TEST_CASE("Check: training") {
  onnx::ModelProto sound = model();
  *graph(sound).add_initializer() = floats("w", {1});
  auto* t = sound.add_training_info();
  auto* i = t->mutable_initialization();
  i->set_name("initialization");
  *i->add_node() = node("RandomNormal", {}, {"r"});
  auto* shape = i->mutable_node(0)->add_attribute();
  *shape = attribute("shape", AttributeProto::INTS);
  shape->add_ints(1);
  *i->add_output() = value("r");
  auto* a = t->mutable_algorithm();
  a->set_name("algorithm");
  *a->add_node() = node("Add", {"w", "y"}, {"w2"});
  *a->add_output() = value("w2");
  auto* b = t->add_initialization_binding();
  b->set_key("w"), b->set_value("r");
  b = t->add_update_binding();
  b->set_key("w"), b->set_value("w2");
  const auto info = [](onnx::ModelProto& m) { return m.mutable_training_info(0); };
  check_all(sound,
            {{"a key twice", "training",
              [&](auto& m) { *info(m)->add_update_binding() = info(m)->update_binding(0); }},
             {"a key that is no initializer", "training",
              [&](auto& m) { info(m)->mutable_update_binding(0)->set_key("x"); }},
             {"a value that is no output", "training",
              [&](auto& m) { info(m)->mutable_initialization_binding(0)->set_value("w2"); }},
             {"a graph that assigns a value of the model", "ssa",
              [&](auto& m) { *info(m)->mutable_algorithm()->add_node() = node("Relu", {"x"}, {"y"}); }},
             {"a graph that reads what is not there", "order",
              [&](auto& m) { *info(m)->mutable_algorithm()->add_node() = node("Relu", {"q"}, {"p"}); }},
             {"a key that is a sparse initializer", "training",
              [&](auto& m) {
                auto* s = graph(m).add_sparse_initializer();
                *s->mutable_values() = floats("s", {1});
                s->mutable_indices()->set_data_type(TensorProto::INT64);
                s->mutable_indices()->add_dims(1);
                s->mutable_indices()->add_int64_data(0);
                s->add_dims(1);
                info(m)->mutable_update_binding(0)->set_key("s");
              }},
             {"a value that is an output of the main graph", "",
              [&](auto& m) { info(m)->mutable_update_binding(0)->set_value("y"); }},
             {"a key in two stages", "training",
              [&](auto& m) {
                *m.add_training_info() = m.training_info(0);
                info(m)->clear_initialization(), info(m)->clear_initialization_binding();
              }},
             {"an initialization with an input", "training",
              [&](auto& m) { *info(m)->mutable_initialization()->add_input() = value("q"); }},
             {"no initialization, but bindings of it", "training",
              [&](auto& m) { info(m)->clear_initialization(); }},
             {"neither", "",
              [&](auto& m) { info(m)->clear_initialization(), info(m)->clear_initialization_binding(); }}});
}

TEST_CASE("Check: devices and sharding") {
  onnx::ModelProto sound = model();
  auto* c = sound.add_configuration();
  c->set_name("two");
  c->set_num_devices(2);
  auto* placed = first(sound).add_device_configurations();
  placed->set_configuration_id("two");
  auto* s = placed->add_sharding_spec();
  s->set_tensor_name("x");
  s->add_device(0), s->add_device(1);
  s->add_sharded_dim()->set_axis(0);
  s->mutable_sharded_dim(0)->add_simple_sharding()->set_num_shards(2);
  const auto spec = [](onnx::ModelProto& m) {
    return first(m).mutable_device_configurations(0)->mutable_sharding_spec(0);
  };
  check_all(
      sound,
      {{"a configuration without a name", "device device",
        [](auto& m) { m.mutable_configuration(0)->clear_name(); }},
       {"a configuration twice", "device", [](auto& m) { *m.add_configuration() = m.configuration(0); }},
       {"no devices", "device sharding sharding",
        [](auto& m) { m.mutable_configuration(0)->clear_num_devices(); }},
       {"another number of names", "device", [](auto& m) { m.mutable_configuration(0)->add_device("gpu"); }},
       {"an unknown configuration", "device",
        [](auto& m) { first(m).mutable_device_configurations(0)->set_configuration_id("three"); }},
       {"no configuration", "device",
        [](auto& m) { first(m).mutable_device_configurations(0)->clear_configuration_id(); }},
       {"a tensor of another node", "sharding", [&](auto& m) { spec(m)->set_tensor_name("z"); }},
       {"a device that is not there", "sharding", [&](auto& m) { spec(m)->set_device(1, 2); }},
       {"a negative device", "sharding", [&](auto& m) { spec(m)->set_device(1, -1); }},
       {"a group of devices", "",
        [&](auto& m) {
          spec(m)->set_device(1, -1);
          auto* g = spec(m)->add_index_to_device_group_map();
          g->set_key(-1), g->add_value(0), g->add_value(1);
        }},
       {"a group with a device that is not there", "sharding",
        [&](auto& m) {
          spec(m)->set_device(1, -1);
          auto* g = spec(m)->add_index_to_device_group_map();
          g->set_key(-1), g->add_value(7);
        }},
       {"an axis beyond the rank", "sharding",
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->set_axis(1); }},
       {"a negative axis", "", [&](auto& m) { spec(m)->mutable_sharded_dim(0)->set_axis(-1); }},
       {"no axis", "sharding", [&](auto& m) { spec(m)->mutable_sharded_dim(0)->clear_axis(); }},
       {"no number of pieces", "sharding sharding",
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->mutable_simple_sharding(0)->clear_num_shards(); }},
       {"more pieces than devices", "sharding",
        [&](auto& m) { spec(m)->mutable_sharded_dim(0)->mutable_simple_sharding(0)->set_num_shards(3); }},
       {"before IR 11", "(ir-version) (ir-version)", [](auto& m) { m.set_ir_version(10); }}});
}

TEST_CASE("Check: inference comes after all else") {
  onnx::ModelProto m = model();
  *graph(m).mutable_output(0) = value("y", {3});
  CHECK(rules(check(m)) == "");
  CHECK(rules(check(m, {.full = true})) == "inference");
  graph(m).mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::BOOL);
  CHECK(rules(check(m)) == "");
  CHECK(rules(check(m, {.full = true})) == "inference");
  first(m).set_op_type("Rolu");
  CHECK(rules(check(m, {.full = true})) == "operator");
}

TEST_CASE("Check: diagnostics name the place") {
  onnx::ModelProto m = choice();
  first(m).set_name("if1");
  then_branch(m)->mutable_node(0)->set_input(0, "z\n");
  auto found = check(m);
  REQUIRE(found.size() == 1);
  CHECK(to_string(found[0]) ==
        "error [order] main/'if1' (If).then_branch, node 0 (Relu): input 'z?' is not defined by "
        "anything before the node");
  m = calling();
  m.mutable_functions(0)->mutable_node(0)->set_op_type(std::string(500, 'o'));
  found = check(m);
  REQUIRE(found.size() == 1);
  CHECK(found[0].graph == "function local.f");
  CHECK(found[0].message.size() < 200);

  m = model();
  for (int k = 0; k < 50; ++k) *graph(m).add_node() = node("Relu", {"z"}, {"y"});
  CHECK(check(m).size() == 100);
  found = check(m, {.max_diagnostics = 10});
  CHECK(found.size() == 11);
  CHECK(found.back().message == "90 more are left out");
}

TEST_CASE("Check: nesting without end") {
  onnx::GraphProto g = branch("x", "y");
  for (int k = 0; k < 300; ++k) {
    onnx::GraphProto outer;
    outer.set_name("g");
    *outer.add_node() = node("N", {"x"}, {"y"}, "d");
    *outer.mutable_node(0)->add_attribute() = attribute("b", AttributeProto::GRAPH);
    outer.mutable_node(0)->mutable_attribute(0)->mutable_g()->Swap(&g);
    g.Swap(&outer);
  }
  onnx::ModelProto m = model();
  import(m, "d", 1);
  graph(m).mutable_node()->Clear();
  *graph(m).add_node() = node("N", {"x"}, {"y"}, "d");
  *first(m).add_attribute() = body("b", g);
  CHECK(rules(check(m)).starts_with("nesting"));

  onnx::ValueInfoProto v = value("v");
  onnx::TypeProto* t = v.mutable_type();
  for (int k = 0; k < 300; ++k) t = t->mutable_sequence_type()->mutable_elem_type();
  CHECK(rules(check(v)) == "nesting");
}

TEST_CASE("Check: parts by themselves") {
  CHECK(rules(check(model().graph())) == "");
  CHECK(rules(check(node("Relu", {"x"}, {"y"}))) == "");
  CHECK(rules(check(node("Relu", {""}, {"y"}))) == "arity");
  CHECK(rules(check(node("Relu", {"x"}, {"y"}), {}, {.opsets = {{"x", 1}}})) == "opset-import");
  CHECK(rules(check(node("Scatter", {"x", "x", "x"}, {"y"}), {}, {.opsets = {{"", 9}}})) == "");
  CHECK(rules(check(value("v"))) == "");
  CHECK(rules(check(onnx::ValueInfoProto())) == "required type");
}

}  // namespace
}  // namespace tenon
