#include "loader/edit/compose.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "loader/check/findings.hpp"
#include "loader/convert/convert.hpp"
#include "loader/display.hpp"
#include "loader/edit/names.hpp"
#include "loader/edit/order.hpp"
#include "loader/format/large_data.hpp"
#include "loader/infer/infer.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

template <class... Parts>
[[noreturn]] void refuse(std::string_view where, const Parts&... parts) {
  throw Error(ErrorCode::invalid_argument, std::string(where), str_cat(parts...));
}

void refuse_training(const onnx::ModelProto& m, std::string_view where) {
  if (m.training_info_size() > 0)
    throw Error(ErrorCode::not_supported, std::string(where), "the model has training information");
}

// All names of values in a graph and its bodies.
std::set<std::string> values_of(const onnx::GraphProto& g) {
  std::set<std::string> names;
  each_name(g, [&](const std::string& name, NameOf of) {
    if (of == NameOf::value) names.insert(name);
  });
  return names;
}

const onnx::ValueInfoProto* find(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& list,
                                 const std::string& name) {
  const auto it = std::find_if(list.begin(), list.end(), [&](const auto& v) { return v.name() == name; });
  return it == list.end() ? nullptr : &*it;
}

// Whether no value can have both types.
bool contradict(const onnx::TypeProto& a, const onnx::TypeProto& b) {
  if (a.value_case() == onnx::TypeProto::VALUE_NOT_SET || b.value_case() == onnx::TypeProto::VALUE_NOT_SET)
    return false;
  if (a.value_case() != b.value_case()) return true;
  if (!a.has_tensor_type()) return false;
  const auto &x = a.tensor_type(), &y = b.tensor_type();
  if (x.elem_type() != 0 && y.elem_type() != 0 && x.elem_type() != y.elem_type()) return true;
  return x.has_shape() && y.has_shape() &&
         !std::ranges::equal(x.shape().dim(), y.shape().dim(), [](const auto& m, const auto& n) {
           return !m.has_dim_value() || !n.has_dim_value() || m.dim_value() == n.dim_value();
         });
}

// The inputs of `b` by name, and the outputs of `a` that replace them.
std::map<std::string, std::string> connections(const onnx::GraphProto& a, const onnx::GraphProto& b,
                                               const MergeOptions& options) {
  std::map<std::string, std::string> sources;
  for (const auto& [out, in] : options.connect) {
    const std::string output = options.prefix_a + out, input = options.prefix_b + in;
    const auto *from = find(a.output(), output), *to = find(b.input(), input);
    if (from == nullptr) refuse("merge", "the first model has no output ", shown(output));
    if (to == nullptr) refuse("merge", "the second model has no input ", shown(input));
    if (contradict(from->type(), to->type()))
      refuse("merge", shown(output), " is ", type_text(from->type()), ", and ", shown(input), " is ",
             type_text(to->type()));
    if (!sources.emplace(input, output).second) refuse("merge", shown(input), " is connected twice");
  }
  return sources;
}

// Appends the entries that `list` lacks; differs(a, b) compares entries of both lists, which must agree.
template <class List, class Key, class Differs>
void unite(List& list, const List& more, Key key, Differs differs, std::string_view what) {
  std::map<std::string, const typename List::value_type*> present;
  for (const auto& entry : list) present.emplace(key(entry), &entry);
  for (const auto& entry : more) {
    const auto it = present.find(key(entry));
    if (it != present.end() && differs(*it->second, entry))
      refuse("merge", "the models have different ", what, " ", shown(key(entry)));
  }
  List added;
  for (const auto& entry : more)
    if (!present.contains(key(entry))) *added.Add() = entry;
  list.MergeFrom(added);
}
constexpr auto key_of_entry = [](const onnx::StringStringEntryProto& e) { return e.key(); };

