#include "loader/function/inline.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "loader/check/findings.hpp"
#include "loader/convert/convert.hpp"
#include "loader/edit/names.hpp"
#include "loader/edit/order.hpp"
#include "loader/format/large_data.hpp"
#include "loader/format/value_types.hpp"
#include "loader/function/function_body.hpp"
#include "loader/infer/infer.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using Attribute = onnx::AttributeProto;
using Imports = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;
using ValueInfos = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

constexpr std::string_view place = "inlining";

// The values of a caller by name, for functions that are converted at the call: types, and constants of the
// message.
struct KnownValues {
  std::unordered_map<std::string, onnx::TypeProto> types{};
  std::unordered_map<std::string, onnx::TensorProto> constants{};

  KnownValues() = default;
  explicit KnownValues(const onnx::GraphProto& main) {
    add(main, 0);
    std::unordered_set<std::string_view> inputs;
    for (const auto& v : main.input()) inputs.insert(v.name());
    for (const auto& t : main.initializer())
      if (!is_external(t) && !inputs.contains(t.name())) constants.emplace(t.name(), t);
    add_constants(main.node(), {});
  }
  explicit KnownValues(const onnx::FunctionProto& f) { add(f, {}); }

  // Adds a function's values under their names at the call; without names, under their own.
  using Renamed = std::unordered_map<std::string, std::string>;
  void add(const onnx::FunctionProto& f, const Renamed& names) {
    for (const auto& v : f.value_info())
      if (const std::string* name = name_of(v.name(), names)) types.emplace(*name, v.type());
    add_constants(f.node(), names);
  }

 private:
  static const std::string* name_of(const std::string& name, const Renamed& names) {
    const auto it = names.find(name);
    return names.empty() ? &name : it == names.end() || it->second.empty() ? nullptr : &it->second;
  }
  void add_constants(const NodeList& nodes, const Renamed& names) {
    for (const auto& n : nodes)
      if (is_standard(n, "Constant") && n.output_size() == 1 && n.attribute_size() == 1 &&
          n.attribute(0).has_t() && !is_external(n.attribute(0).t()))
        if (const std::string* name = name_of(n.output(0), names))
          constants.emplace(*name, n.attribute(0).t());
  }
  void add(const std::string& name, const onnx::TypeProto& type) {
    const auto [it, added] = types.emplace(name, type);
    // Sibling bodies may use the same name for different values.
    if (!added && it->second.SerializeAsString() != type.SerializeAsString()) it->second.Clear();
  }
  void add(const onnx::GraphProto& g, int depth) {
    if (depth > max_nesting) return;
    for (const auto* list : {&g.input(), &g.value_info(), &g.output()})
      for (const auto& v : *list) add(v.name(), v.type());
    for (const auto& t : g.initializer()) {
      onnx::TypeProto type;
      type.mutable_tensor_type()->set_elem_type(t.data_type());
      for (int64_t d : t.dims()) type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
      if (!types.contains(t.name())) add(t.name(), type);
    }
    for (const auto& n : g.node())
      for (const auto& a : n.attribute()) {
        if (a.has_g()) add(a.g(), depth + 1);
        for (const auto& body : a.graphs()) add(body, depth + 1);
      }
  }
};

// A model's graphs, or a function that stays, in which calls are replaced.
struct Caller {
  Imports& imports;
  Opsets opsets;
  NameSet names{};
  const onnx::FunctionProto* function = nullptr;
  KnownValues known{};  // where functions may need conversion
  int64_t calls = 0;    // replaced so far
  // How a function is inlined here.
  struct Way {
    std::string obstacle{};  // the reason why it cannot be, "" if it can
    bool convert = false;    // to the opset of ai.onnx here
  };
  std::unordered_map<const onnx::FunctionProto*, Way> ways{};
};

// New names by the original names in a function or a body in it.
struct Scope {
  const Scope* outer = nullptr;
  std::unordered_map<std::string, std::string> names{};

  const std::string* find(const std::string& name) const {
    for (const Scope* s = this; s != nullptr; s = s->outer)
      if (const auto it = s->names.find(name); it != s->names.end()) return &it->second;
    return nullptr;
  }
};

[[noreturn]] void give_up(std::string_view bound) {
  throw Error(ErrorCode::not_supported, std::string(place), str_cat("calls multiply nodes beyond ", bound));
}

std::string name_of(const onnx::FunctionProto& f) {
  return str_cat("function ", shown(str_cat(f.domain(), ".", f.name())));
}

// A copy of a function's nodes, to replace one call.
class Copy {
 public:
  // `open`: names that the function does not define belong to the caller.
  Copy(const onnx::FunctionProto& f, const onnx::NodeProto& call, Caller& caller, int64_t& bytes_left,
       bool open = false)
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

