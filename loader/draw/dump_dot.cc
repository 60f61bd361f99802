#include "loader/display.hpp"
#include "loader/draw/dump.hpp"
#include "loader/draw/outline.hpp"
#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr std::size_t most_dot_name = 60, most_dot_attribute = 60;

// Text within a label. Backslashes start graphviz's own escapes, and ampersands start entities.
std::string dot_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '&') out += "&amp;";
    else out += c;
  }
  return out;
}

class Dot {
 public:
  explicit Dot(const onnx::ModelProto& model) : outline_(model) {
    add("digraph model {\n  rankdir=TB; compound=true; fontname=\"Helvetica\"; labeljust=l;\n",
        "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eef2f8\", color=\"#8a99ad\", ",
        "fontname=\"Helvetica\", fontsize=11];\n",
        "  edge [color=\"#6b7787\", fontname=\"Helvetica\", fontsize=9, arrowsize=0.7];\n");
    print_graph(0, "  ");
    for (std::size_t g = 1; g < outline_.graphs.size(); ++g)
      if (outline_.graphs[g].kind != Outline::GraphKind::body) print_cluster(static_cast<int>(g), "  ");
    out_ += edges_;
    out_ += "}\n";
  }
  std::string take() { return std::move(out_); }

 private:
  template <class... Parts>
  void add(const Parts&... parts) {
    out_ += str_cat(parts...);
  }
  const Outline::Value& value(int v) const { return outline_.values[static_cast<std::size_t>(v)]; }

  void print_cluster(int g, const std::string& indent) {
    const Outline::Graph& graph = outline_.graphs[static_cast<std::size_t>(g)];
    add(indent, "subgraph cluster_", g, " {\n", indent, "  label=\"", dot_text(graph.title),
        "\"; style=\"rounded,dashed\"; color=\"#8a99ad\";\n");
    print_graph(g, indent + "  ");
    add(indent, "}\n");
  }

  void print_graph(int g, const std::string& indent) {
    const Outline::Graph& graph = outline_.graphs[static_cast<std::size_t>(g)];
    for (int v : graph.inputs)
      add(indent, "v", v, " [label=\"", value_label(v), "\", shape=ellipse, fillcolor=\"#e3f4e5\"];\n");
    for (int n : graph.nodes) {
      const Outline::Node& node = outline_.nodes[static_cast<std::size_t>(n)];
      add(indent, "n", n, " [label=\"", node_label(node), "\"", node.function >= 0 ? ", peripheries=2" : "",
          "];\n");
      print_edges(n, node);
      for (const auto& [name, body] : node.bodies) print_cluster(body, indent);
    }
    int k = 0;
    for (int v : graph.outputs) {
      const std::string id = str_cat("o", g, "_", k++);
      add(indent, id, " [label=\"", value_label(v), "\", shape=ellipse, fillcolor=\"#fbe9d7\"];\n");
      print_edge(v, id);
    }
  }

  std::string value_label(int v) const {
    const std::string type = value(v).type != nullptr ? type_text(*value(v).type) : "";
    return str_cat(dot_text(visible(value(v).name, most_dot_name)), type.empty() ? "" : "\\n",
                   dot_text(type));
  }

  // The operator, the name, constants by operand position, attributes. Constants are not nodes: most
  // operators have some, which have no other readers.
  std::string node_label(const Outline::Node& node) const {
    const onnx::NodeProto& p = *node.proto;
    std::string label =
        str_cat(dot_text(visible(operator_text(p.domain(), p.op_type()), most_dot_name)), "\\n");
    if (!p.name().empty()) label += str_cat(dot_text(visible(p.name(), most_dot_name)), "\\n");
    const auto line = [&](std::string_view name, std::string_view text) {
      label += str_cat(dot_text(visible(name, most_dot_name)), ": ",
                       dot_text(visible(text, most_dot_attribute)), "\\l");
    };
    for (int v : node.inputs) {
      if (v < 0 || value(v).source != Outline::Source::initializer) continue;
      line(value(v).name, value(v).content != nullptr ? tensor_text(*value(v).content) : "sparse");
    }
    for (const auto& a : p.attribute())
      if (!a.has_g() && a.graphs_size() == 0) line(a.name(), attribute_text(a));
    return label;
  }

  void print_edges(int n, const Outline::Node& node) {
    for (int v : node.inputs)
      if (v >= 0) print_edge(v, str_cat("n", n));
  }
  // The edge starts where the value is made; if a body captures the value, at its producer outside.
  void print_edge(int v, const std::string& to) {
    int from = v;
    while (value(from).source == Outline::Source::outer) from = value(from).outer;
    const Outline::Value& made = value(from);
    if (made.source == Outline::Source::initializer) return;
    std::string id = str_cat("n", made.producer);
    if (made.source == Outline::Source::input) id = str_cat("v", from);
    if (made.source == Outline::Source::nowhere) {
      id = str_cat("v", from);
      edges_ += str_cat("  ", id, " [label=\"", value_label(from), "\", shape=ellipse, color=red];\n");
    }
    edges_ +=
        str_cat("  ", id, " -> ", to, " [label=\"",
                made.type != nullptr ? dot_text(type_text(*made.type)) : "", "\", tooltip=\"",
                dot_text(visible(made.name, most_dot_name)), "\"", from != v ? ", style=dashed" : "", "];\n");
  }

  const Outline outline_;
  std::string out_, edges_;
};

}  // namespace

std::string dot(const onnx::ModelProto& model) { return Dot(model).take(); }

}  // namespace tenon::TENON_ABI::loader