onnx::GraphProto merge_graphs(onnx::GraphProto a, onnx::GraphProto b, const MergeOptions& options) {
  const auto sources = connections(a, b, options);
  const std::set<std::string> first = values_of(a), second = values_of(b);
  std::string common;
  int count = 0;
  for (const auto& name : second)
    if (first.contains(name) && !sources.contains(name) && ++count <= 5)
      common += str_cat(common.empty() ? "" : ", ", shown(name));
  if (count > 0)
    refuse("merge", "both models have values with the names ", common, count > 5 ? ", …" : "",
           ": a prefix keeps them apart");

  std::set<std::string> connected;
  for (const auto& [input, output] : sources) connected.insert(output);
  const auto drop = [](auto& list, const auto& name_of, const auto& names) {
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const auto& member) { return names.contains(name_of(member)); }),
               list.end());
  };
  const auto name = [](const auto& member) { return member.name(); };
  drop(*b.mutable_input(), name, sources);
  drop(*b.mutable_initializer(), name, sources);
  drop(*b.mutable_sparse_initializer(), [](const auto& t) { return t.values().name(); }, sources);
  drop(*b.mutable_value_info(), name, sources);
  drop(*b.mutable_quantization_annotation(), [](const auto& q) { return q.tensor_name(); }, sources);
  change_names(b, [&](std::string& value) {
    if (const auto it = sources.find(value); it != sources.end()) value = it->second;
  });

  std::set<std::string> stated;  // values whose types another list says
  for (const auto* list : {&a.input(), &a.value_info(), &b.output()})
    for (const auto& v : *list) stated.insert(v.name());
  for (const auto& v : a.output())
    if (connected.contains(v.name()) && stated.insert(v.name()).second) *a.add_value_info() = v;
  drop(*a.mutable_output(), name, connected);

  onnx::GraphProto merged = std::move(a);
  merged.set_name(str_cat(merged.name(), "_", b.name()));
  if (!b.doc_string().empty())
    merged.set_doc_string(
        str_cat(merged.doc_string(), merged.doc_string().empty() ? "" : "\n\n", b.doc_string()));
  merged.mutable_node()->MergeFrom(b.node());
  merged.mutable_input()->MergeFrom(b.input());
  merged.mutable_output()->MergeFrom(b.output());
  merged.mutable_initializer()->MergeFrom(b.initializer());
  merged.mutable_sparse_initializer()->MergeFrom(b.sparse_initializer());
  merged.mutable_value_info()->MergeFrom(b.value_info());
  merged.mutable_quantization_annotation()->MergeFrom(b.quantization_annotation());
  unite(
      *merged.mutable_metadata_props(), b.metadata_props(), key_of_entry,
      [](const auto&, const auto&) { return false; }, "");
  return merged;
}

// The extracted part of a graph.
class Extract {
 public:
  Extract(const onnx::ModelProto& model, const std::vector<std::string>& inputs,
          const std::vector<std::string>& outputs, const Registry* registry)
      : model_(model), g_(model.graph()), registry_(registry) {
    if (outputs.empty()) refuse(place, "no outputs are named");
    for (const auto& name : inputs)
      if (!inputs_.insert(name).second) refuse(place, "the input ", shown(name), " is named twice");
    for (const auto& name : outputs)
      if (!outputs_.insert(name).second) refuse(place, "the output ", shown(name), " is named twice");
    for (const auto& v : g_.input()) graph_inputs_.insert(v.name());
    for (const auto& t : g_.initializer()) initial_.insert(t.name());
    for (const auto& t : g_.sparse_initializer()) initial_.insert(t.values().name());
    for (int k = 0; k < g_.node_size(); ++k)
      for (const auto& name : g_.node(k).output())
        if (!name.empty()) producers_.emplace(name, k);
    for (const auto& q : g_.quantization_annotation()) annotations_.emplace(q.tensor_name(), &q);
    for (const auto* list : {&inputs, &outputs})
      for (const auto& name : *list)
        if (!producers_.contains(name) && !graph_inputs_.contains(name) && !initial_.contains(name))
          refuse(place, "the main graph has no value ", shown(name));
  }

  onnx::ModelProto run(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    reach(inputs, outputs);
    onnx::ModelProto m;
    m.set_ir_version(model_.ir_version());
    *m.mutable_opset_import() = model_.opset_import();
    *m.mutable_metadata_props() = model_.metadata_props();
    *m.mutable_configuration() = model_.configuration();
    m.set_producer_name("tenon");
    onnx::GraphProto& g = *m.mutable_graph();
    g.set_name(g_.name());
    for (int k : nodes_) *g.add_node() = g_.node(k);
    for (const auto& name : inputs) *g.add_input() = value_info(name);
    for (const auto& name : outputs) *g.add_output() = value_info(name);
    const auto stays = [&](const std::string& name) {
      return reached_.contains(name) && (!inputs_.contains(name) || graph_inputs_.contains(name));
    };
    for (const auto& t : g_.initializer())
      if (stays(t.name())) *g.add_initializer() = t;
    for (const auto& t : g_.sparse_initializer())
      if (stays(t.values().name())) *g.add_sparse_initializer() = t;
    for (const auto& v : g_.input())  // before IR 4, initializers are inputs
      if (model_.ir_version() < ir_of_plain_initializers && initial_.contains(v.name()) &&
          reached_.contains(v.name()) && !inputs_.contains(v.name()))
        *g.add_input() = v;
    std::unordered_set<std::string> stated = inputs_;
    stated.insert(outputs_.begin(), outputs_.end());
    for (const auto* list : {&g_.value_info(), &g_.output()})
      for (const auto& v : *list)
        if (reached_.contains(v.name()) && stated.insert(v.name()).second) *g.add_value_info() = v;
    for (const auto& q : g_.quantization_annotation())
      if (reached_.contains(q.tensor_name())) *g.add_quantization_annotation() = q;
    add_functions(m);
    return m;
  }

