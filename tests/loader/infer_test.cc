// Shape inference of files: errors of inference, and errors of runs alone.
#include "loader/infer/infer.hpp"

#include <doctest/doctest.h>

#include <string>

#include "loader/display.hpp"
#include "loader/format/tensor.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"
#include "tenon/loader.hpp"
#include "tenon/op/families/movement.hpp"
#include "tenon/op/framework/attribute.hpp"

namespace tenon {
namespace {

onnx::ModelProto model(const char* op, std::initializer_list<std::initializer_list<int64_t>> inputs) {
  onnx::ModelProto m;
  m.set_ir_version(10);
  m.add_opset_import()->set_version(21);
  auto* g = m.mutable_graph();
  g->set_name("g");
  auto* n = g->add_node();
  n->set_op_type(op);
  for (const auto& extents : inputs) {
    auto* x = g->add_input();
    x->set_name(str_cat("x", g->input_size()));
    n->add_input(x->name());
    auto* t = x->mutable_type()->mutable_tensor_type();
    t->set_elem_type(onnx::TensorProto::FLOAT);
    t->mutable_shape();
    for (int64_t e : extents) t->mutable_shape()->add_dim()->set_dim_value(e);
  }
  n->add_output("y");
  g->add_output()->set_name("y");
  return m;
}
onnx::AttributeProto* attribute(onnx::NodeProto& n, const char* name) {
  auto* a = n.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::INT);
  return a;
}
// "1,4,2,2", or the refusal.
std::string inferred(onnx::ModelProto m, InferOptions options = {.strict = true}) {
  try {
    loader::infer_shapes(m, options);
  } catch (const Error& e) {
    return e.what();
  }
  std::string text;
  for (const auto& d : m.graph().output(0).type().tensor_type().shape().dim())
    text += str_cat(text.empty() ? "" : ",", d.has_dim_value() ? std::to_string(d.dim_value()) : "?");
  return text;
}

TEST_CASE("Inference goes on where only runs refuse") {
  onnx::ModelProto m = model("Conv", {{1, 3, 4, 4}, {4, 1, 3, 3}});
  attribute(*m.mutable_graph()->mutable_node(0), "group")->set_i(3);
  CHECK(inferred(m) == "1,4,2,2");
  CHECK_THROWS_WITH_AS(Model(m).graph(), doctest::Contains("4 output channels do not divide into 3 groups"),
                       Error);
  m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_i(2);
  CHECK(inferred(m).find("X has 3 channels") != std::string::npos);
  CHECK(inferred(m, {}).empty());
}

TEST_CASE("Inference of operators that ONNX deprecated") {
  onnx::ModelProto m = model("Scatter", {{3, 3}, {2, 3}, {2, 3}});
  m.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::INT64);
  CHECK(inferred(m) == "3,3");
}

TEST_CASE("Inference of functions that multiply") {
  onnx::ModelProto m = model("f0", {{2}});
  m.mutable_graph()->mutable_node(0)->set_domain("own");
  auto* own = m.add_opset_import();
  own->set_domain("own");
  own->set_version(1);
  const auto add_function = [&](int k, bool last) {
    auto* f = m.add_functions();
    f->set_name(str_cat("f", k));
    f->set_domain("own");
    f->add_input("a");
    f->add_output("c");
    *f->add_opset_import() = m.opset_import(0);
    *f->add_opset_import() = *own;
    for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")}) {
      auto* n = f->add_node();
      n->set_op_type(last ? "Neg" : str_cat("f", k + 1));
      if (!last) n->set_domain("own");
      n->add_input(from);
      n->add_output(to);
    }
  };
  for (int k = 0; k < 4; ++k) add_function(k, k == 3);
  CHECK(inferred(m) == "2");
  CHECK(inferred(m, {.max_nodes = 31}) == "2");  // 16 negations, and 15 calls
  CHECK(inferred(m, {.max_nodes = 30}).find("more than 30 nodes") != std::string::npos);
  m.clear_functions();
  for (int k = 0; k < 60; ++k) add_function(k, k == 59);
  // Counted, not inferred until the bound is reached.
  CHECK(inferred(m, {}).find("more than 1000000 nodes; a function's nodes count once per call") !=
        std::string::npos);
  CHECK(inferred(m, {.max_nodes = int64_t{1} << 59}).find("nodes count once per call") != std::string::npos);
}

