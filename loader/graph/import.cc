// ModelProto to Graph: scopes, functions, attributes, versions.
#include "loader/graph/import.hpp"

#include <set>

#include "loader/depth.hpp"
#include "loader/edit/names.hpp"
#include "loader/edit/order.hpp"
#include "loader/format/attribute.hpp"
#include "loader/format/other_format.hpp"
#include "loader/format/wire.hpp"
#include "loader/infer/infer_types.hpp"
#include "loader/opsets.hpp"
#include "tenon/graph/body.hpp"
#include "tenon/graph/gradient.hpp"
#include "tenon/op/training/gradient.hpp"

namespace tenon::TENON_ABI {

void register_all(Registry& registry);  // generated

const Registry& standard_registry() {
  static const Registry registry = [] {
    Registry r;
    register_all(r);
    return r;
  }();
  return registry;
}

int newest_opset(std::string_view domain, const Registry* registry) {
  return loader::registry_of(registry).newest(domain);
}

namespace loader {
namespace {

constexpr std::size_t max_prefix = 500;  // of names
constexpr std::size_t max_walked =
    200'000'000;  // values that Gradient nodes visit; each visits all values before it

// Names to values. A scope of a graph attribute sees its outer scope through captures. A function sees
// nothing outside, but a graph that its call gives also reads names of the caller, as bodies read names
// around them. A sparse constant stays sparse for operators that take sparse tensors; for all others it is
// made dense when the first of them requests it.
struct Scope {
  Graph* graph = nullptr;
  Scope* outer = nullptr;
  std::map<std::string, ValueId, std::less<>> names;
  std::string prefix;  // before the names of a function's values
  const Opsets* opsets = nullptr;
  const AttributesByName* attributes = nullptr;  // of the function's call
  const GivenBy<Scope>* given = nullptr;         // of the same call
  Scope* caller = nullptr;                       // of a function
  bool from_call = false;                        // whether this is a graph that a function's call gave

  std::map<std::string, ValueId, std::less<>> sparse{};       // constants, by the same names
  std::map<std::string, std::string, std::less<>> results{};  // of a function: their names in the graph

  // The name of a node's result in the graph: a function's outputs take the names that the call gives them.
  std::string name_of(const std::string& result) const {
    const auto it = results.find(result);
    return it != results.end() ? it->second : result.empty() ? result : prefix + result;
  }

  static constexpr ValueId missing = -2;
};

class Importer {
 public:
  Importer(const onnx::ModelProto& model, const LoadOptions& options, DataSource source, Placement placement)
      : model_(model),
        registry_(registry_of(options.registry)),
        source_(std::move(source)),
        placement_(placement),
        options_(options) {
    source_.small = &small_;
  }

  Graph run() {
    const int64_t ir = model_.ir_version();
    if (!model_.has_ir_version() || ir < 1)
      throw Error(ErrorCode::invalid_model, "model", "ir_version is missing");
    if (ir > onnx::IR_VERSION)
      throw Error(ErrorCode::not_supported, "model",
                  str_cat("IR version ", ir, " is newer than ", static_cast<int>(onnx::IR_VERSION)));
    if (!model_.has_graph()) throw Error(ErrorCode::invalid_model, "model", "there is no graph");
    opsets_ = read_opsets(model_.opset_import(), "model");
    if (opsets_.empty()) {
      if (ir >= 3) throw Error(ErrorCode::invalid_model, "model", "no operator set is imported");
      opsets_.emplace("", 1);
    }
    for (const auto& f : model_.functions()) {
      if (!functions_.emplace(key_of(f), &f).second)
        throw Error(ErrorCode::invalid_model, "model", str_cat("function '", f.name(), "' is defined twice"));
    }
    report_missing();
    Graph graph;
    Scope scope{.graph = &graph,
                .outer = nullptr,
                .names = {},
                .prefix = {},
                .opsets = &opsets_,
                .attributes = nullptr};
    read_graph(model_.graph(), model_.graph().input_size(), scope);
    return graph;
  }

 private:
  // --- missing operators, types and opsets, all in one error ---

