#include "loader/edit/node_count.hpp"

#include <algorithm>

namespace tenon::TENON_ABI::loader {
namespace {

// Functions that call functions multiply nodes, so each function is counted once. Calls that recur, which
// readers of the nodes refuse, count nothing.
class NodeCount {
 public:
  NodeCount(const FunctionsByKey& functions, int64_t most, int max_depth)
      : functions_(functions), most_(most), max_depth_(max_depth) {}

  /// At most one more than the bound.
  int64_t of(const NodeList& nodes, int depth = 0) {
    int64_t count = 0;
    for (const onnx::NodeProto& n : nodes) {
      if (count > most_) break;
      add(count, of_node(n, depth));
    }
    return count;
  }

 private:
  void add(int64_t& count, int64_t more) const { count = std::min(count + more, most_ + 1); }
  int64_t of_node(const onnx::NodeProto& n, int depth) {
    if (depth >= max_depth_) return 1;
    if (const auto f = functions_.find(key_of(n)); f != functions_.end()) {
      const auto [known, added] = counts_.emplace(f->second, 0);
      if (!added) return 1 + known->second;
      const int64_t count = of(f->second->node(), depth + 1);
      counts_[f->second] = count;
      return 1 + count;
    }
    int64_t count = 1;
    for (const auto& a : n.attribute()) {
      if (a.has_g()) add(count, of(a.g().node(), depth + 1));
      for (const auto& g : a.graphs()) add(count, of(g.node(), depth + 1));
    }
    return count;
  }

  const FunctionsByKey& functions_;
  std::map<const onnx::FunctionProto*, int64_t> counts_;
  int64_t most_;
  int max_depth_;
};

}  // namespace

bool are_more_than(int64_t most, const NodeList& nodes, const FunctionsByKey& functions, int max_depth) {
  constexpr int64_t countable = int64_t{1} << 60;  // more than any memory holds
  most = std::clamp<int64_t>(most, 0, countable);
  return NodeCount(functions, most, max_depth).of(nodes) > most;
}

}  // namespace tenon::TENON_ABI::loader
