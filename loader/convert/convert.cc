#include "loader/convert/convert.hpp"

#include <map>

#include "loader/check/check.hpp"
#include "loader/check/findings.hpp"
#include "loader/convert/convert_rule.hpp"
#include "loader/edit/order.hpp"
#include "loader/format/large_data.hpp"
#include "loader/infer/infer.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

bool refers(const onnx::NodeProto& n) {
  return std::ranges::any_of(n.attribute(), [](const auto& a) { return !a.ref_attr_name().empty(); });
}

bool is_default_domain(const onnx::NodeProto& n) { return canonical(n.domain()).empty(); }

class Converter {
 public:
  // `names` has all names of the model.
  Converter(onnx::ModelProto& model, int opset, const LargeData& data, NameSet& names,
            const std::set<FunctionKey>& functions, const Registry& registry)
      : model_(model),
        opset_(opset),
        data_(data),
        functions_(functions),
        registry_(registry),
        names_{names, {}} {}

  void run(int target) {
    for (bool first = true; opset_ != target; first = false) {
      const int next = opset_ < target ? opset_ + 1 : opset_ - 1;
      // The first step visits all nodes, to find out whether there are such operators.
      if (first || changes(next)) convert(next);
      for (auto& o : *model_.mutable_opset_import())
        if (canonical(o.domain()).empty()) o.set_version(next);
      opset_ = next;
    }
    each_graph([&](onnx::GraphProto& g) { remove_promoted(g, &g == model_.mutable_graph()); });
  }

 private:
  bool changes(int next) {
    bool found = false;
    each_graph([&](const onnx::GraphProto& g) {
      found = found || find_changed(g.node(), "", opset_, next, functions_, registry_) != nullptr;
    });
    return found;
  }
  void convert(int next) {
    if (!inferred_) infer();
    std::vector<const onnx::GraphProto*> typed;
    each_graph_of(typed_, [&](const onnx::GraphProto& g) { typed.push_back(&g); });
    std::size_t k = 0;
    // An algorithm reads the values of the main graph.
    const ConvertScope* main = nullptr;
    std::deque<ConvertScope> scopes;
    each_graph([&](onnx::GraphProto& g) {
      ConvertScope& scope = scopes.emplace_back();
      scope.outer = main;
      convert_graph(g, *typed[k++], scope, next);
      if (main == nullptr) main = &scope;
    });
  }

  template <class Model, class F>
  static void each_graph_of(Model& model, F f) {
    if constexpr (std::is_const_v<Model>) {
      f(model.graph());
      for (const auto& t : model.training_info()) f(t.initialization()), f(t.algorithm());
    } else {
      f(*model.mutable_graph());
      for (auto& t : *model.mutable_training_info())
        f(*t.mutable_initialization()), f(*t.mutable_algorithm());
    }
  }
  template <class F>
  void each_graph(F f) {
    each_graph_of(model_, f);
  }

  void infer() {
    typed_store_ = model_;
    for (auto& t : *typed_store_.mutable_training_info()) {
      onnx::ModelProto part;
      *part.mutable_opset_import() = model_.opset_import();
      *part.mutable_graph() = t.initialization();
      infer_shapes(part, {.registry = &registry_});
      *t.mutable_initialization() = part.graph();
    }
    infer_shapes(typed_store_, {.registry = &registry_});
    inferred_ = true;
  }

  void fill(ConvertScope& scope, const onnx::GraphProto& g, const onnx::GraphProto& typed,
            std::deque<onnx::TypeProto>& types) const {
    for (const auto* list : {&typed.input(), &typed.value_info(), &typed.output()})
      for (const auto& v : *list)
        if (v.type().value_case() != onnx::TypeProto::VALUE_NOT_SET) scope.types[v.name()] = &v.type();
    for (const auto& v : g.input()) scope.names.insert(v.name());
    for (const auto& t : g.sparse_initializer()) scope.names.insert(t.values().name());
    for (const auto& t : g.initializer()) {
      scope.names.insert(t.name());
      scope.tensors[t.name()] = &data_.whole(t);
      auto& type = *types.emplace_back().mutable_tensor_type();
      type.set_elem_type(t.data_type());
      type.mutable_shape();
      for (int64_t d : t.dims()) type.mutable_shape()->add_dim()->set_dim_value(d);
      scope.types[t.name()] = &types.back();
    }
    for (const auto& n : g.node()) scope.names.insert(n.output().begin(), n.output().end());
    scope.names.erase("");
    // An output that an outer graph computes belongs to that graph.
    std::erase_if(scope.types, [&](const auto& entry) { return !scope.names.contains(entry.first); });
  }