  void report_missing() {
    for (const auto& [domain, version] : opsets_) check_opset(domain, version);
    scan(model_.graph(), opsets_);
    for (const auto& [key, f] : functions_) {
      const Opsets own = read_opsets(f->opset_import(), str_cat("function '", f->name(), "'"));
      for (const auto& n : f->node()) scan(n, own.empty() ? opsets_ : own);
      for (const auto& a : f->attribute_proto())
        if (a.has_g()) scan(a.g(), own.empty() ? opsets_ : own);
    }
    if (missing_.empty()) return;
    std::string list;
    for (const std::string& s : missing_) list += str_cat(list.empty() ? "" : "; ", s);
    throw Error(ErrorCode::not_supported, "model", list);
  }
  void check_opset(const std::string& domain, int version) {
    // In other domains, a registry may lack the operators that introduced the newest version.
    if (!domain.empty() && !domain.starts_with("ai.onnx")) return;
    const int newest = registry_.newest(domain);
    if (newest > 0 && version > newest)
      missing_.insert(
          str_cat("opset ", version, " of ", display(domain), " (the newest known is ", newest, ")"));
  }
  template <class F>
  void note_unsupported(F f) {
    try {
      f();
    } catch (const Error& e) {
      if (e.code() != ErrorCode::not_supported) throw;
      missing_.insert(e.message());
    }
  }
  void scan(const onnx::GraphProto& g, const Opsets& opsets) {
    for (const auto& v : g.input()) note_unsupported([&] { read_type(v.type()); });
    for (const auto& v : g.output()) note_unsupported([&] { read_type(v.type()); });
    for (const auto& v : g.value_info()) note_unsupported([&] { read_type(v.type()); });
    for (const auto& t : g.initializer()) scan_type(t.data_type());
    for (const auto& t : g.sparse_initializer()) scan_type(t.values().data_type());
    for (const auto& n : g.node()) scan(n, opsets);
  }
  void scan_type(int32_t number) {
    if (dtype_from_onnx(number) == DType::undefined) missing_.insert(str_cat("element type ", number));
  }
  void scan(const onnx::NodeProto& n, const Opsets& opsets) {
    for (const auto& a : n.attribute()) {
      if (a.has_g()) scan(a.g(), opsets);
      for (const auto& g : a.graphs()) scan(g, opsets);
      if (a.has_t()) scan_type(a.t().data_type());
    }
    if (find_function(n) != nullptr) return;
    const auto domain = canonical(n.domain());
    const auto it = opsets.find(domain);
    if (it == opsets.end())
      missing_.insert(
          str_cat("operator ", display(domain), ".", n.op_type(), " (the domain is not imported)"));
    else if (registry_.find(domain, n.op_type(), it->second).op_class == nullptr)
      missing_.insert(str_cat("operator ", display(domain), ".", n.op_type(), " at opset ", it->second));
  }
  const onnx::FunctionProto* find_function(const onnx::NodeProto& n) const {
    const auto it = functions_.find(key_of(n));
    return it == functions_.end() ? nullptr : it->second;
  }

  // --- graphs ---

  // `inputs`: the number of inputs a body is given, or all of the main graph's.
  void read_graph(const onnx::GraphProto& g, int inputs, Scope& scope) {
    Graph& graph = *scope.graph;
    graph.set_name(g.name());
    const std::string place = str_cat("graph '", g.name(), "'");
    std::map<std::string_view, const onnx::TensorProto*> defaults;
    for (const auto& t : g.initializer()) {
      if (t.name().empty()) throw Error(ErrorCode::invalid_model, place, "an initializer has no name");
      if (!defaults.emplace(t.name(), &t).second)
        throw Error(ErrorCode::invalid_model, place,
                    str_cat("initializer '", t.name(), "' is defined twice"));
    }
    std::map<std::string_view, const onnx::SparseTensorProto*> sparse;
    for (const auto& t : g.sparse_initializer())
      if (!sparse.emplace(t.values().name(), &t).second || defaults.contains(t.values().name()))
        throw Error(ErrorCode::invalid_model, place,
                    str_cat("initializer '", t.values().name(), "' is defined twice"));
    for (int k = 0; k < inputs; ++k) {
      const onnx::ValueInfoProto& v = g.input(k);
      if (v.name().empty()) throw Error(ErrorCode::invalid_model, place, "an input has no name");
      Value fallback;
      if (const auto it = defaults.find(v.name()); it != defaults.end()) {
        fallback = counted(read_tensor(*it->second, source_));
        defaults.erase(it);
      }
      Type type = read_type(v.type());
      if (const auto it = sparse.find(v.name()); it != sparse.end()) {
        SparseTensor value = read_sparse_tensor(*it->second, source_);
        if (type.kind == Kind::sparse_tensor) fallback = std::move(value);
        else fallback = dense(value);
        sparse.erase(it);
      }
      if (type.kind == Kind::unknown && fallback) type = fallback.type();
      Dims dims = read_dims(v.type(), graph);
      if (!options_.declared_extents && scope.outer == nullptr) dims = {};
      if (fallback) check_fallback(v.name(), type, dims, fallback);
      define(scope, v.name(), graph.add_input(v.name(), type, dims, std::move(fallback)));
    }
    // The graphs of bodies run without one of the session's Programs in between.
    const Placement placement = scope.outer == nullptr ? placement_ : Placement::aligned;
    for (const auto& t : g.initializer())
      if (defaults.count(t.name()))
        define(scope, t.name(), graph.add_constant(t.name(), counted(read_tensor(t, source_, placement))));
    for (const auto& t : g.sparse_initializer()) {
      const std::string& name = t.values().name();
      if (!sparse.contains(name)) continue;
      SparseTensor value = read_sparse_tensor(t, source_);
      demand_new(scope, name);
      scope.sparse.emplace(name, graph.add_constant(name, std::move(value)));
    }
    for (const onnx::NodeProto* n : in_order(g.node())) read_node(*n, scope);
    for (const auto& v : g.output()) {
      ValueId id = v.type().has_sparse_tensor_type() ? find_sparse(scope, v.name()) : -1;
      if (id < 0) id = find(scope, v.name());
      if (id < 0)
        throw Error(ErrorCode::invalid_model, place, str_cat("output '", v.name(), "' is not produced"));
      const Type declared = read_type(v.type()), made = graph.entry(id).info.type;
      if (options_.declared_outputs && known(declared) && known(made) && !(declared == made))
        throw Error(ErrorCode::invalid_model, str_cat(place, ", output '", v.name(), "'"),
                    str_cat("declared as ", to_string(declared), ", but is ", to_string(made)));
      graph.add_output(v.name(), id);
    }
  }

