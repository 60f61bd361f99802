// How the work of each node is divided among ranks: what a placement asks, where the operands lie, and what
// the operator's loops allow.
#pragma once

#include "tenon/devices/rank_graph.hpp"
#include "tenon/graph/state_decl.hpp"

namespace tenon::TENON_ABI::devices {

/// What a partition does with annotations, and where it reads large constants.
struct PartitionOptions {
  /// Annotations that cannot be honoured are ignored: the operands are gathered and the operator runs whole.
  /// False: Error{not_supported} with the node and the reason.
  bool gather = false;
  /// Reads what the rank needs of constants that are not in the graph.
  ReadConstant read_constant{};
  /// Inputs, and the outputs that replace them in the next run: each rank keeps what it reads of them, and
  /// runs with a State (ShardedSession::kept). Error{invalid_argument} for a name that the graph lacks or
  /// that is in two pairs.
  std::vector<StatePair> kept{};
};

namespace detail {

/// The parts of the work of a node.
struct Work {
  Pieces pieces{};  ///< of the loop's iterations; whole: the operator as it is
  op::WorkLoop loop{};
};

/// Type, extents, and the elements of constants.
inline op::Info info_of(const Graph::ValueEntry& e) {
  op::Info info = e.info;
  if (e.source == Graph::Source::constant) info.data = op::info_of(e.content).data;
  return info;
}

/// The same of a node's operands and results.
struct NodeInfos {
  NodeInfos(const Graph& graph, const Graph::Node& n) {
    for (const ValueId v : n.inputs) in.push_back(v < 0 ? op::Info{} : info_of(graph.entry(v)));
    for (const ValueId v : n.outputs) out.push_back(graph.entry(v).info);
  }
  std::vector<op::Info> in, out;
};

/// The loops over which the work of a node can be divided before the run.
inline std::vector<op::WorkLoop> loops_of(const Graph& graph, const Graph::Node& n) {
  const auto [in, out] = NodeInfos(graph, n);
  std::vector<op::WorkLoop> loops = n.op.loops(in, out);
  const op::Loops known(in, out);
  const auto whole = [](const std::vector<op::Info>& of) {
    return [&](const op::LoopAxis& a) { return !is_divisible(of[static_cast<std::size_t>(a.operand)].type); };
  };
  std::erase_if(loops, [&](const op::WorkLoop& loop) {
    if (std::ranges::any_of(loop.in, whole(in)) || std::ranges::any_of(loop.out, whole(out))) return true;
    // Numbers in operands can be divided if they are known.
    return std::ranges::any_of(loop.elements, [&](const op::LoopAxis& e) {
      Ints list;
      return !known.integers(e.operand, list) || e.axis >= list.size();
    });
  });
  return loops;
}

/// Whether an operand or a result of a node is of 16-bit floats, and may be of floats.
inline bool may_widen(const Graph& graph, const Graph::Node& n, const op::Param& p, ValueId v) {
  return v >= 0 && (types::float16 | types::bfloat16).contains(graph.entry(v).info.type) &&
         n.op.spec().permits(p, n.op.version()).contains(Type(DType::float32));
}
/// Whether a sum of 16-bit floats is one of floats on the ranks, so that the sum over these is rounded once,
/// as the whole is: a part may be infinite in halves where the whole is not. Parts of a lookup are its rows
/// or zeros.
inline bool sums_in_float(const Graph& graph, const Graph::Node& n, const op::WorkLoop& sum) {
  const op::Param& y = n.op.spec().output(0);
  return sum.lookup.operand < 0 && n.op.spec().variable(y.type) >= 0 && n.op.computes(DType::float32) &&
         may_widen(graph, n, y, n.outputs[0]);
}

class WorkChoice {
 public:
  WorkChoice(const Graph& graph, const Placement& placement, const PartitionOptions& options,
             const RankGraph& ranks)
      : from_(graph), placement_(placement), options_(options), to_(ranks) {
    if (placement.devices > to_.ranks())
      raise(ErrorCode::invalid_argument, "devices", "a placement on ", placement.devices, " devices for ",
            to_.ranks(), " ranks");
    find_stages();
  }

