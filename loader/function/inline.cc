#include "loader/function/inline.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "loader/check/findings.hpp"
#include "loader/convert/convert.hpp"
#include "loader/edit/names.hpp"
#include "loader/edit/order.hpp"
#include "loader/format/value_types.hpp"
#include "loader/function/function_body.hpp"
#include "loader/function/inline_copy.hpp"
#include "loader/infer/infer.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using namespace inlining;

class Inliner {
 public:
  Inliner(onnx::ModelProto& model, const InlineOptions& options)
      : model_(model),
        options_(options),
        registry_(registry_of(options.registry)),
        nodes_left_(options.max_nodes),
        bytes_left_(options.max_bytes) {
    Functions functions;
    for (const auto& f : model.functions())
      if (!functions.emplace(key_of(f), &f).second)
        throw Error(ErrorCode::invalid_model, name_of(f), "is there twice");
    const CheckOptions one{.max_diagnostics = 1};
    Findings findings(one);
    check_cycles(model, functions, findings);
    if (findings.errors() > 0)
      throw Error(ErrorCode::invalid_model, std::string(place), findings.take().front().message);
    originals_ = model.functions();
    for (const auto& f : originals_) {
      functions_.emplace(key_of(f), &f);
      names_.insert(key_of(f));
    }
    // Names as they are in the model before any call is replaced.
    const Opsets opsets = read_opsets(model.opset_import(), "model");
    if (options.convert_opsets && std::ranges::any_of(originals_, [&](const auto& f) {
          const Opsets own = read_opsets(f.opset_import(), name_of(f));
          const auto a = own.find(""), b = opsets.find("");
          return a != own.end() && b != opsets.end() && a->second != b->second;
        })) {
      typed_ = copy_for_inference(model);
      try {
        infer_functions(*typed_, {.registry = &registry_});
      } catch (const Error&) {  // then the model's own statements are used
      }
      for (const auto& f : typed_->functions()) typed_functions_.emplace(key_of(f), &f);
    }
  }

  void run() {
    Caller main{*model_.mutable_opset_import(), read_opsets(model_.opset_import(), "model")};
    std::vector<onnx::GraphProto*> graphs{model_.mutable_graph()};
    for (auto& t : *model_.mutable_training_info()) {
      if (t.has_initialization()) graphs.push_back(t.mutable_initialization());
      if (t.has_algorithm()) graphs.push_back(t.mutable_algorithm());
    }
    for (const auto* g : graphs) main.names.add_all(*g);
    if (typed_) main.known = KnownValues(typed_->graph());
    for (auto* g : graphs) replace_calls(*g, main, 0);
    for (const auto* g : graphs) import_domains(g->node(), main, 0);

    // Unselected functions stay, and so do functions that are still called by a graph or function that stays.
    std::map<FunctionKey, onnx::FunctionProto*> waiting;
    for (auto& f : *model_.mutable_functions()) waiting[key_of(f)] = &f;
    for (auto& f : *model_.mutable_functions())
      if (!is_selected(f)) still_called_.insert(key_of(f));
    for (bool more = true; more;) {
      more = false;
      for (const FunctionKey& key : std::exchange(still_called_, {}))
        if (auto node = waiting.extract(key); !node.empty()) {
          replace_calls(*node.mapped());
          more = true;
        }
    }
    google::protobuf::RepeatedPtrField<onnx::FunctionProto> kept;
    for (auto& f : *model_.mutable_functions())
      if (!waiting.contains(key_of(f))) *kept.Add() = std::move(f);
    model_.mutable_functions()->Swap(&kept);
    if (options_.schema_functions) expand_operators(main, graphs);
  }