  static void check_fallback(const std::string& name, Type type, const Dims& dims, const Value& fallback) {
    const auto refuse = [&](const std::string& why) {
      throw Error(ErrorCode::invalid_model, str_cat("input '", name, "'"), why);
    };
    if (!(type == fallback.type()))
      refuse(str_cat("its initializer is ", to_string(fallback.type()), ", not ", to_string(type)));
    const Extents& x = fallback.is_tensor() ? fallback.tensor().extents() : fallback.sparse_tensor().extents;
    if (!dims.fits(x))
      refuse(str_cat("its initializer's extents are ", to_string(x), ", not the declared ones"));
  }

  // `from_call`: the request comes from a graph that a call gave.
  ValueId find(Scope& scope, std::string_view name, bool from_call = false) {
    if (const auto it = scope.names.find(name); it != scope.names.end()) return it->second;
    Graph& graph = *scope.graph;
    ValueId id = Scope::missing;
    if (const auto it = scope.sparse.find(name);
        it != scope.sparse.end() && graph.entry(it->second).source == Graph::Source::constant) {
      id = graph.add_constant({}, dense(graph.entry(it->second).content.sparse_tensor()));
    } else if (scope.outer != nullptr) {
      id = find(*scope.outer, name, from_call || scope.from_call);
      if (id < 0) return id;
      if (scope.outer->graph != &graph) id = graph.capture(id);
    } else if (from_call && scope.caller != nullptr) {
      return find(*scope.caller, name, true);
    } else {
      return Scope::missing;
    }
    // Names that a call's graph reads are not names of the function.
    if (!from_call) scope.names.emplace(std::string(name), id);
    return id;
  }
  /// The sparse constant of that name, or -1.
  static ValueId find_sparse(Scope& scope, std::string_view name) {
    if (const auto it = scope.sparse.find(name); it != scope.sparse.end()) return it->second;
    if (scope.outer == nullptr || scope.names.contains(name)) return -1;
    ValueId id = find_sparse(*scope.outer, name);
    if (id < 0) return id;
    if (scope.outer->graph != scope.graph) id = scope.graph->capture(id);
    scope.sparse.emplace(std::string(name), id);
    return id;
  }

  static void demand_new(const Scope& scope, const std::string& name) {
    if (scope.names.contains(name) || scope.sparse.contains(name))
      throw Error(ErrorCode::invalid_model, str_cat("graph '", scope.graph->name(), "'"),
                  str_cat("value '", name, "' is defined twice"));
  }
  static void define(Scope& scope, const std::string& name, ValueId id) {
    demand_new(scope, name);
    scope.names.emplace(name, id);
  }

