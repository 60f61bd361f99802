// `tenon simplify`: folds a model's constants and removes its dead nodes.
#include "loader/edit/simplify.hpp"

#include <map>

#include "loader/infer/infer.hpp"
#include "loader/message.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

// Sets an input's extents, and the symbols that they use, in the whole model.
void fix_extents(Model& model, const std::string& name, const Extents& extents) {
  for (const auto& v : model.proto().graph().input()) {
    if (v.name() != name) continue;
    const onnx::TensorShapeProto shape = v.type().tensor_type().shape();
    if (v.type().tensor_type().has_shape() && shape.dim_size() != extents.size())
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
    return model.set_extents(name, str_cat("[", text, "]"));
  }
  throw UsageError{str_cat("the model has no input '", name, "'")};
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

int count_nodes(const onnx::GraphProto& g) {
  int count = g.node_size();
  for (const auto& n : g.node())
    for (const auto& a : n.attribute())
      if (a.has_g()) count += count_nodes(a.g());
  return count;
}

}  // namespace

int simplify(Arguments arguments) {
  std::filesystem::path file;
  ModelOutput output;
  std::vector<std::pair<std::string, Extents>> fixed;
  SimplifyOptions options{.registry = arguments.registry()};
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (output.takes(word, arguments)) continue;
    if (word == "--max-bytes") {
      options.max_bytes = arguments.integer(word, 0, int64_t{1} << 31);
    } else if (word == "--time-limit") {
      options.time_limit =
          std::chrono::milliseconds(static_cast<int64_t>(1000 * arguments.number(word, 0, 1'000'000'000)));
    } else if (word == "--extents") {
      const std::string text = arguments.value(word);
      const std::size_t equals = text.rfind('=');
      if (equals == std::string::npos) throw UsageError{"--extents takes NAME=1x3x224x224"};
      fixed.emplace_back(text.substr(0, equals), parse_extents(std::string_view(text).substr(equals + 1)));
    } else if (word.starts_with("-") || !file.empty()) {
      throw UsageError{str_cat("simplify takes one model, and not '", word, "'")};
    } else {
      file = word;
    }
  }
  if (file.empty() || !output.is_given()) throw UsageError{"simplify needs a model and -o"};
  Model model(read_model(file), loader::folder_of(file));
  const int before = count_nodes(model.proto().graph());
  loader::in_file(file, [&] {
    for (const auto& [name, extents] : fixed) fix_extents(model, name, extents);
    if (!fixed.empty()) infer_again(model.proto(), arguments.registry());
    loader::simplify(model.proto(), options);
  });
  const int after = count_nodes(model.proto().graph());
  output.write(std::move(model.proto()), model.folder());
  std::printf("%d nodes, before %d\n", after, before);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
