// Models for the tests of the checker, each sound as it is, and a table of changes that break a rule.
#pragma once

#include <doctest/doctest.h>

#include <functional>

#include "loader/check/check.hpp"
#include "tenon/base/error.hpp"

namespace tenon::check_models {

using loader::check;
using onnx::AttributeProto;
using onnx::TensorProto;

/// "ssa order", "(names)": the rules that are broken, with warnings in parentheses.
inline std::string rules(const std::vector<Diagnostic>& found) {
  std::string text;
  for (const Diagnostic& d : found) {
    const bool error = d.severity == Severity::error;
    text += str_cat(text.empty() ? "" : " ", error ? "" : "(", d.rule, error ? "" : ")");
  }
  return text;
}

inline onnx::ValueInfoProto value(const std::string& name, std::initializer_list<int64_t> extents = {2}) {
  onnx::ValueInfoProto v;
  v.set_name(name);
  auto* t = v.mutable_type()->mutable_tensor_type();
  t->set_elem_type(TensorProto::FLOAT);
  t->mutable_shape();
  for (int64_t e : extents) t->mutable_shape()->add_dim()->set_dim_value(e);
  return v;
}
inline onnx::ValueInfoProto symbolic(const std::string& name, const std::string& symbol) {
  onnx::ValueInfoProto v = value(name, {});
  v.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(symbol);
  return v;
}
inline onnx::NodeProto node(const std::string& type, std::initializer_list<std::string> inputs,
                            std::initializer_list<std::string> outputs, const std::string& domain = "") {
  onnx::NodeProto n;
  n.set_op_type(type);
  n.set_domain(domain);
  for (const auto& i : inputs) n.add_input(i);
  for (const auto& o : outputs) n.add_output(o);
  return n;
}
inline TensorProto floats(const std::string& name, std::initializer_list<float> numbers) {
  TensorProto t;
  t.set_name(name);
  t.set_data_type(TensorProto::FLOAT);
  t.add_dims(static_cast<int64_t>(numbers.size()));
  for (float f : numbers) t.add_float_data(f);
  return t;
}
inline AttributeProto attribute(const std::string& name, AttributeProto::AttributeType type) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(type);
  return a;
}
inline AttributeProto integer(const std::string& name, int64_t i) {
  AttributeProto a = attribute(name, AttributeProto::INT);
  a.set_i(i);
  return a;
}
inline AttributeProto body(const std::string& name, const onnx::GraphProto& g) {
  AttributeProto a = attribute(name, AttributeProto::GRAPH);
  *a.mutable_g() = g;
  return a;
}
inline void import(auto& m, const std::string& domain, int64_t version) {
  auto* o = m.add_opset_import();
  o->set_domain(domain);
  o->set_version(version);
}

/// x -> Relu -> y
inline onnx::ModelProto model() {
  onnx::ModelProto m;
  m.set_ir_version(13);
  import(m, "", 25);
  auto* g = m.mutable_graph();
  g->set_name("g");
  *g->add_input() = value("x");
  *g->add_output() = value("y");
  *g->add_node() = node("Relu", {"x"}, {"y"});
  return m;
}
/// A body that gives `output`, which Relu computes from `input`.
inline onnx::GraphProto branch(const std::string& input, const std::string& output) {
  onnx::GraphProto g;
  g.set_name("branch");
  *g.add_node() = node("Relu", {input}, {output});
  g.add_output()->set_name(output);
  return g;
}
/// Input c chooses between two bodies that read x.
inline onnx::ModelProto choice() {
  onnx::ModelProto m = model();
  auto* g = m.mutable_graph();
  *g->add_input() = value("c", {});
  g->mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::BOOL);
  *g->mutable_node(0) = node("If", {"c"}, {"y"});
  *g->mutable_node(0)->add_attribute() = body("then_branch", branch("x", "a"));
  *g->mutable_node(0)->add_attribute() = body("else_branch", branch("x", "b"));
  return m;
}
inline onnx::GraphProto* then_branch(onnx::ModelProto& m) {
  return m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
}
/// Calls local.f(x), whose body is Relu.
inline onnx::FunctionProto function(const std::string& name, const std::string& calls = "Relu") {
  onnx::FunctionProto f;
  f.set_name(name);
  f.set_domain("local");
  f.add_input("a");
  f.add_output("b");
  *f.add_node() = node(calls, {"a"}, {"b"}, calls == "Relu" ? "" : "local");
  import(f, "", 25);
  import(f, "local", 1);
  return f;
}
inline onnx::ModelProto calling() {
  onnx::ModelProto m = model();
  import(m, "local", 1);
  *m.mutable_graph()->mutable_node(0) = node("f", {"x"}, {"y"}, "local");
  *m.add_functions() = function("f");
  return m;
}

using Change = std::function<void(onnx::ModelProto&)>;
struct Case {
  const char* says;
  const char* expected;
  Change change;
};
inline void check_all(const onnx::ModelProto& sound, std::initializer_list<Case> cases,
                      CheckOptions options = {}) {
  CHECK(rules(check(sound, options)) == "");
  for (const Case& c : cases) {
    CAPTURE(c.says);
    onnx::ModelProto m = sound;
    c.change(m);
    CHECK(rules(check(m, options)) == c.expected);
  }
}
inline onnx::GraphProto& graph(onnx::ModelProto& m) { return *m.mutable_graph(); }
inline onnx::NodeProto& first(onnx::ModelProto& m) { return *m.mutable_graph()->mutable_node(0); }

}  // namespace tenon::check_models