TEST_CASE("Inference of sparse constants that stand for much") {
  const int64_t length = int64_t{1} << 50;  // no memory holds them
  onnx::ModelProto m = model("Neg", {});
  auto* s = m.mutable_graph()->add_sparse_initializer();
  loader::write_sparse_tensor(
      {Tensor<float>(Extents{1}, {1}), Tensor<int64_t>(Extents{1}, {7}), Extents{length}}, *s);
  s->mutable_values()->set_name("s");
  onnx::NodeProto& n = *m.mutable_graph()->mutable_node(0);
  n.add_input("s");
  CHECK(inferred(m) == std::to_string(length));
  n.clear_input();
  n.set_op_type("Constant");
  auto* a = attribute(n, "sparse_value");
  a->set_type(onnx::AttributeProto::SPARSE_TENSOR);
  a->mutable_sparse_tensor()->Swap(s);
  m.mutable_graph()->clear_sparse_initializer();
  CHECK(inferred(m) == std::to_string(length));
}

// The types of the outputs, "float[2] int64[N]", or the refusal.
std::string types(std::string_view text, InferOptions options = {.strict = true}, int opset = 18) {
  onnx::ModelProto m = loader::parse_text<onnx::ModelProto>(
      str_cat("<ir_version: 8, opset_import: [\"\" : ", opset, ", \"local\" : 1, \"own\" : 1]>\n", text));
  try {
    loader::infer_shapes(m, options);
  } catch (const Error& e) {
    return e.what();
  }
  std::string types;
  for (const auto& o : m.graph().output())
    types += str_cat(types.empty() ? "" : " ", o.has_type() ? loader::type_text(o.type()) : "?");
  return types;
}
#define LOCAL "\n<opset_import: [\"\" : 18, \"local\" : 1], domain: \"local\">\n"

struct Row {
  std::string_view graph, expected;
};
constexpr InferOptions lenient{}, typed{.strict = true, .check_types = true};