  void convert_graph(onnx::GraphProto& g, const onnx::GraphProto& typed, ConvertScope& scope, int next) {
    std::deque<onnx::TypeProto>& types = types_.emplace_back();
    fill(scope, g, typed, types);
    for (const auto& v : g.output()) {
      const ConvertScope* s = &scope;
      while (s != nullptr && !s->names.contains(v.name())) s = s->outer;
      if (s == nullptr)
        throw Error(ErrorCode::invalid_model, g.name(), str_cat("output '", v.name(), "' is not defined"));
    }
    Nodes out;
    out.Reserve(g.node_size());
    for (int k = 0; k < g.node_size(); ++k) {
      onnx::NodeProto& n = *g.mutable_node(k);
      const onnx::NodeProto* of_types = k < typed.node_size() ? &typed.node(k) : &n;
      for (int j = 0; j < n.attribute_size(); ++j) {
        onnx::AttributeProto& a = *n.mutable_attribute(j);
        if (!a.has_g() && a.graphs_size() == 0) continue;
        const bool same = j < of_types->attribute_size();
        if (a.has_g())
          convert_body(*a.mutable_g(),
                       same && of_types->attribute(j).has_g() ? of_types->attribute(j).g() : a.g(), scope,
                       next);
        for (int i = 0; i < a.graphs_size(); ++i)
          convert_body(*a.mutable_graphs(i),
                       same && i < of_types->attribute(j).graphs_size() ? of_types->attribute(j).graphs(i)
                                                                        : a.graphs(i),
                       scope, next);
      }
      convert_node(n, scope, next, out);
    }
    g.mutable_node()->Swap(&out);
  }
  void convert_body(onnx::GraphProto& g, const onnx::GraphProto& typed, const ConvertScope& outer, int next) {
    ConvertScope scope{.outer = &outer};
    convert_graph(g, typed, scope, next);
  }

  void append(onnx::NodeProto& n, ConvertScope& scope, Nodes& out) const {
    onnx::NodeProto* added = out.Add();
    added->Swap(&n);
    if (!is_standard(*added, "Constant") || added->output_size() != 1 || added->attribute_size() != 1 ||
        !added->attribute(0).ref_attr_name().empty())
      return;
    const onnx::AttributeProto& a = added->attribute(0);
    if (a.name() == "value" && a.has_t()) scope.tensors[added->output(0)] = &data_.whole(a.t());
    else scope.constants[added->output(0)] = &a;
  }

  void convert_node(onnx::NodeProto& n, ConvertScope& scope, int next, Nodes& out) {
    if (!is_default_domain(n) || functions_.contains(key_of(n))) return append(n, scope, out);
    const std::string op = n.op_type();
    const Registry::Found from = registry_.find("", op, opset_), to = registry_.find("", op, next);
    if (from.op_class != nullptr && from.op_class == to.op_class && from.version == to.version)
      return append(n, scope, out);
    Step s(n, opset_, next, scope, names_);
    if (from.op_class == nullptr) s.refuse("there is no such operator in opset ", opset_);
    const Adapter adapter = s.up() ? adapter_up(op, next) : adapter_down(op, opset_);
    if (to.op_class == nullptr && adapter == nullptr) s.refuse("opset ", next, " has no such operator");
    if (adapter == nullptr && from.op_class != to.op_class)
      s.refuse("the operator means something else there");
    require_operands(s, Form(from));
    if (!s.up() && opset_ == 11) count_axes_from_front(s);
    const Rest rest = adapter == nullptr ? Rest::all : adapter(s);
    const Registry::Found found = registry_.find("", n.op_type(), next);
    if (found.op_class == nullptr) s.refuse("opset ", next, " has no such operator");
    const Form form(found);
    if (refers(n)) check_references(s, Form(from), form);
    if (rest == Rest::all) convert_attributes(s, Form(from), form);
    check_operands(s, form);
    inferred_ = inferred_ && s.before.empty() && s.after.empty() && !s.rebuilt;
    for (auto* list : {&s.before, &s.after})
      for (auto& m : *list)
        for (const auto& name : m.output()) scope.names.insert(name);
    scope.names.insert(n.output().begin(), n.output().end());
    for (auto& b : s.before) append(b, scope, out);
    append(n, scope, out);
    for (auto& a : s.after) append(a, scope, out);
  }

