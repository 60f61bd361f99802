#include "loader/devices/cut_tensors.hpp"

#include <numeric>
#include <set>

#include "loader/devices/multiplications.hpp"
#include "tenon/devices/work.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using devices::Ranks;

// Axes of values that are cut together, and the loops over them.
struct AxisGroup {
  std::vector<std::size_t> uses{};
  std::map<ValueId, int> axes{};
  std::set<std::size_t> nodes{};
  std::set<ValueId> made{};  // the values that come in pieces; others are whole before
  int64_t blocks = 0;        // the most pieces, of equal size, whose bounds are whole iterations of all loops
  double kept = 0, sent = 0;  // bytes

  // Whether another group can be cut at the same time and into as many pieces.
  bool fits(const AxisGroup& other, int64_t pieces) const {
    return std::gcd(blocks, other.blocks) >= pieces &&
           std::ranges::none_of(other.nodes, [&](std::size_t n) { return nodes.contains(n); }) &&
           std::ranges::none_of(other.axes, [&](const auto& one) {
             const auto it = axes.find(one.first);
             return it != axes.end() && it->second != one.second;
           });
  }
  void join(AxisGroup&& other) {
    uses.insert(uses.end(), other.uses.begin(), other.uses.end());
    axes.merge(other.axes), nodes.merge(other.nodes), made.merge(other.made);
    blocks = std::gcd(blocks, other.blocks);
  }
};

class TensorCuts {
 public:
  TensorCuts(const Graph& graph, const std::vector<std::size_t>& nodes, const Ranks& devices)
      : graph_(graph), nodes_(nodes), devices_(devices), pieces_(static_cast<int64_t>(devices.size())) {
    for (const Graph::ValueEntry& e : graph.values()) {
      first_.push_back(parent_.size());
      const int rank = e.info.type.kind == Kind::tensor ? e.info.dims.rank() : 0;
      for (int axis = 0; axis < rank; ++axis) parent_.push_back(parent_.size());
      if (e.source == Graph::Source::constant) constants_ += bytes(e);
    }
    for (const std::size_t n : nodes_) add_loops(n);
  }

  void write(devices::Placement& placement) {
    const std::vector<AxisGroup> groups = best_first();
    std::set<std::size_t> nodes;
    std::set<ValueId> values;
    for (const AxisGroup& g : groups) {
      const auto taken = [&](const auto& one) { return values.contains(one.first); };
      if (std::ranges::any_of(g.nodes, [&](std::size_t n) { return nodes.contains(n); }) ||
          std::ranges::any_of(g.axes, taken))
        continue;
      nodes.insert(g.nodes.begin(), g.nodes.end());
      for (const auto& [v, axis] : g.axes) values.insert(v);
      for (const std::size_t use : g.uses) annotate(uses_[use], g.blocks, placement);
    }
  }

 private:
  struct Use {
    std::size_t node;
    op::WorkLoop loop;
  };

  static double bytes(const Graph::ValueEntry& e) {
    return static_cast<double>(elements_of(e.info)) * bits_of(e.info.type.element) / 8;
  }
  std::size_t vertex(ValueId v, int axis) const {
    return first_[static_cast<std::size_t>(v)] + static_cast<std::size_t>(axis);
  }
  std::size_t root(std::size_t k) {
    while (parent_[k] != k) k = parent_[k] = parent_[parent_[k]];
    return k;
  }
  ValueId operand(const Use& u, const op::LoopAxis& a) const {
    return graph_.nodes()[u.node].inputs[static_cast<std::size_t>(a.operand)];
  }
  ValueId result(const Use& u, const op::LoopAxis& a) const {
    return graph_.nodes()[u.node].outputs[static_cast<std::size_t>(a.operand)];
  }

  // The loops that annotations of their operands choose: of loops over the same axis of the first operand,
  // the first one.
  void add_loops(std::size_t node) {
    const Graph::Node& n = graph_.nodes()[node];
    if (!n.op.spec().deterministic) return;
    const auto named = [&](ValueId v) { return v < 0 || !graph_.entry(v).name.empty(); };
    if (std::ranges::none_of(n.outputs, [&](ValueId v) { return v >= 0 && named(v); })) return;
    const auto loops = devices::detail::loops_of(graph_, n);
    std::set<std::pair<int, int>> seen;
    for (const op::WorkLoop& loop : loops) {
      if (loop.in.empty() || loop.count < pieces_) continue;
      const auto first = std::ranges::min(loop.in, {}, &op::LoopAxis::operand);
      if (!seen.emplace(first.operand, first.axis).second) continue;
      Use use{node, loop};
      if (std::ranges::all_of(loop.in, [&](const auto& a) { return named(operand(use, a)); }))
        add_use(std::move(use));
    }
  }

