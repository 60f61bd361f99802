#include "loader/check.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loader/findings.hpp"
#include "loader/infer.hpp"
#include "tenon/loader.hpp"

namespace tenon::loader {

std::string shown(std::string_view name) {
  constexpr std::size_t most = 80;
  std::string text = concat("'", name.substr(0, most), name.size() > most ? "…'" : "'");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  return text;
}

namespace {

std::string node_text(const Place& p) {
  return concat(p.node->name().empty() ? std::to_string(p.index) : shown(p.node->name()), " (",
                std::string_view(p.node->op_type()).substr(0, 80), ")");
}
std::string graph_text(const Place* p) {
  std::vector<const Place*> path;
  for (; p != nullptr; p = p->outer) path.push_back(p);
  std::string text;
  for (; !path.empty(); path.pop_back()) {
    const Place& at = *path.back();
    text += concat(text.empty() ? "" : ".", at.what, at.name.empty() ? "" : " ", at.name);
    if (path.size() > 1 && at.node != nullptr) text += concat("/", node_text(at));
  }
  return text;
}

}  // namespace

std::string to_string(const Diagnostic& d) {
  return concat(d.severity == Severity::error ? "error" : "warning", " [", d.rule, "]",
                d.graph.empty() ? "" : " ", d.graph, d.node.empty() ? "" : ", node ", d.node, ": ",
                d.message);
}

bool has_errors(std::span<const Diagnostic> diagnostics) {
  return std::ranges::any_of(diagnostics, [](const Diagnostic& d) { return d.severity == Severity::error; });
}

void Findings::add(Severity severity, std::string_view rule, std::string message) {
  found_.push_back({severity, graph_text(place),
                    place != nullptr && place->node != nullptr ? node_text(*place) : "", rule,
                    std::move(message)});
}
std::vector<Diagnostic> Findings::take() {
  if (left_out_ > 0)
    found_.push_back({errors_ > 0 ? Severity::error : Severity::warning, "", "", "more",
                      concat(left_out_, " more are left out")});
  return std::move(found_);
}

namespace {

using Names = std::unordered_set<std::string_view>;

// The values that nodes of a graph may read at a point, and the graph around it.
struct Scope {
  const Scope* outer = nullptr;
  Names names{};
  std::unordered_map<std::string_view, int>
      ranks{};  // of values whose rank is stated, where nodes are sharded

  bool has_here(std::string_view name) const { return names.contains(name); }
  bool has(std::string_view name) const { return has_here(name) || (outer != nullptr && outer->has(name)); }
};

enum class Role { main, body, training };

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

class Checker {
 public:
  explicit Checker(const CheckOptions& options) : options_(options), findings_(options), opsets_(&given_) {
    given_ = options.opsets;
    if (given_.empty())
      for (const auto& [key, versions] : standard_registry().operators())
        if (key.first.empty()) given_[""] = std::max(given_[""], versions.rbegin()->first);
  }
  std::vector<Diagnostic> take() { return findings_.take(); }
  Findings& findings() { return findings_; }

  void model(const onnx::ModelProto& m) {
    findings_.ir_version = m.ir_version();
    if (m.ir_version() < 1) error("ir-version", "the model has no IR version");
    if (m.ir_version() > onnx::IR_VERSION)
      error("ir-version", "IR ", m.ir_version(), " is later than ", static_cast<int>(onnx::IR_VERSION),
            ", the newest that is known");
    check_keys(m.metadata_props(), "the model", findings_);
    given_ = read_imports(m.opset_import(), "the model");
    if (m.ir_version() >= 3 && m.opset_import_size() == 0)
      error("opset-import", "the model imports no opset");
    if (m.ir_version() < 3 && m.opset_import_size() > 0)
      error("opset-import", "opsets are imported, which IR ", m.ir_version(), " cannot");
    if (m.opset_import_size() == 0) given_[""] = 1;
    if (options_.pedantic && m.domain().empty()) findings_.warn("names", "the model has no domain");
    configurations_ = check_configurations(m, findings_);
    known_configurations_ = &configurations_;
    const bool has_functions = m.ir_version() >= 8;
    if (!has_functions && m.functions_size() > 0)
      findings_.warn("ir-version", "functions are a part of IR 8 and later");
    if (has_functions) collect_functions(m);

    outside_functions_ = true;
    Scope main;
    {
      const Within within(findings_, {.what = "main"});
      graph(m.graph(), main, Role::main);
    }
    for (const auto& t : m.training_info()) training(t, m.graph(), main);
    report_names();
    outside_functions_ = false;
    if (!has_functions) return;
    // Domains that the model itself does not import are those of the first function that does.
    Opsets all = given_;
    for (const auto& f : m.functions())
      for (const auto& i : f.opset_import())
        all.emplace(std::string(canonical(i.domain())),
                    static_cast<int>(std::clamp<int64_t>(i.version(), 0, 1 << 30)));
    given_ = std::move(all);
    for (const auto& f : m.functions()) function(f);
    find_cycles(m);
  }