  // --- constants that became attributes ---

  static void add_names_read(const onnx::GraphProto& g, std::set<std::string, std::less<>>& read) {
    for (const auto& v : g.output()) read.insert(v.name());
    for (const auto& n : g.node()) {
      read.insert(n.input().begin(), n.input().end());
      for (const auto& a : n.attribute()) {
        if (a.has_g()) add_names_read(a.g(), read);
        for (const auto& b : a.graphs()) add_names_read(b, read);
        if (names_values(n)) {
          read.insert(a.s());
          read.insert(a.strings().begin(), a.strings().end());
        }
      }
    }
  }
  void remove_promoted(onnx::GraphProto& g, bool main) {
    std::set<std::string, std::less<>> read;
    add_names_read(g, read);
    if (main)
      for (const auto& t : model_.training_info()) {
        add_names_read(t.algorithm(), read);
        for (const auto& b : t.initialization_binding()) read.insert(b.key());
        for (const auto& b : t.update_binding()) read.insert(b.key());
      }
    remove_promoted(g, read, main);
  }
  void remove_promoted(onnx::GraphProto& g, const std::set<std::string, std::less<>>& read, bool main) {
    const auto unread = [&](const std::string& name) {
      return names_.promoted.contains(name) && !read.contains(name);
    };
    std::set<std::string, std::less<>> removed;
    const auto remove = [&](auto& list, auto is) {
      list.erase(std::remove_if(list.begin(), list.end(), is), list.end());
    };
    for (const auto& t : g.initializer())
      if (unread(t.name())) removed.insert(t.name());
    remove(*g.mutable_node(), [&](const onnx::NodeProto& n) {
      return is_standard(n, "Constant") && n.output_size() == 1 && unread(n.output(0));
    });
    remove(*g.mutable_value_info(), [&](const onnx::ValueInfoProto& v) { return unread(v.name()); });
    if (main) {
      remove(*g.mutable_input(), [&](const onnx::ValueInfoProto& v) { return removed.contains(v.name()); });
      remove(*g.mutable_initializer(),
             [&](const onnx::TensorProto& t) { return removed.contains(t.name()); });
      remove(*g.mutable_quantization_annotation(),
             [&](const onnx::TensorAnnotation& t) { return removed.contains(t.tensor_name()); });
    }
    for (auto& n : *g.mutable_node())
      for (auto& a : *n.mutable_attribute()) {
        if (a.has_g()) remove_promoted(*a.mutable_g(), read, false);
        for (auto& b : *a.mutable_graphs()) remove_promoted(b, read, false);
      }
  }

  onnx::ModelProto& model_;
  int opset_;
  const LargeData& data_;  // whose placeholders the model has
  const std::set<FunctionKey>& functions_;
  const Registry& registry_;
  ConvertNames names_;
  bool inferred_ = false;
  onnx::ModelProto typed_store_;
  const onnx::ModelProto& typed_ = typed_store_;
  std::deque<std::deque<onnx::TypeProto>> types_;
};

