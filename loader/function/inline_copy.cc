#include "loader/function/inline_copy.hpp"

#include <algorithm>
#include <utility>

namespace tenon::TENON_ABI::loader::inlining {

Copy::Copy(const onnx::FunctionProto& f, const onnx::NodeProto& call, Caller& caller, int64_t& bytes_left,
           bool open)
    : f_(f), caller_(caller), bytes_left_(bytes_left), open_(open), suffix_(str_cat("__", ++caller.calls)) {
  if (call.input_size() > f.input_size() || call.output_size() > f.output_size())
    refuse("called with more inputs or outputs than it has");
  bind_attributes(call);
  for (int k = 0; k < f.input_size(); ++k)
    if (!scope_.names.emplace(f.input(k), k < call.input_size() ? call.input(k) : "").second)
      refuse("has the input ", shown(f.input(k)), " twice");
  for (int k = 0; k < f.output_size(); ++k) {
    const std::string& name = f.output(k);
    const std::string& given = k < call.output_size() ? call.output(k) : std::string();
    const std::string* source = scope_.find(name);
    if (source == nullptr) scope_.names.emplace(name, given.empty() ? fresh(name) : given);
    else if (!given.empty()) add_identity(*source, given, name);
  }
  NodeList copies = f.node();
  define_outputs(copies, scope_);
  for (auto& n : copies) rename(n, scope_, 0);
  // Identities of outputs follow the nodes that they read.
  copies.MergeFrom(nodes);
  nodes.Swap(&copies);
  add_value_infos();
}

void Copy::bind_attributes(const onnx::NodeProto& call) {
  for (const auto& a : call.attribute()) attributes_[a.name()] = &a;
  for (const auto& a : f_.attribute_proto()) {
    const auto [it, added] = attributes_.emplace(a.name(), &a);
    // The caller may be called without the attribute: then the function's default applies, not the
    // operator's.
    if (!added && !it->second->ref_attr_name().empty() && !has_default(it->second->ref_attr_name()))
      throw Error(
          ErrorCode::not_supported, name_of(f_),
          str_cat("the default of ", shown(a.name()), " depends on whether its caller's caller states it"));
  }
}

bool Copy::has_default(const std::string& name) const {
  if (caller_.function == nullptr) return false;
  const auto& defaults = caller_.function->attribute_proto();
  return std::any_of(defaults.begin(), defaults.end(), [&](const Attribute& a) { return a.name() == name; });
}

void Copy::add_identity(const std::string& source, const std::string& given, const std::string& name) {
  if (source.empty()) refuse("the output ", shown(name), " is an input that the call leaves out");
  if (!caller_.opsets.contains(""))
    refuse("the output ", shown(name), " is an input, and its caller has no ai.onnx for an Identity");
  onnx::NodeProto& n = *nodes.Add();
  n.set_op_type("Identity");
  n.add_input(source);
  n.add_output(given);
}

void Copy::define_outputs(const NodeList& list, Scope& scope) {
  for (const auto& n : list)
    for (const auto& name : n.output()) define(name, scope);
}

void Copy::define(const std::string& name, Scope& scope) {
  if (!name.empty() && !scope.names.contains(name)) scope.names.emplace(name, fresh(name));
}

const std::string& Copy::look_up(const std::string& name, const Scope& scope) const {
  const std::string* found = scope.find(name);
  if (found == nullptr && !open_ && given_ == 0) refuse("nothing defines ", shown(name));
  return found == nullptr ? name : *found;
}

void Copy::replace(std::string& name, const Scope& scope) const {
  if (!name.empty()) name = std::string(look_up(name, scope));
}

void Copy::rename(onnx::NodeProto& n, const Scope& scope, int depth) {
  if (!n.name().empty()) n.set_name(fresh(n.name()));
  for (auto& name : *n.mutable_input()) replace(name, scope);
  for (auto& name : *n.mutable_output()) replace(name, scope);
  for (auto& d : *n.mutable_device_configurations())
    for (auto& s : *d.mutable_sharding_spec())
      if (const std::string* found = scope.find(s.tensor_name())) s.set_tensor_name(*found);
  const bool by_attributes = names_values(n);
  google::protobuf::RepeatedPtrField<Attribute> kept;
  for (auto& a : *n.mutable_attribute()) {
    if (!a.ref_attr_name().empty() && given_ == 0) {
      const auto given = attributes_.find(a.ref_attr_name());
      if (given == attributes_.end()) continue;  // left out in the call: left out here
      if ((bytes_left_ -= static_cast<int64_t>(given->second->ByteSizeLong())) < 0) give_up("max_bytes");
      Attribute& copy = *kept.Add();
      copy = *given->second;
      ++given_;
      if (copy.has_g()) rename(*copy.mutable_g(), scope, depth + 1);
      for (auto& g : *copy.mutable_graphs()) rename(g, scope, depth + 1);
      --given_;
      copy.set_name(a.name());
      continue;
    }
    if (by_attributes) {
      if (a.has_s()) replace(*a.mutable_s(), scope);
      for (auto& name : *a.mutable_strings()) replace(name, scope);
    }
    if (a.has_g()) rename(*a.mutable_g(), scope, depth + 1);
    for (auto& g : *a.mutable_graphs()) rename(g, scope, depth + 1);
    *kept.Add() = std::move(a);
  }
  n.mutable_attribute()->Swap(&kept);
}

void Copy::rename(onnx::GraphProto& g, const Scope& outer, int depth) {
  if (depth > max_nesting) refuse("has bodies that are too deep");
  Scope scope{&outer};
  for (const auto& v : g.input()) define(v.name(), scope);
  for (const auto& t : g.initializer()) define(t.name(), scope);
  for (const auto& t : g.sparse_initializer()) define(t.values().name(), scope);
  define_outputs(g.node(), scope);
  for (auto& n : *g.mutable_node()) rename(n, scope, depth);
  for (auto& v : *g.mutable_input()) replace(*v.mutable_name(), scope);
  for (auto& t : *g.mutable_initializer()) replace(*t.mutable_name(), scope);
  for (auto& t : *g.mutable_sparse_initializer()) replace(*t.mutable_values()->mutable_name(), scope);
  for (auto& v : *g.mutable_output()) {
    if (!v.name().empty() && look_up(v.name(), scope).empty())
      refuse("a body returns ", shown(v.name()), ", an input that the call leaves out");
    replace(*v.mutable_name(), scope);
  }
  for (auto* list : {g.mutable_input(), g.mutable_output()})
    for (auto& v : *list) rename_symbols(*v.mutable_type());
  ValueInfos infos;
  for (auto& v : *g.mutable_value_info())
    if (const std::string* found = scope.find(v.name()); found != nullptr && !found->empty()) {
      v.set_name(*found);
      rename_symbols(*v.mutable_type());
      *infos.Add() = std::move(v);
    }
  g.mutable_value_info()->Swap(&infos);
  for (auto& q : *g.mutable_quantization_annotation()) {
    if (const std::string* found = scope.find(q.tensor_name())) q.set_tensor_name(*found);
    for (auto& p : *q.mutable_quant_parameter_tensor_names())
      if (const std::string* found = scope.find(p.value())) p.set_value(*found);
  }
}

void Copy::rename_symbols(onnx::TypeProto& type, int depth) {
  if (given_ > 0) return;
  if (depth > max_nesting) refuse("has a type that is too deep");
  const auto rename_dims = [&](onnx::TensorShapeProto& shape) {
    for (auto& d : *shape.mutable_dim())
      if (!d.dim_param().empty()) {
        std::string& name = symbols_[d.dim_param()];
        if (name.empty()) name = fresh(d.dim_param());
        d.set_dim_param(name);
      }
  };
  if (type.tensor_type().has_shape()) rename_dims(*type.mutable_tensor_type()->mutable_shape());
  if (type.sparse_tensor_type().has_shape()) rename_dims(*type.mutable_sparse_tensor_type()->mutable_shape());
  if (type.sequence_type().has_elem_type())
    rename_symbols(*type.mutable_sequence_type()->mutable_elem_type(), depth + 1);
  if (type.optional_type().has_elem_type())
    rename_symbols(*type.mutable_optional_type()->mutable_elem_type(), depth + 1);
  if (type.map_type().has_value_type())
    rename_symbols(*type.mutable_map_type()->mutable_value_type(), depth + 1);
}

void Copy::add_value_infos() {
  const auto is_among = [](const auto& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const auto& v : f_.value_info()) {
    const auto found = scope_.names.find(v.name());
    if (found == scope_.names.end() || is_among(f_.input(), v.name()) || is_among(f_.output(), v.name()))
      continue;
    onnx::ValueInfoProto& copy = *value_infos.Add();
    copy = v;
    copy.set_name(found->second);
    rename_symbols(*copy.mutable_type());
  }
}

}  // namespace tenon::TENON_ABI::loader::inlining