TEST_CASE("Inference of the extents that computed shapes hold") {
  for (const Row& row : {
           Row{"g (int32[7,4,1] x) => (z) { s = Shape (x) t = Cast <to = 7> (s) z = ConstantOfShape (t) }",
               "float[7,4,1]"},
           {"g (int32[N,3,256] x) => (z) { s = Shape (x) z = ConstantOfShape (s) }", "float[N,3,256]"},
           {"g (int32[2,5] x) => (z) { s = Shape (x) t = Squeeze (s) z = ConstantOfShape (t) }",
            "float[2,5]"},
           {"g (int32[5] x) => (z) <int64[1] a = {0}> { s = Shape (x) t = Squeeze (s, a)"
            " u = Unsqueeze (t, a) z = ConstantOfShape (u) }",
            "float[5]"},
           {"g () => (z) <int64[3] w = {2, 3, 5}, int64[1] a = {0}> { s = Size (w) t = Unsqueeze (s, a)"
            " z = ConstantOfShape (t) }",
            "float[3]"},
           {"g (int8[10,11,6] x, int8[5] y) => (z) { s = Shape (x) t = Shape (y) u = Sub (s, t)"
            " z = ConstantOfShape (u) }",
            "float[5,6,1]"},
           {"g (int8[2] x, int8[5,1,7] y) => (z) { s = Shape (x) t = Shape (y) u = Mul (s, t)"
            " z = ConstantOfShape (u) }",
            "float[10,2,14]"},
           {"g (int8 x, int8[3] y) => (z) { s = Shape (x) t = Shape (y) u = Add (s, t)"
            " z = ConstantOfShape (u) }",
            "float"},  // no elements and one are none
           {"g (int8[1,2] x, int8[3,M] y) => (z) { s = Shape (x) t = Shape (y)"
            " u = Concat <axis = 0> (s, t) z = ConstantOfShape (u) }",
            "float[1,2,3,M]"},
           {"g (int8[1,2,3,4,5,6] x) => (z) <int64[3] i = {0, 3, 5}> { s = Shape (x) t = Gather (s, i)"
            " z = ConstantOfShape (t) }",
            "float[1,4,6]"},
           {"g (int8[1,2,3,4,5,6] x) => (z) <int64[2] i = {-2, -1}> { s = Shape (x) t = Gather (s, i)"
            " z = ConstantOfShape (t) }",
            "float[5,6]"},
           {"g (int8[1,2,3,4,5,6,7,8] x) => (z)"
            " <int64[1] b = {1}, int64[1] e = {7}, int64[1] a = {0}, int64[1] d = {3}>"
            " { s = Shape (x) t = Slice (s, b, e, a, d) z = ConstantOfShape (t) }",
            "float[2,5]"},
           {"g (int8[1,2,3,4,5,6,7,8] x) => (z) <int64[1] b = {2}, int64[1] e = {5}>"
            " { s = Shape (x) t = Slice (s, b, e) z = ConstantOfShape (t) }",
            "float[3,4,5]"},
           {"g (int8[1,2,3,4,5,6,7,8] x) => (z)"
            " <int64[1] b = {-3}, int64[1] e = {-7}, int64[1] a = {0}, int64[1] d = {-2}>"
            " { s = Shape (x) t = Slice (s, b, e, a, d) z = ConstantOfShape (t) }",
            "float[6,4]"},
           {"g (float[4,1,16] x, float[1,8,16] y) => (z) { s = Shape (x) z = Expand (y, s) }",
            "float[4,8,16]"},
           {"g (float[N,3,H] x, float[1] y) => (z) <int64[3] d = {0, 2, 0}>"
            " { s = Shape (x) t = Add (s, d) z = Reshape (y, t) }",
            "float[N,5,H]"},
           {"g (float[N,4,H] x, float[1] y) => (z) <int64[3] d = {0, 1, 0}>"
            " { s = Shape (x) t = Sub (s, d) z = Reshape (y, t) }",
            "float[N,3,H]"},
           {"g (float[N,3,H] x, float[1] y) => (z) <int64[3] d = {1, 2, 1}>"
            " { s = Shape (x) t = Mul (s, d) z = Reshape (y, t) }",
            "float[N,6,H]"},
           {"g (float[N,256,3] x, float[N,196608] m) => (z)"
            " <int64[1] b = {0}, int64[1] e = {2}, int64[1] i = {-1}> { s = Shape (x) t = Slice (s, b, e)"
            " u = Concat <axis = 0> (t, i) z = Reshape (m, u) }",
            "float[N,256,768]"},
           // An input's extents that the model does not state have the names of equal ones.
           {"g (float[?,3] x, float[M,3] y) => (z) { z = Concat <axis = 1> (x, y) }", "float[M,6]"},
           // Of elements that the run gives, the number is known.
           {"g (float[N,1,H] x, int64[1] k) => (z) <int64[1] a = {1}, int64[1] b = {2}> { s = Shape (x)"
            " h = Gather (s, b) t = Concat <axis = 0> (a, k, h) z = Expand (x, t) }",
            "float[N,unk__0,H]"},
           {"g (float[1,196608] m) => (z) <int64[3] s = {1, -1, 256}> { z = Reshape (m, s) }",
            "float[1,768,256]"},
           {"g (float[4,8,16] x) => (z) { s = Constant <value_ints = [4, 2, 8]> ()"
            " two = Constant <value_int = 2> () t = Mul (s, two) z = Reshape (x, t) }",
            "float[8,4,16]"},
           {"g (float[256] y) => (float[N] z) <float[0] x = {}> { z = Concat <axis = 0> (x, y) }",
            "float[256]"},
           {"g (float[256] y) => (float[N] z) <float[0] x = {}> { z = Concat <axis = -1> (x, y) }",
            "float[256]"},
       })
    CHECK_MESSAGE(types(row.graph) == row.expected, row.graph, ": ", types(row.graph));
  const std::string sum = types(
      "g (int8[2,4,5] x, int8[2,4,M] y) => (z) { s = Shape (x) t = Shape (y) u = Add (s, t)"
      " z = ConstantOfShape (u) }");
  CHECK_MESSAGE((sum.starts_with("float[4,8,") && sum != "float[4,8,M]"), sum);
}

TEST_CASE("Inference of extents that no number holds") {
  for (const auto& [op, a, b] : {std::tuple{"Add", "9223372036854775807", "1"},
                                 {"Sub", "-9223372036854775807", "2"},
                                 {"Mul", "4611686018427387904", "2"}}) {
    const std::string text = str_cat("g () => (z) <int64[1] a = {", a, "}, int64[1] b = {", b,
                                     "}> { s = ", op, " (a, b) z = ConstantOfShape (s) }");
    CHECK(types(text).find("overflows") != std::string::npos);
    CHECK(types(text, lenient).starts_with("float["));
  }
}