void convert_function(onnx::FunctionProto& f, const onnx::FunctionProto& typed, int opset,
                      const std::string& place, const std::set<FunctionKey>& functions,
                      const Registry& registry) {
  NameSet names;
  names.add_all(f);
  onnx::ModelProto part;
  *part.mutable_opset_import() = f.opset_import();
  onnx::GraphProto& g = *part.mutable_graph();
  g.set_name(f.name());
  *g.mutable_value_info() = typed.value_info();
  std::map<std::string_view, const onnx::TypeProto*> types;
  for (const auto& v : typed.value_info()) types.emplace(v.name(), &v.type());
  for (const std::string& name : f.input()) {
    onnx::ValueInfoProto& input = *g.add_input();
    input.set_name(name);
    if (const auto it = types.find(name); it != types.end()) *input.mutable_type() = *it->second;
  }
  for (const std::string& name : f.output()) g.add_output()->set_name(name);
  g.mutable_node()->Swap(f.mutable_node());
  try {
    convert_part(part, opset, names, functions, registry);
  } catch (const Error& e) {
    throw Error(e.code(), str_cat(place, e.where().empty() ? "" : ", ", e.where()),
                str_cat(e.message(), " (a call that is inlined is converted for itself)"));
  }
  g.mutable_node()->Swap(f.mutable_node());
  std::set<std::string_view> values(f.input().begin(), f.input().end());
  for (const auto& n : f.node()) values.insert(n.output().begin(), n.output().end());
  auto& infos = *f.mutable_value_info();
  infos.erase(std::remove_if(infos.begin(), infos.end(),
                             [&](const onnx::ValueInfoProto& v) { return !values.contains(v.name()); }),
              infos.end());
}

// The functions that graphs call, directly or through each other.
class Calls {
 public:
  explicit Calls(const onnx::ModelProto& model) {
    for (const auto& f : model.functions()) functions_.emplace(key_of(f), &f);
    add(model.graph().node());
    for (const auto& t : model.training_info()) add(t.initialization().node()), add(t.algorithm().node());
    while (!entered_.empty()) {
      const onnx::FunctionProto& f = *entered_.back();
      entered_.pop_back();
      add(f.node());
    }
  }
  bool contain(const onnx::FunctionProto& f) const { return called_.contains(key_of(f)); }

 private:
  void add(const NodeList& nodes) {
    for (const auto& n : nodes) {
      if (const auto f = functions_.find(key_of(n)); f != functions_.end() && called_.insert(f->first).second)
        entered_.push_back(f->second);
      for (const auto& a : n.attribute()) {
        if (a.has_g()) add(a.g().node());
        for (const auto& g : a.graphs()) add(g.node());
      }
    }
  }
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::set<FunctionKey> called_;
  std::vector<const onnx::FunctionProto*> entered_;  // whose nodes have not been read yet
};

// Converts functions to the model's opset, with types of their values from their calls. If a function cannot
// be converted and has no calls, all functions without calls are removed.
void convert_functions(onnx::ModelProto& model, int opset, const onnx::ModelProto& before,
                       const std::set<FunctionKey>& names, const Registry& registry) {
  const Calls calls(before);
  std::optional<onnx::ModelProto> typed;
  bool stuck = false;
  for (int k = 0; k < model.functions_size(); ++k) {
    onnx::FunctionProto& f = *model.mutable_functions(k);
    const std::string place = str_cat("function '", canonical(f.domain()), ".", f.name(), "'");
    const Opsets opsets = read_opsets(f.opset_import(), place);
    const auto own = opsets.find("");
    if (own == opsets.end() || own->second == opset || own->second > registry.newest("")) continue;
    if (find_changed(f.node(), "", own->second, opset, names, registry) != nullptr) {
      if (!typed) {
        typed = copy_for_inference(before);
        infer_functions(*typed, {.registry = &registry});
      }
      try {
        convert_function(f, typed->functions(k), opset, place, names, registry);
      } catch (const Error& e) {
        if (e.code() != ErrorCode::not_supported || calls.contain(f)) throw;
        stuck = true;
      }
    }
    for (auto& o : *f.mutable_opset_import())
      if (canonical(o.domain()).empty()) o.set_version(opset);
  }
  if (!stuck) return;
  auto& functions = *model.mutable_functions();
  functions.erase(
      std::remove_if(functions.begin(), functions.end(), [&](const auto& f) { return !calls.contain(f); }),
      functions.end());
}

