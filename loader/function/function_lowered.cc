// The functions of operators that have `lower`, as messages.
#include "loader/convert/convert.hpp"
#include "loader/format/attribute.hpp"
#include "loader/format/tensor.hpp"
#include "loader/function/function_body.hpp"
#include "loader/graph/export.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// The node alone, over inputs of the known types; nothing if a type is unknown.
std::optional<Graph> graph_of(const TypedNode& typed, const Registry::Found& found) {
  const onnx::NodeProto& n = typed.node;
  std::vector<std::pair<std::string, op::AttributeValue>> attributes;
  for (const auto& a : n.attribute()) {
    if (!a.ref_attr_name().empty() || a.has_g() || a.graphs_size() > 0) return {};
    attributes.emplace_back(a.name(), read_attribute(a, {}, {}));
  }
  Graph g;
  std::vector<ValueId> inputs;
  for (int k = 0; k < n.input_size(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (n.input(k).empty()) {
      inputs.push_back(-1);
      continue;
    }
    if (at >= typed.inputs.size() || typed.inputs[at] == nullptr) return {};
    const onnx::TypeProto& type = *typed.inputs[at];
    Dims dims;
    if (type.has_tensor_type() && type.tensor_type().has_shape())
      dims = read_dims(type.tensor_type().shape(), n.op_type(),
                       [&](const std::string& symbol) { return g.symbol(symbol); });
    inputs.push_back(g.add_input(str_cat("in", k), read_type(type), dims));
  }
  g.add_node(n.name(), make_operator(*found.op_class, found.version, std::move(attributes)),
             std::move(inputs), std::vector<std::string>(static_cast<std::size_t>(n.output_size())));
  return g;
}

// Functions have no initializers.
onnx::NodeProto constant_of(onnx::TensorProto& t) {
  onnx::NodeProto n;
  n.set_op_type("Constant");
  n.add_output(t.name());
  t.clear_name();
  onnx::AttributeProto& a = *n.add_attribute();
  a.set_name("value");
  a.set_type(onnx::AttributeProto::TENSOR);
  a.mutable_t()->Swap(&t);
  return n;
}

}  // namespace

bool lowers(const onnx::NodeProto& node, const Registry& registry) {
  const auto found = registry.operators().find({std::string(canonical(node.domain())), node.op_type()});
  return found != registry.operators().end() &&
         std::ranges::any_of(found->second, [](const auto& v) { return v.second->lower != nullptr; });
}

std::optional<onnx::FunctionProto> lowered_body(const TypedNode& typed, const Opsets& opsets,
                                                const Registry& registry) {
  const onnx::NodeProto& n = typed.node;
  const auto own = opsets.find(canonical(n.domain())), standard = opsets.find(std::string_view());
  if (own == opsets.end() || standard == opsets.end()) return {};
  const Registry::Found found = registry.find(own->first, n.op_type(), own->second);
  if (found.op_class == nullptr || found.op_class->lower == nullptr) return {};
  try {
    const std::optional<Graph> around = graph_of(typed, found);
    if (!around || around->nodes().size() != 1) return {};
    const std::optional<Graph> body = around->function_of(around->nodes().back());
    if (!body) return {};
    onnx::ModelProto m = loader::to_model(*body, {.registry = &registry, .opset = standard->second});
    for (const auto& [domain, version] : read_opsets(m.opset_import(), n.op_type()))
      if (const auto o = opsets.find(domain);
          o == opsets.end() ||
          find_changed(m.graph().node(), domain, version, o->second, {}, registry) != nullptr)
        return {};
    onnx::FunctionProto f;
    f.set_domain(n.domain());
    f.set_name(n.op_type());
    *f.mutable_opset_import() = m.opset_import();
    // The graph has inputs only for operands that are present.
    for (int k = 0; k < n.input_size(); ++k) f.add_input(str_cat("in", k));
    for (const auto& v : m.graph().output()) f.add_output(v.name());
    for (auto& t : *m.mutable_graph()->mutable_initializer()) *f.add_node() = constant_of(t);
    f.mutable_node()->MergeFrom(m.graph().node());
    return f;
  } catch (const Error&) {  // the node stays: the error appears when the model is run or checked
    return {};
  }
}

}  // namespace tenon::TENON_ABI::loader