  NodeList nodes;
  ValueInfos value_infos;
  /// New names by the original names of the function's values.
  const std::unordered_map<std::string, std::string>& names() const { return scope_.names; }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw Error(ErrorCode::invalid_model, name_of(f_), str_cat(parts...));
  }
  std::string fresh(const std::string& name) { return caller_.names.fresh(name + suffix_); }

  void bind_attributes(const onnx::NodeProto& call) {
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
  bool has_default(const std::string& name) const {
    if (caller_.function == nullptr) return false;
    const auto& defaults = caller_.function->attribute_proto();
    return std::any_of(defaults.begin(), defaults.end(),
                       [&](const Attribute& a) { return a.name() == name; });
  }

  // Adds an output of the function that is also one of its inputs, or another output.
  void add_identity(const std::string& source, const std::string& given, const std::string& name) {
    if (source.empty()) refuse("the output ", shown(name), " is an input that the call leaves out");
    if (!caller_.opsets.contains(""))
      refuse("the output ", shown(name), " is an input, and its caller has no ai.onnx for an Identity");
    onnx::NodeProto& n = *nodes.Add();
    n.set_op_type("Identity");
    n.add_input(source);
    n.add_output(given);
  }

  // A node may precede the nodes that it reads.
  void define_outputs(const NodeList& list, Scope& scope) {
    for (const auto& n : list)
      for (const auto& name : n.output()) define(name, scope);
  }
  void define(const std::string& name, Scope& scope) {
    if (!name.empty() && !scope.names.contains(name)) scope.names.emplace(name, fresh(name));
  }
  const std::string& look_up(const std::string& name, const Scope& scope) const {
    const std::string* found = scope.find(name);
    if (found == nullptr && !open_ && given_ == 0) refuse("nothing defines ", shown(name));
    return found == nullptr ? name : *found;
  }
  void replace(std::string& name, const Scope& scope) const {
    if (!name.empty()) name = std::string(look_up(name, scope));
  }

  void rename(onnx::NodeProto& n, const Scope& scope, int depth) {
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
  void rename(onnx::GraphProto& g, const Scope& outer, int depth) {
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
        refuse("a body gives ", shown(v.name()), ", an input that the call leaves out");
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

  // A function's symbols are local: each call may have other extents.
  void rename_symbols(onnx::TypeProto& type, int depth = 0) {
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
    if (type.sparse_tensor_type().has_shape())
      rename_dims(*type.mutable_sparse_tensor_type()->mutable_shape());
    if (type.sequence_type().has_elem_type())
      rename_symbols(*type.mutable_sequence_type()->mutable_elem_type(), depth + 1);
    if (type.optional_type().has_elem_type())
      rename_symbols(*type.mutable_optional_type()->mutable_elem_type(), depth + 1);
    if (type.map_type().has_value_type())
      rename_symbols(*type.mutable_map_type()->mutable_value_type(), depth + 1);
  }

  // Adds the value infos of inner values. The caller has its own for inputs and outputs.
  void add_value_infos() {
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

  const onnx::FunctionProto& f_;
  Caller& caller_;
  int64_t& bytes_left_;
  const bool open_;
  // Above 0 in graphs that the call gives as attributes. Their names are the function's if it defines them,
  // as at run time, else the caller's; symbols and references to attributes are the caller's.
  int given_ = 0;
  std::string suffix_;
  std::unordered_map<std::string, const Attribute*> attributes_;
  std::unordered_map<std::string, std::string> symbols_;
  Scope scope_;
};

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

  // Makes the caller import the function's opsets if possible.
  Caller::Way import_opsets(const onnx::FunctionProto& f, Caller& caller) const {
    Caller::Way way;
    const Opsets opsets = read_opsets(f.opset_import(), name_of(f));
    for (const auto& [domain, version] : opsets)
      if (const auto it = caller.opsets.find(domain); it != caller.opsets.end() && it->second != version)
        if (const onnx::NodeProto* n =
                find_changed(f.node(), domain, version, it->second, names_, registry_)) {
          if (options_.convert_opsets && domain.empty() &&
              std::max(version, it->second) <= registry_.newest("")) {
            way.convert = true;
            continue;
          }
          way.obstacle = str_cat(display(domain), " ", version, " is another opset than ", it->second,
                                 " of its caller, and ", shown(n->op_type()), " is not the same in both");
          return way;
        }
    for (const auto& [domain, version] : opsets)
      if (caller.opsets.emplace(domain, version).second) {
        onnx::OperatorSetIdProto& added = *caller.imports.Add();
        added.set_domain(domain);
        added.set_version(version);
      }
    return way;
  }

  // Converts a function's nodes, at a call, to the caller's opset of ai.onnx. Returns false if that is not
  // possible and the call must be kept.
  bool convert(Copy& copy, const onnx::FunctionProto& f, const onnx::NodeProto& call, Caller& caller) {
    try {
      // Such a graph already uses the caller's opset.
      if (std::ranges::any_of(call.attribute(),
                              [](const auto& a) { return a.has_g() || a.graphs_size() > 0; }))
        throw Error(ErrorCode::not_supported, name_of(f),
                    "its opset is not its caller's, which gives it a graph");
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