  /// How a node asks an operand or a result to lie; nothing if it does not, or names no devices.
  std::optional<Pieces> annotated(const Graph::Node& n, ValueId v) const {
    const NodePlacement* const p = placement_of(n);
    if (p == nullptr || v < 0 || name_of(v).empty()) return {};
    const auto it = p->tensors.find(name_of(v));
    if (it == p->tensors.end() || it->second.holders.empty()) return {};
    if (options_.gather && is_fixed(v)) return {};
    const Sharding& s = it->second;
    const std::string of = str_cat("the sharding of '", name_of(v), "' ");
    const Dims& dims = from_.entry(v).info.dims;
    Pieces pieces;
    pieces.holders = s.holders;
    for (const Sharding::Cut& cut : s.cuts) {
      if (cut.shards == 1) continue;
      const int64_t rank = dims.rank();
      if (dims.ranked() && (cut.axis < -rank || cut.axis >= rank))
        refuse(n, str_cat(of, "cuts axis ", cut.axis, " of ", rank));
      const Dim extent = dims.ranked() ? dims[resolve_axis(cut.axis, dims.rank())] : Dim();
      const Type& type = from_.entry(v).info.type;
      if (const bool again = !pieces.whole(); again || !is_divisible(type) || !extent.known()) {
        if (options_.gather) return {};
        if (again) refuse(n, str_cat(of, "cuts several axes"));
        if (!is_divisible(type)) refuse(n, str_cat(of, "cuts a value of type ", to_string(type)));
        refuse(n, str_cat(of, "cuts axis ", cut.axis, ", whose extent is not known before the run"));
      }
      if (static_cast<std::size_t>(cut.shards) != s.holders.size())
        refuse(n, str_cat(of, "has another number of pieces than of devices"));
      pieces.cuts = cut.bounds(extent.value());
      if (pieces.cuts.empty()) {
        if (options_.gather) return {};
        const std::string pieces_of =
            str_cat(of, "cuts axis ", cut.axis, " of ", extent.value(), " elements ");
        if (cut.stretches < 1 || extent.value() % cut.stretches != 0)
          refuse(n, str_cat(pieces_of, "in ", cut.stretches, " stretches of equal length"));
        refuse(n, str_cat(pieces_of, "into ", cut.shards, " pieces of whole blocks, of which there are ",
                          cut.blocks > 0 ? cut.blocks : extent.value() / cut.stretches,
                          cut.stretches > 1 ? " in a stretch" : ""));
      }
      pieces.stretches = cut.stretches;
      pieces.axis = resolve_axis(cut.axis, dims.rank());
    }
    if (pieces.holders.size() != (pieces.whole() ? 1 : pieces.cuts.size() - 1) ||
        std::ranges::any_of(pieces.holders, &Ranks::empty))
      refuse(n, str_cat(of, "has another number of pieces than of devices"));
    for (Ranks& of_piece : pieces.holders) std::sort(of_piece.begin(), of_piece.end());
    Ranks all = pieces.ranks();
    if (std::adjacent_find(all.begin(), all.end()) != all.end())
      refuse(n, str_cat(of, "gives a device two pieces"));
    if (all.empty() || all.front() < 0 || all.back() >= placement_.devices)
      refuse(n, str_cat(of, "names a device that is not there"));
    return pieces;
  }
  /// Where an operand lies for the work, or a result when it is done.
  Pieces lies(const Work& work, std::span<const op::LoopAxis> list, int operand, ValueId v) const {
    const op::LoopAxis* const at = work.pieces.whole() ? nullptr : op::WorkLoop::find(list, operand);
    if (at == nullptr) return Pieces::whole_on(work.pieces.ranks());
    Pieces p = work.pieces;
    p.axis = at->axis;
    p.stretches *= at->stretches;
    for (int64_t& cut : p.cuts) cut *= iteration(work.loop, *at, v);
    return p;
  }
  /// The work that makes a part of a result; nothing if no loop runs over its axis. The node's piece is 0.
  std::optional<Work> work_of_part(const Graph::Node& n, std::size_t result, const AxisPart& part) const {
    const Pieces pieces{
        .axis = part.axis, .cuts = {part.first, part.end}, .holders = {{0}}, .stretches = part.stretches};
    for (const op::WorkLoop& loop : loops_of(from_, n)) {
      const op::LoopAxis* const axis = op::WorkLoop::find(loop.out, static_cast<int>(result));
      if (axis == nullptr || axis->axis != part.axis) continue;
      if (auto work = divided(loop, *axis, pieces, n.outputs[result])) return work;
    }
    return {};
  }
  /// Whether no annotation says where a node runs.
  bool is_free(const Graph::Node& n) const { return placement_of(n) == nullptr; }
  /// The work of a node whose operands have been made.
  Work choose(const Graph::Node& n) const {
    const NodePlacement* const p = placement_of(n);
    std::vector<std::optional<Pieces>> in, out;
    for (const ValueId v : n.inputs) in.push_back(annotated(n, v));
    for (const ValueId v : n.outputs) out.push_back(annotated(n, v));
    // Results may pass to other devices when they are done.
    Ranks named = ranks_of(in);
    if (named.empty()) named = ranks_of(out);
    const Ranks* stage = p != nullptr && p->stage ? &stages_.at(*p->stage) : nullptr;
    const Work whole{.pieces = Pieces::whole_on(whole_work(n, named, stage))};

    // The first operand that does not lie for the work as its annotation asks; none: as many as there are.
    const auto unfit_in = [&](const Work& work) {
      std::size_t k = 0;
      while (k < in.size() &&
             (!in[k] || *in[k] == lies(work, work.loop.in, static_cast<int>(k), n.inputs[k])))
        ++k;
      return k;
    };
    std::optional<Work> work, nearly;  // the latter for the reason
    std::optional<std::vector<op::WorkLoop>> loops;
    const auto try_pieces = [&](bool result, std::size_t k, ValueId v, const std::optional<Pieces>& pieces) {
      if (work || !pieces || pieces->whole() || !n.op.spec().deterministic) return;
      if (!loops) loops = loops_of(from_, n);
      for (const op::WorkLoop& loop : *loops) {
        const op::LoopAxis* const at = op::WorkLoop::find(result ? loop.out : loop.in, static_cast<int>(k));
        if (at == nullptr || at->axis != pieces->axis) continue;
        auto found = divided(loop, *at, *pieces, v);
        if (!found) continue;
        if (unfit_in(*found) == in.size()) {
          work = std::move(found);
          return;
        }
        if (!nearly && !result) nearly = std::move(found);
      }
    };
    for (std::size_t k = 0; k < in.size(); ++k) try_pieces(false, k, n.inputs[k], in[k]);
    for (std::size_t k = 0; k < out.size(); ++k) try_pieces(true, k, n.outputs[k], out[k]);
    if (named.empty())
      for (std::size_t k = 0; k < in.size(); ++k)
        if (const ValueId v = n.inputs[k]; v >= 0)
          if (const Pieces& now = to_.pieces(v); stage == nullptr || within(now.ranks(), *stage))
            try_pieces(false, k, v, now);
    if (work) return *std::move(work);
    if (!options_.gather && unfit_in(whole) < in.size()) {
      const Work& asked = nearly ? *nearly : whole;
      const std::size_t k = unfit_in(asked);
      refuse(n, unfit(n, asked, n.inputs[k], *in[k]));
    }
    return whole;
  }