 private:
  static constexpr std::string_view place = "extract";

  // Collects everything that the outputs need, back to the inputs.
  void reach(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    std::vector<std::string> waiting(outputs.rbegin(), outputs.rend());
    waiting.insert(waiting.end(), inputs.begin(), inputs.end());
    while (!waiting.empty()) {
      const std::string name = std::move(waiting.back());
      waiting.pop_back();
      if (name.empty() || !reached_.insert(name).second) continue;
      if (const auto q = annotations_.find(name); q != annotations_.end())
        for (const auto& p : q->second->quant_parameter_tensor_names()) waiting.push_back(p.value());
      if (inputs_.contains(name)) continue;
      if (const auto it = producers_.find(name); it != producers_.end()) {
        if (!nodes_.insert(it->second).second) continue;
        const onnx::NodeProto& n = g_.node(it->second);
        for (const auto& other : n.output()) reached_.insert(other);
        for (std::string_view read : names_read(n)) waiting.emplace_back(read);
      } else if (graph_inputs_.contains(name) && !initial_.contains(name)) {
        refuse(place, "the outputs need the input ", shown(name), " too");
      }
    }
    for (int k : nodes_)
      for (const auto& name : g_.node(k).output())
        if (inputs_.contains(name))
          refuse(place, "the input ", shown(name), " is made by a node that another output needs");
  }

  // What the model states, if it leaves nothing open; else what inference adds to it.
  onnx::ValueInfoProto value_info(const std::string& name) {
    const onnx::ValueInfoProto stated = stated_in(g_, name);
    if (is_whole(stated.type())) return stated;
    if (!inferred_.has_graph()) {
      inferred_ = copy_for_inference(model_);
      infer_shapes(inferred_, {.registry = registry_});
    }
    for (const onnx::ValueInfoProto& v : {stated_in(inferred_.graph(), name), stated})
      if (has_element(v.type())) return v;
    refuse(place, "the type of ", shown(name), " is not known");
  }
  static onnx::ValueInfoProto stated_in(const onnx::GraphProto& g, const std::string& name) {
    for (const auto* list : {&g.input(), &g.output(), &g.value_info()})
      if (const auto* v = find(*list, name); v != nullptr && v->has_type()) return *v;
    onnx::ValueInfoProto v;
    v.set_name(name);
    const auto is = [&](int32_t element, const auto& extents) {
      auto* type = v.mutable_type()->mutable_tensor_type();
      type->set_elem_type(element);
      type->mutable_shape();
      for (const int64_t extent : extents) type->mutable_shape()->add_dim()->set_dim_value(extent);
    };
    for (const auto& t : g.initializer())
      if (t.name() == name) is(t.data_type(), t.dims());
    for (const auto& t : g.sparse_initializer())
      if (t.values().name() == name) is(t.values().data_type(), t.dims());
    return v;
  }
  static bool has_element(const onnx::TypeProto& t) {
    return t.has_tensor_type() ? t.tensor_type().elem_type() != 0
                               : t.value_case() != onnx::TypeProto::VALUE_NOT_SET;
  }
  static bool is_whole(const onnx::TypeProto& t) {
    return has_element(t) &&
           (!t.has_tensor_type() || (t.tensor_type().has_shape() &&
                                     std::ranges::all_of(t.tensor_type().shape().dim(), [](const auto& d) {
                                       return d.has_dim_value() || d.has_dim_param();
                                     })));
  }

