// `tenon info`: prints a model's contents.
#include "loader/tool/command.hpp"

namespace tenon::tool {
namespace {

struct Counts {
  std::map<std::string, int> operators;
  int64_t parameters = 0, parameter_bytes = 0;
  int nodes = 0;
};

void count(const Graph& g, Counts& c) {
  for (const Graph::ValueEntry& e : g.values()) {
    if (!e.content.is_tensor() || e.outer >= 0) continue;
    c.parameters += e.content.tensor().size();
    c.parameter_bytes += e.content.tensor().bytes();
  }
  for (const Graph::Node& n : g.nodes()) {
    ++c.nodes;
    const std::string domain = n.op.spec().domain.empty() ? "" : concat(n.op.spec().domain, ".");
    ++c.operators[concat(domain, n.op.spec().name, "-", n.op.version())];
    for (const op::AttributeInfo& a : n.op.attributes())
      if (const auto* b = std::get_if<op::BodyRef>(&a.value))
        if (const CapturingBody* body = (*b)->capturing()) count(body->graph(), c);
  }
}

std::string size(int64_t bytes) {
  char text[40];
  if (bytes < 1 << 20) std::snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024);
  else std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
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
  const ModelHeader header = load_model(file).header();
  Graph graph = load_graph(file);
  std::printf("IR version %lld", static_cast<long long>(header.ir_version));
  for (const auto& [domain, version] : header.opset_imports)
    std::printf(", %s %lld", domain.empty() ? "ai.onnx" : domain.c_str(), static_cast<long long>(version));
  std::printf("\n");
  if (!header.producer_name.empty())
    std::printf("producer %s %s\n", header.producer_name.c_str(), header.producer_version.c_str());
  for (const auto& [key, value] : header.metadata)
    std::printf("metadata %s = %s\n", key.c_str(), value.c_str());
  Counts c;
  count(graph, c);
  std::printf("graph '%s', %d nodes\n", graph.name().c_str(), c.nodes);
  for (ValueId v : graph.inputs())
    if (!graph.entry(v).content) std::printf("input  %s\n", describe(graph, graph.entry(v).name, v).c_str());
  for (const auto& [name, v] : graph.outputs()) std::printf("output %s\n", describe(graph, name, v).c_str());
  std::printf("parameters %lld, %s\n", static_cast<long long>(c.parameters), size(c.parameter_bytes).c_str());
  for (const auto& [name, n] : c.operators) std::printf("%6d %s\n", n, name.c_str());
  Feeds feeds;
  for (ValueId v : graph.inputs()) {
    const Graph::ValueEntry& e = graph.entry(v);
    if (e.content || e.info.type.kind != Kind::tensor) continue;
    feeds.emplace_back(e.name,
                       AnyTensor(e.info.type.element, default_extents(e.info.dims),
                                 Storage::allocate(static_cast<std::size_t>(packed_bytes(
                                     element_count(default_extents(e.info.dims)), e.info.type.element)))));
  }
  // Feeds refer to the graph's strings, and the graph moves into the session. So the names are copied.
  std::vector<std::pair<std::string, Value>> kept;
  for (auto& [name, value] : feeds) kept.emplace_back(std::string(name), std::move(value));
  feeds.clear();
  for (auto& [name, value] : kept) feeds.emplace_back(name, value);
  const Session session(std::move(graph));
  const detail::Plan plan = session.plan(feeds);
  int run_time = 0;
  for (const auto& v : plan.values) run_time += v.place == detail::Place::run_time;
  std::printf(
      "memory plan (unknown extents as 1): %s for %s of intermediate values, %d values decided in the run\n",
      size(plan.arena_bytes).c_str(), size(plan.naive_bytes).c_str(), run_time);
  return 0;
}

}  // namespace tenon::tool