 private:
  const std::string& name_of(ValueId v) const { return from_.entry(v).name; }
  const NodePlacement* placement_of(const Graph::Node& n) const {
    for (const ValueId v : n.outputs)
      if (!name_of(v).empty()) {
        const auto it = placement_.nodes.find(name_of(v));
        return it == placement_.nodes.end() ? nullptr : &it->second;
      }
    return nullptr;
  }

  void find_stages() {
    for (const auto& [name, p] : placement_.nodes) {
      if (!p.stage) continue;
      Ranks& of = stages_[*p.stage];
      for (const auto& [tensor, s] : p.tensors)
        for (const Ranks& holders : s.holders) of.insert(of.end(), holders.begin(), holders.end());
    }
    const auto count = static_cast<int64_t>(stages_.size());
    int64_t number = 0;
    for (auto& [stage, ranks] : stages_) {
      if (ranks.empty()) {
        if (count > placement_.devices && !options_.gather)
          raise(ErrorCode::not_supported, "devices", count, " pipeline stages on ", placement_.devices,
                " devices");
        ranks = {number * placement_.devices / count};
      }
      sort_unique(ranks);
      if (ranks.front() < 0 || ranks.back() >= placement_.devices)
        raise(ErrorCode::invalid_argument, "devices", "stage ", stage, " has a device that is not there");
      ++number;
    }
  }

