#include "loader/display.hpp"
#include "loader/draw/dump.hpp"
#include "loader/draw/outline.hpp"
#include "loader/draw/page.hpp"
#include "loader/opsets.hpp"
#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr std::size_t most_title = 120;

std::string shown(std::string_view name) { return escaped(visible(name)); }

// A string of JSON within a script element, which "</script" and "<!--" would end.
std::string json(std::string_view visible_text) {
  std::string out = "\"";
  for (char c : visible_text) switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  return out + "\"";
}
std::string json(const std::vector<int>& numbers) {
  std::string out = "[";
  for (int n : numbers) out += str_cat(out.size() > 1 ? "," : "", n);
  return out + "]";
}

class Page {
 public:
  explicit Page(const onnx::ModelProto& model) : model_(model), outline_(model) {
    const std::string title =
        visible(model.graph().name().empty() ? "model" : model.graph().name(), most_title);
    out_ = page_head(title, page_style, page_script);
    add("<header id=\"bar\"><h1>", escaped(title),
        "</h1><button id=\"as-graph\" type=\"button\">Graph</button>"
        "<button id=\"as-rows\" type=\"button\">Table</button>"
        "<select id=\"which\" aria-label=\"graph\"></select>"
        "<input id=\"search\" type=\"search\" placeholder=\"Search nodes and values  ( / )\" "
        "aria-label=\"search\">"
        "<button id=\"unfold\" type=\"button\">Unfold</button><button id=\"fold\" "
        "type=\"button\">Fold</button>"
        "<button id=\"fit\" type=\"button\" title=\"f\">Fit</button></header>\n"
        "<div id=\"paper\"></div>\n");
    out_ += "<aside id=\"side\"><div id=\"found\"></div><div id=\"chosen\"></div>";
    add_about(title);
    out_ += "</aside>\n";
    add_data();
    // The script does not wait for the tables, which may be long.
    add("<script>", page_script, "</script>\n");
    add_tables();
    out_ += "</body>\n</html>\n";
  }
  std::string take() { return std::move(out_); }

 private:
  template <class... Parts>
  void add(const Parts&... parts) {
    ((out_ += parts), ...);
  }
  const Outline::Value& value(int v) const { return outline_.values[static_cast<std::size_t>(v)]; }
  const Outline::Graph& graph(int g) const { return outline_.graphs[static_cast<std::size_t>(g)]; }
  const Outline::Node& node(int n) const { return outline_.nodes[static_cast<std::size_t>(n)]; }
  static std::string operator_of(const onnx::NodeProto& n) { return operator_text(n.domain(), n.op_type()); }

  std::string type_of(int v) const { return value(v).type != nullptr ? type_text(*value(v).type) : ""; }
  std::string content_of(int v) const {
    if (value(v).content != nullptr) return tensor_text(*value(v).content);
    return value(v).sparse_content != nullptr ? "sparse " + tensor_text(value(v).sparse_content->values())
                                              : "";
  }
  static const std::string& doc_of(const Outline::Graph& g) {
    return g.function != nullptr ? g.function->doc_string() : g.graph->doc_string();
  }

  // --- tables ---

  void add_about(std::string_view title) {
    add("<section id=\"about\"><h1>", escaped(title), "</h1><dl>");
    const auto fact = [&](std::string_view name, const std::string& text) {
      if (!text.empty()) add("<dt>", escaped(name), "</dt><dd>", escaped(text), "</dd>");
    };
    fact("about", visible(model_.doc_string()));
    fact("producer", visible(str_cat(model_.producer_name(), model_.producer_version().empty() ? "" : " ",
                                     model_.producer_version())));
    fact("IR version", std::to_string(model_.ir_version()));
    std::string opsets;
    for (const auto& o : model_.opset_import())
      opsets += str_cat(opsets.empty() ? "" : ", ", visible(display(o.domain())), " ", o.version());
    fact("opsets", opsets);
    fact("nodes", str_cat(graph(0).nodes.size(), " in the main graph, ", outline_.nodes.size(), " in all"));
    std::string parameters;
    for (const auto& [type, count] : count_parameters(outline_))
      parameters +=
          str_cat(parameters.empty() ? "" : "; ", count.tensors, " of ", type, ", ", size_text(count.bytes));
    fact("parameters", parameters);
    for (const auto& e : model_.metadata_props()) fact(visible(e.key()), visible(e.value()));
    out_ += "</dl></section>\n";
  }

