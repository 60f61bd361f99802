// Model's members that edit its main graph.
#include <algorithm>
#include <set>

#include "loader/check/findings.hpp"
#include "loader/edit/names.hpp"
#include "loader/format/tensor.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"

namespace tenon::TENON_ABI {
namespace {

using loader::shown;

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::invalid_argument, "model", str_cat(parts...));
}

template <class Named>
int find(const google::protobuf::RepeatedPtrField<Named>& list, std::string_view name) {
  for (int k = 0; k < list.size(); ++k)
    if (list[k].name() == name) return k;
  return -1;
}
int find_sparse(const onnx::GraphProto& g, std::string_view name) {
  for (int k = 0; k < g.sparse_initializer_size(); ++k)
    if (g.sparse_initializer(k).values().name() == name) return k;
  return -1;
}
// The node that has a result of the name.
int find_producer(const onnx::GraphProto& g, std::string_view name) {
  for (int k = 0; k < g.node_size(); ++k)
    if (std::ranges::find(g.node(k).output(), name) != g.node(k).output().end()) return k;
  return -1;
}
bool defines(const onnx::GraphProto& g, std::string_view name) {
  return find(g.input(), name) >= 0 || find(g.initializer(), name) >= 0 || find_sparse(g, name) >= 0 ||
         find_producer(g, name) >= 0;
}
void demand_free(const onnx::GraphProto& g, std::string_view name) {
  if (name.empty()) refuse("a value needs a name");
  if (defines(g, name)) refuse("the name ", shown(name), " is taken");
}

// An input or output from its text, "float[batch, 3] x", in a graph's syntax.
onnx::ValueInfoProto parse_value(std::string_view text) {
  onnx::GraphProto g = loader::parse_text<onnx::GraphProto>(str_cat("g (", text, ") => () {}"));
  if (g.input_size() != 1 || g.initializer_size() > 0 || g.node_size() > 0 || g.value_info_size() > 0)
    refuse("'", text, "' is not one value with its type");
  return std::move(*g.mutable_input(0));
}

// Calls change(shape) with the shape of each type of a graph, its bodies included.
template <class Change>
void change_shapes(onnx::TypeProto& t, const Change& change) {
  if (t.has_tensor_type() && t.tensor_type().has_shape()) change(*t.mutable_tensor_type()->mutable_shape());
  if (t.has_sparse_tensor_type() && t.sparse_tensor_type().has_shape())
    change(*t.mutable_sparse_tensor_type()->mutable_shape());
  if (t.has_sequence_type()) change_shapes(*t.mutable_sequence_type()->mutable_elem_type(), change);
  if (t.has_optional_type()) change_shapes(*t.mutable_optional_type()->mutable_elem_type(), change);
  if (t.has_map_type()) change_shapes(*t.mutable_map_type()->mutable_value_type(), change);
}
template <class Change>
void change_shapes(onnx::GraphProto& g, const Change& change) {
  for (auto* list : {g.mutable_input(), g.mutable_output(), g.mutable_value_info()})
    for (auto& v : *list)
      if (v.has_type()) change_shapes(*v.mutable_type(), change);
  for (auto& n : *g.mutable_node())
    for (auto& a : *n.mutable_attribute()) {
      if (a.has_g()) change_shapes(*a.mutable_g(), change);
      for (auto& body : *a.mutable_graphs()) change_shapes(body, change);
    }
}

}  // namespace

void Model::add_input(std::string_view text) {
  onnx::ValueInfoProto value = parse_value(text);
  onnx::GraphProto& g = *proto().mutable_graph();
  demand_free(g, value.name());
  *g.add_input() = std::move(value);
}

void Model::add_output(std::string_view text) {
  onnx::ValueInfoProto value = parse_value(text);
  onnx::GraphProto& g = *proto().mutable_graph();
  if (!defines(g, value.name())) refuse("there is no value ", shown(value.name()));
  if (find(g.output(), value.name()) >= 0) refuse(shown(value.name()), " is an output already");
  if (const int k = find(g.value_info(), value.name()); k >= 0) g.mutable_value_info()->DeleteSubrange(k, 1);
  *g.add_output() = std::move(value);
}

void Model::add_initializer(std::string_view name, const Value& value) {
  if (!value.is_tensor()) refuse("an initializer is a tensor");
  onnx::GraphProto& g = *proto().mutable_graph();
  demand_free(g, name);
  onnx::TensorProto& t = *g.add_initializer();
  loader::write_tensor(value.tensor(), t);
  t.set_name(std::string(name));
}

void Model::add_node(std::string_view text) {
  auto node = loader::parse_text<onnx::NodeProto>(text);
  onnx::GraphProto& g = *proto().mutable_graph();
  for (const auto& name : node.output())
    if (!name.empty()) demand_free(g, name);
  int at = 0;
  for (std::string_view name : loader::names_read(node)) {
    if (name.empty()) continue;
    if (!defines(g, name)) refuse("there is no value ", shown(name));
    at = std::max(at, find_producer(g, name) + 1);
  }
  *g.add_node() = std::move(node);
  const auto nodes = g.mutable_node()->pointer_begin();
  std::rotate(nodes + at, nodes + g.node_size() - 1, nodes + g.node_size());
}