  [[noreturn]] void refuse(const Graph::Node& n, std::string_view reason) const {
    raise(ErrorCode::not_supported, tenon::detail::describe(n), reason);
  }

  // The elements of an iteration in a stretch of an axis.
  int64_t iteration(const op::WorkLoop& loop, const op::LoopAxis& at, ValueId v) const {
    return from_.entry(v).info.dims[at.axis].value() / at.stretches / loop.count;
  }
  // The iterations of a loop that have their elements in these pieces of a value; nothing if a cut falls
  // within one.
  std::optional<Work> divided(const op::WorkLoop& loop, const op::LoopAxis& at, const Pieces& pieces,
                              ValueId v) const {
    const int64_t of_one = iteration(loop, at, v);
    if (of_one == 0 || pieces.stretches % at.stretches != 0) return {};
    Work work{.pieces = pieces, .loop = loop};
    work.pieces.axis = 0;
    work.pieces.stretches /= at.stretches;
    for (int64_t& cut : work.pieces.cuts) {
      if (cut % of_one != 0) return {};
      cut /= of_one;
    }
    if (loop.out.empty() && pieces.rings().empty()) return {};
    return work;
  }
  static Ranks ranks_of(const std::vector<std::optional<Pieces>>& list) {
    Ranks all;
    for (const auto& pieces : list)
      if (pieces) {
        const Ranks some = pieces->ranks();
        all.insert(all.end(), some.begin(), some.end());
      }
    sort_unique(all);
    return all;
  }
  static void sort_unique(Ranks& ranks) {
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  }
  // Whether a value cannot leave the devices that make it.
  bool is_fixed(ValueId v) const {
    const Type& type = from_.entry(v).info.type;
    return type.kind != Kind::none && !is_movable(type);
  }
  static bool within(const Ranks& some, const Ranks& all) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
  }

  std::string unfit(const Graph::Node& n, const Work& work, ValueId v, const Pieces& asked) const {
    const std::string of = str_cat("the sharding of '", name_of(v), "' ");
    const std::string advice = "; to run the node whole, ask for it to be gathered";
    if (asked.whole()) return str_cat(of, "is on other devices than the node's work needs", advice);
    if (work.pieces.whole())
      return str_cat(of, "cuts axis ", asked.axis, ", and ", n.op.spec().name,
                     " cannot work on such pieces by themselves", advice);
    return str_cat(of, "does not agree with the others of the node", advice);
  }

  // The ranks on which a node runs whole.
  Ranks whole_work(const Graph::Node& n, const Ranks& named, const Ranks* stage) const {
    Ranks ranks = !named.empty() ? named : stage != nullptr ? *stage : Ranks{};
    // Where the operands lie: one that cannot pass to another device, or else the one that was made last.
    ValueId last = -1, fixed = -1;
    for (const auto* list : {&n.inputs, &n.captures})
      for (const ValueId v : *list)
        if (v >= 0 && to_.pieces(v) != to_.everywhere()) {
          last = std::max(last, v);
          if (is_fixed(v)) fixed = v;
        }
    const bool makes_fixed = std::ranges::any_of(n.outputs, [&](ValueId v) { return is_fixed(v); });
    if (options_.gather && (fixed >= 0 || makes_fixed)) {
      ranks = {0};  // where outputs of the graph have to be
    } else if (ranks.empty()) {
      ranks = to_.everywhere().ranks();
      if (fixed >= 0) ranks = to_.pieces(fixed).ranks();
      else if (last >= 0) ranks = to_.pieces(last).ranks();
      if (fixed < 0 && makes_fixed && ranks[0] != 0) ranks.insert(ranks.begin(), 0);
    }
    // Random numbers are drawn once.
    if (!n.op.spec().deterministic) ranks.resize(1);
    return ranks;
  }

  const Graph& from_;
  const Placement& placement_;
  const PartitionOptions& options_;
  const RankGraph& to_;
  std::map<int64_t, Ranks> stages_;
};

}  // namespace detail
}  // namespace tenon::TENON_ABI::devices
