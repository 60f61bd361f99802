#include "loader/findings.hpp"

#include <algorithm>

namespace tenon::loader {

std::string shown(std::string_view name) {
  constexpr std::size_t most = 80;
  std::string text = concat("'", name.substr(0, most), name.size() > most ? "…'" : "'");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  return text;
}

namespace {

std::string node_text(const Place& p) {
  return concat(p.node->name().empty() ? std::to_string(p.index) : shown(p.node->name()), " (",
                std::string_view(p.node->op_type()).substr(0, 80), ")");
}
std::string graph_text(const Place* p) {
  std::vector<const Place*> path;
  for (; p != nullptr; p = p->outer) path.push_back(p);
  std::string text;
  for (; !path.empty(); path.pop_back()) {
    const Place& at = *path.back();
    text += concat(text.empty() ? "" : ".", at.what, at.name.empty() ? "" : " ", at.name);
    if (path.size() > 1 && at.node != nullptr) text += concat("/", node_text(at));
  }
  return text;
}

}  // namespace

std::string to_string(const Diagnostic& d) {
  return concat(d.severity == Severity::error ? "error" : "warning", " [", d.rule, "]",
                d.graph.empty() ? "" : " ", d.graph, d.node.empty() ? "" : ", node ", d.node, ": ",
                d.message);
}

bool has_errors(std::span<const Diagnostic> diagnostics) {
  return std::ranges::any_of(diagnostics, [](const Diagnostic& d) { return d.severity == Severity::error; });
}

void Findings::add(Severity severity, std::string_view rule, std::string message) {
  found_.push_back({severity, graph_text(place),
                    place != nullptr && place->node != nullptr ? node_text(*place) : "", rule,
                    std::move(message)});
}
std::vector<Diagnostic> Findings::take() {
  if (left_out_ > 0)
    found_.push_back({errors_ > 0 ? Severity::error : Severity::warning, "", "", "more",
                      concat(left_out_, " more are left out")});
  return std::move(found_);
}

}  // namespace tenon::loader
