// `tenon infer`: shape inference, and the comparison with recorded calls of it.
#include "loader/infer/infer.hpp"

#include <map>
#include <set>

#include "loader/devices/device_extents.hpp"
#include "loader/display.hpp"
#include "loader/edit/names.hpp"
#include "loader/message.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"
#include "loader/tool/shapes.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

namespace fs = std::filesystem;

// Compares a recorded result with ours, which may know more. A symbol that the model does not contain was
// generated: it only states which extents are equal.
class Comparison {
 public:
  explicit Comparison(const onnx::ModelProto& model) { add_names(model.graph()); }

  // "" or the first difference.
  std::string difference(const onnx::GraphProto& ours, const onnx::GraphProto& recorded) {
    std::map<std::string_view, const onnx::TypeProto*> types;
    for (const auto* list : {&ours.value_info(), &ours.input(), &ours.output()})
      for (const auto& v : *list) types[v.name()] = &v.type();
    for (const auto* list : {&recorded.value_info(), &recorded.input(), &recorded.output()})
      for (const auto& v : *list) {
        const auto it = types.find(v.name());
        static const onnx::TypeProto nothing;
        if (std::string d = difference(it == types.end() ? nothing : *it->second, v.type()); !d.empty())
          return str_cat("value '", v.name(), "': ", d);
      }
    // Nodes keep their positions.
    for (int n = 0; n < std::min(ours.node_size(), recorded.node_size()); ++n)
      for (int a = 0; a < std::min(ours.node(n).attribute_size(), recorded.node(n).attribute_size()); ++a)
        if (ours.node(n).attribute(a).has_g())
          if (std::string d = difference(ours.node(n).attribute(a).g(), recorded.node(n).attribute(a).g());
              !d.empty())
            return str_cat("in '", ours.node(n).attribute(a).name(), "': ", d);
    return "";
  }

 private:
  void add_names(const onnx::GraphProto& g) {
    for (const auto* list : {&g.value_info(), &g.input(), &g.output()})
      for (const auto& v : *list) add_names(v.type());
    for (const auto& n : g.node())
      for (const auto& a : n.attribute())
        if (a.has_g()) add_names(a.g());
  }
  void add_names(const onnx::TypeProto& t) {
    if (t.has_tensor_type())
      for (const auto& d : t.tensor_type().shape().dim()) given_.insert(d.dim_param());
    if (t.has_sparse_tensor_type())
      for (const auto& d : t.sparse_tensor_type().shape().dim()) given_.insert(d.dim_param());
    if (t.has_sequence_type()) add_names(t.sequence_type().elem_type());
    if (t.has_optional_type()) add_names(t.optional_type().elem_type());
  }

  std::string difference(const onnx::TypeProto& ours, const onnx::TypeProto& recorded) {
    if (recorded.value_case() == onnx::TypeProto::VALUE_NOT_SET) return "";
    if (ours.value_case() != recorded.value_case())
      return str_cat(loader::type_text(ours), " instead of ", loader::type_text(recorded));
    if (recorded.has_sequence_type())
      return difference(ours.sequence_type().elem_type(), recorded.sequence_type().elem_type());
    if (recorded.has_optional_type())
      return difference(ours.optional_type().elem_type(), recorded.optional_type().elem_type());
    if (recorded.has_tensor_type())
      return difference(ours, recorded, ours.tensor_type(), recorded.tensor_type());
    if (recorded.has_sparse_tensor_type())
      return difference(ours, recorded, ours.sparse_tensor_type(), recorded.sparse_tensor_type());
    return ours.SerializeAsString() == recorded.SerializeAsString()
               ? ""
               : str_cat(loader::type_text(ours), " instead of ", loader::type_text(recorded));
  }
  template <class T>
  std::string difference(const onnx::TypeProto& all_ours, const onnx::TypeProto& all, const T& ours,
                         const T& recorded) {
    const auto says = [&] {
      return str_cat(loader::type_text(all_ours), " instead of ", loader::type_text(all));
    };
    if (recorded.elem_type() != 0 && ours.elem_type() != recorded.elem_type()) return says();
    if (!recorded.has_shape()) return "";
    if (!ours.has_shape() || ours.shape().dim_size() != recorded.shape().dim_size()) return says();
    for (int k = 0; k < recorded.shape().dim_size(); ++k)
      if (!agrees(ours.shape().dim(k), recorded.shape().dim(k))) return says();
    return "";
  }
  bool agrees(const onnx::TensorShapeProto::Dimension& ours,
              const onnx::TensorShapeProto::Dimension& recorded) {
    if (recorded.has_dim_value()) return ours.has_dim_value() && ours.dim_value() == recorded.dim_value();
    if (recorded.dim_param().empty() || ours.has_dim_value()) return true;
    if (given_.count(recorded.dim_param())) return ours.dim_param() == recorded.dim_param();
    const std::string text = ours.dim_param().empty() ? str_cat("?", unknown_++) : ours.dim_param();
    return renamed_.emplace(recorded.dim_param(), text).first->second == text;
  }

