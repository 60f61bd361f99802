// Nodes: operators, bodies, and calls of functions.
#include "loader/edit/names.hpp"
#include "loader/edit/order.hpp"
#include "loader/graph/importer.hpp"
#include "tenon/graph/body.hpp"

namespace tenon::TENON_ABI::loader {
const onnx::FunctionProto* Importer::find_function(const onnx::NodeProto& n) const {
  const auto it = functions_.find(key_of(n));
  return it == functions_.end() ? nullptr : it->second;
}

void Importer::read_node(const onnx::NodeProto& n, Scope& scope) {
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
    const bool sparse = f == nullptr && takes_sparse(*found.op_class->spec, found.version, inputs.size());
    ValueId id = sparse ? find_sparse(scope, name) : -1;
    if (id < 0) id = find(scope, name);
    if (id == Scope::missing)
      throw Error(ErrorCode::invalid_model, place,
                  str_cat("input '", name, "' is not defined, or depends on the node"));
    inputs.push_back(id);
  }
  // Trailing operands that are left out are the same as absent ones.
  while (!inputs.empty() && inputs.back() < 0) inputs.pop_back();
  demand_new_results(n, scope);
  if (f != nullptr) return call_function(n, *f, inputs, scope);
  const AnyOperator op = make_operator(n, found, place, scope);
  std::vector<std::string> names;
  for (int k = 0; k < wanted_outputs(n, op.spec(), op.version()); ++k)
    names.push_back(scope.name_of(n.output(k)));
  if (const auto* gradient = op.as<op::Gradient>()) return differentiate(n, op, *gradient, inputs, scope);
  const std::vector<ValueId> outputs =
      scope.graph->add_node(scope.prefix + node_name(n), op, std::move(inputs), names);
  for (int k = 0; k < n.output_size(); ++k)
    if (!n.output(k).empty()) define(scope, n.output(k), outputs[static_cast<std::size_t>(k)]);
}

Registry::Found Importer::find_class(const onnx::NodeProto& n, const Scope& scope) const {
  const Registry::Found found = find_operator(n, *scope.opsets);
  if (found.op_class == nullptr)
    throw Error(ErrorCode::not_supported, node_place(n), "the opsets in force have no such operator");
  return found;
}

AnyOperator Importer::make_operator(const onnx::NodeProto& n, const Registry::Found& found,
                                    const std::string& place, Scope& scope) {
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
    throw Error(
        e.code(),
        str_cat(place,
                e.where().empty() || e.where() == n.op_type() || e.where() == place ? "" : ": " + e.where()),
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

Depth Importer::deeper() {
  return {depth_, options_.max_depth, [](const char* why) { throw Error(ErrorCode::limit, "model", why); }};
}

op::BodyRef Importer::read_body(const onnx::GraphProto& g, int inputs, Scope& scope, const Scope& owner) {
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

void Importer::call_function(const onnx::NodeProto& n, const onnx::FunctionProto& f,
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
      .caller = &scope,
      .nodes = &f.node()};
  for (int k = 0; k < n.output_size(); ++k)
    if (std::string name = scope.name_of(n.output(k)); !name.empty() && name.size() <= 2 * max_prefix)
      inner.results.emplace(f.output(k), std::move(name));
  for (int k = 0; k < f.input_size(); ++k)
    define(inner, f.input(k), k < static_cast<int>(inputs.size()) ? inputs[static_cast<std::size_t>(k)] : -1);
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

}  // namespace tenon::TENON_ABI::loader
