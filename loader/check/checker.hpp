// The walk through a model and its parts that check() takes.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loader/check/findings.hpp"

namespace tenon::TENON_ABI::loader {

/// Checks one model, or one part of a model.
class Checker {
 public:
  // The values that nodes of a graph may read at a point, and the graph around it.
  struct Scope {
    const Scope* outer = nullptr;
    Names names{};
    std::unordered_map<std::string_view, std::vector<int64_t>>
        extents{};  // of values, where nodes are sharded

    bool has_here(std::string_view name) const { return names.contains(name); }
    bool has(std::string_view name) const { return has_here(name) || (outer != nullptr && outer->has(name)); }
  };

  Checker(const CheckOptions& options, const Versions& versions)
      : options_(options),
        findings_(options, versions.ir_version),
        given_(versions.opsets),
        opsets_(&given_) {
    if (given_.empty()) given_[""] = findings_.registry.newest("");
  }
  std::vector<Diagnostic> take() { return findings_.take(); }
  Findings& findings() { return findings_; }

  void model(const onnx::ModelProto& m);
  void main_graph(const onnx::GraphProto& g);
  void node(const onnx::NodeProto& n, const Scope& scope);
  void attribute(const onnx::AttributeProto& a, const Scope& scope);
  void function(const onnx::FunctionProto& f);
  /// Warns of nodes that no schema and no function describes.
  void report_unchecked();

 private:
  enum class Role { main, body, training };

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
      // Registries of other domains may lack the newest operators. A later opset may have changed any
      // operator.
      if (const int newest = findings_.registry.newest(domain);
          i.version() > newest && newest > 0 && (domain.empty() || domain.starts_with("ai.onnx")))
        findings_.warn("opset-import", of, " imports version ", i.version(), " of ", shown(display(domain)),
                       ", and ", newest, " is the newest that is known");
      const int version = static_cast<int>(std::clamp<int64_t>(i.version(), 0, INT32_MAX));
      const auto [it, added] = opsets.emplace(domain, version);
      if (added) continue;
      if (it->second == version) {
        findings_.warn("opset-import", of, " imports ", shown(display(domain)), " twice");
        continue;
      }
      error("opset-import", of, " imports versions ", it->second, " and ", version, " of ",
            shown(display(domain)));
      it->second = version;  // as read_opsets takes it
    }
    return opsets;
  }

  // --- graphs ---

  void graph(const onnx::GraphProto& g, Scope& scope, Role role);

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

  void initializers(const onnx::GraphProto& g, Scope& scope, Role role);
  void check_shadowing(std::string_view what, const std::string& name, const Scope& scope);

  template <class List, class More>
  void nodes(const List& list, Scope& scope, More more) {
    Place* const place = findings_.place;
    const Place before = *place;
    open_lists_.emplace_back();
    for (const auto& n : list) open_lists_.back().names.insert(n.output().begin(), n.output().end());
    for (int k = 0; k < list.size(); ++k) {
      const onnx::NodeProto& n = list[k];
      place->node = &n;
      place->index = k;
      for (const auto& name : n.input())
        if (!name.empty() && !scope.has(name)) report_undefined(name);
      more(n);
      node(n, scope);
      for (const auto& name : n.output()) {
        check_text("output", name);
        if (name.empty()) continue;
        if (scope.has(name)) error("ssa", "output ", shown(name), " is a value already");
        scope.names.insert(name);
      }
    }
    place->node = before.node;
    place->index = before.index;
    if (const int64_t more_early = open_lists_.back().early_reads - 1; more_early > 0)
      findings_.extend(open_lists_.back().first,
                       str_cat("; ", more_early, more_early == 1 ? " more input is" : " more inputs are",
                               " read too early in the same list of nodes"));
    open_lists_.pop_back();
  }

  // The results of the nodes of a list that is being checked, and the reads of them by nodes that stand
  // earlier, in the list or in bodies of its nodes.
  struct NodeResults {
    Names names{};
    int64_t early_reads = 0;
    Findings::Number first{};  // of the error about the reads
  };
  void report_undefined(const std::string& name) {
    const auto list = std::find_if(open_lists_.rbegin(), open_lists_.rend(),
                                   [&](const NodeResults& r) { return r.names.contains(name); });
    if (list == open_lists_.rend())
      return error("order", "input ", shown(name), " is not defined by anything before the node");
    if (++list->early_reads > 1) return;
    list->first = findings_.numbered_error("order", "input ", shown(name), " is defined only after the node");
  }

  // --- devices ---

  /// Where nodes are sharded, the extents that values state; -1: unknown.
  static void note_extents(const onnx::GraphProto& g, Scope& scope);
  static void note_extents(const onnx::FunctionProto& f, Scope& scope);
  void place(const onnx::NodeProto& n, const Scope& scope);

  // --- names that are not UTF-8, or should be C identifiers ---

  /// Strings of a message are UTF-8, or other readers refuse it.
  void check_text(std::string_view what, std::string_view name);
  void note_names(const onnx::GraphProto& g);
  void report_names();

  // --- training ---

  void training(const onnx::TrainingInfoProto& t, const onnx::GraphProto& main, const Scope& main_scope);

  // --- functions ---

  void collect_functions(const onnx::ModelProto& m);
  void call(const onnx::NodeProto& n, const onnx::FunctionProto& f);
  void check_compatibility(const onnx::NodeProto& n, const Opsets& own, const Opsets& model);

  const CheckOptions& options_;
  Findings findings_;
  Opsets given_;          // of the model; of a part by itself, as given
  const Opsets* opsets_;  // in force
  Functions functions_;
  Configurations configurations_;
  const Configurations* known_configurations_ = nullptr;
  const Names* parameters_ = nullptr;    // attributes of the function that is being checked
  bool outside_functions_ = false;       // known to be
  std::vector<NodeResults> open_lists_;  // from the outermost to the innermost
  int depth_ = 0;
  Symbols symbols_;
  int64_t odd_names_ = 0;
  std::string first_odd_name_;
  std::map<std::string_view, int64_t> unchecked_;  // nodes without a schema, by their domain
};

}  // namespace tenon::TENON_ABI::loader