// Error{invalid_model} for models that break rules which conversion relies on. Returns whether the model
// keeps all other rules too.
bool demand_sound(const onnx::ModelProto& model, std::string_view which, bool wholly,
                  const Registry& registry) {
  bool whole = true;
  for (const Diagnostic& d : check(model, {.registry = &registry})) {
    if (d.severity != Severity::error) continue;
    whole = false;
    // Conversion itself checks operators, their attributes, and the outputs of bodies.
    if (wholly || (d.rule != "operator" && d.rule != "attribute" && d.rule != "type" && d.rule != "outputs"))
      throw Error(ErrorCode::invalid_model, std::string(which), to_string(d));
  }
  return whole;
}

bool lacks_shape(const onnx::ValueInfoProto& v) {
  return v.type().has_tensor_type() && !v.type().tensor_type().has_shape();
}

// Gives outputs of the main graph without a stated rank the inferred type.
void state_outputs(onnx::ModelProto& model, const Registry& registry) {
  auto& outputs = *model.mutable_graph()->mutable_output();
  if (std::none_of(outputs.begin(), outputs.end(), lacks_shape)) return;
  onnx::ModelProto typed = model;
  infer_shapes(typed, {.registry = &registry});
  for (int k = 0; k < outputs.size(); ++k)
    if (lacks_shape(outputs[k])) *outputs[k].mutable_type() = typed.graph().output(k).type();
}

// The opset of ai.onnx that a model imports; none where it imports other domains alone.
std::optional<int> opset_of(const onnx::ModelProto& model, const Registry& registry) {
  const Opsets opsets = read_opsets(model.opset_import(), "model");
  if (opsets.empty()) throw Error(ErrorCode::invalid_model, "model", "no opset is imported");
  const auto own = opsets.find(std::string_view());
  if (own == opsets.end()) return std::nullopt;
  if (own->second > registry.newest(""))
    throw Error(ErrorCode::not_supported, "model", str_cat("opset ", own->second, " is not known"));
  return own->second;
}

}  // namespace

const onnx::NodeProto* find_changed(const NodeList& nodes, const std::string& domain, int opset, int other,
                                    const std::set<FunctionKey>& functions, const Registry& registry,
                                    int depth) {
  if (depth > max_nesting) return nullptr;
  for (const auto& n : nodes) {
    if (canonical(n.domain()) == domain && !functions.contains(key_of(n)) &&
        !(has_domain(domain, registry) && same_operator(n, opset, other, registry)))
      return &n;
    for (const auto& a : n.attribute()) {
      const auto within = [&](const onnx::GraphProto& g) {
        return find_changed(g.node(), domain, opset, other, functions, registry, depth + 1);
      };
      if (a.has_g())
        if (const auto* found = within(a.g())) return found;
      for (const auto& g : a.graphs())
        if (const auto* found = within(g)) return found;
    }
  }
  return nullptr;
}

void convert_part(onnx::ModelProto& part, int opset, NameSet& names, const std::set<FunctionKey>& functions,
                  const Registry& registry) {
  LargeData data(part);
  Converter(part, opset_of(part, registry).value(), data, names, functions, registry).run(opset);
}

void convert_opset(onnx::ModelProto& model, int opset, const Registry& registry) {
  if (const int newest = registry.newest(""); opset < 1 || opset > newest)
    throw Error(ErrorCode::not_supported, "model", str_cat("opset ", opset, ": there are 1 to ", newest));
  const std::optional<int> own = opset_of(model, registry);
  LargeData data(model);
  onnx::ModelProto converted = model;
  sort_nodes(converted);
  const bool sound = demand_sound(converted, "model", false, registry);
  if (!own) converted.add_opset_import()->set_version(opset);  // no node is of ai.onnx
  NameSet names;
  names.add_all(converted.graph());
  for (const auto& t : converted.training_info())
    names.add_all(t.initialization()), names.add_all(t.algorithm());
  std::set<FunctionKey> functions;
  for (const auto& f : converted.functions()) functions.insert(key_of(f));
  Converter(converted, own.value_or(opset), data, names, functions, registry).run(opset);
  convert_functions(converted, opset, model, functions, registry);
  demand_sound(converted, "the converted model", sound, registry);
  state_outputs(converted, registry);
  data.put_into(converted);
  model.Swap(&converted);
}

}  // namespace tenon::TENON_ABI::loader
