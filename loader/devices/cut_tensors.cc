#include "loader/devices/cut_tensors.hpp"

#include <numeric>
#include <set>
#include <tuple>

#include "loader/devices/multiplications.hpp"
#include "tenon/devices/work.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using devices::Ranks;

// An axis of a value, and the stretches of it that are cut alike.
struct CutAxis {
  int axis = -1;
  int64_t stretches = 1;

  auto operator<=>(const CutAxis&) const = default;
};

// Axes of values that are cut together, and the loops over them.
struct AxisGroup {
  std::vector<std::size_t> uses{};
  std::map<ValueId, CutAxis> axes{};
  std::set<std::size_t> nodes{};
  std::set<ValueId> made{};   // the values that come in pieces; others are whole before
  int64_t blocks = 0;         // the most equal pieces of a stretch that are whole iterations of all loops
  double kept = 0, sent = 0;  // bytes

  // Into how many each stretch of this group, and of another one, has to be divided.
  struct Factors {
    int64_t own = 1, others = 1;
  };
  // So that both can be cut at the same time and into as many pieces; nothing if they cannot.
  std::optional<Factors> factors(const AxisGroup& other, int64_t pieces) const {
    if (std::ranges::any_of(other.nodes, [&](std::size_t n) { return nodes.contains(n); })) return {};
    std::optional<Factors> f;
    for (const auto& [v, theirs] : other.axes) {
      const auto it = axes.find(v);
      if (it == axes.end()) continue;
      const CutAxis& own = it->second;
      if (!f) {
        const int64_t common = std::gcd(own.stretches, theirs.stretches);
        f = {theirs.stretches / common, own.stretches / common};
        if (blocks % f->own != 0 || other.blocks % f->others != 0) return {};
      }
      if (own.axis != theirs.axis || own.stretches * f->own != theirs.stretches * f->others) return {};
    }
    if (!f) f.emplace();
    return std::gcd(blocks / f->own, other.blocks / f->others) >= pieces ? f : std::nullopt;
  }
  void join(AxisGroup&& other, const Factors& f) {
    divide_stretches(f.own), other.divide_stretches(f.others);
    uses.insert(uses.end(), other.uses.begin(), other.uses.end());
    axes.merge(other.axes), nodes.merge(other.nodes), made.merge(other.made);
    blocks = std::gcd(blocks, other.blocks);
  }

 private:
  void divide_stretches(int64_t by) {
    if (by == 1) return;
    blocks /= by;
    for (auto& [v, a] : axes) a.stretches *= by;
  }
};

class TensorCuts {
 public:
  TensorCuts(const Graph& graph, const std::vector<std::size_t>& nodes, const Ranks& devices)
      : graph_(graph), nodes_(nodes), devices_(devices), pieces_(static_cast<int64_t>(devices.size())) {
    for (const Graph::ValueEntry& e : graph.values()) {
      first_.push_back(parent_.size());
      const int rank = e.info.type.kind == Kind::tensor ? e.info.dims.rank() : 0;
      parent_.resize(parent_.size() + static_cast<std::size_t>(std::max(rank, 0)));
      if (e.source == Graph::Source::constant) constants_ += bytes(e);
    }
    find_weights();
    std::vector<std::vector<Use>> uses;
    for (const std::size_t n : nodes_) uses.push_back(uses_of(n));
    reach_.resize(parent_.size());
    for (auto of = uses.rbegin(); of != uses.rend(); ++of) note_reach(*of);
    for (const std::vector<Use>& of : uses)
      for (const Use& use : of)
        if (use.loop.count >= pieces_ && leads_furthest(use, of)) all_uses_.push_back(use);
  }

  // A group that has a node or a value in common with a better one is made anew of what that leaves, and cut
  // if it keeps more bytes than it sends.
  void write(devices::Placement& placement) {
    std::size_t before = 0;
    do {
      const bool first = cut_nodes_.empty();
      before = cut_nodes_.size();
      join_uses();
      for (const AxisGroup& g : best_first()) {
        if ((!first && g.kept <= g.sent) ||
            std::ranges::any_of(g.nodes, [&](std::size_t n) { return cut_nodes_.contains(n); }) ||
            std::ranges::any_of(g.axes, [&](const auto& one) { return cut_values_.contains(one.first); }))
          continue;
        cut_nodes_.insert(g.nodes.begin(), g.nodes.end());
        for (const auto& [v, axis] : g.axes) cut_values_.insert(v);
        for (const std::size_t use : g.uses) annotate(uses_[use], g, placement);
      }
    } while (cut_nodes_.size() > before);
  }

 private:
  struct Use {
    std::size_t node;
    op::WorkLoop loop;
  };