void Model::remove_output(std::string_view name) {
  onnx::GraphProto& g = *proto().mutable_graph();
  const int k = find(g.output(), name);
  if (k < 0) refuse("there is no output ", shown(name));
  g.mutable_output()->DeleteSubrange(k, 1);
}

void Model::remove(std::string_view name) {
  onnx::GraphProto& g = *proto().mutable_graph();
  const int producer = find_producer(g, name);
  std::set<std::string, std::less<>> gone;
  if (producer >= 0) gone.insert(g.node(producer).output().begin(), g.node(producer).output().end());
  else if (defines(g, name)) gone.emplace(name);
  else refuse("there is no value ", shown(name));
  gone.erase("");
  for (const auto& v : g.output())
    if (gone.contains(v.name())) refuse(shown(v.name()), " is an output");
  for (int k = 0; k < g.node_size(); ++k)
    for (std::string_view read : loader::names_read(g.node(k)))
      if (k != producer && gone.contains(read)) refuse(shown(read), " is read by another node");

  const auto drop = [&](auto& list, const auto& name_of) {
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const auto& member) { return gone.contains(name_of(member)); }),
               list.end());
  };
  const auto own = [](const auto& member) { return member.name(); };
  if (producer >= 0) g.mutable_node()->DeleteSubrange(producer, 1);
  drop(*g.mutable_input(), own);
  drop(*g.mutable_initializer(), own);
  drop(*g.mutable_sparse_initializer(), [](const auto& t) { return t.values().name(); });
  drop(*g.mutable_value_info(), own);
  drop(*g.mutable_quantization_annotation(), [](const auto& q) { return q.tensor_name(); });
}

void Model::rename(std::string_view from, std::string_view to) {
  onnx::GraphProto& g = *proto().mutable_graph();
  if (from.empty() || !defines(g, from)) refuse("there is no value ", shown(from));
  if (to.empty()) refuse("a value needs a name");
  // An input with an initializer is one value.
  const bool both =
      find(g.input(), from) >= 0 && (find(g.initializer(), from) >= 0 || find_sparse(g, from) >= 0);
  int definitions = both ? -1 : 0;
  std::vector<onnx::GraphProto*> graphs{&g};
  for (auto& t : *proto().mutable_training_info())
    if (t.has_algorithm()) graphs.push_back(t.mutable_algorithm());
  for (const auto* graph : graphs)
    loader::each_definition(*graph, [&](const std::string& name) {
      if (name == to) refuse("the name ", shown(to), " is taken");
      definitions += name == from;
    });
  if (definitions > 1) refuse("another graph has a value ", shown(from), " as well");
  const auto change = [from = std::string(from), to = std::string(to)](std::string& name) {
    if (name == from) name = to;
  };
  for (auto* graph : graphs) loader::change_names(*graph, change);
  for (auto& t : *proto().mutable_training_info()) {
    for (auto* bindings : {t.mutable_initialization_binding(), t.mutable_update_binding()})
      for (auto& b : *bindings) change(*b.mutable_key());
    for (auto& b : *t.mutable_update_binding()) change(*b.mutable_value());
  }
}

void Model::set_extents(std::string_view name, std::string_view extents) {
  onnx::GraphProto& g = *proto().mutable_graph();
  const onnx::ValueInfoProto parsed = parse_value(str_cat("float", extents, " x"));
  std::vector<onnx::ValueInfoProto*> stated;
  for (auto* list : {g.mutable_input(), g.mutable_output(), g.mutable_value_info()})
    if (const int k = find(*list, name); k >= 0) {
      if (!list->Get(k).type().has_tensor_type()) refuse(shown(name), " is no tensor");
      stated.push_back(list->Mutable(k));
    }
  if (stated.empty()) refuse("the type of ", shown(name), " is not stated");
  for (onnx::ValueInfoProto* v : stated) {
    auto& t = *v->mutable_type()->mutable_tensor_type();
    if (parsed.type().tensor_type().has_shape()) *t.mutable_shape() = parsed.type().tensor_type().shape();
    else t.clear_shape();
  }
}

void Model::set_symbol(std::string_view symbol, int64_t extent) {
  if (symbol.empty()) refuse("a symbol needs a name");
  if (extent < 0) refuse("the extent of ", shown(symbol), " cannot be ", extent);
  const auto change = [&](onnx::TensorShapeProto& shape) {
    for (auto& d : *shape.mutable_dim())
      if (d.has_dim_param() && d.dim_param() == symbol) d.set_dim_value(extent);
  };
  change_shapes(*proto().mutable_graph(), change);
  for (auto& t : *proto().mutable_training_info()) {
    if (t.has_initialization()) change_shapes(*t.mutable_initialization(), change);
    if (t.has_algorithm()) change_shapes(*t.mutable_algorithm(), change);
  }
}

}  // namespace tenon::TENON_ABI
