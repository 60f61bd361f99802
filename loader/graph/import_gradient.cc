// Gradient nodes. Their rules include many operators, which other nodes do not need.
#include "loader/edit/names.hpp"
#include "loader/graph/importer.hpp"
#include "tenon/graph/gradient.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr std::size_t max_walked =
    200'000'000;  // values that Gradient nodes visit; each visits all values before it

}  // namespace

void Importer::differentiate(const onnx::NodeProto& n, const AnyOperator& op, const op::Gradient& gradient,
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

}  // namespace tenon::TENON_ABI::loader
