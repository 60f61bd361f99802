#include "loader/edit/order.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

namespace tenon::TENON_ABI::loader {
namespace {

using ReadNames = std::set<std::string_view>;

void add_names_read(const onnx::NodeProto& n, ReadNames& read);

// The names that a body captures from the graph around it.
void add_names_captured(const onnx::GraphProto& g, ReadNames& read) {
  ReadNames inside;
  for (const auto& n : g.node()) add_names_read(n, inside);
  for (const auto& v : g.output()) inside.insert(v.name());
  for (const auto& v : g.input()) inside.erase(v.name());
  for (const auto& t : g.initializer()) inside.erase(t.name());
  for (const auto& t : g.sparse_initializer()) inside.erase(t.values().name());
  for (const auto& n : g.node())
    for (const auto& name : n.output()) inside.erase(name);
  read.merge(inside);
}

void add_names_read(const onnx::NodeProto& n, ReadNames& read) {
  read.insert(n.input().begin(), n.input().end());
  for (const auto& a : n.attribute()) {
    if (a.has_g()) add_names_captured(a.g(), read);
    for (const auto& g : a.graphs()) add_names_captured(g, read);
  }
  if (!names_values(n)) return;
  for (const auto& a : n.attribute()) {
    read.insert(a.s());
    read.insert(a.strings().begin(), a.strings().end());
  }
}

// The numbers of the nodes in order, without nodes of cycles and their readers.
std::vector<int> order_of(const NodeList& nodes) {
  std::map<std::string_view, int> producers;
  for (int k = 0; k < nodes.size(); ++k)
    for (const auto& name : nodes[k].output())
      if (!name.empty()) producers.emplace(name, k);

  const auto count = static_cast<std::size_t>(nodes.size());
  std::vector<std::vector<int>> readers(count);
  std::vector<int> awaited(count);
  for (int k = 0; k < nodes.size(); ++k) {
    for (std::string_view name : names_read(nodes[k]))
      if (const auto it = producers.find(name); it != producers.end()) {
        readers[static_cast<std::size_t>(it->second)].push_back(k);
        ++awaited[static_cast<std::size_t>(k)];
      }
  }

  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int k = 0; k < nodes.size(); ++k)
    if (awaited[static_cast<std::size_t>(k)] == 0) ready.push(k);
  std::vector<int> order;
  order.reserve(count);
  while (!ready.empty()) {
    const int k = ready.top();
    ready.pop();
    order.push_back(k);
    for (int reader : readers[static_cast<std::size_t>(k)])
      if (--awaited[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
  }
  return order;
}

void sort_list(NodeList& nodes) {
  const std::vector<int> order = order_of(nodes);
  if (static_cast<int>(order.size()) == nodes.size() && !std::ranges::is_sorted(order)) {
    NodeList sorted;
    sorted.Reserve(nodes.size());
    for (int k : order) sorted.Add()->Swap(nodes.Mutable(k));
    nodes.Swap(&sorted);
  }
  for (auto& n : nodes)
    for (auto& a : *n.mutable_attribute()) {
      if (a.has_g()) sort_list(*a.mutable_g()->mutable_node());
      for (auto& g : *a.mutable_graphs()) sort_list(*g.mutable_node());
    }
}

}  // namespace

bool names_values(const onnx::NodeProto& n) {
  return n.op_type() == "Gradient" && n.domain() == "ai.onnx.preview.training";
}

std::set<std::string_view> names_read(const onnx::NodeProto& n) {
  ReadNames read;
  add_names_read(n, read);
  return read;
}

std::vector<const onnx::NodeProto*> in_order(const NodeList& nodes) {
  std::vector<const onnx::NodeProto*> order;
  order.reserve(static_cast<std::size_t>(nodes.size()));
  std::vector<bool> placed(static_cast<std::size_t>(nodes.size()));
  for (int k : order_of(nodes)) {
    placed[static_cast<std::size_t>(k)] = true;
    order.push_back(&nodes[k]);
  }
  for (int k = 0; k < nodes.size(); ++k)
    if (!placed[static_cast<std::size_t>(k)]) order.push_back(&nodes[k]);
  return order;
}

void sort_nodes(onnx::ModelProto& model) {
  if (model.has_graph()) sort_list(*model.mutable_graph()->mutable_node());
  for (auto& f : *model.mutable_functions()) sort_list(*f.mutable_node());
  for (auto& t : *model.mutable_training_info()) {
    if (t.has_initialization()) sort_list(*t.mutable_initialization()->mutable_node());
    if (t.has_algorithm()) sort_list(*t.mutable_algorithm()->mutable_node());
  }
}

}  // namespace tenon::TENON_ABI::loader