TEST_CASE("Inference through functions") {
  for (const Row& row : {
           Row{"g (float[4,1,16] x, float[1,8,16] y) => (z, w) { t = local.f (y) s = local.f (x)"
               " z = Expand (y, s) w = Expand (y, t) }" LOCAL "f (x) => (s) { s = Shape (x) }",
               "float[4,8,16] float[1,8,16]"},
           {"g (float[N] x, bool c) => (y, z) { y = local.f <t = 6> (x, c) z = local.f <t = 7> (x, c) }" LOCAL
            "f <t> (x, c) => (y) { y = If (c) <then_branch = a () => (p) { p = Cast <to: int = @t> (x) },"
            " else_branch = b () => (q) { q = Cast <to: int = @t> (x) }> }",
            "int32[N] int64[N]"},
           {"g (float[N] x) => (y, z) { y = local.f <t = 10> (x) z = local.f (x) }" LOCAL
            "f <t: int = 6> (x) => (y) { y = Cast <to: int = @t> (x) }",
            "float16[N] int32[N]"},
           {"g (float x) => (y, z) { y, z = local.f (x) }" LOCAL
            "f (x) => (y, z) { a = Constant <value = int64[2] {4, 4}> ()"
            " b = Constant <value = int64[3] {8, 8, 8}> () z = Expand (x, b) y = Expand (x, a) }",
            "float[4,4] float[8,8,8]"},
           {"g (float[N] x) => (float[M] y) { y = local.f <axes = [0]> (x) }" LOCAL
            "f <axes> (x) => (y) { a = Constant <value_ints: ints = @axes> () m = ReduceMean (x, a)"
            " y = Sub (x, m) }",
            "float[M]"},
           // Each call has the types of its operands.
           {"g (float[] x, int32[] z) => (a, b) { a = local.f (x, x) b = local.f (z, z) }" LOCAL
            "f (y, z) => (w) { x = Add (y, z) w = Mul (x, y) }",
            "float[] int32[]"},
           {"g (bool c) => (float y) { y = local.f (c) }" LOCAL
            "f (c, none) => (none) { unused = Identity (c) }",
            "float"},
           {"g (bool c) => (float y) { y = local.f (c) }" LOCAL
            "f (c, none) => (y) { y = If (c) <then_branch = a () => (float p) <float none = {1}>"
            " { p = Identity (none) },"
            " else_branch = b () => (float q) <float one = {1}> { q = Identity (one) }> }",
            "float"},
           {"g (float[2] x) => (y, z) { y = own.Op (x) z = Abs (x) }", "? float[2]"},
           {"g (float[2] x) => (y) { y = Unheard (x) }", "?"},
           // Data outside of the file is not read: here, the file is not even there.
           {"g (float[2,3] x) => (y) <int64[3] s = [\"location\": \"none.bin\"]> { y = Reshape (x, s) }",
            "float[unk__0,unk__1,unk__2]"},
       })
    CHECK_MESSAGE(types(row.graph) == row.expected, row.graph, ": ", types(row.graph));
  for (const Row& row : {
           Row{"g (float[2] x, int32[2] z) => (y) { y = local.f (x, z) }" LOCAL
               "f (y, z) => (w) { w = Add (y, z) }",
               "input B is tensor(int32)"},
           {"g (float[1] x) => (float[1] y) { y = local.f (x) }" LOCAL
            "f (x) => (a, b) { a = Identity (x) b = Identity (x) }",
            "2 outputs, not 1"},
           {"g (float[2] x) => (y) { y = local.f (x) }" LOCAL "f (x) => (y) { y = local.f (x) }",
            "calls itself"},
       })
    CHECK_MESSAGE(types(row.graph).find(row.expected) != std::string::npos, row.graph, ": ",
                  types(row.graph));

  // The IR wants an import for each domain that nodes have.
  const std::string_view absent = "g (float x) => (y) { y = absent.F (x) }";
  CHECK(types(absent).find("no opset of absent is imported") != std::string::npos);
  CHECK(types(absent, lenient) == "?");

  // A body that does not suit the operands is an error of the strict, also where it is known not to run.
  const auto choice = [](int c, InferOptions options) {
    return types(
        str_cat("g (float x) => (float r, int64 i) { c = Constant <value = bool {", c,
                "}> () r, i = local.f <dim = 0> (x, c) }" LOCAL "f <dim> (v, c) => (r, i) { i, r = If (c) <"
                "then_branch = a () => (p, q) { q = Identity (v) p = ArgMin <axis: int = @dim> (v) },"
                " else_branch = b () => (s, t) { s = Constant <value_int = 0> () t = Identity (v) }> }"),
        options);
  };
  CHECK(choice(1, {.strict = true}).find("axis 0") != std::string::npos);
  CHECK(choice(1, lenient) == "float int64");
  CHECK(choice(0, {.strict = true}).find("axis 0") != std::string::npos);
  CHECK(choice(0, lenient) == "float int64");

  onnx::ModelProto m = loader::parse_text<onnx::ModelProto>(R"(
      <ir_version: 10, opset_import: ["" : 18, "local" : 1]>
      g (float[N] x) => (y, z) { y = local.f:a (x) z = local.f:b (x) }
      <opset_import: ["" : 18], domain: "local", overload: "a"> f (x) => (y) { y = Cast <to = 6> (x) }
      <opset_import: ["" : 18], domain: "local", overload: "b"> f (x) => (y) { y = Cast <to = 7> (x) })");
  loader::infer_shapes(m, {.strict = true});
  CHECK(loader::type_text(m.graph().output(0).type()) == "int32[N]");
  CHECK(loader::type_text(m.graph().output(1).type()) == "int64[N]");
}