  bool is_constant(ValueId v) const { return weights_[static_cast<std::size_t>(v)]; }
  // Constants, and what other nodes than these compute from constants alone: each device computes its part.
  void find_weights() {
    for (const Graph::ValueEntry& e : graph_.values())
      weights_.push_back(e.source == Graph::Source::constant);
    const std::set<std::size_t> own(nodes_.begin(), nodes_.end());
    for (std::size_t k = 0; k < graph_.nodes().size(); ++k) {
      const Graph::Node& n = graph_.nodes()[k];
      const auto constant = [&](ValueId v) { return v < 0 || is_constant(v); };
      if (own.contains(k) || !n.op.spec().deterministic || !n.captures.empty() ||
          !std::ranges::all_of(n.inputs, constant))
        continue;
      for (const ValueId v : n.outputs)
        if (v >= 0) weights_[static_cast<std::size_t>(v)] = true;
    }
  }
  static double bytes(const Graph::ValueEntry& e) { return static_cast<double>(bytes_of(e.info)); }
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

  static op::LoopAxis first_axis(const op::WorkLoop& loop) {
    return std::ranges::min(loop.in, {}, &op::LoopAxis::operand);
  }
  // The loops that annotations of their operands choose: of loops over the same stretches of an axis of the
  // first operand, the first one with enough iterations.
  std::vector<Use> uses_of(std::size_t node) const {
    const Graph::Node& n = graph_.nodes()[node];
    std::vector<Use> uses;
    if (!n.op.spec().deterministic) return uses;
    const auto named = [&](ValueId v) { return v < 0 || !graph_.entry(v).name.empty(); };
    if (std::ranges::none_of(n.outputs, [&](ValueId v) { return v >= 0 && named(v); })) return uses;
    std::set<std::tuple<int, int, int64_t>> seen;
    for (op::WorkLoop& loop : devices::detail::loops_of(graph_, n)) {
      if (loop.in.empty()) continue;
      const op::LoopAxis first = first_axis(loop);
      if (loop.count >= pieces_ && !seen.emplace(first.operand, first.axis, first.stretches).second) continue;
      Use use{node, std::move(loop)};
      if (std::ranges::all_of(use.loop.in, [&](const auto& a) { return named(operand(use, a)); }))
        uses.push_back(std::move(use));
    }
    return uses;
  }

  // How many nodes one after the other have loops over the axes, from this use on.
  int reach(const Use& use) const {
    int most = 0;
    for (const op::LoopAxis& a : use.loop.out)
      if (const ValueId v = result(use, a); v >= 0) most = std::max(most, reach_[vertex(v, a.axis)]);
    return 1 + most;
  }
  void note_reach(const std::vector<Use>& of_node) {
    for (const Use& use : of_node)
      for (const op::LoopAxis& a : use.loop.in)
        if (const ValueId v = operand(use, a); v >= 0) {
          int& most = reach_[vertex(v, a.axis)];
          most = std::max(most, reach(use));
        }
  }
  // Whether no loop over other stretches of the same axis leads further, nor an earlier one as far. Of an
  // axis (3, heads, size) of queries, keys and values, the heads lead furthest: the first extent ends where
  // the three part, and the last one where scores are summed.
  bool leads_furthest(const Use& use, const std::vector<Use>& of_node) const {
    const op::LoopAxis own = first_axis(use.loop);
    return std::ranges::none_of(of_node, [&](const Use& other) {
      const op::LoopAxis a = first_axis(other.loop);
      if (a.operand != own.operand || a.axis != own.axis || a.stretches == own.stretches) return false;
      return &other < &use ? reach(other) >= reach(use) : reach(other) > reach(use);
    });
  }

