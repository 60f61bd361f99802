#include "loader/edit/names.hpp"

#include "loader/check/findings.hpp"
#include "tenon/op/framework/spec.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

void each_extent(const onnx::ValueInfoProto& v, const VisitName& visit) {
  for (const auto& d : v.type().tensor_type().shape().dim())
    if (!d.dim_param().empty()) visit(d.dim_param(), NameOf::extent);
}

void each_name(const NodeList& nodes, const VisitName& visit, int depth) {
  for (const auto& n : nodes) {
    if (!n.name().empty()) visit(n.name(), NameOf::node);
    for (const auto* list : {&n.input(), &n.output()})
      for (const auto& name : *list)
        if (!name.empty()) visit(name, NameOf::value);
    for (const auto& a : n.attribute()) {
      if (a.has_g()) each_name(a.g(), visit, depth + 1);
      for (const auto& g : a.graphs()) each_name(g, visit, depth + 1);
    }
  }
}

}  // namespace

void each_name(const onnx::GraphProto& g, const VisitName& visit, int depth) {
  if (depth > max_nesting) throw Error(ErrorCode::invalid_model, "graph", "bodies are too deep");
  const auto value = [&](const std::string& name) {
    if (!name.empty()) visit(name, NameOf::value);
  };
  for (const auto* list : {&g.input(), &g.output(), &g.value_info()})
    for (const auto& v : *list) value(v.name()), each_extent(v, visit);
  for (const auto& t : g.initializer()) value(t.name());
  for (const auto& t : g.sparse_initializer()) value(t.values().name());
  for (const auto& q : g.quantization_annotation()) {
    value(q.tensor_name());
    for (const auto& p : q.quant_parameter_tensor_names()) value(p.value());
  }
  each_name(g.node(), visit, depth);
}

void each_name(const onnx::FunctionProto& f, const VisitName& visit) {
  for (const auto* list : {&f.input(), &f.output()})
    for (const auto& name : *list)
      if (!name.empty()) visit(name, NameOf::value);
  for (const auto& v : f.value_info()) {
    if (!v.name().empty()) visit(v.name(), NameOf::value);
    each_extent(v, visit);
  }
  each_name(f.node(), visit, 0);
}

void each_definition(const onnx::GraphProto& g, const std::function<void(const std::string&)>& visit) {
  for (const auto& v : g.input()) visit(v.name());
  for (const auto& t : g.initializer()) visit(t.name());
  for (const auto& t : g.sparse_initializer()) visit(t.values().name());
  for (const auto& n : g.node()) {
    for (const auto& name : n.output())
      if (!name.empty()) visit(name);
    for (const auto& a : n.attribute()) {
      if (a.has_g()) each_definition(a.g(), visit);
      for (const auto& body : a.graphs()) each_definition(body, visit);
    }
  }
}

void change_names(onnx::GraphProto& g, const std::function<void(std::string&)>& change,
                  const std::function<void(onnx::NodeProto&)>& node, int depth) {
  if (depth > max_nesting) throw Error(ErrorCode::invalid_model, "graph", "bodies are too deep");
  for (auto* list : {g.mutable_input(), g.mutable_output(), g.mutable_value_info()})
    for (auto& v : *list) change(*v.mutable_name());
  for (auto& t : *g.mutable_initializer()) change(*t.mutable_name());
  for (auto& t : *g.mutable_sparse_initializer()) change(*t.mutable_values()->mutable_name());
  for (auto& q : *g.mutable_quantization_annotation()) {
    change(*q.mutable_tensor_name());
    for (auto& p : *q.mutable_quant_parameter_tensor_names()) change(*p.mutable_value());
  }
  for (auto& n : *g.mutable_node()) {
    for (auto& name : *n.mutable_input()) change(name);
    for (auto& name : *n.mutable_output()) change(name);
    for (auto& d : *n.mutable_device_configurations())
      for (auto& s : *d.mutable_sharding_spec()) change(*s.mutable_tensor_name());
    const bool by_attributes = names_values(n);
    for (auto& a : *n.mutable_attribute()) {
      if (by_attributes) {
        if (a.has_s()) change(*a.mutable_s());
        for (auto& name : *a.mutable_strings()) change(name);
      }
      if (a.has_g()) change_names(*a.mutable_g(), change, node, depth + 1);
      for (auto& body : *a.mutable_graphs()) change_names(body, change, node, depth + 1);
    }
    if (node) node(n);
  }
}

int body_inputs(const onnx::GraphProto& body, const onnx::NodeProto& n, int version) {
  const bool lengths = is_standard(n, "Scan") && version == 8;  // of sequences, before the body's operands
  const int given = is_standard(n, "If") ? 0 : n.input_size() - (lengths ? 1 : 0);
  int count = body.input_size();
  if (count <= given) return count;
  std::unordered_set<std::string_view> constants;
  for (const auto& t : body.initializer()) constants.insert(t.name());
  while (count > given && constants.contains(body.input(count - 1).name())) --count;
  return count;
}

const std::string& node_name(const onnx::NodeProto& n) {
  if (!n.name().empty()) return n.name();
  for (const std::string& name : n.output())
    if (!name.empty()) return name;
  return n.op_type();
}
std::string node_place(const onnx::NodeProto& n) {
  return str_cat("node '", node_name(n), "' (", n.op_type(), ")");
}

int wanted_outputs(const onnx::NodeProto& n, const op::Spec& spec, int version) {
  int wanted = n.output_size();
  if (spec.variadic_outputs()) return wanted;
  while (wanted > spec.min_outputs(version) && n.output(wanted - 1).empty()) --wanted;
  return wanted;
}

std::string NameSet::fresh(const std::string& wanted) {
  std::string name = wanted;
  while (!names_.insert(name).second) name = str_cat(wanted, "_", next_++);
  return name;
}

}  // namespace tenon::TENON_ABI::loader
