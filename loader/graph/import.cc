// Graphs: inputs, constants, and the names of values.
#include "loader/graph/import.hpp"

#include "loader/edit/names.hpp"
#include "loader/edit/order.hpp"
#include "loader/graph/importer.hpp"
#include "loader/infer/infer_types.hpp"

namespace tenon::TENON_ABI::loader {

Graph Importer::run() {
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
  if (are_more_than(options_.max_nodes, model_.graph().node(), functions_, options_.max_depth))
    throw Error(ErrorCode::limit, "model",
                str_cat("more than ", options_.max_nodes, " nodes; a function's nodes count once per call"));
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

void Importer::read_graph(const onnx::GraphProto& g, int inputs, Scope& scope) {
  Graph& graph = *scope.graph;
  scope.nodes = &g.node();
  graph.set_name(g.name());
  const std::string place = str_cat("graph '", g.name(), "'");
  std::map<std::string_view, const onnx::TensorProto*> defaults;
  for (const auto& t : g.initializer()) {
    if (t.name().empty()) throw Error(ErrorCode::invalid_model, place, "an initializer has no name");
    if (!defaults.emplace(t.name(), &t).second)
      throw Error(ErrorCode::invalid_model, place, str_cat("initializer '", t.name(), "' is defined twice"));
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
    // A run checks the inputs of the main graph alone, so a body's element extents are not relied on.
    Dims dims = scope.outer == nullptr ? read_input_dims(v.type(), graph) : read_dims(v.type(), graph);
    if (!options_.declared_extents && scope.outer == nullptr) dims = {};
    if (fallback) check_fallback(v.name(), type, dims, fallback);
    define(scope, v.name(), graph.add_input(v.name(), type, dims, std::move(fallback)));
  }
  // The graphs of bodies run without one of the session's Programs in between.
  const Placement placement = scope.outer == nullptr ? placement_ : Placement::aligned;
  const auto add = [&](const onnx::TensorProto& t) {
    if (placement == Placement::outside && is_outside(t))
      return graph.add_constant(t.name(), dtype_from_onnx(t.data_type()), Dims(read_extents(t)));
    return graph.add_constant(t.name(), counted(read_tensor(t, source_, placement)));
  };
  for (const auto& t : g.initializer())
    if (defaults.count(t.name())) define(scope, t.name(), add(t));
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
    graph.add_output(v.name(), id, scope.outer == nullptr ? Dims() : read_dims(v.type(), graph));
  }
}

void Importer::check_fallback(const std::string& name, Type type, const Dims& dims, const Value& fallback) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_model, str_cat("input '", name, "'"), why);
  };
  if (!(type == fallback.type()))
    refuse(str_cat("its initializer is ", to_string(fallback.type()), ", not ", to_string(type)));
  const Extents& x = fallback.is_tensor() ? fallback.tensor().extents() : fallback.sparse_tensor().extents;
  if (!dims.fits(x))
    refuse(str_cat("its initializer's extents are ", to_string(x), ", not the declared ones"));
}

ValueId Importer::find(Scope& scope, std::string_view name, bool from_call) {
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

ValueId Importer::find_sparse(Scope& scope, std::string_view name) {
  if (const auto it = scope.sparse.find(name); it != scope.sparse.end()) return it->second;
  if (scope.outer == nullptr || scope.names.contains(name)) return -1;
  ValueId id = find_sparse(*scope.outer, name);
  if (id < 0) return id;
  if (scope.outer->graph != scope.graph) id = scope.graph->capture(id);
  scope.sparse.emplace(std::string(name), id);
  return id;
}

void Importer::demand_new(const Scope& scope, const std::string& name) {
  if (scope.names.contains(name) || scope.sparse.contains(name))
    throw Error(ErrorCode::invalid_model, str_cat("graph '", scope.graph->name(), "'"),
                str_cat("value '", name, "' is defined twice"));
}

void Importer::demand_new_results(const onnx::NodeProto& n, const Scope& scope) {
  std::set<std::string_view> own;
  for (const std::string& name : n.output()) {
    const bool again = !own.insert(name).second;
    if (name.empty() || (!again && !scope.names.contains(name) && !scope.sparse.contains(name))) continue;
    const auto other = std::ranges::find_if(*scope.nodes, [&](const onnx::NodeProto& o) {
      return &o != &n && std::ranges::find(o.output(), name) != o.output().end();
    });
    const std::string why = again                         ? "the node lists it twice"
                            : other == scope.nodes->end() ? "it is an input, a constant, or a value outside"
                                                          : str_cat(node_place(*other), " makes it, too");
    throw Error(ErrorCode::invalid_model, node_place(n),
                str_cat("value '", name, "' is defined twice: ", why));
  }
}

void Importer::define(Scope& scope, const std::string& name, ValueId id) {
  demand_new(scope, name);
  scope.names.emplace(name, id);
}

Dims Importer::read_input_dims(const onnx::TypeProto& t, Graph& graph) {
  if (t.has_optional_type()) return read_input_dims(t.optional_type().elem_type(), graph);
  if (!t.has_sequence_type()) return read_dims(t, graph);
  Dims dims = read_dims(t.sequence_type().elem_type(), graph);
  // The extents that have a name may differ among the elements.
  for (int k = 0; dims.ranked() && k < dims.rank(); ++k)
    if (dims[k].symbolic()) dims[k] = Dim();
  return dims;
}

Dims Importer::read_dims(const onnx::TypeProto& t, Graph& graph) {
  const onnx::TensorShapeProto* shape = nullptr;
  if (t.has_tensor_type() && t.tensor_type().has_shape()) shape = &t.tensor_type().shape();
  if (t.has_sparse_tensor_type() && t.sparse_tensor_type().has_shape())
    shape = &t.sparse_tensor_type().shape();
  if (shape == nullptr) return {};
  return loader::read_dims(*shape, graph.name(), [&](const std::string& name) { return graph.symbol(name); });
}

void Importer::count_bytes(int64_t bytes) {
  if (bytes > options_.max_bytes - bytes_)
    throw Error(ErrorCode::limit, "model",
                str_cat("calls of functions, and sparse constants made dense, take more than ",
                        options_.max_bytes, " bytes"));
  bytes_ += bytes;
}

AnyTensor Importer::counted(AnyTensor t) {
  if (!calls_.empty() && std::as_const(t).storage().writable()) count_bytes(t.bytes());
  return t;
}

AnyTensor Importer::dense(const SparseTensor& s) {
  count_bytes(packed_bytes(element_count(s.extents), s.values.dtype()));
  return densify(s);
}

Graph import_graph(const onnx::ModelProto& model, const LoadOptions& options, DataSource source,
                   Placement placement) {
  return Importer(model, options, std::move(source), placement).run();
}

}  // namespace tenon::TENON_ABI::loader
