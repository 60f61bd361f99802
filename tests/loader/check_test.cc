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
       {"an output twice", "(outputs)", [](auto& m) { *graph(m).add_output() = value("y"); }},
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

TEST_CASE("Check: a body's inputs and initializers have names of their own") {
  check_all(choice(),
            {{"an input", "(shadowing)", [](auto& m) { *then_branch(m)->add_input() = value("x"); }},
             {"an initializer", "(shadowing)",
              [](auto& m) { *then_branch(m)->add_initializer() = floats("x", {1, 2}); }},
             {"an input that has an initializer", "(shadowing)",
              [](auto& m) {
                m.set_ir_version(3);
                *then_branch(m)->add_input() = value("x");
                *then_branch(m)->add_initializer() = floats("x", {1, 2});
              }},
             {"a name of the sibling", "", [](auto& m) { *then_branch(m)->add_input() = value("b"); }},
             {"a body within a body", "(shadowing)",
              [](auto& m) {
                onnx::GraphProto inner = branch("x", "d");
                *inner.add_input() = value("x");
                auto* outer = then_branch(m);
                *outer->mutable_node(0) = node("If", {"c"}, {"a"});
                *outer->mutable_node(0)->add_attribute() = body("then_branch", inner);
                *outer->mutable_node(0)->add_attribute() = body("else_branch", branch("x", "e"));
              }},
             {"a body of a function", "(shadowing)", [](auto& m) {
                const onnx::NodeProto chosen = first(m);
                import(m, "local", 1);
                *m.add_functions() = function("f");
                auto& f = *m.mutable_functions(0);
                f.set_input(0, "x"), f.add_input("c");
                *f.mutable_node(0) = chosen;
                f.mutable_node(0)->set_output(0, "b");
                *f.mutable_node(0)->mutable_attribute(1)->mutable_g() = branch("x", "e");
                *f.mutable_node(0)->mutable_attribute(0)->mutable_g()->add_input() = value("x");
              }}});
  // The loop's counter and condition are inputs of its body.
  onnx::ModelProto m = choice();
  onnx::GraphProto g = branch("x", "s");
  *g.add_input() = value("c", {}), *g.add_input() = value("k", {});
  first(m) = node("Loop", {"", "c"}, {"y"});
  *first(m).add_attribute() = body("body", g);
  CHECK(rules(check(m)) == "(shadowing)");
  CHECK(rules(check(m, {.full = true})) == "shadowing");
}

TEST_CASE("Check: names are UTF-8") {
  const std::string odd = "\xff";
  check_all(model(),
            {{"an input", "names", [&](auto& m) { *graph(m).add_input() = value(odd); }},
             {"an initializer", "names", [&](auto& m) { *graph(m).add_initializer() = floats(odd, {1}); }},
             {"an output", "names", [&](auto& m) { *graph(m).add_node() = node("Relu", {"x"}, {odd}); }},
             {"a node", "names", [&](auto& m) { first(m).set_name(odd); }},
             {"a graph", "names", [&](auto& m) { graph(m).set_name(odd); }},
             {"another alphabet", "", [](auto& m) { first(m).set_name("\u03b1"); }}});
  onnx::ModelProto m = model();
  first(m).set_name(odd);
  CHECK(check(m)[0].message == "name '\\xff' is not UTF-8");
}

TEST_CASE("Check: a body's outputs may be one value") {
  onnx::ModelProto m = choice();
  for (int k = 0; k < 2; ++k) {
    auto* g = first(m).mutable_attribute(k)->mutable_g();
    *g->add_output() = g->output(0);
  }
  first(m).add_output("z");
  CHECK(rules(check(m)) == "");
}

TEST_CASE("Check: opsets and operators that are not known") {
  onnx::ModelProto m = model();
  m.mutable_opset_import(0)->set_version(1'000'000);
  CHECK(rules(check(m)) == "(opset-import)");
  CHECK(rules(check(m, {.full = true})).starts_with("(opset-import)"));
  m = model();
  import(m, "x", 1), first(m).set_domain("x");
  CHECK(rules(check(m)) == "");
  const auto found = check(m, {.full = true});
  CHECK(rules(found).starts_with("(operator)"));
  CHECK(found[0].message == "the operators of 'x' are not known: 1 node is not checked against them");
  CHECK(rules(check(calling(), {.full = true})) == "");
}

TEST_CASE("Check: nodes out of order are one error of their graph") {
  const auto found = [](const std::string& nodes) {
    return check(loader::parse_text<onnx::ModelProto>(str_cat(
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[4] x, bool c) => (float[4] y) {", nodes, "}")));
  };
  const auto one = found("y = Add (a, b) a = Add (b, x) b = Neg (x)");
  REQUIRE(one.size() == 1);
  CHECK(
      one[0].message ==
      "input 'a' is defined only after the node; 2 more inputs are read too early in the same list of nodes");
  CHECK(one[0].node.find("0") != std::string::npos);
  const auto single = found("y = Neg (a) a = Neg (x)");
  REQUIRE(single.size() == 1);
  CHECK(single[0].message == "input 'a' is defined only after the node");
  // Reads of bodies count as reads of the graph that defines the value; a missing value is another cause.
  const auto body = found(R"(
      y = If (c) <then_branch = t () => (float[4] r) { r = Add (s, a) s = Neg (a) },
                  else_branch = e () => (float[4] q) { q = Neg (nothing) }>
      a = Neg (x))");
  REQUIRE(body.size() == 3);
  CHECK(rules(body) == "order order order");
  CHECK(body[0].message == "input 's' is defined only after the node");
  CHECK(body[1].message ==
        "input 'a' is defined only after the node; 1 more input is read too early in the same list of nodes");
  CHECK(body[2].message == "input 'nothing' is not defined by anything before the node");
  CHECK(check(loader::parse_text<onnx::ModelProto>(
                  "<ir_version: 10, opset_import: [\"\" : 21]> g (float[4] x) => (float[4] y) {"
                  "y = Add (a, b) a = Add (b, x) b = Neg (x) }"),
              {.max_diagnostics = 0})
            .size() == 1);
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