  // Groups of the uses that nothing cut before concerns.
  void join_uses() {
    uses_.clear(), groups_.clear();
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (const Use& use : all_uses_) {
      const auto is_cut = [&](const op::LoopAxis& a, bool in) {
        return cut_values_.contains(in ? operand(use, a) : result(use, a));
      };
      if (!cut_nodes_.contains(use.node) &&
          std::ranges::none_of(use.loop.in, [&](const auto& a) { return is_cut(a, true); }) &&
          std::ranges::none_of(use.loop.out, [&](const auto& a) { return is_cut(a, false); }))
        add_use(use);
    }
  }
  // Joins the groups of a loop's axes. A group that would cut a value along two axes, a node over two loops,
  // or into too few pieces, stays apart: what it has is whole for this node.
  void add_use(const Use& use) {
    AxisGroup joined{.uses = {uses_.size()}, .nodes = {use.node}, .blocks = use.loop.count};
    const auto note = [&](ValueId v, const op::LoopAxis& a) {
      const CutAxis axis{a.axis, a.stretches};
      return joined.axes.emplace(v, axis).first->second == axis;
    };
    bool fits = std::ranges::all_of(use.loop.in, [&](const auto& a) { return note(operand(use, a), a); });
    for (const op::LoopAxis& a : use.loop.out)
      if (const ValueId v = result(use, a); v >= 0) {
        fits = fits && note(v, a);
        joined.made.insert(v);
      }
    if (!fits) return;
    std::vector<std::size_t> vertices;
    std::vector<std::map<std::size_t, AxisGroup>::iterator> parts;
    for (const auto& [v, a] : joined.axes) {
      const auto it = groups_.find(root(vertex(v, a.axis)));
      // A constant that another loop of the node cuts along the same axis does not connect the two.
      if (it != groups_.end() && it->second.nodes.contains(use.node) && is_constant(v)) continue;
      vertices.push_back(vertex(v, a.axis));
      if (it != groups_.end() && std::ranges::find(parts, it) == parts.end()) parts.push_back(it);
    }
    if (vertices.empty()) return;
    // The largest one takes the others in.
    std::ranges::sort(parts, {}, [](const auto& it) { return it->second.axes.size(); });
    AxisGroup::Factors of_largest;
    for (const auto& it : parts) {
      AxisGroup& part = it->second;
      const bool largest = it == parts.back();
      const auto factors = largest ? part.factors(joined, pieces_) : joined.factors(part, pieces_);
      if (!factors) return;
      if (largest) of_largest = *factors;
      else joined.join(AxisGroup(part), *factors);
    }
    uses_.push_back(use);
    if (!parts.empty()) {
      parts.back()->second.join(std::move(joined), of_largest);
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

  // The bytes of all-reduces.
  double bytes_of_sums(const Use& use) const {
    const Graph::Node& n = graph_.nodes()[use.node];
    const bool wide = devices::detail::sums_in_float(graph_, n, use.loop);
    double sum = 0;
    for (std::size_t k = 0; k < n.outputs.size(); ++k)
      if (const ValueId v = n.outputs[k]; v >= 0) {
        const op::Param& y = n.op.spec().output(static_cast<int>(k));
        const bool doubled = wide && devices::detail::may_widen(graph_, n, y, v);
        sum += (doubled ? 4 : 2) * bytes(graph_.entry(v));
      }
    return sum;
  }
  // What each group keeps on other devices, and sends.
  void weigh() {
    std::map<ValueId, std::vector<AxisGroup*>> cut;
    for (auto& [vertex, g] : groups_) {
      for (const auto& [v, axis] : g.axes) cut[v].push_back(&g);
      for (const std::size_t k : g.uses)
        if (const Use& use = uses_[k]; use.loop.out.empty()) g.sent += bytes_of_sums(use);
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
        const bool whole = gathered.contains({g, v});
        if (is_constant(v)) g->kept += whole ? 0 : bytes(graph_.entry(v));
        else if (whole && g->made.contains(v)) g->sent += bytes(graph_.entry(v));
      }
  }

  void annotate(const Use& use, const AxisGroup& group, devices::Placement& placement) const {
    const Graph::Node& n = graph_.nodes()[use.node];
    const auto named =
        std::ranges::find_if(n.outputs, [&](ValueId v) { return v >= 0 && !graph_.entry(v).name.empty(); });
    auto& tensors = placement.nodes[graph_.entry(*named).name].tensors;
    for (const op::LoopAxis& a : use.loop.in) {
      const Graph::ValueEntry& e = graph_.entry(operand(use, a));
      const int64_t stretches = group.axes.at(operand(use, a)).stretches;
      const bool elements = e.info.dims[a.axis].is(stretches * group.blocks);
      devices::Sharding s{.cuts = {{a.axis, pieces_, elements ? 0 : group.blocks, stretches}}, .holders = {}};
      for (const int64_t d : devices_) s.holders.push_back({d});
      tensors[e.name] = std::move(s);
    }
  }

  const Graph& graph_;
  const std::vector<std::size_t>& nodes_;
  const Ranks& devices_;
  int64_t pieces_;
  std::vector<std::size_t> first_, parent_;  // of the axes of all values; a group shares a root
  std::vector<bool> weights_;                // by value
  std::vector<int> reach_;                   // of each axis: the greatest reach of its uses
  std::vector<Use> all_uses_;
  std::set<std::size_t> cut_nodes_;  // and values, of the groups that are annotated
  std::set<ValueId> cut_values_;
  std::vector<Use> uses_;                    // in groups
  std::map<std::size_t, AxisGroup> groups_;  // by root
  double constants_ = 0;
};

}  // namespace

void cut_tensors(const Graph& graph, const std::vector<std::size_t>& nodes, const Ranks& devices,
                 devices::Placement& placement) {
  TensorCuts(graph, nodes, devices).write(placement);
}

}  // namespace tenon::TENON_ABI::loader