TEST_CASE("Inference of functions whose calls leave inputs out") {
  const auto quantized = [](std::string_view operands) {
    return types(str_cat("g (float[2] x, float s, int8 i, uint8 u) => (y) { y = local.g (", operands,
                         ") }" LOCAL "g (x, s, z) => (y) { y = local.f (x, s, z) }" LOCAL
                         "f (x, s, z) => (y) { y = QuantizeLinear (x, s, z) }"));
  };
  CHECK(quantized("x, s, i") == "int8[2]");
  CHECK(quantized("x, s, u") == "uint8[2]");
  CHECK(quantized("x, s") == "uint8[2]");
  CHECK(quantized("x, s, \"\"") == "uint8[2]");
  CHECK(types("g (float[2,3] x) => (y) { y = local.f (x) }" LOCAL
              "f (x, axes) => (y) { y = ReduceMax (x, axes) }") == "float[1,1]");
  const auto clipped = [](std::string_view type) {
    return types(
        str_cat("g (float[2] x, ", type,
                " m) => (y) { y = local.f (x, \"\", m) }" LOCAL "f (x, a, b) => (y) { y = Clip (x, a, b) }"),
        typed);
  };
  CHECK(clipped("float") == "float[2]");
  CHECK(clipped("int8").find("input max is tensor(int8)") != std::string::npos);
  const std::string_view required =
      "g (float[2] x) => (y) { y = local.f (\"\", x) }" LOCAL "f (a, b) => (y) { y = Add (a, b) }";
  CHECK(types(required).find("input A is missing") != std::string::npos);
  CHECK(types(required, lenient) == "float[]");
}

TEST_CASE("Inference of single nodes") {
  for (const Row& row : {
           Row{"g (float x, float y) => (z) { z = Add (x, y) }", "float"},
           {"g (double[n,m] x, double[1,n,m] y) => (z) { z = Add (x, y) }", "double[1,n,m]"},
           {"g (float[3,4] x, float m) => (z) { z = Clip (x, \"\", m) }", "float[3,4]"},
           {"g (float[5,4] x) => (y) <int64[3] s = {2, 2, 5}> { y = Reshape (x, s) }", "float[2,2,5]"},
           {"g (float[3] s, float[N,2] x, float[2] o) => (a, b) { a, b = Scan <num_scan_inputs = 1,"
            " body = b (l, i) => (k, p) { k = Identity (l) p = Add (i, o) }> (s, x) }",
            "float[3] float[N,2]"},
       })
    CHECK_MESSAGE(types(row.graph) == row.expected, row.graph, ": ", types(row.graph));
  for (std::string_view operands :
       {"float[?,2] x, float[2] y", "float[?,2] x, float[1,2] y", "float[a,2] x, float[b,2] y"}) {
    const std::string sum = types(str_cat("g (", operands, ") => (z) { z = Add (x, y) }"));
    CHECK_MESSAGE((sum.starts_with("float[") && sum.ends_with(",2]") && sum[6] != 'a' && sum[6] != 'b'), sum);
  }
  for (const Row& row : {
           Row{"g (float[2,4] x, float[3,4] y) => (z) { z = Add (x, y) }", "do not broadcast"},
           {"g (float[2,4] x, uint8[2,4] y) => (z) { z = Add (x, y) }", "input B is tensor(uint8)"},
           {"g (float[2,4] x) => (z) { z = Add (x) }", "input B is missing"},
           {"g (float[2,4] x) => (z) { z = Add (x, y) }", "'y' is not defined"},
       })
    CHECK_MESSAGE(types(row.graph).find(row.expected) != std::string::npos, row.graph, ": ",
                  types(row.graph));
}