  static Dims read_dims(const onnx::TypeProto& t, Graph& graph) {
    const onnx::TensorShapeProto* shape = nullptr;
    if (t.has_tensor_type() && t.tensor_type().has_shape()) shape = &t.tensor_type().shape();
    if (t.has_sparse_tensor_type() && t.sparse_tensor_type().has_shape())
      shape = &t.sparse_tensor_type().shape();
    if (shape == nullptr) return {};
    return loader::read_dims(*shape, graph.name(),
                             [&](const std::string& name) { return graph.symbol(name); });
  }

  // Counts memory of constants that the file's size does not bound.
  void count_bytes(int64_t bytes) {
    if (bytes > options_.max_bytes - bytes_)
      throw Error(ErrorCode::limit, "model",
                  str_cat("calls of functions, and sparse constants made dense, take more than ",
                          options_.max_bytes, " bytes"));
    bytes_ += bytes;
  }
  // Counts a constant that a function's call reads anew. Outside of functions the file's size bounds all of
  // them.
  AnyTensor counted(AnyTensor t) {
    if (!calls_.empty() && std::as_const(t).storage().writable()) count_bytes(t.bytes());
    return t;
  }
  AnyTensor dense(const SparseTensor& s) {
    count_bytes(packed_bytes(element_count(s.extents), s.values.dtype()));
    return densify(s);
  }

  // --- nodes ---

  void read_node(const onnx::NodeProto& n, Scope& scope) {
    // Functions that call functions can multiply nodes exponentially, and derivatives of derivatives too.
    if (++nodes_ > options_.max_nodes || std::ssize(scope.graph->nodes()) > options_.max_nodes)
      throw Error(ErrorCode::limit, "model", str_cat("more than ", options_.max_nodes, " nodes"));
    const std::string place = node_place(n);
    const onnx::FunctionProto* const f = find_function(n);
    const Registry::Found found = f == nullptr ? find_class(n, scope) : Registry::Found{};
    std::vector<ValueId> inputs;
    for (const std::string& name : n.input()) {
      if (name.empty()) {
        inputs.push_back(-1);
        continue;
      }
      ValueId id = f == nullptr && takes_sparse(found, inputs.size()) ? find_sparse(scope, name) : -1;
      if (id < 0) id = find(scope, name);
      if (id == Scope::missing)
        throw Error(ErrorCode::invalid_model, place,
                    str_cat("input '", name, "' is not defined, or depends on the node"));
      inputs.push_back(id);
    }
    // Trailing operands that are left out are the same as absent ones.
    while (!inputs.empty() && inputs.back() < 0) inputs.pop_back();
    if (f != nullptr) return call_function(n, *f, inputs, scope);
    std::vector<std::string> names;
    for (const std::string& name : n.output()) names.push_back(scope.name_of(name));
    const AnyOperator op = make_operator(n, found, place, scope);
    if (const auto* gradient = op.as<op::Gradient>()) return differentiate(n, op, *gradient, inputs, scope);
    const std::vector<ValueId> outputs =
        scope.graph->add_node(scope.prefix + node_name(n), op, std::move(inputs), names);
    for (int k = 0; k < n.output_size(); ++k)
      if (!n.output(k).empty()) define(scope, n.output(k), outputs[static_cast<std::size_t>(k)]);
  }

  // Replaces a Gradient, whose attributes name values of the scope, with the derivatives' nodes.
  void differentiate(const onnx::NodeProto& n, const AnyOperator& op, const op::Gradient& gradient,
                     const std::vector<ValueId>& inputs, Scope& scope) {
    const std::string place = node_place(n);
    if ((walked_ += scope.graph->values().size()) > max_walked)
      throw Error(ErrorCode::invalid_model, place, "too many gradients of too large a graph");
    const auto value = [&](const std::string& name) {
      const ValueId id = find(scope, name);
      if (id < 0)
        throw Error(ErrorCode::invalid_model, place,
                    str_cat("value '", name, "' is not defined, or depends on the node"));
      return id;
    };
    std::vector<op::Info> in, out(static_cast<std::size_t>(n.output_size()));
    for (ValueId id : inputs) in.push_back(id < 0 ? op::Info{} : scope.graph->entry(id).info);
    if (const op::Message m = op.infer(in, out); !m.empty())
      throw Error(ErrorCode::invalid_model, place, std::string(m.view()));
    GradientRequest request{.xs = {},
                            .zs = {},
                            .y = value(*gradient.y),
                            .inputs = inputs,
                            .name = (scope.prefix + node_name(n)).substr(0, 2 * max_prefix)};
    for (const std::string& name : gradient.xs) request.xs.push_back(value(name));
    for (const std::string& name : gradient.zs) request.zs.push_back(value(name));
    std::vector<ValueId> outputs;
    try {
      outputs = add_gradient(*scope.graph, request, registry_);
    } catch (const Error& e) {
      throw Error(e.code(), e.where() == "Gradient" ? place : str_cat(place, ": ", e.where()), e.message());
    }
    for (int k = 0; k < n.output_size(); ++k) {
      const ValueId id = outputs[static_cast<std::size_t>(k)];
      if (n.output(k).empty()) continue;
      define(scope, n.output(k), id);
      if (scope.graph->entry(id).name.empty()) scope.graph->name_value(id, scope.name_of(n.output(k)));
    }
  }