  std::set<std::string> given_;
  std::map<std::string, std::string> renamed_;
  int unknown_ = 0;
};

// "" where the call gives the recorded result.
std::string compare_inference(const fs::path& folder, const Json& call) {
  auto model = read_message<onnx::ModelProto>(file_of(folder, call["in"]));
  Comparison comparison(model);
  const bool error = call["verdict"].string() == "error";
  try {
    loader::infer_shapes(model, {.strict = call["args"]["strict_mode"].boolean(),
                                 .check_types = call["args"]["check_type"].boolean()});
  } catch (const Error& e) {
    return error ? "" : str_cat("refused: ", e.what());
  }
  if (error) return str_cat("accepted, recorded: ", call["msg"].string());
  const auto recorded = read_message<onnx::ModelProto>(file_of(folder, call["out"]));
  return comparison.difference(model.graph(), recorded.graph());
}

void print(const onnx::GraphProto& g, const std::string& indent) {
  const auto list = [&](const char* what, const auto& values) {
    for (const auto& v : values) {
      const std::string type = loader::type_text(v.type());
      std::printf("%s%s %s: %s\n", indent.c_str(), what, loader::visible(v.name()).c_str(),
                  type.empty() ? "?" : type.c_str());
    }
  };
  list("input ", g.input());
  list("value ", g.value_info());
  list("output", g.output());
  for (const auto& n : g.node())
    for (const auto& a : n.attribute())
      if (a.has_g()) {
        std::printf("%s%s of %s\n", indent.c_str(), loader::visible(a.name()).c_str(),
                    loader::visible(loader::node_place(n)).c_str());
        print(a.g(), indent + "  ");
      }
}

}  // namespace

int infer(Arguments arguments) {
  fs::path model, suite;
  ModelOutput output;
  ShapeSet shapes;
  bool strict = false, devices = false;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--check") suite = arguments.file(word);
    else if (output.takes(word, arguments)) continue;
    else if (word == "--strict") strict = true;
    else if (word == "--devices") devices = true;
    else if (word == "--shape") add_shapes(shapes, arguments.value(word));
    else if (word.starts_with("-") || !model.empty())
      throw UsageError{str_cat("infer takes one model, and not '", word, "'")};
    else model = loader::path_named(word);
  }
  if (model.empty() == suite.empty()) throw UsageError{"infer needs a model, or --check and a folder"};
  if (!suite.empty())
    return run_suite(suite, [&](const Json& call) { return compare_inference(suite, call); });
  Model shaped_model(read_model(model), loader::folder_of(model));
  onnx::ModelProto& proto = shaped_model.proto();
  loader::in_file(model, [&] {
    fix_shapes(shaped_model, shapes, arguments.registry());
    const InferOptions options{.registry = arguments.registry(), .strict = strict};
    devices ? loader::infer_functions(proto, options) : loader::infer_shapes(proto, options);
  });
  if (devices) loader::in_file(model, [&] { std::fputs(loader::device_extents(proto).c_str(), stdout); });
  else if (!output.is_given()) print(proto.graph(), "");
  if (!output.is_given()) return 0;
  output.write(std::move(proto), shaped_model.folder());
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