  // The functions in use, in the model's order.
  void add_functions(onnx::ModelProto& m) const {
    Functions functions;
    for (const auto& f : model_.functions()) functions.emplace(key_of(f), &f);
    std::unordered_set<const onnx::FunctionProto*> used;
    std::vector<std::pair<const NodeList*, int>> waiting{{&m.graph().node(), 0}};
    while (!waiting.empty()) {
      const auto [list, depth] = waiting.back();
      waiting.pop_back();
      for (const auto& n : *list) {
        if (const auto it = functions.find(key_of(n));
            it != functions.end() && used.insert(it->second).second)
          waiting.emplace_back(&it->second->node(), 0);
        for (const auto& a : n.attribute()) {
          if (a.has_g()) waiting.emplace_back(&a.g().node(), depth + 1);
          for (const auto& g : a.graphs()) waiting.emplace_back(&g.node(), depth + 1);
        }
      }
    }
    for (const auto& f : model_.functions())
      if (used.contains(&f)) *m.add_functions() = f;
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& g_;
  const Registry* registry_;
  onnx::ModelProto inferred_;
  std::unordered_set<std::string> inputs_, outputs_, graph_inputs_, initial_, reached_;
  std::unordered_map<std::string, int> producers_;
  std::unordered_map<std::string, const onnx::TensorAnnotation*> annotations_;
  std::set<int> nodes_;
};

}  // namespace

void add_prefix(onnx::ModelProto& model, const std::string& prefix) {
  if (prefix.empty()) return;
  refuse_training(model, "add_prefix");
  std::set<FunctionKey> functions;
  for (const auto& f : model.functions()) functions.insert(key_of(f));
  const auto add = [&](std::string& name) {
    if (!name.empty()) name.insert(0, prefix);
  };
  const auto rename_call = [&](onnx::NodeProto& n) {
    if (functions.contains(key_of(n))) add(*n.mutable_op_type());
  };
  change_names(*model.mutable_graph(), add, [&](onnx::NodeProto& n) {
    rename_call(n);
    if (!n.name().empty()) add(*n.mutable_name());
  });
  for (auto& f : *model.mutable_functions()) {
    onnx::GraphProto body;  // its values keep their names
    body.mutable_node()->Swap(f.mutable_node());
    change_names(body, [](std::string&) {}, rename_call);
    f.mutable_node()->Swap(body.mutable_node());
    add(*f.mutable_name());
  }
}

onnx::ModelProto merge(const onnx::ModelProto& a, const onnx::ModelProto& b, const MergeOptions& options) {
  refuse_training(a, "merge");
  refuse_training(b, "merge");
  if (a.ir_version() != b.ir_version())
    refuse("merge", "the models are of IR versions ", a.ir_version(), " and ", b.ir_version());
  onnx::ModelProto first = a, second = b;
  add_prefix(first, options.prefix_a);
  add_prefix(second, options.prefix_b);
  std::set<FunctionKey> functions;
  for (const auto& f : first.functions()) functions.insert(key_of(f));
  for (const auto& f : second.functions())
    if (functions.contains(key_of(f)))
      refuse("merge", "both models have a function ", shown(str_cat(f.domain(), ".", f.name())),
             ": a prefix keeps them apart");

  onnx::ModelProto merged;
  merged.set_ir_version(a.ir_version());
  merged.set_producer_name("tenon");
  *merged.mutable_opset_import() = first.opset_import();
  unite(
      *merged.mutable_opset_import(), second.opset_import(),
      [](const auto& i) { return display(canonical(i.domain())); },
      [](const auto& x, const auto& y) { return x.version() != y.version(); }, "opsets of");
  *merged.mutable_metadata_props() = first.metadata_props();
  unite(
      *merged.mutable_metadata_props(), second.metadata_props(), key_of_entry,
      [](const auto& x, const auto& y) { return x.value() != y.value(); }, "metadata for");
  *merged.mutable_configuration() = first.configuration();
  unite(
      *merged.mutable_configuration(), second.configuration(), [](const auto& c) { return c.name(); },
      [](const auto& x, const auto& y) { return x.SerializeAsString() != y.SerializeAsString(); },
      "device configurations");
  *merged.mutable_graph() =
      merge_graphs(std::move(*first.mutable_graph()), std::move(*second.mutable_graph()), options);
  *merged.mutable_functions() = std::move(*first.mutable_functions());
  merged.mutable_functions()->MergeFrom(second.functions());
  return merged;
}

onnx::ModelProto extract(const onnx::ModelProto& model, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs, const Registry* registry) {
  return Extract(model, inputs, outputs, registry).run(inputs, outputs);
}

}  // namespace tenon::TENON_ABI::loader