  void main_graph(const onnx::GraphProto& g) {
    const Within within(findings_, {.what = "main"});
    Scope scope;
    graph(g, scope, Role::main);
    report_names();
  }

  void node(const onnx::NodeProto& n, const Scope& scope) {
    if (n.op_type().empty()) error("required", "a node has no op_type");
    if (n.input_size() == 0 && n.output_size() == 0)
      error("arity", "the node has neither inputs nor outputs");
    check_keys(n.metadata_props(), "the node", findings_);
    check_devices(
        n, known_configurations_, [&](const std::string& name) { return rank_of(name, scope); }, findings_);
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
    const std::string_view domain = canonical(n.domain());
    const bool unknown =
        callee == functions_.end() &&
        (domain.empty() || domain == "ai.onnx.ml" || domain == "ai.onnx.training" || options_.custom_domains);
    check_schema(n, opset->second, unknown, findings_);
  }

  void attribute(const onnx::AttributeProto& a, const Scope& scope) {
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

  void function(const onnx::FunctionProto& f) {
    const std::string name = concat(f.domain(), f.domain().empty() ? "" : ".", f.name());
    const Within within(findings_, {.what = "function", .name = std::string_view(name).substr(0, 80)});
    if (f.name().empty()) error("required", "a function has no name");
    if (findings_.ir_version >= 8 && !f.has_domain()) error("required", "the function has no domain");
    check_keys(f.metadata_props(), "the function", findings_);
    const Opsets own = read_imports(f.opset_import(), "the function");
    const Opsets* const around = std::exchange(opsets_, &own);
    Names inputs, outputs, parameters;
    Scope scope;
    for (const auto& i : f.input())
      if (!scope.names.insert(i).second) error("ssa", "input ", shown(i), " is there twice");
    for (const auto& o : f.output())
      if (!outputs.insert(o).second) error("function", "output ", shown(o), " is there twice");
    const auto parameter = [&](const std::string& p) {
      if (p.empty()) error("function", "an attribute has no name");
      else if (!parameters.insert(p).second) error("function", "attribute ", shown(p), " is declared twice");
    };
    for (const auto& a : f.attribute()) parameter(a);
    for (const auto& a : f.attribute_proto()) {
      parameter(a.name());
      if (!a.ref_attr_name().empty())
        error("function", "the default of attribute ", shown(a.name()), " refers to another attribute");
      attribute(a, scope);
    }
    parameters_ = &parameters;
    check_value_infos(f.value_info());
    nodes(f.node(), scope, [&](const onnx::NodeProto& n) { check_compatibility(n, own, *around); });
    for (const auto& o : f.output())
      if (!scope.has_here(o)) error("outputs", "output ", shown(o), " is given by no node");
    parameters_ = nullptr;
    opsets_ = around;
  }

 private:
  template <class... Parts>
  void error(std::string_view rule, const Parts&... parts) {
    findings_.error(rule, parts...);
  }

  template <class List>
  Opsets read_imports(const List& imports, std::string_view of) {
    Opsets opsets;
    for (const auto& i : imports) {
      const std::string domain(canonical(i.domain()));
      if ((i.version() < 1 && is_onnx_domain(domain)) || i.version() < 0 || i.version() > INT32_MAX)
        error("opset-import", of, " imports version ", i.version(), " of ", shown(display(domain)));
      const int version = static_cast<int>(std::clamp<int64_t>(i.version(), 0, INT32_MAX));
      const auto [it, added] = opsets.emplace(domain, version);
      if (added) continue;
      if (it->second == version)
        findings_.warn("opset-import", of, " imports ", shown(display(domain)), " twice");
      else
        error("opset-import", of, " imports versions ", it->second, " and ", version, " of ",
              shown(display(domain)));
    }
    return opsets;
  }

  // --- graphs ---

  void graph(const onnx::GraphProto& g, Scope& scope, Role role) {
    if (depth_ == max_nesting)
      return error("nesting", "more than ", max_nesting, " graphs within each other");
    ++depth_;
    if (g.name().empty() && (role != Role::training || g.ByteSizeLong() > 0))
      error("required", "the graph has no name");
    check_keys(g.metadata_props(), "the graph", findings_);
    for (const auto& v : g.input()) check_value_info(v, role == Role::main, findings_);
    for (const auto& v : g.output()) check_value_info(v, role == Role::main, findings_);
    check_value_infos(g.value_info());
    for (const auto& v : g.input()) {
      // The algorithm of training is one graph with the main one.
      const bool there = role == Role::training && scope.has(v.name());
      if (!scope.names.insert(v.name()).second || there)
        error("ssa", "input ", shown(v.name()), " is there twice");
    }
    initializers(g, scope, role);
    if (std::ranges::any_of(g.node(), [](const auto& n) { return n.device_configurations_size() > 0; }))
      scope.ranks = ranks_of(g);
    nodes(g.node(), scope, [](const onnx::NodeProto&) {});
    for (const auto& v : g.output())
      if (!(role == Role::training ? scope.has(v.name()) : scope.has_here(v.name())))
        error("outputs", "output ", shown(v.name()), " is no value of the graph");
    for (const auto& q : g.quantization_annotation()) {
      if (!scope.has_here(q.tensor_name()))
        error("quantization", "quantization of ", shown(q.tensor_name()), ", which is no value of the graph");
      check_keys(q.quant_parameter_tensor_names(), q.tensor_name(), findings_);
      for (const auto& e : q.quant_parameter_tensor_names())
        if (!scope.has(e.value()))
          error("quantization", e.key(), " of ", shown(q.tensor_name()), " is ", shown(e.value()),
                ", which is no value of the graph");
    }
    check_symbols(g);
    if (options_.pedantic) note_names(g);
    --depth_;
  }

  template <class List>
  void check_value_infos(const List& values) {
    Names names;
    for (const auto& v : values) {
      if (v.has_type()) check_type(v.type(), v.name(), false, findings_);
      if (!names.insert(v.name()).second)
        findings_.warn("value-info", shown(v.name()), " is described twice");
      check_keys(v.metadata_props(), v.name(), findings_);
    }
  }

  void initializers(const onnx::GraphProto& g, Scope& scope, Role role) {
    constexpr std::string_view rule = "initializer";
    Names names;
    const auto add = [&](const std::string& name) {
      if (name.empty()) return error("required", "an initializer has no name");
      if (!names.insert(name).second) return error(rule, "initializer ", shown(name), " is there twice");
      const bool input = scope.has_here(name);
      if (findings_.ir_version <= 3 && !input)
        error(rule, "initializer ", shown(name), " is no input, as IR ", findings_.ir_version, " demands");
      if (findings_.ir_version >= 4 && input && role == Role::body)
        error(rule, "initializer ", shown(name), " is an input of the body, whose operator gives it a value");
      if (role == Role::training && !input && scope.has(name))
        error("ssa", "initializer ", shown(name), " is a value of the main graph too");
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

  template <class List, class More>
  void nodes(const List& list, Scope& scope, More more) {
    Place* const place = findings_.place;
    const Place before = *place;
    for (int k = 0; k < list.size(); ++k) {
      const onnx::NodeProto& n = list[k];
      place->node = &n;
      place->index = k;
      for (const auto& name : n.input())
        if (!name.empty() && !scope.has(name))
          error("order", "input ", shown(name), " is not defined by anything before the node");
      more(n);
      node(n, scope);
      for (const auto& name : n.output()) {
        if (name.empty()) continue;
        if (scope.has(name)) error("ssa", "output ", shown(name), " is a value already");
        scope.names.insert(name);
      }
    }
    place->node = before.node;
    place->index = before.index;
  }

  // The rank that something says of a value, -1 if nothing does.
  static int rank_of(const std::string& name, const Scope& scope) {
    for (const Scope* s = &scope; s != nullptr; s = s->outer)
      if (const auto it = s->ranks.find(name); it != s->ranks.end()) return it->second;
    return -1;
  }
  static std::unordered_map<std::string_view, int> ranks_of(const onnx::GraphProto& g) {
    std::unordered_map<std::string_view, int> ranks;
    for (const auto* list : {&g.input(), &g.value_info(), &g.output()})
      for (const auto& v : *list)
        if (v.type().tensor_type().has_shape())
          ranks.emplace(v.name(), v.type().tensor_type().shape().dim_size());
    for (const auto& t : g.initializer()) ranks.emplace(t.name(), t.dims_size());
    return ranks;
  }

  // --- symbols of extents: one value each in a model ---

  void check_symbols(const onnx::GraphProto& g) {
    std::unordered_map<std::string_view, const onnx::TensorProto*> tensors;
    for (const auto& t : g.initializer()) tensors.emplace(t.name(), &t);
    std::unordered_map<std::string_view, const onnx::TensorShapeProto*> shapes;
    const auto same = [&](std::string_view value, const auto& a, const auto& b) {
      bind(b.dim_param(), a, value);
      bind(a.dim_param(), b, value);
      if (is_known(a) && is_known(b) && a.dim_value() != b.dim_value())
        error("dim-param", shown(value), " has an axis of ", a.dim_value(), " and of ", b.dim_value());
    };
    for (const auto* list : {&g.input(), &g.value_info(), &g.output()})
      for (const auto& v : *list) {
        const auto& type = v.type();
        if (!type.has_tensor_type() || !type.tensor_type().has_shape()) continue;
        const auto& shape = type.tensor_type().shape();
        if (const auto it = tensors.find(v.name()); it != tensors.end())
          check_initial_value(v.name(), *it->second, type.tensor_type());
        const auto [it, added] = shapes.emplace(v.name(), &shape);
        if (added) continue;
        if (it->second->dim_size() != shape.dim_size())
          error("dim-param", shown(v.name()), " has ", it->second->dim_size(), " and ", shape.dim_size(),
                " axes");
        else
          for (int k = 0; k < shape.dim_size(); ++k) same(v.name(), it->second->dim(k), shape.dim(k));
      }
  }
  // An initializer of another type is what inference refuses; ONNX's checker without it does not.
  void check_initial_value(const std::string& name, const onnx::TensorProto& t,
                           const onnx::TypeProto::Tensor& declared) {
    const auto& shape = declared.shape();
    bool fits = t.dims_size() == shape.dim_size() &&
                (declared.elem_type() == 0 || declared.elem_type() == t.data_type());
    for (int k = 0; fits && k < t.dims_size(); ++k) {
      onnx::TensorShapeProto::Dimension extent;
      extent.set_dim_value(t.dims(k));
      fits = !is_known(shape.dim(k)) || shape.dim(k).dim_value() == t.dims(k);
      bind(shape.dim(k).dim_param(), extent, name);
    }
    if (!fits) findings_.warn("initializer", "initializer ", shown(name), " is not of the declared type");
  }
  // Some writers have -1 for what they do not know.
  static bool is_known(const onnx::TensorShapeProto::Dimension& d) {
    return d.has_dim_value() && d.dim_value() >= 0;
  }
  void bind(const std::string& symbol, const onnx::TensorShapeProto::Dimension& extent,
            std::string_view value) {
    if (symbol.empty() || !is_known(extent)) return;
    const int64_t other = symbols_.emplace(symbol, extent.dim_value()).first->second;
    if (other != extent.dim_value())
      error("dim-param", shown(symbol), " is ", extent.dim_value(), " at ", shown(value), ", and ", other,
            " elsewhere");
  }

  // --- names that should be C identifiers ---

  void note_names(const onnx::GraphProto& g) {
    const auto note = [&](const std::string& name) {
      if (name.empty() || is_identifier(name)) return;
      if (odd_names_++ == 0) first_odd_name_ = shown(name);
    };
    note(g.name());
    const auto note_value = [&](const onnx::ValueInfoProto& v) {
      note(v.name());
      for (const auto& d : v.type().tensor_type().shape().dim()) note(d.dim_param());
    };
    for (const auto& v : g.input()) note_value(v);
    for (const auto& v : g.output()) note_value(v);
    for (const auto& t : g.initializer()) note(t.name());
    Names names;
    for (const auto& n : g.node()) {
      note(n.name());
      for (const auto& o : n.output()) note(o);
      if (!n.name().empty() && !names.insert(n.name()).second)
        findings_.warn("names", "several nodes have the name ", shown(n.name()));
    }
  }
  void report_names() {
    if (odd_names_ > 0)
      findings_.warn("names", odd_names_, " names are no C identifiers, the first of them ", first_odd_name_);
  }

  // --- training ---

  void training(const onnx::TrainingInfoProto& t, const onnx::GraphProto& main, const Scope& main_scope) {
    {
      const Within within(findings_, {.what = "initialization"});
      Scope scope;
      if (t.initialization().input_size() > 0) findings_.warn("training", "the initialization has inputs");
      graph(t.initialization(), scope, Role::training);
    }
    {
      const Within within(findings_, {.what = "algorithm"});
      Scope scope{.outer = &main_scope};
      graph(t.algorithm(), scope, Role::training);
    }
    Names state;
    for (const auto* g : {&main, &t.algorithm()}) {
      for (const auto& i : g->initializer()) state.insert(i.name());
      for (const auto& i : g->sparse_initializer()) state.insert(i.values().name());
    }
    const auto bindings = [&](std::string_view what, const auto& list, const onnx::GraphProto& g) {
      Names keys, outputs;
      for (const auto& v : g.output()) outputs.insert(v.name());
      for (const auto& b : list) {
        if (!keys.insert(b.key()).second) error("training", what, " has the key ", shown(b.key()), " twice");
        if (!state.contains(b.key()))
          error("training", what, " has the key ", shown(b.key()), ", which is no initializer");
        if (!outputs.contains(b.value()))
          error("training", what, " has the value ", shown(b.value()), ", which is no output of its graph");
      }
    };
    bindings("initialization_binding", t.initialization_binding(), t.initialization());
    bindings("update_binding", t.update_binding(), t.algorithm());
  }

  // --- functions ---

  void collect_functions(const onnx::ModelProto& m) {
    for (const auto& f : m.functions())
      if (!functions_.emplace(key_of(f), &f).second)
        error("function", "function ", shown(concat(f.domain(), ".", f.name())), " is there twice");
  }

  void call(const onnx::NodeProto& n, const onnx::FunctionProto& f) {
    if (n.input_size() > f.input_size())
      error("arity", n.input_size(), " inputs, but the function has ", f.input_size());
    if (n.output_size() > f.output_size())
      error("arity", n.output_size(), " outputs, but the function has ", f.output_size());
  }

  void check_compatibility(const onnx::NodeProto& n, const Opsets& own, const Opsets& model) {
    if (options_.skip_opset_compatibility) return;
    const auto a = own.find(canonical(n.domain())), b = model.find(canonical(n.domain()));
    if (a == own.end() || b == model.end() || same_operator(n, a->second, b->second)) return;
    error("opset-import", n.op_type(), " is another operator in opset ", a->second,
          " of the function than in opset ", b->second, " of the model");
  }

  // Calls that lead back to where they started. Without recursion: chains may be long.
  void find_cycles(const onnx::ModelProto& m) {
    using Function = const onnx::FunctionProto*;
    std::unordered_map<Function, std::vector<Function>> calls;
    for (const auto& f : m.functions()) collect_calls(f.node(), calls[&f], 0);
    enum class State { unseen, open, done };
    std::unordered_map<Function, State> states;
    for (const auto& f : m.functions()) {
      std::vector<std::pair<Function, std::size_t>> path;
      const auto open = [&](Function next) {
        states[next] = State::open;
        path.emplace_back(next, 0);
      };
      if (states[&f] == State::unseen) open(&f);
      while (!path.empty()) {
        const Function at = path.back().first;
        if (path.back().second == calls[at].size()) {
          states[at] = State::done;
          path.pop_back();
          continue;
        }
        const Function next = calls[at][path.back().second++];
        if (states[next] == State::unseen) open(next);
        else if (states[next] == State::open)
          error("function", "function ", shown(concat(next->domain(), ".", next->name())), " calls itself",
                next == at ? "" : concat(", through ", shown(concat(at->domain(), ".", at->name()))));
      }
    }
  }
  template <class List>
  void collect_calls(const List& list, std::vector<const onnx::FunctionProto*>& calls, int depth) {
    if (depth > max_nesting) return;
    for (const auto& n : list) {
      if (const auto it = functions_.find(key_of(n)); it != functions_.end()) calls.push_back(it->second);
      for (const auto& a : n.attribute()) {
        if (a.has_g()) collect_calls(a.g().node(), calls, depth + 1);
        for (const auto& g : a.graphs()) collect_calls(g.node(), calls, depth + 1);
      }
    }
  }

  const CheckOptions& options_;
  Findings findings_;
  Opsets given_;          // of the model, or what stands for one
  const Opsets* opsets_;  // in force
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  Configurations configurations_;
  const Configurations* known_configurations_ = nullptr;
  const Names* parameters_ = nullptr;  // attributes of the function that is being checked
  bool outside_functions_ = false;     // known to be
  int depth_ = 0;
  std::unordered_map<std::string_view, int64_t> symbols_;
  int64_t odd_names_ = 0;
  std::string first_odd_name_;
};

template <class F>
std::vector<Diagnostic> run(const CheckOptions& options, F f) {
  Checker checker(options);
  f(checker);
  return checker.take();
}

}  // namespace

std::vector<Diagnostic> check(const onnx::ModelProto& model, const CheckOptions& options) {
  return run(options, [&](Checker& c) {
    c.model(model);
    if (!options.full || c.findings().errors() > 0) return;
    onnx::ModelProto copy = model;
    try {
      infer_shapes(copy, {.strict = true, .check_types = true});
    } catch (const Error& e) {
      if (e.code() == ErrorCode::not_supported) c.findings().warn("inference", e.what());
      else c.findings().error("inference", e.what());
    }
  });
}
std::vector<Diagnostic> check(const onnx::GraphProto& graph, const CheckOptions& options) {
  return run(options, [&](Checker& c) { c.main_graph(graph); });
}
std::vector<Diagnostic> check(const onnx::FunctionProto& function, const CheckOptions& options) {
  return run(options, [&](Checker& c) { c.function(function); });
}
std::vector<Diagnostic> check(const onnx::NodeProto& node, const CheckOptions& options) {
  return run(options, [&](Checker& c) {
    Within within(c.findings(), {.what = "", .node = &node});
    c.node(node, {});
  });
}
std::vector<Diagnostic> check(const onnx::AttributeProto& attribute, const CheckOptions& options) {
  return run(options, [&](Checker& c) { c.attribute(attribute, {}); });
}
std::vector<Diagnostic> check(const onnx::TensorProto& tensor, const CheckOptions& options) {
  return run(options, [&](Checker& c) { check_tensor(tensor, c.findings()); });
}
std::vector<Diagnostic> check(const onnx::SparseTensorProto& tensor, const CheckOptions& options) {
  return run(options, [&](Checker& c) { check_sparse_tensor(tensor, c.findings()); });
}
std::vector<Diagnostic> check(const onnx::ValueInfoProto& value, const CheckOptions& options) {
  return run(options, [&](Checker& c) { check_value_info(value, true, c.findings()); });
}

}  // namespace tenon::loader
