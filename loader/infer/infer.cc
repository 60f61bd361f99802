// Graphs: inputs, constants, and the types that are written to the message.
#include "loader/infer/infer.hpp"

#include "loader/infer/inference.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// Functions that call functions can multiply nodes and constants exponentially.
constexpr int64_t max_constant_bytes = int64_t{1} << 30;  // in addition to the file's own
constexpr int64_t max_dense_elements = 1024;              // of sparse constants: more than any shape has
constexpr int max_depth = 200;                            // of nested bodies and calls

}  // namespace

Inference::Inference(const onnx::ModelProto& model, InferOptions options)
    : options_(options),
      registry_(registry_of(options.registry)),
      constants_are_inputs_(model.ir_version() < 4),
      symbols_(model),
      constant_bytes_(static_cast<int64_t>(model.ByteSizeLong()) + max_constant_bytes) {
  opsets_ = read_opsets(model.opset_import(), "model");
  for (const auto& f : model.functions()) functions_[key_of(f)] = &f;
  std::map<const onnx::FunctionProto*, bool> finished;
  for (const auto& f : model.functions()) check_calls(f, finished, 0);
}

void Inference::run(onnx::GraphProto& g, const VisitInfo* visit) {
  if (are_more_than(options_.max_nodes, g.node(), functions_, max_depth))
    give_up(str_cat("more than ", options_.max_nodes, " nodes; a function's nodes count once per call"));
  const Scope none{.opsets = &opsets_};
  infer_graph(g, none, none, {}, visit);
}

std::vector<op::Info> Inference::infer_graph(onnx::GraphProto& g, const Scope& around, const Scope& owner,
                                             std::span<const op::Info> given, const VisitInfo* visit) {
  const Depth depth = deeper();
  Scope scope{.outer = &around,
              .opsets = owner.opsets,
              .attributes = owner.attributes,
              .given = owner.given,
              .from_call = &owner != &around};
  std::map<std::string, op::Info, std::less<>> declared;
  for (const auto& v : g.value_info()) declared[v.name()] = symbols_.info_of(v.type());
  for (const auto& v : g.output())
    if (v.has_type()) declared[v.name()] = symbols_.info_of(v.type());
  for (int k = 0; k < g.input_size(); ++k) {
    auto& v = *g.mutable_input(k);
    op::Info info = symbols_.info_of(v.type());
    if (static_cast<std::size_t>(k) < given.size())
      info = merged(info, given[static_cast<std::size_t>(k)], str_cat("input '", v.name(), "'"));
    info.dims = symbols_.named_input(info.dims);
    if (!info.present()) info.type = unknown().type;
    if (options_.check_types && v.has_type() && !known(info.type))
      throw Error(ErrorCode::invalid_model, str_cat("input '", v.name(), "'"), "has no element type");
    if (known(info.type)) symbols_.write(info, *v.mutable_type());
    scope.infos[v.name()] = info;
  }
  for (const auto& t : g.initializer()) add_constant(scope, t.name(), [&] { return info_of(t); });
  for (const auto& t : g.sparse_initializer()) {
    const std::string& name = t.values().name();
    if (scope.infos[name].type.kind == Kind::sparse_tensor) {  // the value that an input has of its own
      add_constant(scope, name, [&] { return sparse(info_of(t)); });
    } else {
      add_constant(scope, name, [&] { return info_of(t); });
      scope.sparse.insert(name);
    }
  }

  for (const onnx::NodeProto* n : in_order(g.node())) {
    // The order points to constant nodes of a graph that this function may change.
    infer_node(const_cast<onnx::NodeProto&>(*n), scope, declared);
  }

  std::vector<op::Info> results;
  for (auto& v : *g.mutable_output()) {
    const op::Info* info = scope.find(v.name());
    op::Info as_it_is;
    if (declared[v.name()].type.kind == Kind::sparse_tensor && scope.is_sparse(v.name()))
      as_it_is = sparse(*std::exchange(info, &as_it_is));
    results.push_back(info ? merged(declared[v.name()], *info, str_cat("output '", v.name(), "'"))
                           : declared[v.name()]);
    if (known(results.back().type)) symbols_.write(results.back(), *v.mutable_type());
    chosen_ = chosen_ || scope.is_chosen(v.name());
  }
  write_value_infos(g, scope);
  if (visit != nullptr)
    for (const auto& [name, info] : scope.infos) (*visit)(name, info);
  return results;
}

