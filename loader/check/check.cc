#include "loader/check/check.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loader/check/findings.hpp"
#include "loader/format/large_data.hpp"
#include "loader/infer/infer.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// The values that nodes of a graph may read at a point, and the graph around it.
struct Scope {
  const Scope* outer = nullptr;
  Names names{};
  std::unordered_map<std::string_view, int> ranks{};  // of values that state it, where nodes are sharded

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
  Checker(const CheckOptions& options, const Versions& versions)
      : options_(options),
        findings_(options, versions.ir_version),
        given_(versions.opsets),
        opsets_(&given_) {
    if (given_.empty()) given_[""] = findings_.registry.newest("");
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
    check_updates(m, findings_);
    report_names();
    outside_functions_ = false;
    if (!has_functions) return;
    // A domain that only functions import has the version of the first of these functions.
    Opsets all = given_;
    for (const auto& f : m.functions())
      for (const auto& i : f.opset_import())
        all.emplace(std::string(canonical(i.domain())),
                    static_cast<int>(std::clamp<int64_t>(i.version(), 0, 1 << 30)));
    given_ = std::move(all);
    for (const auto& f : m.functions()) function(f);
    check_cycles(m, functions_, findings_);
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
    const bool unknown = callee == functions_.end() &&
                         (options_.custom_domains || is_complete(canonical(n.domain()), findings_.registry));
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
    const std::string name = str_cat(f.domain(), f.domain().empty() ? "" : ".", f.name());
    const Within within(findings_, {.what = "function", .name = name});
    if (f.name().empty()) error("required", "a function has no name");
    if (findings_.ir_version >= 8 && !f.has_domain()) error("required", "the function has no domain");
    check_keys(f.metadata_props(), "the function", findings_);
    const Opsets own = read_imports(f.opset_import(), "the function");
    const Opsets* const around = std::exchange(opsets_, &own);
    Names outputs, parameters;
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
    symbols_ = {};  // a function's extents are its own
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
      if ((i.version() < 1 && has_domain(domain, findings_.registry)) || i.version() < 0 ||
          i.version() > INT32_MAX)
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
      // The training algorithm forms one graph with the main one.
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

  // The rank of a value, -1 if unknown.
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
      if (t.initialization().input_size() > 0) error("training", "the initialization has inputs");
      graph(t.initialization(), scope, Role::training);
    }
    {
      const Within within(findings_, {.what = "algorithm"});
      Scope scope{.outer = &main_scope};
      graph(t.algorithm(), scope, Role::training);
    }
    check_bindings(t, main, findings_);
  }

  // --- functions ---

  void collect_functions(const onnx::ModelProto& m) {
    for (const auto& f : m.functions())
      if (!functions_.emplace(key_of(f), &f).second)
        error("function", "function ", shown(str_cat(f.domain(), ".", f.name())), " is there twice");
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
    if (a == own.end() || b == model.end() || same_operator(n, a->second, b->second, findings_.registry))
      return;
    error("opset-import", n.op_type(), " is another operator in opset ", a->second,
          " of the function than in opset ", b->second, " of the model");
  }

  const CheckOptions& options_;
  Findings findings_;
  Opsets given_;          // of the model; of a part by itself, as given
  const Opsets* opsets_;  // in force
  Functions functions_;
  Configurations configurations_;
  const Configurations* known_configurations_ = nullptr;
  const Names* parameters_ = nullptr;  // attributes of the function that is being checked
  bool outside_functions_ = false;     // known to be
  int depth_ = 0;
  Symbols symbols_;
  int64_t odd_names_ = 0;
  std::string first_odd_name_;
};

template <class F>
std::vector<Diagnostic> run(const CheckOptions& options, const Versions& versions, F f) {
  Checker checker(options, versions);
  f(checker);
  return checker.take();
}

}  // namespace

std::vector<Diagnostic> check(const onnx::ModelProto& model, const CheckOptions& options) {
  return run(options, {}, [&](Checker& c) {
    c.model(model);
    if (!options.full || c.findings().errors() > 0) return;
    onnx::ModelProto copy = copy_for_inference(model);
    try {
      infer_shapes(copy, {.registry = options.registry, .strict = true, .check_types = true});
    } catch (const Error& e) {
      if (e.code() == ErrorCode::not_supported) c.findings().warn("inference", e.what());
      else c.findings().error("inference", e.what());
    }
  });
}
std::vector<Diagnostic> check(const onnx::GraphProto& graph, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) { c.main_graph(graph); });
}
std::vector<Diagnostic> check(const onnx::FunctionProto& function, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) { c.function(function); });
}
std::vector<Diagnostic> check(const onnx::NodeProto& node, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) {
    Within within(c.findings(), {.what = "", .node = &node});
    c.node(node, {});
  });
}
std::vector<Diagnostic> check(const onnx::AttributeProto& attribute, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) { c.attribute(attribute, {}); });
}
std::vector<Diagnostic> check(const onnx::TensorProto& tensor, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) { check_tensor(tensor, c.findings()); });
}
std::vector<Diagnostic> check(const onnx::SparseTensorProto& tensor, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) { check_sparse_tensor(tensor, c.findings()); });
}
std::vector<Diagnostic> check(const onnx::ValueInfoProto& value, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) { check_value_info(value, true, c.findings()); });
}

}  // namespace tenon::TENON_ABI::loader
