// `tenon convert`: models at other operator sets, and the comparison with recorded conversions.
#include "loader/convert/convert.hpp"

#include "loader/check/check.hpp"
#include "loader/message.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"
#include "tenon/tensor/difference.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

namespace fs = std::filesystem;

int opset_of(const onnx::ModelProto& m) {
  for (const auto& o : m.opset_import())
    if (loader::canonical(o.domain()).empty()) return static_cast<int>(o.version());
  return 0;
}

// Whether two types are equal, as far as both are known.
bool agree(const onnx::TypeProto& a, const onnx::TypeProto& b) {
  if (a.value_case() != b.value_case()) return false;
  if (a.has_sequence_type()) return agree(a.sequence_type().elem_type(), b.sequence_type().elem_type());
  if (a.has_optional_type()) return agree(a.optional_type().elem_type(), b.optional_type().elem_type());
  if (!a.has_tensor_type()) return a.SerializeAsString() == b.SerializeAsString();
  const auto &x = a.tensor_type(), &y = b.tensor_type();
  if (x.elem_type() != y.elem_type()) return false;
  if (!x.has_shape() || !y.has_shape()) return true;
  if (x.shape().dim_size() != y.shape().dim_size()) return false;
  for (int k = 0; k < x.shape().dim_size(); ++k) {
    const auto &d = x.shape().dim(k), &e = y.shape().dim(k);
    if (d.has_dim_value() && e.has_dim_value() && d.dim_value() != e.dim_value()) return false;
  }
  return true;
}

template <class List>
std::string interface_difference(const char* what, const List& ours, const List& recorded) {
  if (ours.size() != recorded.size())
    return str_cat(ours.size(), " ", what, "s instead of ", recorded.size());
  for (int k = 0; k < ours.size(); ++k)
    if (ours[k].name() != recorded[k].name() || !agree(ours[k].type(), recorded[k].type()))
      return str_cat(what, " '", ours[k].name(), "' differs");
  return "";
}

Graph graph_of(const onnx::ModelProto& m, const Registry* registry) {
  return Model(m).graph({.registry = registry});
}

std::vector<Value> results(Graph graph) {
  Feeds feeds;
  uint64_t seed = 0;
  for (const ValueId v : graph.inputs()) {
    const Graph::ValueEntry& e = graph.entry(v);
    if (!e.optional)
      feeds.emplace_back(e.name, random_value(e.info.type, default_extents(e.info.dims), ++seed));
  }
  Outputs outputs = Session(std::move(graph)).run(feeds);
  std::vector<Value> values;
  for (std::size_t k = 0; k < outputs.size(); ++k) values.push_back(outputs[k]);
  return values;
}

std::string results_difference(const std::vector<Value>& ours, const std::vector<Value>& expected,
                               Tolerance tolerance) {
  for (std::size_t k = 0; k < expected.size(); ++k)
    if (const auto d = difference(ours[k], expected[k], tolerance); !d.empty())
      return str_cat("output ", k, ": ", d);
  return "";
}

// Whether runs of a model differ; `first` holds the results of one run. Operators that may draw random
// numbers, themselves or in bodies, need not do so: a Dropout outside of training does not. Draws of a few
// bits sometimes coincide, but not in this many runs.
bool varies(const onnx::ModelProto& m, const std::vector<Value>& first, const Registry* registry) {
  const Graph graph = graph_of(m, registry);
  if (std::ranges::all_of(graph.nodes(), [](const Graph::Node& n) {
        return n.op.spec().deterministic && !n.op.takes_graphs();
      }))
    return false;
  for (int run = 0; run < 16; ++run)
    if (!results_difference(results(graph_of(m, registry)), first, {}).empty()) return true;
  return false;
}

// Recorded models whose results are not compared.
struct Uncompared {
  int not_run = 0, varying = 0;
};

// "" where the call gives the recorded result. A model that cannot run is compared by its interface.
std::string compare_conversion(const fs::path& folder, const Json& call, const Registry* registry,
                               Uncompared& uncompared) {
  auto model = read_message<onnx::ModelProto>(file_of(folder, call["in"]));
  const int target = static_cast<int>(call["target"].integer());
  const bool error = call["verdict"].string() == "error";
  try {
    loader::convert_opset(model, target, loader::registry_of(registry));
  } catch (const Error& e) {
    return error ? "" : str_cat("refused: ", e.what());
  }
  if (error) return str_cat("converted, recorded: ", call["msg"].string());
  const auto recorded = read_message<onnx::ModelProto>(file_of(folder, call["out"]));
  if (opset_of(model) != target) return str_cat("opset ", opset_of(model), " instead of ", target);
  const CheckOptions rules{.registry = registry};
  for (const auto& d : loader::check(model, rules))
    if (d.severity == Severity::error && !has_errors(loader::check(recorded, rules))) return to_string(d);
  for (const std::string& d :
       {interface_difference("input", model.graph().input(), recorded.graph().input()),
        interface_difference("output", model.graph().output(), recorded.graph().output())})
    if (!d.empty()) return d;
  std::vector<Value> expected;
  try {
    expected = results(graph_of(recorded, registry));
  } catch (const Error&) {
    ++uncompared.not_run;
    return "";
  }
  const std::vector<Value> ours = results(graph_of(model, registry));
  const std::string differs = results_difference(ours, expected, {.rtol = 1e-5, .atol = 1e-6});
  if (differs.empty() || !varies(recorded, expected, registry)) return differs;
  ++uncompared.varying;
  return "";
}

}  // namespace

int convert_model(Arguments arguments) {
  fs::path model, suite;
  ModelOutput output;
  int64_t opset = 0;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--suite") suite = arguments.file(word);
    else if (output.takes(word, arguments)) continue;
    else if (word == "--opset") opset = arguments.integer(word, 1, newest_opset("", arguments.registry()));
    else if (word.starts_with("-") || !model.empty())
      throw UsageError{str_cat("convert takes one model, and not '", word, "'")};
    else model = loader::path_named(word);
  }
  if (!suite.empty()) {
    if (!model.empty()) throw UsageError{"convert takes a model, or --suite and a folder"};
    Uncompared uncompared;
    const int code = run_suite(suite, [&](const Json& call) {
      return compare_conversion(suite, call, arguments.registry(), uncompared);
    });
    std::fprintf(
        stderr,
        "%d recorded models cannot run, and %d give other results in each run: these are compared by "
        "their interface\n",
        uncompared.not_run, uncompared.varying);
    return code;
  }
  if (model.empty() || !output.is_given() || opset == 0)
    throw UsageError{"convert needs a model, --opset and -o"};
  onnx::ModelProto proto = read_model(model);
  loader::in_file(model, [&] {
    loader::convert_opset(proto, static_cast<int>(opset), loader::registry_of(arguments.registry()));
  });
  output.write(std::move(proto), loader::folder_of(model));
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