void Inference::write_value_infos(onnx::FunctionProto& f) const {
  const auto calls = agreed_.find(&f);
  if (calls == agreed_.end()) return;
  f.clear_value_info();
  for (const auto& [name, info] : calls->second) {
    if (!known(info.type)) continue;
    onnx::ValueInfoProto& v = *f.add_value_info();
    v.set_name(name);
    symbols_.write(info, *v.mutable_type());
  }
}

void Inference::write_value_infos(onnx::GraphProto& g, const Scope& scope) {
  std::map<std::string_view, onnx::ValueInfoProto*> places;
  for (auto& v : *g.mutable_value_info()) places[v.name()] = &v;
  for (const auto& v : g.output()) places.emplace(v.name(), nullptr);
  for (const auto& n : g.node())
    for (const std::string& name : n.output()) {
      const op::Info* info = name.empty() ? nullptr : scope.find(name);
      if (info == nullptr || !known(info->type)) continue;
      auto [it, added] = places.emplace(name, nullptr);
      if (added) {
        it->second = g.add_value_info();
        it->second->set_name(name);
      }
      if (it->second != nullptr) symbols_.write(*info, *it->second->mutable_type());
    }
}

Depth Inference::deeper() {
  return {depth_, max_depth, [&](const char* why) { give_up(why); }};
}

void Inference::give_up(const std::string& why) {
  given_up_ = true;
  throw Error(ErrorCode::invalid_model, "model", why);
}

void Inference::check_calls(const onnx::FunctionProto& f,
                            std::map<const onnx::FunctionProto*, bool>& finished, int depth) const {
  const auto [it, first] = finished.emplace(&f, false);
  if (it->second) return;
  if (!first || depth > 200)
    throw Error(ErrorCode::invalid_model, str_cat("function '", f.name(), "'"),
                first ? "functions call each other too deeply" : "the function calls itself");
  check_calls(f.node(), finished, depth);
  finished[&f] = true;
}

void Inference::check_calls(const NodeList& nodes, std::map<const onnx::FunctionProto*, bool>& finished,
                            int depth) const {
  for (const auto& n : nodes) {
    const auto callee = functions_.find(key_of(n));
    if (callee != functions_.end()) check_calls(*callee->second, finished, depth + 1);
    for (const auto& a : n.attribute())
      if (a.has_g()) check_calls(a.g().node(), finished, depth);
  }
}

op::Info Inference::info_of(const onnx::TensorProto& t) {
  if (is_read(t)) return constant(Value(read_tensor(t)));
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(t.data_type());
  type.mutable_tensor_type()->mutable_shape();
  for (int64_t d : t.dims()) type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
  return symbols_.info_of(type);
}

op::Info Inference::info_of(const onnx::SparseTensorProto& t) {
  const SparseTensor s = read_sparse_tensor(t);
  if (element_count(s.extents) <= max_dense_elements) return constant(Value(densify(s)));
  op::Info info;
  info.type = s.values.dtype();
  info.dims = Dims(s.extents);
  return info;
}

op::Info Inference::constant(Value value) {
  op::Info info = op::info_of(value);
  if (value.is_tensor()) {
    info.data = value.tensor().data();
    if ((constant_bytes_ -= value.tensor().bytes()) < 0) give_up("functions multiply constants");
  }
  constants_.push_back(std::move(value));
  return info;
}

void Inference::note(const onnx::FunctionProto& f, const Scope& call) {
  const auto [calls, first] = agreed_.try_emplace(&f);
  for (const auto& [name, info] : call.infos) {
    const auto [it, added] = calls->second.emplace(name, op::Info{});
    op::Info& all = it->second;
    if (added) {
      all.type = first ? info.type : unknown().type;
      all.dims = info.dims;
    } else if (!(all.type == info.type)) {
      all = unknown();
    } else if (all.dims.rank() != info.dims.rank()) {
      all.dims = {};
    } else {
      for (int k = 0; k < all.dims.rank(); ++k)
        if (!(all.dims[k] == info.dims[k])) all.dims[k] = Dim::unknown();
    }
  }
}

void infer_shapes(onnx::ModelProto& model, InferOptions options) {
  const LargeData data(model);  // bodies are copied
  Inference(model, options).run(*model.mutable_graph());
}

void infer_shapes(onnx::ModelProto& model, InferOptions options, const VisitInfo& visit) {
  const LargeData data(model);
  Inference(model, options).run(*model.mutable_graph(), &visit);
}

void infer_functions(onnx::ModelProto& model, InferOptions options) {
  const LargeData data(model);
  Inference inference(model, options);
  inference.note_functions();
  inference.run(*model.mutable_graph());
  for (auto& f : *model.mutable_functions()) inference.write_value_infos(f);
}

}  // namespace tenon::TENON_ABI::loader