  // Joins the groups of a loop's axes. A group that would cut a value along two axes, a node over two loops,
  // or into too few pieces, stays apart: what it has is whole for this node.
  void add_use(Use use) {
    AxisGroup joined{.uses = {uses_.size()}, .nodes = {use.node}, .blocks = use.loop.count};
    const auto note = [&](ValueId v, int axis) { return joined.axes.emplace(v, axis).first->second == axis; };
    bool fits = true;
    for (const op::LoopAxis& a : use.loop.in) fits = fits && note(operand(use, a), a.axis);
    for (const op::LoopAxis& a : use.loop.out)
      if (const ValueId v = result(use, a); v >= 0) {
        fits = fits && note(v, a.axis);
        joined.made.insert(v);
      }
    if (!fits) return;
    std::vector<std::size_t> vertices;
    std::set<std::size_t> roots;
    for (const auto& [v, axis] : joined.axes) {
      vertices.push_back(vertex(v, axis));
      roots.insert(root(vertices.back()));
    }
    std::vector<std::map<std::size_t, AxisGroup>::iterator> parts;
    for (const std::size_t r : roots)
      if (const auto it = groups_.find(r); it != groups_.end()) parts.push_back(it);
    // The largest one takes the others in.
    std::ranges::sort(parts, {}, [](const auto& it) { return it->second.axes.size(); });
    for (const auto& it : parts) {
      AxisGroup& part = it->second;
      if (it == parts.back() ? !part.fits(joined, pieces_) : !joined.fits(part, pieces_)) return;
      if (it != parts.back()) joined.join(AxisGroup(part));
    }
    uses_.push_back(std::move(use));
    if (!parts.empty()) {
      parts.back()->second.join(std::move(joined));
      joined = std::move(parts.back()->second);
    }
    for (const auto& it : parts) groups_.erase(it);
    for (const std::size_t k : vertices) parent_[root(k)] = root(vertices[0]);
    groups_.emplace(root(vertices[0]), std::move(joined));
  }

  // The groups that are worth it, the best first.
  std::vector<AxisGroup> best_first() {
    weigh();
    std::vector<AxisGroup> list;
    for (auto& [vertex, g] : groups_)
      if (g.kept > 0 && g.kept >= constants_ / 1000) list.push_back(std::move(g));
    std::ranges::sort(list, [](const AxisGroup& a, const AxisGroup& b) {
      const double better = a.kept * (b.sent + 1) - b.kept * (a.sent + 1);
      return better != 0 ? better > 0 : *a.axes.begin() < *b.axes.begin();
    });
    return list;
  }

  // What each group keeps on other devices, and sends.
  void weigh() {
    std::map<ValueId, std::vector<AxisGroup*>> cut;
    for (auto& [vertex, g] : groups_) {
      for (const auto& [v, axis] : g.axes) cut[v].push_back(&g);
      for (const std::size_t k : g.uses)
        if (const Use& use = uses_[k]; use.loop.out.empty())
          for (const ValueId v : graph_.nodes()[use.node].outputs)
            if (v >= 0) g.sent += 2 * bytes(graph_.entry(v));
    }
    // Values of a group that something outside of it reads whole.
    std::set<std::pair<const AxisGroup*, ValueId>> gathered;
    const auto read = [&](ValueId v, std::size_t node, bool outside) {
      const auto it = cut.find(v);
      if (it == cut.end()) return;
      for (AxisGroup* g : it->second)
        if (outside || !g->nodes.contains(node)) gathered.emplace(g, v);
    };
    for (const std::size_t k : nodes_) {
      for (const ValueId v : graph_.nodes()[k].inputs) read(v, k, false);
      for (const ValueId v : graph_.nodes()[k].captures) read(v, k, true);
    }
    for (const auto& [name, v] : graph_.outputs()) read(v, 0, true);
    for (const auto& [v, list] : cut)
      for (AxisGroup* g : list) {
        const Graph::ValueEntry& e = graph_.entry(v);
        const bool whole = gathered.contains({g, v});
        if (e.source == Graph::Source::constant) g->kept += whole ? 0 : bytes(e);
        else if (whole && g->made.contains(v)) g->sent += bytes(e);
      }
  }

  void annotate(const Use& use, int64_t blocks, devices::Placement& placement) const {
    const Graph::Node& n = graph_.nodes()[use.node];
    const auto named =
        std::ranges::find_if(n.outputs, [&](ValueId v) { return v >= 0 && !graph_.entry(v).name.empty(); });
    auto& tensors = placement.nodes[graph_.entry(*named).name].tensors;
    for (const op::LoopAxis& a : use.loop.in) {
      const bool elements = graph_.entry(operand(use, a)).info.dims[a.axis].is(blocks);
      devices::Sharding s{.cuts = {{a.axis, pieces_, elements ? 0 : blocks}}, .holders = {}};
      for (const int64_t d : devices_) s.holders.push_back({d});
      tensors[graph_.entry(operand(use, a)).name] = std::move(s);
    }
  }

  const Graph& graph_;
  const std::vector<std::size_t>& nodes_;
  const Ranks& devices_;
  int64_t pieces_;
  std::vector<std::size_t> first_, parent_;  // of the axes of all values; a group shares a root
  std::vector<Use> uses_;
  std::map<std::size_t, AxisGroup> groups_;  // by root
  double constants_ = 0;
};

}  // namespace

void cut_tensors(const Graph& graph, const std::vector<std::size_t>& nodes, const Ranks& devices,
                 devices::Placement& placement) {
  TensorCuts(graph, nodes, devices).write(placement);
}

}  // namespace tenon::TENON_ABI::loader
