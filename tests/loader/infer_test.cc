// Shape inference of files: what it refuses, and what only runs refuse.
#include "loader/infer.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tenon/loader.hpp"

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
    x->set_name(concat("x", g->input_size()));
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
    text += concat(text.empty() ? "" : ",", d.has_dim_value() ? std::to_string(d.dim_value()) : "?");
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
    f->set_name(concat("f", k));
    f->set_domain("own");
    f->add_input("a");
    f->add_output("c");
    *f->add_opset_import() = m.opset_import(0);
    *f->add_opset_import() = *own;
    for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")}) {
      auto* n = f->add_node();
      n->set_op_type(last ? "Neg" : concat("f", k + 1));
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
  CHECK(inferred(m, {}).find("more than") != std::string::npos);
}

TEST_CASE("Inference of sparse constants that stand for much") {
  const int64_t length = int64_t{1} << 50;  // no memory holds them
  onnx::ModelProto m = model("Neg", {});
  auto* s = m.mutable_graph()->add_sparse_initializer();
  s->mutable_values()->set_name("s");
  s->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  s->mutable_values()->add_dims(1);
  s->mutable_values()->add_float_data(1);
  s->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  s->mutable_indices()->add_dims(1);
  s->mutable_indices()->add_int64_data(7);
  s->add_dims(length);
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

}  // namespace
}  // namespace tenon