  void add_tables() {
    out_ += "<main id=\"tables\">\n";
    for (std::size_t g = 0; g < outline_.graphs.size(); ++g) add_graph(static_cast<int>(g));
    out_ += "</main>\n";
  }
  void add_graph(int g) {
    const Outline::Graph& it = graph(g);
    add("<details open id=\"g", std::to_string(g), "\"><summary>", escaped(it.title), ", ",
        std::to_string(it.nodes.size()), " nodes</summary>\n");
    if (it.parent >= 0) add("<p>of "), add_link(it.parent), add("</p>");
    add_values("Inputs", it.inputs);
    add_values("Values from around", it.outer);
    add_values("Outputs", it.outputs);
    if (!it.nodes.empty()) {
      out_ +=
          "<table class=\"nodes\"><thead><tr><th>#</th><th>Operator</th><th>Name</th><th>Inputs</th>"
          "<th>Outputs</th><th>Attributes</th></tr></thead><tbody>\n";
      for (int n : it.nodes) add_row(n);
      out_ += "</tbody></table>\n";
    }
    add_values("Constants", it.initializers);
    out_ += "</details>\n";
  }
  void add_values(std::string_view title, const std::vector<int>& all) {
    if (all.empty()) return;
    add("<table><thead><tr><th>", title, "</th><th>Type</th></tr></thead><tbody>\n");
    for (int v : all) {
      const std::string content = content_of(v);
      add("<tr id=\"v", std::to_string(v), "\"><td>");
      add_name(v);
      add("</td><td>", escaped(content.empty() ? type_of(v) : content), "</td></tr>\n");
    }
    out_ += "</tbody></table>\n";
  }
  void add_link(int n) {
    add("<a href=\"#n", std::to_string(n), "\">", escaped(node_text(*node(n).proto)), "</a>");
  }
  // The name, as a link to the node that makes it.
  void add_name(int v) {
    int from = v;
    while (value(from).source == Outline::Source::outer) from = value(from).outer;
    const std::string name = shown(value(v).name);
    if (value(from).producer >= 0)
      add("<a href=\"#n", std::to_string(value(from).producer), "\">", name, "</a>");
    else out_ += name;
  }
  void add_row(int n) {
    const Outline::Node& it = node(n);
    const onnx::NodeProto& p = *it.proto;
    add("<tr id=\"n", std::to_string(n), "\"><td class=\"n\">", std::to_string(n), "</td><td>");
    if (it.function < 0) out_ += escaped(operator_of(p));
    else add("<a href=\"#g", std::to_string(it.function), "\">", escaped(operator_of(p)), "</a>");
    add("</td><td>", shown(p.name()), "</td><td>");
    for (std::size_t k = 0; k < it.inputs.size(); ++k) {
      if (k > 0) out_ += "<br>";
      if (it.inputs[k] < 0) out_ += "<i>–</i>";
      else add_name(it.inputs[k]);
    }
    out_ += "</td><td>";
    for (std::size_t k = 0; k < it.outputs.size(); ++k) {
      const int v = it.outputs[k];
      if (k > 0) out_ += "<br>";
      if (v < 0) out_ += "<i>–</i>";
      else add(shown(value(v).name), " <i>", escaped(type_of(v)), "</i>");
    }
    out_ += "</td><td>";
    std::size_t body = 0;
    bool first = true;
    for (const auto& a : p.attribute()) {
      if (!first) out_ += "<br>";
      first = false;
      add(shown(a.name()), ": ");
      const int bodies = (a.has_g() ? 1 : 0) + a.graphs_size();
      if (bodies == 0) out_ += escaped(attribute_text(a));
      for (int k = 0; k < bodies; ++k, ++body)
        add("<a href=\"#g", std::to_string(it.bodies[body].second), "\">", k > 0 ? ", " : "", "graph</a>");
    }
    out_ += "</td></tr>\n";
  }

  // --- the same for the script, in lists ---

  void add_data() {
    out_ += "<script type=\"application/json\" id=\"model\">{\"graphs\":[";
    for (std::size_t g = 0; g < outline_.graphs.size(); ++g) {
      const Outline::Graph& it = outline_.graphs[g];
      add(g > 0 ? ",\n[" : "\n[", json(it.title), ",", std::to_string(static_cast<int>(it.kind)), ",",
          std::to_string(it.parent), ",", json(it.inputs), ",", json(it.outputs), ",", json(it.initializers),
          ",", json(it.outer), ",", json(visible(doc_of(it))), "]");
    }
    out_ += "],\n\"nodes\":[";
    for (std::size_t n = 0; n < outline_.nodes.size(); ++n) {
      const Outline::Node& it = outline_.nodes[n];
      const onnx::NodeProto& p = *it.proto;
      add(n > 0 ? ",\n[" : "\n[", json(operator_of(p)), ",", json(visible(p.name())), ",",
          std::to_string(it.graph), ",", json(it.inputs), ",", json(it.outputs), ",", json(it.captures),
          ",[");
      bool first = true;
      for (const auto& a : p.attribute()) {
        if (a.has_g() || a.graphs_size() > 0) continue;
        add(first ? "[" : ",[", json(visible(a.name())), ",", json(attribute_text(a)), "]");
        first = false;
      }
      out_ += "],[";
      for (std::size_t k = 0; k < it.bodies.size(); ++k)
        add(k > 0 ? ",[" : "[", json(visible(it.bodies[k].first)), ",", std::to_string(it.bodies[k].second),
            "]");
      add("],", std::to_string(it.function), ",", json(visible(p.doc_string())), "]");
    }
    out_ += "],\n\"values\":[";
    for (std::size_t v = 0; v < outline_.values.size(); ++v) {
      const Outline::Value& it = outline_.values[v];
      add(v > 0 ? ",\n[" : "\n[", json(visible(it.name)), ",", json(type_of(static_cast<int>(v))), ",",
          std::to_string(it.producer), ",", std::to_string(static_cast<int>(it.source)), ",",
          std::to_string(it.outer), ",", json(content_of(static_cast<int>(v))), "]");
    }
    out_ += "]}</script>\n";
  }

  const onnx::ModelProto& model_;
  const Outline outline_;
  std::string out_;
};

}  // namespace

std::string html(const onnx::ModelProto& model) { return Page(model).take(); }

}  // namespace tenon::TENON_ABI::loader
