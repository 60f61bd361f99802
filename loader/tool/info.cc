// `tenon info`: what a model says of itself, whether it can run here or not.
#include "loader/display.hpp"
#include "loader/opsets.hpp"
#include "loader/outline.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"

namespace tenon::tool {
namespace {

using loader::Outline;
using loader::visible;

constexpr std::size_t most_text = 400;  // bytes of doc strings and metadata

template <class... Parts>
void line(const Parts&... parts) {
  const std::string text = concat(parts..., "\n");
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_header(const onnx::ModelProto& m) {
  std::string opsets;
  for (const auto& o : m.opset_import())
    opsets +=
        concat(", ", visible(loader::display(loader::canonical(o.domain())), most_text), " ", o.version());
  line("IR version ", m.ir_version(), opsets);
  if (!m.producer_name().empty())
    line("producer ", visible(m.producer_name(), most_text), m.producer_version().empty() ? "" : " ",
         visible(m.producer_version(), most_text));
  if (!m.domain().empty() || m.model_version() != 0)
    line("model ", visible(m.domain(), most_text), " version ", m.model_version());
  if (!m.doc_string().empty()) line("about ", visible(m.doc_string(), most_text));
  for (const auto& e : m.metadata_props())
    line("metadata ", visible(e.key(), most_text), " = ", visible(e.value(), most_text));
  for (const auto& c : m.configuration())
    line("devices '", visible(c.name(), most_text), "', ", c.num_devices());
}

void print_value(const char* what, const Outline::Value& v) {
  const std::string type = v.type != nullptr ? loader::type_text(*v.type) : "";
  line(what, visible(v.name), ": ", type.empty() ? "?" : type,
       v.content != nullptr ? ", may be left out" : "");
}

std::string names(const Outline& o, const std::vector<int>& values) {
  std::string text;
  for (int v : values)
    text += concat(text.empty() ? "" : ", ", visible(o.values[static_cast<std::size_t>(v)].name));
  return concat("(", text, ")");
}

void print_functions(const Outline& o) {
  for (const Outline::Graph& g : o.graphs) {
    if (g.kind == Outline::GraphKind::training)
      line(g.title, ": ", g.nodes.size(), g.nodes.size() == 1 ? " node" : " nodes");
    if (g.kind != Outline::GraphKind::function) continue;
    std::string attributes;
    for (const std::string& a : g.function->attribute())
      attributes += concat(attributes.empty() ? " <" : ", ", visible(a));
    for (const auto& a : g.function->attribute_proto())
      attributes +=
          concat(attributes.empty() ? " <" : ", ", visible(a.name()), " = ", loader::attribute_text(a));
    line(g.title, attributes, attributes.empty() ? " " : "> ", names(o, g.inputs), " => ",
         names(o, g.outputs), ": ", g.nodes.size(), g.nodes.size() == 1 ? " node, " : " nodes, ", g.calls,
         g.calls == 1 ? " call" : " calls");
  }
}

void print_parameters(const Outline& o) {
  const auto counts = loader::count_parameters(o);
  const auto whole = [](double n) {
    char text[64];
    std::snprintf(text, sizeof text, "%.0f", n);
    return std::string(text);
  };
  loader::ParameterCount all;
  for (const auto& [type, c] : counts) all.elements += c.elements, all.bytes += c.bytes;
  line("parameters ", whole(all.elements), ", ", loader::size_text(all.bytes));
  for (const auto& [type, c] : counts)
    line("  ", type, ": ", c.tensors, c.tensors == 1 ? " tensor of " : " tensors of ", whole(c.elements),
         ", ", loader::size_text(c.bytes));
}

// "Conv-11", or "com.acme.Whirl, unknown here". Functions' operators are those of the functions' opsets.
std::string operator_of(const Outline& o, const Outline::Node& n, const onnx::ModelProto& model) {
  const std::string name = loader::operator_text(n.proto->domain(), n.proto->op_type());
  int graph = n.graph;
  while (o.graphs[static_cast<std::size_t>(graph)].parent >= 0)
    graph = o.nodes[static_cast<std::size_t>(o.graphs[static_cast<std::size_t>(graph)].parent)].graph;
  const onnx::FunctionProto* const f = o.graphs[static_cast<std::size_t>(graph)].function;
  const auto& imports = f != nullptr && f->opset_import_size() > 0 ? f->opset_import() : model.opset_import();
  const std::string_view domain = loader::canonical(n.proto->domain());
  int64_t opset = model.ir_version() < 3 && domain.empty() ? 1 : 0;
  for (const auto& i : imports)
    if (loader::canonical(i.domain()) == domain) opset = i.version();
  if (opset < 1 || opset > 1'000'000) return name + ", of a domain that is not imported";
  const Registry::Found found = standard_registry().find(domain, n.proto->op_type(), static_cast<int>(opset));
  return found.op_class == nullptr ? name + ", unknown here" : concat(name, "-", found.version);
}

void print_operators(const Outline& o, const onnx::ModelProto& model) {
  std::map<std::string, int> operators;
  for (const Outline::Node& n : o.nodes)
    if (n.function < 0) ++operators[operator_of(o, n, model)];
  for (const auto& [name, n] : operators) std::printf("%6d %s\n", n, name.c_str());
}

void print_plan(const std::string& file) {
  Graph graph = load_graph(file);
  std::vector<std::pair<std::string, Value>> given;
  for (ValueId v : graph.inputs()) {
    const Graph::ValueEntry& e = graph.entry(v);
    if (e.content || e.info.type.kind != Kind::tensor) continue;
    const Extents extents = default_extents(e.info.dims);
    const auto bytes = static_cast<std::size_t>(packed_bytes(element_count(extents), e.info.type.element));
    given.emplace_back(e.name, AnyTensor(e.info.type.element, extents, Storage::allocate(bytes)));
  }
  const Session session(std::move(graph));
  const detail::Plan plan = session.plan({given.begin(), given.end()});
  int run_time = 0;
  for (const auto& v : plan.values) run_time += v.place == detail::Place::run_time;
  line("memory plan (unknown extents as 1): ", loader::size_text(static_cast<double>(plan.arena_bytes)),
       " for ", loader::size_text(static_cast<double>(plan.naive_bytes)), " of intermediate values, ",
       run_time, " values decided in the run");
}

}  // namespace

int info(Arguments arguments) {
  std::string file;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word.starts_with("--") || !file.empty())
      throw UsageError{concat("info takes one model, and not '", word, "'")};
    file = word;
  }
  if (file.empty()) throw UsageError{"info needs a model"};
  const onnx::ModelProto model = read_outline(file);
  const Outline outline(model);
  print_header(model);
  const Outline::Graph& main = outline.graphs[0];
  line("graph '", visible(model.graph().name()), "', ", main.nodes.size(), " nodes, ", outline.nodes.size(),
       " with those of bodies and functions");
  for (int v : main.inputs) print_value("input  ", outline.values[static_cast<std::size_t>(v)]);
  for (int v : main.outputs) print_value("output ", outline.values[static_cast<std::size_t>(v)]);
  print_functions(outline);
  print_parameters(outline);
  print_operators(outline, model);
  try {
    print_plan(file);
  } catch (const Error& e) {
    line("no memory plan, for it cannot run here: ", visible(e.what(), 2000));
  }
  return 0;
}

}  // namespace tenon::tool