 private:
  bool is_selected(const onnx::FunctionProto& f) const { return is_selected(f.domain(), f.name()); }
  bool is_selected(const std::string& domain, const std::string& name) const {
    const auto names = [&](const std::vector<FunctionName>& list) {
      return std::any_of(list.begin(), list.end(), [&](const FunctionName& n) {
        return canonical(n.domain) == canonical(domain) && n.name == name;
      });
    };
    return (!options_.only || names(*options_.only)) && !names(options_.except);
  }
  // Whether a node can be replaced by the function that defines its operator. Local functions take
  // precedence.
  bool is_expandable(const onnx::NodeProto& n) const {
    return n.overload().empty() && (has_function_body(n) || lowers(n, registry_)) &&
           !functions_.contains(key_of(n)) && is_selected(n.domain(), n.op_type());
  }

  std::optional<onnx::FunctionProto> function_of(const TypedNode& n, const Opsets& opsets) const {
    auto f = function_body(n, opsets);
    return f ? f : lowered_body(n, opsets, registry_);
  }

  // Works in rounds, because an operator's function may use operators that are functions as well, and may
  // depend on types that are inferred only then.
  void expand_operators(Caller& main, const std::vector<onnx::GraphProto*>& graphs) {
    constexpr int most_rounds = 16;
    for (int round = 0; round < most_rounds; ++round) {
      onnx::ModelProto typed = copy_for_inference(model_);
      infer_shapes(typed, {.registry = &registry_,
                           .max_nodes = std::max(options_.max_nodes, InferOptions{}.max_nodes)});
      std::vector<const onnx::GraphProto*> typed_graphs{&typed.graph()};
      for (const auto& t : typed.training_info()) {
        if (t.has_initialization()) typed_graphs.push_back(&t.initialization());
        if (t.has_algorithm()) typed_graphs.push_back(&t.algorithm());
      }
      more_to_expand_ = false;
      for (std::size_t k = 0; k < graphs.size(); ++k) expand(*graphs[k], *typed_graphs[k], nullptr, main, 0);
      for (auto& f : *model_.mutable_functions()) {
        Caller caller{*f.mutable_opset_import(), read_opsets(f.opset_import(), name_of(f))};
        caller.function = &f;
        caller.names.add_all(f);
        onnx::GraphProto body, typed_body;
        body.mutable_node()->Swap(f.mutable_node());
        *typed_body.mutable_node() = body.node();
        *typed_body.mutable_value_info() = f.value_info();
        expand(body, typed_body, nullptr, caller, 0);
        body.mutable_node()->Swap(f.mutable_node());
      }
      if (!more_to_expand_) return;
    }
  }
  void expand(onnx::GraphProto& g, const onnx::GraphProto& typed, const ValueTypes* outer, Caller& caller,
              int depth) {
    if (depth > max_nesting) throw Error(ErrorCode::not_supported, std::string(place), "bodies are too deep");
    const ValueTypes types(typed, outer);
    NodeList before;
    before.Swap(g.mutable_node());
    for (int k = 0; k < before.size(); ++k) {
      onnx::NodeProto& n = before[k];
      if (is_expandable(n))
        if (const auto f = function_of({n, types.of(n.input()), types.of(n.output())}, caller.opsets)) {
          Copy copy(*f, n, caller, bytes_left_, true);
          if ((nodes_left_ -= copy.nodes.size()) < 0) give_up("max_nodes");
          if ((bytes_left_ -= static_cast<int64_t>(f->ByteSizeLong())) < 0) give_up("max_bytes");
          for (auto& inner : copy.nodes) {
            more_to_expand_ = more_to_expand_ || is_expandable(inner);
            *g.add_node() = std::move(inner);
          }
          continue;
        }
      for (int a = 0; a < n.attribute_size(); ++a) {
        auto& attribute = *n.mutable_attribute(a);
        const auto& as_typed = typed.node(k).attribute(a);
        if (attribute.has_g()) expand(*attribute.mutable_g(), as_typed.g(), &types, caller, depth + 1);
        for (int b = 0; b < attribute.graphs_size(); ++b)
          expand(*attribute.mutable_graphs(b), as_typed.graphs(b), &types, caller, depth + 1);
      }
      *g.add_node() = std::move(n);
    }
  }