TEST_CASE("Strict inference refuses what ONNX's does, of nodes that run") {
  struct Refused {
    std::string_view graph, says, otherwise;
  };
  for (const Refused& row : {
           Refused{"g () => (y) <int64[1] n = {5}> { y = HannWindow (n) }", "size: rank 1, expected 0",
                   "float[5]"},
           {"g (float[3] x, float[1] r) => (y) { y = Dropout (x, r) }", "ratio: rank 1, expected 0",
            "float[3]"},
           {"g () => (y) <int64[1] s = {3}> { y = ConstantOfShape <value = float {2}> (s) }",
            "value: rank 0, expected 1", "float[3]"},
           {"g (float[1,2] x, float[2] s) => (y)"
            " { y = BatchNormalization <training_mode = 1> (x, s, s, s, s) }",
            "1 outputs, training has 3", "float[1,2]"},
           {"g (float[2,0] x) => (y) <int64[2] s = {-1, 0}> { y = Reshape (x, s) }",
            "-1 cannot be inferred with the extent 0 at axis 1", "float[2,0]"},
           {"g (float[4,3] x) => (y, z) <int64 k = {2}> { y, z = TopK (x, k) }", "K: rank 0, expected 1",
            "float[4,2] int64[4,2]"},
           {"g (string[n,3] x) => (y) { y = StringNormalizer (x) }", "is not known to be (1,C)",
            "string[1,unk__0]"},
       }) {
    CHECK_MESSAGE(types(row.graph).find(row.says) != std::string::npos, row.graph, ": ", types(row.graph));
    CHECK(types(row.graph, lenient) == row.otherwise);
  }
  CHECK(
      types("g (float[3] s, float[N,2] x) => (a) { a = Scan <num_scan_inputs = 1, body = b (l, i) => (l) { }>"
            " (s, \"\") }")
          .find("input 1 is left out") != std::string::npos);
  CHECK(types("g (float[] x) => (y) { y = Transpose <perm = [1, 1]> (x) }").find("no permutation: 1") !=
        std::string::npos);
  CHECK(types("g (float[5,n] x) => (y) <int64[1] s = {1}> { y = SplitToSequence (x, s) }")
            .find("the parts sum to 1, not to extent 5") != std::string::npos);
}

TEST_CASE("Inference of what runs alone refuse, and of attributes that are the writer's own") {
  CHECK(types("g (float[2] x) => (y) { y = Loop <body = b (i, c, a) => (c, a) { }> (\"\", \"\", x) }") ==
        "float[2]");
  CHECK(types("g (float[2] x) => (y) { y = Relu <__note = 3> (x) }") == "float[2]");
  CHECK(types("g (float[2] x) => (y) { y = Relu <note = 3> (x) }").find("has no attribute 'note'") !=
        std::string::npos);
}

