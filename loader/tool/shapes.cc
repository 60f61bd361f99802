#include "loader/tool/shapes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "loader/infer/infer.hpp"
#include "loader/message.hpp"
#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

// Sets an input's extents, and the symbols that they use, in the whole model.
void fix_input(Model& model, const onnx::ValueInfoProto& input, const Extents& extents) {
  const std::string name = input.name();
  const onnx::TensorShapeProto shape = input.type().tensor_type().shape();
  if (input.type().tensor_type().has_shape() && shape.dim_size() != extents.size())
    throw UsageError{str_cat("input '", name, "' has ", shape.dim_size(), " axes, not ", extents.size())};
  std::map<std::string, int64_t> symbols;
  for (int k = 0; k < shape.dim_size(); ++k) {
    const auto& d = shape.dim(k);
    if (d.has_dim_value() ? d.dim_value() != extents[k]
                          : !d.dim_param().empty() &&
                                symbols.emplace(d.dim_param(), extents[k]).first->second != extents[k])
      throw UsageError{str_cat("axis ", k, " of input '", name, "' cannot have the extent ", extents[k],
                               ": the model or another option has another")};
  }
  for (const auto& [symbol, extent] : symbols) model.set_symbol(symbol, extent);
  std::string text;
  for (int64_t e : extents) text += str_cat(text.empty() ? "" : ",", e);
  model.set_extents(name, str_cat("[", text, "]"));
}

bool names_symbol(const onnx::GraphProto& g, std::string_view name) {
  return std::ranges::any_of(g.input(), [&](const onnx::ValueInfoProto& v) {
    return std::ranges::any_of(v.type().tensor_type().shape().dim(),
                               [&](const auto& d) { return d.dim_param() == name; });
  });
}

// Replaces the file's extents of values with newly inferred ones. Where inference finds none, the file's
// stay.
void infer_again(onnx::ModelProto& model, const Registry* registry) {
  onnx::GraphProto& g = *model.mutable_graph();
  const auto extents_of = [](onnx::ValueInfoProto& v) -> onnx::TypeProto::Tensor* {
    return v.type().has_tensor_type() ? v.mutable_type()->mutable_tensor_type() : nullptr;
  };
  std::map<std::string, onnx::TensorShapeProto> before;
  for (auto* list : {g.mutable_output(), g.mutable_value_info()})
    for (auto& v : *list)
      if (auto* t = extents_of(v); t != nullptr && t->has_shape()) {
        before[v.name()] = t->shape();
        t->clear_shape();
      }
  loader::infer_shapes(model, {.registry = registry});
  for (auto* list : {g.mutable_output(), g.mutable_value_info()})
    for (auto& v : *list)
      if (auto* t = extents_of(v); t != nullptr && !t->has_shape() && before.contains(v.name()))
        *t->mutable_shape() = before[v.name()];
}

}  // namespace

ShapeSet parse_shapes(std::string_view text) {
  ShapeSet set;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t equals = one.rfind('=');
    if (equals == std::string_view::npos || equals == 0)
      throw UsageError{str_cat("'", one, "' is not NAME=1 or INPUT=1x8x8")};
    set.emplace_back(std::string(one.substr(0, equals)), parse_extents(one.substr(equals + 1)));
  }
  return set;
}

void fix_shapes(Model& model, const ShapeSet& shapes, const Registry* registry) {
  for (const auto& [name, extents] : shapes) {
    const auto& inputs = model.proto().graph().input();
    const auto input = std::ranges::find(inputs, name, [](const auto& v) { return v.name(); });
    if (input != inputs.end()) {
      fix_input(model, onnx::ValueInfoProto(*input), extents);
    } else if (!names_symbol(model.proto().graph(), name)) {
      throw UsageError{str_cat("the model has no input '", name, "', and no input an extent of that name")};
    } else if (extents.size() != 1) {
      throw UsageError{str_cat("'", name, "' is one extent, not ", extents.size())};
    } else {
      model.set_symbol(name, extents[0]);
    }
  }
  if (!shapes.empty()) infer_again(model.proto(), registry);
}

emission::InputExtents input_extents(const Graph& graph, const ShapeSet& shapes,
                                     const std::map<ValueId, Extents>& given) try {
  return emission::InputExtents(graph, shapes, given);
} catch (const Error& e) {
  throw UsageError{e.message()};
}

std::string open_extents(const Graph& graph, std::span<const InputSource> sources, const ShapeSet& shapes,
                         const Feeds& feeds) {
  const auto has_source = [&](std::string_view name) {
    return std::ranges::find(sources, name, &InputSource::name) != sources.end();
  };
  std::map<ValueId, Extents> given;
  for (const auto& [name, value] : feeds)
    if (has_source(name) && value.is_tensor()) given.emplace(graph.find(name), value.tensor().extents());
  const emission::InputExtents extents = input_extents(graph, shapes, given);
  std::set<std::string> open;
  for (const ValueId v : graph.inputs()) {
    const Graph::ValueEntry& e = graph.entry(v);
    if (e.optional || has_source(e.name)) continue;
    const Dims& dims = extents.of(v);
    if (!dims.ranked()) open.insert(str_cat("the rank of '", e.name, "'"));
    for (int k = 0; dims.ranked() && k < dims.rank(); ++k)
      if (dims[k].symbolic()) open.insert(std::string(graph.symbol_name(dims[k])));
      else if (!dims[k].known()) open.insert(str_cat("axis ", k, " of '", e.name, "'"));
  }
  std::string text;
  for (const std::string& one : open) text += str_cat(text.empty() ? "" : ", ", one);
  return text;
}

}  // namespace tenon::TENON_ABI::tool