  Registry::Found find_class(const onnx::NodeProto& n, const Scope& scope) const {
    const auto domain = canonical(n.domain());
    const auto opset = scope.opsets->find(domain);
    Registry::Found found;
    if (opset != scope.opsets->end()) found = registry_.find(domain, n.op_type(), opset->second);
    if (found.op_class == nullptr)
      throw Error(ErrorCode::not_supported, node_place(n), "the opsets in force have no such operator");
    return found;
  }
  static bool takes_sparse(const Registry::Found& found, std::size_t input) {
    const op::Spec& spec = *found.op_class->spec;
    const auto k = static_cast<int>(input);
    return (k < spec.inputs.size() || spec.variadic_inputs()) &&
           spec.permits(spec.input(k), found.version).sparse_tensor != 0;
  }

  AnyOperator make_operator(const onnx::NodeProto& n, const Registry::Found& found, const std::string& place,
                            Scope& scope) {
    std::vector<std::pair<std::string, op::AttributeValue>> attributes;
    AnyOperator op;
    try {
      for (const auto& a : n.attribute())
        if (const auto* value = resolve(a, scope.attributes)) {
          const Scope& owner = owner_of(*value, scope.given, scope);
          attributes.emplace_back(a.name(), read_attribute(*value, source_, [&](const onnx::GraphProto& g) {
                                    return read_body(g, body_inputs(g, n, found.version), scope, owner);
                                  }));
          const auto* v = std::get_if<Value>(&attributes.back().second);
          if (v != nullptr && v->is_tensor()) counted(v->tensor());
        }
      op = tenon::make_operator(*found.op_class, found.version, std::move(attributes));
    } catch (const Error& e) {
      throw Error(e.code(),
                  str_cat(place, e.where().empty() || e.where() == n.op_type() || e.where() == place
                                     ? ""
                                     : ": " + e.where()),
                  e.message());
    }
    const int wanted = n.output_size(), most = found.op_class->spec->outputs.size();
    if (wanted > most && !found.op_class->spec->variadic_outputs())
      throw Error(ErrorCode::invalid_model, place, str_cat("has at most ", most, " outputs, not ", wanted));
    if (wanted < found.op_class->spec->min_outputs(found.version))
      throw Error(ErrorCode::invalid_model, place,
                  str_cat("has at least ", found.op_class->spec->min_outputs(found.version), " outputs"));
    return op;
  }

  Depth deeper() {
    return {depth_, options_.max_depth, [](const char* why) { throw Error(ErrorCode::limit, "model", why); }};
  }

  // `owner`: the scope whose opsets and attributes the body is written for.
  op::BodyRef read_body(const onnx::GraphProto& g, int inputs, Scope& scope, const Scope& owner) {
    const Depth depth = deeper();
    Graph graph = Graph::inside(*scope.graph);
    Scope inner{.graph = &graph,
                .outer = &scope,
                .names = {},
                .prefix = {},
                .opsets = owner.opsets,
                .attributes = owner.attributes,
                .given = owner.given,
                .from_call = &owner != &scope};
    read_graph(g, inputs, inner);
    return body(std::move(graph));
  }

  // --- functions: their nodes take the place of the one that calls them ---

