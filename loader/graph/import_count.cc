// The nodes of a model with all calls of functions in place, counted before any of them is made.
#include <algorithm>
#include <map>

#include "loader/graph/importer.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// Nodes that a model adds to a graph. Functions that call functions multiply them, so each function is
// counted once. What an Importer refuses when it reads the nodes, calls that recur or are too deep, counts
// nothing.
class NodeCount {
 public:
  NodeCount(const std::map<FunctionKey, const onnx::FunctionProto*>& functions, int64_t most, int max_depth)
      : functions_(functions), most_(most), max_depth_(max_depth) {}

  /// At most one more than the bound.
  template <class Nodes>
  int64_t of(const Nodes& nodes, int depth = 0) {
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

  const std::map<FunctionKey, const onnx::FunctionProto*>& functions_;
  std::map<const onnx::FunctionProto*, int64_t> counts_;
  int64_t most_;
  int max_depth_;
};

}  // namespace

void Importer::check_node_count() const {
  constexpr int64_t countable = int64_t{1} << 60;  // more than any memory holds
  const int64_t most = std::clamp<int64_t>(options_.max_nodes, 0, countable);
  if (NodeCount(functions_, most, options_.max_depth).of(model_.graph().node()) > most)
    throw Error(ErrorCode::limit, "model",
                str_cat("more than ", options_.max_nodes, " nodes; a function's nodes count once per call"));
}

}  // namespace tenon::TENON_ABI::loader
