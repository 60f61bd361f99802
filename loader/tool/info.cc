// `tenon info`: a model described from its file, whether it can run here or not.
#include "loader/display.hpp"
#include "loader/draw/outline.hpp"
#include "loader/message.hpp"
#include "loader/opsets.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/json.hpp"
#include "loader/tool/models.hpp"
#include "loader/tool/shapes.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

using loader::Outline;
using loader::visible;

constexpr std::size_t most_text = 400;  // bytes of doc strings and metadata

template <class... Parts>
void line(const Parts&... parts) {
  const std::string text = str_cat(parts..., "\n");
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_header(const onnx::ModelProto& m) {
  std::string opsets;
  for (const auto& o : m.opset_import())
    opsets +=
        str_cat(", ", visible(loader::display(loader::canonical(o.domain())), most_text), " ", o.version());
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
    text += str_cat(text.empty() ? "" : ", ", visible(o.values[static_cast<std::size_t>(v)].name));
  return str_cat("(", text, ")");
}

void print_functions(const Outline& o) {
  for (const Outline::Graph& g : o.graphs) {
    if (g.kind == Outline::GraphKind::training)
      line(g.title, ": ", g.nodes.size(), g.nodes.size() == 1 ? " node" : " nodes");
    if (g.kind != Outline::GraphKind::function) continue;
    std::string attributes;
    for (const std::string& a : g.function->attribute())
      attributes += str_cat(attributes.empty() ? " <" : ", ", visible(a));
    for (const auto& a : g.function->attribute_proto())
      attributes +=
          str_cat(attributes.empty() ? " <" : ", ", visible(a.name()), " = ", loader::attribute_text(a));
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

// The version of a node's operator in the opsets of the model, or of the function that contains the node.
struct Version {
  bool imported = false;  // whether the operator's domain is
  int number = 0;         // 0: the operator is unknown here
};
Version version_of(const Outline& o, const Outline::Node& n, const onnx::ModelProto& model,
                   const Registry& registry) {
  int graph = n.graph;
  while (o.graphs[static_cast<std::size_t>(graph)].parent >= 0)
    graph = o.nodes[static_cast<std::size_t>(o.graphs[static_cast<std::size_t>(graph)].parent)].graph;
  const onnx::FunctionProto* const f = o.graphs[static_cast<std::size_t>(graph)].function;
  const auto& imports = f != nullptr && f->opset_import_size() > 0 ? f->opset_import() : model.opset_import();
  const std::string_view domain = loader::canonical(n.proto->domain());
  int64_t opset = !domain.empty() ? registry.newest(domain) : model.ir_version() < 3 ? 1 : 0;
  for (const auto& i : imports)
    if (loader::canonical(i.domain()) == domain) opset = i.version();
  if (opset < 1 || opset > 1'000'000) return {};
  const Registry::Found found = registry.find(domain, n.proto->op_type(), static_cast<int>(opset));
  return {.imported = true, .number = found.op_class == nullptr ? 0 : found.version};
}

// "Conv-11", "com.acme.Whirl, unknown here"
void print_operators(const Outline& o, const onnx::ModelProto& model, const Registry& registry) {
  std::map<std::string, int> operators;
  for (const Outline::Node& n : o.nodes) {
    if (n.function >= 0) continue;
    const std::string name = loader::operator_text(n.proto->domain(), n.proto->op_type());
    const Version v = version_of(o, n, model, registry);
    ++operators[v.number > 0 ? str_cat(name, "-", v.number)
                             : name + (v.imported ? ", unknown here" : ", of a domain that is not imported")];
  }
  for (const auto& [name, n] : operators) std::printf("%6d %s\n", n, name.c_str());
}

// The memory of a run, with unknown extents taken as 1. Error for models that cannot run here.
MemoryPlan plan_of(const std::string& file, const ShapeSet& shapes, const Registry& registry) {
  Graph graph = load_graph(loader::path_named(file), {.registry = &registry});
  const emission::InputExtents of_inputs = input_extents(graph, shapes);
  Feeds given;
  for (ValueId v : graph.inputs()) {
    const Graph::ValueEntry& e = graph.entry(v);
    if (e.content || e.info.type.kind != Kind::tensor) continue;
    const Extents extents = default_extents(of_inputs.of(v));
    const auto bytes = static_cast<std::size_t>(packed_bytes(element_count(extents), e.info.type.element));
    given.emplace_back(e.name, AnyTensor(e.info.type.element, extents, Storage::allocate(bytes)));
  }
  return Session(std::move(graph)).plan(given);
}

void print_plan(const std::string& file, const ShapeSet& shapes, const Registry& registry) {
  try {
    const MemoryPlan p = plan_of(file, shapes, registry);
    line("memory plan (unknown extents as 1): ", loader::size_text(static_cast<double>(p.arena_bytes)),
         " for ", loader::size_text(static_cast<double>(p.naive_bytes)), " of intermediate values, ",
         p.run_time_values, " values decided in the run");
  } catch (const Error& e) {
    line("no memory plan, for it cannot run here: ", visible(e.what(), 2000));
  }
}

void print(const Outline& outline, const onnx::ModelProto& model, const std::string& file,
           const ShapeSet& shapes, const Registry& registry) {
  print_header(model);
  const Outline::Graph& main = outline.graphs[0];
  line("graph '", visible(model.graph().name()), "', ", main.nodes.size(), " nodes, ", outline.nodes.size(),
       " including bodies and functions");
  for (int v : main.inputs) print_value("input  ", outline.values[static_cast<std::size_t>(v)]);
  for (int v : main.outputs) print_value("output ", outline.values[static_cast<std::size_t>(v)]);
  print_functions(outline);
  print_parameters(outline);
  print_operators(outline, model, registry);
  print_plan(file, shapes, registry);
}

// --- the same as JSON ---

template <class List, class Write>
void write_list(JsonWriter& j, std::string_view key, const List& list, Write write) {
  j.key(key).begin('[');
  for (const auto& element : list) write(element);
  j.end(']');
}

// Numbers, symbols' names, and null for unknown extents.
void write_shape(JsonWriter& j, const onnx::TensorShapeProto& shape) {
  write_list(j, "extents", shape.dim(), [&](const onnx::TensorShapeProto::Dimension& d) {
    if (d.has_dim_value()) j.integer(d.dim_value());
    else if (d.dim_param().empty()) j.null();
    else j.string(d.dim_param());
  });
}

void write_value(JsonWriter& j, const Outline::Value& v) {
  j.begin('{').key("name").string(v.name);
  j.key("type");
  if (v.type == nullptr || loader::type_text(*v.type).empty()) j.null();
  else j.string(loader::type_text(*v.type));
  if (v.type != nullptr && v.type->has_tensor_type()) {
    const auto& t = v.type->tensor_type();
    j.key("element").string(name_of(dtype_from_onnx(t.elem_type())));
    if (t.has_shape()) write_shape(j, t.shape());
  }
  j.key("optional").boolean(v.content != nullptr || v.sparse_content != nullptr).end('}');
}

void write_functions(JsonWriter& j, const Outline& o) {
  const auto write_names = [&](std::string_view key, const auto& list) {
    write_list(j, key, list, [&](const std::string& text) { j.string(text); });
  };
  write_list(j, "functions", o.graphs, [&](const Outline::Graph& g) {
    if (g.kind != Outline::GraphKind::function) return;
    const onnx::FunctionProto& f = *g.function;
    j.begin('{').key("domain").string(f.domain()).key("name").string(f.name());
    j.key("overload").string(f.overload());
    write_names("inputs", f.input());
    write_names("outputs", f.output());
    j.key("attributes").begin('[');
    for (const auto& a : f.attribute()) j.string(a);
    for (const auto& a : f.attribute_proto()) j.string(a.name());
    j.end(']');
    j.key("nodes").integer(std::ssize(g.nodes)).key("calls").integer(g.calls).end('}');
  });
}

void write_operators(JsonWriter& j, const Outline& o, const onnx::ModelProto& model,
                     const Registry& registry) {
  std::map<std::tuple<std::string, std::string, int>, int64_t> operators;
  for (const Outline::Node& n : o.nodes)
    if (n.function < 0)
      ++operators[{loader::display(loader::canonical(n.proto->domain())), n.proto->op_type(),
                   version_of(o, n, model, registry).number}];
  write_list(j, "operators", operators, [&](const auto& entry) {
    const auto& [domain, op, version] = entry.first;
    j.begin('{').key("domain").string(domain).key("name").string(op).key("version");
    if (version > 0) j.integer(version);
    else j.null();
    j.key("count").integer(entry.second).end('}');
  });
}

void write_parameters(JsonWriter& j, const Outline& o) {
  const auto counts = loader::count_parameters(o);
  loader::ParameterCount all;
  for (const auto& [type, c] : counts)
    all.tensors += c.tensors, all.elements += c.elements, all.bytes += c.bytes;
  const auto write_count = [&](const loader::ParameterCount& c) {
    j.key("tensors").integer(c.tensors).key("elements").whole(c.elements).key("bytes").whole(c.bytes);
  };
  j.key("parameters").begin('{');
  write_count(all);
  write_list(j, "types", counts, [&](const auto& entry) {
    j.begin('{').key("type").string(entry.first);
    write_count(entry.second);
    j.end('}');
  });
  j.end('}');
}

void write_plan(JsonWriter& j, const std::string& file, const ShapeSet& shapes, const Registry& registry) {
  try {
    const MemoryPlan p = plan_of(file, shapes, registry);
    j.key("memory_plan").begin('{').key("arena_bytes").integer(p.arena_bytes);
    j.key("naive_bytes").integer(p.naive_bytes).key("decided_in_run").integer(p.run_time_values).end('}');
  } catch (const Error& e) {
    j.key("memory_plan").null().key("cannot_run").string(e.what());
  }
}

std::string json_of(const Outline& o, const onnx::ModelProto& m, const std::string& file,
                    const ShapeSet& shapes, const Registry& registry) {
  JsonWriter j;
  j.begin('{').key("file").string(file).key("ir_version").integer(m.ir_version());
  write_list(j, "opsets", m.opset_import(), [&](const onnx::OperatorSetIdProto& i) {
    j.begin('{').key("domain").string(loader::display(loader::canonical(i.domain())));
    j.key("version").integer(i.version()).end('}');
  });
  j.key("producer_name").string(m.producer_name()).key("producer_version").string(m.producer_version());
  j.key("domain").string(m.domain()).key("model_version").integer(m.model_version());
  j.key("doc_string").string(m.doc_string());
  write_list(j, "metadata", m.metadata_props(), [&](const onnx::StringStringEntryProto& e) {
    j.begin('{').key("key").string(e.key()).key("value").string(e.value()).end('}');
  });
  const Outline::Graph& main = o.graphs[0];
  j.key("graph").string(m.graph().name()).key("nodes").integer(std::ssize(main.nodes));
  j.key("nodes_in_all").integer(std::ssize(o.nodes));
  const auto write_values = [&](std::string_view key, const std::vector<int>& values) {
    write_list(j, key, values, [&](int v) { write_value(j, o.values[static_cast<std::size_t>(v)]); });
  };
  write_values("inputs", main.inputs);
  write_values("outputs", main.outputs);
  write_functions(j, o);
  write_list(j, "training", o.graphs, [&](const Outline::Graph& g) {
    if (g.kind != Outline::GraphKind::training) return;
    j.begin('{').key("graph").string(g.title).key("nodes").integer(std::ssize(g.nodes)).end('}');
  });
  write_parameters(j, o);
  write_operators(j, o, m, registry);
  write_plan(j, file, shapes, registry);
  return j.end('}').text() + "\n";
}

}  // namespace

int info(Arguments arguments) {
  std::string file;
  ShapeSet shapes;
  bool as_json = false;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--json") {
      as_json = true;
      continue;
    }
    if (word == "--shape") {
      add_shapes(shapes, arguments.value(word));
      continue;
    }
    if (word.starts_with("--") || !file.empty())
      throw UsageError{str_cat("info takes one model, and not '", word, "'")};
    file = word;
  }
  if (file.empty()) throw UsageError{"info needs a model"};
  const std::filesystem::path path = loader::path_named(file);
  Model shaped_model(read_outline(path), loader::folder_of(path));
  loader::in_file(path, [&] { fix_shapes(shaped_model, shapes, arguments.registry()); });
  const onnx::ModelProto& model = shaped_model.proto();
  const Outline outline(model);
  const Registry& registry = loader::registry_of(arguments.registry());
  if (!as_json) return print(outline, model, file, shapes, registry), 0;
  const std::string text = json_of(outline, model, file, shapes, registry);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace tenon::TENON_ABI::tool