  void call_function(const onnx::NodeProto& n, const onnx::FunctionProto& f,
                     const std::vector<ValueId>& inputs, Scope& scope) {
    const std::string place = node_place(n);
    if (std::find(calls_.begin(), calls_.end(), &f) != calls_.end())
      throw Error(ErrorCode::invalid_model, place, "the function calls itself");
    if (static_cast<int>(inputs.size()) > f.input_size())
      throw Error(ErrorCode::invalid_model, place,
                  str_cat("the function has ", f.input_size(), " inputs, not ", inputs.size()));
    if (n.output_size() > f.output_size())
      throw Error(ErrorCode::invalid_model, place,
                  str_cat("the function has ", f.output_size(), " outputs, not ", n.output_size()));
    const AttributesByName attributes = attributes_of_call(n, f, scope.attributes);
    const GivenBy<Scope> given = given_by(attributes, f, scope.given, scope);
    const Opsets own = read_opsets(f.opset_import(), place);
    const Depth depth = deeper();
    count_bytes(static_cast<int64_t>(f.ByteSizeLong()));  // names, lists and strings, once more
    const std::string tag = node_name(n).substr(0, max_prefix);
    Scope inner{
        .graph = scope.graph,
        .outer = nullptr,
        .names = {},
        // The number alone distinguishes calls.
        .prefix = str_cat(scope.prefix.size() < max_prefix ? scope.prefix : "", tag, "#", ++calls_made_, "/"),
        .opsets = own.empty() ? &opsets_ : &own,
        .attributes = &attributes,
        .given = &given,
        .caller = &scope};
    for (int k = 0; k < n.output_size(); ++k)
      if (std::string name = scope.name_of(n.output(k)); !name.empty() && name.size() <= 2 * max_prefix)
        inner.results.emplace(f.output(k), std::move(name));
    for (int k = 0; k < f.input_size(); ++k)
      define(inner, f.input(k),
             k < static_cast<int>(inputs.size()) ? inputs[static_cast<std::size_t>(k)] : -1);
    calls_.push_back(&f);
    for (const onnx::NodeProto* node : in_order(f.node())) read_node(*node, inner);
    calls_.pop_back();
    for (int k = 0; k < n.output_size(); ++k) {
      if (n.output(k).empty()) continue;
      const ValueId id = find(inner, f.output(k));
      if (id < 0)
        throw Error(ErrorCode::invalid_model, place,
                    str_cat("the function does not produce '", f.output(k), "'"));
      define(scope, n.output(k), id);
    }
  }

  const onnx::ModelProto& model_;
  const Registry& registry_;
  SmallBlocks small_;
  DataSource source_;
  Placement placement_;  // of the main graph's initializers
  const LoadOptions& options_;
  Opsets opsets_;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::vector<const onnx::FunctionProto*> calls_;
  std::set<std::string> missing_;
  int64_t nodes_ = 0;
  int64_t bytes_ = 0;
  std::size_t walked_ = 0;
  int64_t calls_made_ = 0;
  int depth_ = 0;
};

void parse_message(std::span<const std::byte> bytes, bool in_place, onnx::ModelProto& message) {
  if (bytes.size() > INT32_MAX * std::size_t{1024})
    throw Error(ErrorCode::invalid_model, "model", "the file is too large");
  const std::optional<std::string> stripped = strip_raw_data(bytes);
  const bool whole = !in_place || !stripped;
  const auto size = whole ? bytes.size() : stripped->size();
  if (size > INT32_MAX)
    throw Error(ErrorCode::invalid_model, "model",
                in_place ? "more than 2 GiB besides raw tensor data" : "more than 2 GiB");
  if (!message.ParseFromArray(whole ? static_cast<const void*>(bytes.data()) : stripped->data(),
                              static_cast<int>(size)))
    throw Error(ErrorCode::invalid_model, "model", "not a ModelProto");
}

}  // namespace

void read_message(std::span<const std::byte> bytes, bool in_place, onnx::ModelProto& message) {
  if (bytes.empty()) throw Error(ErrorCode::invalid_model, {}, "the file is empty");
  try {
    parse_message(bytes, in_place, message);
  } catch (const Error&) {
    const std::string_view other = other_format(bytes);
    if (other.empty()) throw;
    throw Error(ErrorCode::invalid_model, {}, str_cat("not an ONNX model: ", other));
  }
}

onnx::ModelProto read_whole_message(const std::shared_ptr<const MappedFile>& file) {
  onnx::ModelProto message;
  read_message(file->bytes(), true, message);
  const DataSource source{.model = file->bytes(), .file = file, .external = {}};
  for_each_tensor(message, [&](onnx::TensorProto& t, bool) { restore_raw_data(t, source); });
  return message;
}

Graph import_graph(const onnx::ModelProto& model, const LoadOptions& options, DataSource source,
                   Placement placement) {
  return Importer(model, options, std::move(source), placement).run();
}

}  // namespace loader
}  // namespace tenon::TENON_ABI
