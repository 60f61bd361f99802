// Graphs, their nodes and the nodes' attributes.
#include "loader/check/checker.hpp"

namespace tenon::TENON_ABI::loader {

void Checker::main_graph(const onnx::GraphProto& g) {
  const Within within(findings_, {.what = "main"});
  Scope scope;
  graph(g, scope, Role::main);
  report_names();
}

void Checker::node(const onnx::NodeProto& n, const Scope& scope) {
  if (n.op_type().empty()) error("required", "a node has no op_type");
  check_text("op_type", n.op_type()), check_text("domain", n.domain()), check_text("name", n.name());
  if (n.input_size() == 0 && n.output_size() == 0) error("arity", "the node has neither inputs nor outputs");
  check_keys(n.metadata_props(), "the node", findings_);
  place(n, scope);
  Names attributes;
  for (const auto& a : n.attribute()) {
    if (!attributes.insert(a.name()).second)
      error("attribute", "attribute ", shown(a.name()), " is there twice");
    attribute(a, scope);
  }
  const auto opset = opsets_->find(canonical(n.domain()));
  if (opset == opsets_->end())
    error("opset-import", "no opset of the domain ", shown(display(n.domain())), " is imported");
  if (is_removed_experiment(n))
    return findings_.warn("operator", n.op_type(), " was an experiment, and was removed from ONNX");
  const auto callee = functions_.find(key_of(n));
  if (callee != functions_.end()) call(n, *callee->second);
  if (opset == opsets_->end()) return;
  if (const auto domain = canonical(n.domain());
      callee == functions_.end() && !has_domain(domain, findings_.registry))
    ++unchecked_[domain];
  const bool unknown = callee == functions_.end() &&
                       (options_.custom_domains || is_complete(canonical(n.domain()), findings_.registry));
  check_schema(n, opset->second, unknown, findings_);
}

void Checker::attribute(const onnx::AttributeProto& a, const Scope& scope) {
  check_attribute(a, findings_);
  if (!a.ref_attr_name().empty()) {
    if (outside_functions_)
      error("attribute", "attribute ", shown(a.name()), " refers to one of a function, outside of any");
    else if (parameters_ != nullptr && !parameters_->contains(a.ref_attr_name()))
      findings_.warn("function", "attribute ", shown(a.name()), " refers to ", shown(a.ref_attr_name()),
                     ", which the function does not declare");
  }
  const auto enter = [&](const onnx::GraphProto& g) {
    const Within within(findings_, {.what = a.name()});
    Scope body{.outer = &scope};
    graph(g, body, Role::body);
  };
  if (a.has_g()) enter(a.g());
  for (const auto& g : a.graphs()) enter(g);
}

void Checker::graph(const onnx::GraphProto& g, Scope& scope, Role role) {
  if (depth_ == max_nesting) return error("nesting", "more than ", max_nesting, " graphs within each other");
  ++depth_;
  if (g.name().empty() && (role != Role::training || g.ByteSizeLong() > 0))
    error("required", "the graph has no name");
  check_keys(g.metadata_props(), "the graph", findings_);
  check_text("the graph's name", g.name());
  for (const auto& v : g.input()) check_text("input", v.name());
  for (const auto& v : g.input()) check_value_info(v, role == Role::main, findings_);
  for (const auto& v : g.output()) check_value_info(v, role == Role::main, findings_);
  check_value_infos(g.value_info());
  for (const auto& v : g.input()) {
    // The training algorithm forms one graph with the main one.
    const bool there = role == Role::training && scope.has(v.name());
    if (!scope.names.insert(v.name()).second || there)
      error("ssa", "input ", shown(v.name()), " is there twice");
    else if (role == Role::body) check_shadowing("input", v.name(), scope);
  }
  initializers(g, scope, role);
  note_extents(g, scope);
  nodes(g.node(), scope, [](const onnx::NodeProto&) {});
  Names outputs;
  for (const auto& v : g.output()) {
    // A body's outputs are told apart by their order.
    if (role == Role::main && !v.name().empty() && !outputs.insert(v.name()).second)
      findings_.warn("outputs", "output ", shown(v.name()), " is there twice");
    if (!(role == Role::training ? scope.has(v.name()) : scope.has_here(v.name())))
      error("outputs", "output ", shown(v.name()), " is no value of the graph");
  }
  for (const auto& q : g.quantization_annotation()) {
    if (!scope.has(q.tensor_name()))
      error("quantization", "quantization of ", shown(q.tensor_name()), ", which is no value of the graph");
    check_keys(q.quant_parameter_tensor_names(), q.tensor_name(), findings_);
    for (const auto& e : q.quant_parameter_tensor_names())
      if (!scope.has(e.value()))
        error("quantization", shown(e.key()), " of ", shown(q.tensor_name()), " is ", shown(e.value()),
              ", which is no value of the graph");
  }
  symbols_.check(g, findings_);
  if (options_.pedantic) note_names(g);
  --depth_;
}

void Checker::initializers(const onnx::GraphProto& g, Scope& scope, Role role) {
  constexpr std::string_view rule = "initializer";
  Names names;
  const auto add = [&](const std::string& name) {
    if (name.empty()) return error("required", "an initializer has no name");
    check_text("initializer", name);
    if (!names.insert(name).second) return error(rule, "initializer ", shown(name), " is there twice");
    const bool input = scope.has_here(name);
    if (findings_.ir_version <= 3 && !input)
      error(rule, "initializer ", shown(name), " is no input, as IR ", findings_.ir_version, " demands");
    if (findings_.ir_version >= 4 && input && role == Role::body)
      error(rule, "initializer ", shown(name), " is also an input of the body, which its operator sets");
    if (role == Role::training && !input && scope.has(name))
      error("ssa", "initializer ", shown(name), " is a value of the main graph too");
    if (role == Role::body && !input) check_shadowing("initializer", name, scope);
    scope.names.insert(name);
  };
  for (const auto& t : g.initializer()) {
    add(t.name());
    check_tensor(t, findings_);
  }
  for (const auto& t : g.sparse_initializer()) {
    add(t.values().name());
    check_sparse_tensor(t, findings_);
  }
}

// The IR forbids such names, but ONNX's checker accepts them and exporters write them. The inner value is the
// one that the body reads.
void Checker::check_shadowing(std::string_view what, const std::string& name, const Scope& scope) {
  if (name.empty() || !scope.outer->has(name)) return;
  const auto report = [&](const auto&... parts) {
    if (options_.full) error("shadowing", parts...);
    else findings_.warn("shadowing", parts...);
  };
  report(what, " ", shown(name), " of the body has the name of a value outside of it");
}

}  // namespace tenon::TENON_ABI::loader