  void replace_calls(onnx::GraphProto& g, Caller& caller, int depth) {
    replace_calls(*g.mutable_node(), *g.mutable_value_info(), caller, depth);
  }
  void replace_calls(onnx::FunctionProto& f) {
    Caller caller{*f.mutable_opset_import(), read_opsets(f.opset_import(), name_of(f))};
    caller.function = &f;
    caller.names.add_all(f);
    if (typed_) caller.known = KnownValues(*typed_functions_.at(key_of(f)));
    replace_calls(*f.mutable_node(), *f.mutable_value_info(), caller, 0);
    import_domains(f.node(), caller, 0);
  }
  void replace_calls(NodeList& nodes, ValueInfos& infos, Caller& caller, int depth) {
    if (depth > max_nesting)
      throw Error(ErrorCode::not_supported, std::string(place), "bodies and calls are too deep");
    NodeList before;
    before.Swap(&nodes);
    for (auto& n : before) {
      if (const onnx::FunctionProto* f = callee_of(n, caller)) {
        if (--nodes_left_ < 0) give_up("max_nodes");
        if ((bytes_left_ -= static_cast<int64_t>(f->ByteSizeLong())) < 0) give_up("max_bytes");
        Copy copy(*f, n, caller, bytes_left_);
        if (caller.ways.at(f).convert && !convert(copy, *f, n, caller)) {
          still_called_.insert(key_of(*f));
          *nodes.Add() = std::move(n);
          continue;
        }
        if (typed_) caller.known.add(*typed_functions_.at(key_of(*f)), copy.names());
        infos.MergeFrom(copy.value_infos);
        replace_calls(copy.nodes, infos, caller, depth + 1);
        for (auto& inner : copy.nodes) *nodes.Add() = std::move(inner);
        if ((nodes_left_ -= copy.nodes.size()) < 0) give_up("max_nodes");
        continue;
      }
      for (auto& a : *n.mutable_attribute()) {
        if (a.has_g()) replace_calls(*a.mutable_g(), caller, depth + 1);
        for (auto& g : *a.mutable_graphs()) replace_calls(g, caller, depth + 1);
      }
      *nodes.Add() = std::move(n);
    }
  }

  // The function whose nodes replace a node, if there is one.
  const onnx::FunctionProto* callee_of(const onnx::NodeProto& n, Caller& caller) {
    const auto it = functions_.find(key_of(n));
    if (it == functions_.end()) return nullptr;
    const onnx::FunctionProto& f = *it->second;
    if (is_selected(f)) {
      const auto [way, added] = caller.ways.try_emplace(&f);
      if (added) way->second = import_opsets(f, caller);
      if (way->second.obstacle.empty()) return &f;
      if (!options_.keep_incompatible)
        throw Error(ErrorCode::not_supported, name_of(f), way->second.obstacle);
    }
    still_called_.insert(it->first);
    return nullptr;
  }

  // Adds the function's opsets to the caller's if possible.
  Caller::Way import_opsets(const onnx::FunctionProto& f, Caller& caller) const {
    Caller::Way way;
    const Opsets opsets = read_opsets(f.opset_import(), name_of(f));
    for (const auto& [domain, version] : opsets) {
      const auto it = caller.opsets.find(domain);
      if (it == caller.opsets.end() || it->second == version) continue;
      way.obstacle =
          str_cat(display(domain), " ", version, " is another opset than ", it->second, " of its caller");
      if (!options_.convert_opsets) return way;
      if (const onnx::NodeProto* n = find_changed(f.node(), domain, version, it->second, names_, registry_)) {
        way.obstacle += str_cat(", and ", shown(n->op_type()), " is not the same in both");
        if (!domain.empty() || std::max(version, it->second) > registry_.newest("")) return way;
        way.convert = true;
      }
      way.obstacle.clear();
    }
    caller.opsets.insert(opsets.begin(), opsets.end());
    return way;
  }

