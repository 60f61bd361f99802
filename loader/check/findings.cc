#include "loader/check/findings.hpp"

namespace tenon::TENON_ABI::loader {

namespace {

constexpr std::size_t most_of_name = 80, most_of_text = 2000;

// Names in a file come from anybody: they must not control a terminal, or flood it.
std::string clean(std::string text) {
  if (text.size() > most_of_text) text.resize(most_of_text);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  return text;
}

std::string node_text(const Place& p) {
  return str_cat(p.node->name().empty() ? std::to_string(p.index) : shown(p.node->name()), " (",
                 std::string_view(p.node->op_type()).substr(0, most_of_name), ")");
}
std::string graph_text(const Place* p) {
  std::vector<const Place*> path;
  for (; p != nullptr; p = p->outer) path.push_back(p);
  std::string text;
  for (; !path.empty(); path.pop_back()) {
    const Place& at = *path.back();
    text += str_cat(text.empty() ? "" : ".", at.what.substr(0, most_of_name), at.name.empty() ? "" : " ",
                    at.name.substr(0, most_of_name));
    if (path.size() > 1 && at.node != nullptr) text += str_cat("/", node_text(at));
  }
  return text;
}

}  // namespace

std::string shown(std::string_view name) {
  return str_cat("'", name.substr(0, most_of_name), name.size() > most_of_name ? "…'" : "'");
}

void Findings::add(Severity severity, std::string_view rule, std::string message) {
  found_.push_back({severity, clean(graph_text(place)),
                    place != nullptr && place->node != nullptr ? clean(node_text(*place)) : "", rule,
                    clean(std::move(message))});
}
std::vector<Diagnostic> Findings::take() {
  if (left_out_ > 0)
    found_.push_back({errors_ > 0 ? Severity::error : Severity::warning, "", "", "more",
                      str_cat(left_out_, " more are left out")});
  return std::move(found_);
}

}  // namespace tenon::TENON_ABI::loader