TEST_CASE("Inference of bodies in their whole") {
  // Both branches of If, also one that is not taken.
  const auto branches = [](std::string_view cond, std::string_view declared) {
    return str_cat("g (bool c, float[5] x) => (z) <bool t = {1}> { z = If (", cond,
                   ") <then_branch = a () => (p) { p = Neg (x) }, else_branch = b () => (", declared,
                   " q) { q = Abs (x) }> }");
  };
  for (std::string_view cond : {"c", "t"}) {
    CHECK(types(branches(cond, "float[5]")) == "float[5]");
    CHECK(types(branches(cond, "float[5,1]")).find("declared as tensor(float) (5,1)") != std::string::npos);
    auto m = loader::parse_text<onnx::ModelProto>(
        str_cat("<ir_version: 8, opset_import: [\"\" : 18]>\n", branches(cond, "")));
    loader::infer_shapes(m);
    for (const auto& a : m.graph().node(0).attribute())
      CHECK(loader::type_text(a.g().output(0).type()) == "float[5]");
  }
  CHECK(types("g (float[5] x) => (z) <bool t = {1}> { z = If (t) <then_branch = a () => (p) { p = Neg (x) },"
              " else_branch = b () => (q) { q = Shape (x) }> }")
            .find("the types of the branches' results differ") != std::string::npos);
  // Where extents choose a branch, what is known by that does not count against branches that they rule out.
  // All else does.
  const auto cut = [](std::string_view shape, std::string_view squeezed) {
    return types(str_cat("g (float[2,3,4] x) => (z) <int64[3] s = {", shape,
                         R"(}, int64[1] one = {1}, int64 n = {2}> {
      p = Reshape (x, s) r = Shape (p) k = Size (r) c = Equal (k, n)
      t = If (c) <then_branch = a () => (u) { u = Unsqueeze (p, one) }, else_branch = b () => (v) { v = Identity (p) }>
      m = local.same (t)
      z = If (c) <then_branch = d () => (w) { w = Squeeze ()",
                         squeezed, R"(, one) }, else_branch = e () => (q) { q = Neg (m) }>
    } <opset_import: ["" : 18], domain: "local"> same (v) => (w) { w = Identity (v) })"));
  };
  for (std::string_view squeezed : {"t", "m"}) {
    CHECK(cut("2, 3, 4", squeezed) == "float[2,3,4]");
    CHECK(cut("1, 24, 1", squeezed) == "float[1,24,1]");
  }
  CHECK(cut("2, 3, 4", "x").find("axis 1 of (2,3,4) is not 1") != std::string::npos);
  // As many results as the body gives.
  for (std::string_view node :
       {"z = Loop <body = b (i, c, a) => (c, a, x) { }> (n, \"\", x)",
        "z = Scan <num_scan_inputs = 1, body = b (e) => (p, q) { p = Neg (e) q = Abs (e) }> (x)",
        "z = If (t) <then_branch = a () => (p, q) { p = Neg (x) q = Abs (x) },"
        " else_branch = b () => (p, q) { p = Neg (x) q = Abs (x) }>"}) {
    const std::string graph = str_cat("g (float[5] x, int64 n) => (z) <bool t = {1}> { ", node, " }");
    CHECK(types(graph).find("has 1 outputs, a body returns 2") != std::string::npos);
    CHECK(types(graph, lenient) == "float[5]");
  }
}

TEST_CASE("Inference of bodies whose constants are inputs, as before IR 4") {
  auto m = loader::parse_text<onnx::ModelProto>(R"(<ir_version: 3, opset_import: ["" : 8]>
      g (float[2] x, int64 n) => (float[2] y) <int64 n = {3}> {
        y = Loop <body = b (int64 i, bool c, float[2] a, float k) => (bool c, float[2] s) <float k = {10}> {
          s = Add (a, k)
        }> (n, "", x)
      })");
  CHECK(inferred(m, typed) == "2");
  Session s(Model(m).graph());
  CHECK(s.run({{"x", Tensor<float>({2}, {1, 2})}})["y"].view<float>()[1] == 32);
  m.set_ir_version(4);
  CHECK(inferred(m, typed).find("the body takes 4 values") != std::string::npos);
}

TEST_CASE("Inference of old versions") {
  CHECK(
      types(
          "g (float[20,10,5] x) => (y) { y = Slice <starts = [0, 1], ends = [4611686018427387904, 9]> (x) }",
          {.strict = true}, 9) == "float[20,8,5]");
  CHECK(types("g (float[4,3] x) => (y) { y = Slice <axes = [1], starts = [1], ends = [2]> (x) }",
              {.strict = true}, 1) == "float[4,1]");
  const std::string_view none = "g (float[4,3] x) => (y, z) { y, z = TopK <k = 0> (x) }";
  CHECK(types(none, {.strict = true}, 8).find("k: 0, expected at least 1") != std::string::npos);
  CHECK(types(none, lenient, 8) == "float[4,0] int64[4,0]");
}

TEST_CASE("Inference of operands that an operator does not take") {
  const std::string_view sum = "g (bool[10] x, bool[10] y) => (z) { z = Add (x, y) }";
  CHECK(types(sum) == "bool[10]");
  CHECK(types(sum, lenient) == "bool[10]");
  for (const bool strict : {false, true})
    CHECK(types(sum, {.strict = strict, .check_types = true}).find("input A cannot be tensor(bool)") !=
          std::string::npos);
  CHECK(types("g (float[2] x, int8[2] y) => (z) { z = Add (x, y) }", {.check_types = true})
            .find("input B is tensor(int8)") != std::string::npos);
  CHECK(types("g (bool[10] x, bool[10] y) => (float[10] z) { z = Add (x, y) }").find("declared as") !=
        std::string::npos);
  onnx::ModelProto untyped = model("Shape", {{2, 3}});
  untyped.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(0);
  CHECK(inferred(untyped) == "2");
  CHECK(inferred(untyped, typed).find("input 'x1': has no element type") != std::string::npos);
}

/// Gives X, whatever its graphs give.
struct OwnIf {
  op::BodyRef then_branch{}, else_branch{};

  static constexpr op::Spec spec{.name = "If",
                                 .domain = "own",
                                 .since = {1},
                                 .inputs = {{"X", "T"}},
                                 .outputs = {{"Y", "T"}},
                                 .types = {{"T", types::floats}}};
  static constexpr op::Attributes attributes{op::attr("then_branch", &OwnIf::then_branch),
                                             op::attr("else_branch", &OwnIf::else_branch)};
  constexpr void infer(op::Infer& i) const { i.out(0, i.dims(0)); }
  void compute(AnyView x, AnyOut y) const { op::copy_elements(x, y); }
};

TEST_CASE("Inference of graphs that another domain's operator takes") {
  Registry registry = standard_registry();
  registry.add<OwnIf>();
  const InferOptions strict{.registry = &registry, .strict = true};
  constexpr std::string_view p = "p = Constant <value = float {1}> ()",
                             r = "r = Constant <value = int64 {1}> ()";
  const auto two = str_cat("t () => (p, q) { ", p, " q = Identity (p) }");
  const auto one = str_cat("t () => (p) { ", p, " }"), other = str_cat("e () => (r) { ", r, " }");
  const auto of = [&](std::string_view op, std::string_view a, std::string_view b, std::string_view in) {
    return types(str_cat("g (float[2] x, bool c) => (y) { y = ", op, " <then_branch = ", a,
                         ", else_branch = ", b, "> (", in, ") }"),
                 strict);
  };
  // ONNX's If gives what its branches give.
  CHECK(of("If", two, two, "c").find("has 1 outputs, a body returns 2") != std::string::npos);
  CHECK(of("If", one, other, "c").find("types") != std::string::npos);
  CHECK(of("If", one, one, "c") == "float");
  // What another domain's gives, its rule says; but the graphs have to be sound.
  CHECK(of("own.If", two, two, "x") == "float[2]");
  CHECK(of("own.If", one, other, "x") == "float[2]");
  CHECK(of("own.If", one, "e () => (r) { r = Neg (z) }", "x").find("'z' is not defined") !=
        std::string::npos);
}

TEST_CASE("Inference and declared extents together") {
  const auto both = [](std::string_view x, std::string_view y, InferOptions options = {.strict = true}) {
    return types(str_cat("g (", x, " x) => (", y, " y) { y = Relu (x) }"), options);
  };
  CHECK(both("float[1]", "float[]") == "float[1]");
  CHECK(both("float[]", "float[1]") == "float[1]");
  CHECK(both("float[1]", "float[A]") == "float[1]");
  CHECK(both("float[A]", "float[1]") == "float[1]");
  CHECK(both("float[?,2]", "float[1,?]") == "float[1,2]");
  CHECK(both("float[?,2]", "float[1,A]") == "float[1,2]");
  CHECK(both("float[A]", "float[B]") == "float[B]");
  CHECK(types("g (float[3] x) => (y) <int64[1,n] y> { y = NonZero (x) }") == "int64[1,n]");
  for (const auto& [x, y] :
       {std::pair{"float[?,2]", "float[1,A,1]"}, {"float[2,2]", "float[2,1]"}, {"float[2]", "uint8[2]"}}) {
    CHECK(both(x, y).find("declared as") != std::string::npos);
    CHECK(both(x, y, lenient) == y);
  }
}

}  // namespace
}  // namespace tenon