  // Makes the caller import the domains of its nodes, which functions may have brought.
  void import_domains(const NodeList& nodes, Caller& caller, int depth) const {
    if (depth > max_nesting) return;
    for (const auto& n : nodes) {
      const std::string domain(canonical(n.domain()));
      const bool imported = std::ranges::any_of(
          caller.imports, [&](const auto& import) { return canonical(import.domain()) == domain; });
      if (const auto it = caller.opsets.find(domain); !imported && it != caller.opsets.end()) {
        onnx::OperatorSetIdProto& added = *caller.imports.Add();
        added.set_domain(domain);
        added.set_version(it->second);
      }
      for (const auto& a : n.attribute()) {
        if (a.has_g()) import_domains(a.g().node(), caller, depth + 1);
        for (const auto& g : a.graphs()) import_domains(g.node(), caller, depth + 1);
      }
    }
  }

  // Converts a function's nodes, at a call, to the caller's opset of ai.onnx. Returns false if that is not
  // possible and the call must be kept.
  bool convert(Copy& copy, const onnx::FunctionProto& f, const onnx::NodeProto& call, Caller& caller) {
    try {
      // Such a graph already uses the caller's opset.
      if (std::ranges::any_of(call.attribute(),
                              [](const auto& a) { return a.has_g() || a.graphs_size() > 0; }))
        throw Error(ErrorCode::not_supported, name_of(f),
                    "its opset differs from its caller's, which gives it a graph");
      onnx::ModelProto part;
      part.set_ir_version(model_.ir_version());
      *part.mutable_opset_import() = f.opset_import();
      onnx::GraphProto& g = *part.mutable_graph();
      g.set_name(f.name());
      std::set<std::string_view> around;
      for (const auto& n : copy.nodes) around.merge(names_read(n));
      for (const auto& n : copy.nodes)
        for (const auto& name : n.output()) around.erase(name);
      around.erase("");
      for (std::string_view read : around) {
        const std::string name(read);
        if (const auto it = caller.known.constants.find(name); it != caller.known.constants.end()) {
          *g.add_initializer() = it->second;
          g.mutable_initializer()->rbegin()->set_name(name);
          continue;
        }
        onnx::ValueInfoProto& input = *g.add_input();
        input.set_name(name);
        if (const auto it = caller.known.types.find(name);
            it != caller.known.types.end() && it->second.value_case() != onnx::TypeProto::VALUE_NOT_SET)
          *input.mutable_type() = it->second;
      }
      std::set<std::string_view> made;
      for (const auto& n : copy.nodes) made.insert(n.output().begin(), n.output().end());
      for (const auto& name : call.output())
        if (!name.empty() && made.contains(name)) g.add_output()->set_name(name);
      g.mutable_node()->Swap(&copy.nodes);
      g.mutable_value_info()->Swap(&copy.value_infos);
      convert_part(part, caller.opsets.at(""), caller.names, names_, registry_);
      g.mutable_node()->Swap(&copy.nodes);
      g.mutable_value_info()->Swap(&copy.value_infos);
      return true;
    } catch (const Error& e) {
      if (options_.keep_incompatible && e.code() == ErrorCode::not_supported) return false;
      throw Error(e.code(), str_cat(name_of(f), e.where().empty() ? "" : ", ", e.where()), e.message());
    }
  }
  onnx::ModelProto& model_;
  const InlineOptions& options_;
  const Registry& registry_;
  google::protobuf::RepeatedPtrField<onnx::FunctionProto> originals_;
  Functions functions_;  // into originals_
  std::set<FunctionKey> names_;
  std::optional<onnx::ModelProto> typed_;  // where functions may need conversion
  std::map<FunctionKey, const onnx::FunctionProto*> typed_functions_;
  std::set<FunctionKey> still_called_;
  bool more_to_expand_ = false;  // whether an inlined function consists of functions itself
  int64_t nodes_left_, bytes_left_;
};

}  // namespace

void inline_functions(onnx::ModelProto& model, const InlineOptions& options) {
  Inliner(model, options).run();
}

}  // namespace tenon::TENON_ABI::loader
