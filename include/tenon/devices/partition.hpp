// Partition: the graphs of several ranks that together compute what one graph computes.
#pragma once

#include "tenon/devices/lookup.hpp"
#include "tenon/devices/work.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/shape.hpp"

namespace tenon::TENON_ABI::devices {

/// A rank's graph: all inputs, and on rank 0 the outputs, whole; on others an output for the exchanges.
/// Constants are the rank's slices. Each rank makes its own from the same graph, placement and options.
///
/// Of a pair of PartitionOptions::kept, a rank that reads the input has its piece as input and as output. The
/// piece is the one in which a node makes the output, if a node reads the input so; else the first one that a
/// node reads and that the output can be cut into too, or the whole on the ranks of the first node. Other
/// nodes get theirs by exchanges.
///
/// A node runs where its annotation says: on the devices that its sharding names, or else on its stage's. The
/// devices of a stage are all that its nodes' annotations name; if there are none, stages take the devices in
/// order, evenly. A node without annotation runs where its operands lie. An operand or result without
/// annotation lies where it is; inputs, constants, and nodes that depend on nothing else, are on every rank.
///
/// A node works on slices if an operand that is cut, or else a result, belongs to one of its operator's loops
/// (op/framework/loops.hpp); otherwise it gathers its operands. Sums over ranks round as their order demands,
/// and nothing else depends on the placement.
///
/// Error{not_supported}: tensors that are cut along several axes, along an axis of unknown extent, or where
/// no loop of the operator can be divided, and devices that are not there.
[[nodiscard]] Graph partition(const Graph& graph, const Placement& placement,
                              const std::shared_ptr<Transport>& transport,
                              const PartitionOptions& options = {});

namespace detail {

class Partition {
 public:
  Partition(const Graph& graph, const Placement& placement, const std::shared_ptr<Transport>& transport,
            const PartitionOptions& options, const std::map<ValueId, Pieces>& kept = {})
      : from_(graph),
        kept_(kept),
        to_(graph, transport, options.read_constant, kept),
        choice_(graph, placement, options, to_),
        makers_(graph.values().size()) {
    to_.set_make([this](ValueId v, const AxisPart& part) { return make(v, part); });
  }

  /// The pieces of inputs that the ranks keep, by how the nodes that `take` has added read them.
  std::map<ValueId, Pieces> pieces_to_keep(std::span<const StatePair> pairs) const {
    std::map<ValueId, Pieces> kept;
    for (const StatePair& pair : pairs) {
      const ValueId past = input(pair.past), present = output(pair.present);
      const Dims &before = from_.entry(past).info.dims, &after = from_.entry(present).info.dims;
      const std::vector<Pieces>& reads = to_.reads(past);
      const auto may_cut = [&](const Pieces& p) {
        return !p.whole() && p.axis != pair.axis && before.rank() == after.rank() &&
               before[p.axis].same(after[p.axis]);
      };
      const Pieces& made = to_.made(present);
      const bool stays = (made.whole() || may_cut(made)) && std::ranges::find(reads, made) != reads.end();
      const auto cut = std::ranges::find_if(reads, may_cut);
      const auto some = std::ranges::find_if(reads, [&](const Pieces& p) { return p != to_.everywhere(); });
      if (stays) kept[past] = made;
      else if (cut != reads.end()) kept[past] = *cut;
      else if (reads.empty()) kept[past] = Pieces::whole_on({0});
      else kept[past] = Pieces::whole_on((some != reads.end() ? *some : reads[0]).ranks());
    }
    return kept;
  }

  /// `pairs`: of the inputs that are kept.
  Graph take(std::span<const StatePair> pairs = {}) {
    std::vector<ValueId> outputs;
    for (const auto& [name, v] : from_.outputs()) outputs.push_back(v);
    const std::vector<bool> needed = from_.needed_by(outputs);
    for (const StatePair& pair : pairs)
      if (const ValueId past = input(pair.past); shares_rows(past)) to_.withhold(past);
    for (const Graph::Node& n : from_.nodes()) {
      if (!Graph::makes(n, needed)) continue;
      if (const int steps = steps_from_constants(n); steps > 0) make_when_read(n, steps);
      else add(n);
    }
    std::vector<std::pair<std::string, ValueId>> results, own;
    for (const auto& [name, v] : from_.outputs()) {
      to_.set_place(str_cat("output '", name, "'"));
      const auto pair = std::ranges::find(pairs, name, &StatePair::present);
      const bool keeps = pair != pairs.end();
      const ValueId id = to_.piece(v, keeps ? kept_.at(input(pair->past)) : Pieces::whole_on({0}));
      if (id >= 0) (keeps ? own : results).emplace_back(name, id);
    }
    to_.add_outputs(std::move(results), std::move(own));
    return std::move(to_.graph());
  }

 private:
  ValueId input(std::string_view name) const {
    for (const ValueId v : from_.inputs())
      if (from_.entry(v).name == name) return v;
    raise(ErrorCode::invalid_argument, "devices", "there is no input '", name, "'");
  }
  ValueId output(std::string_view name) const {
    for (const auto& [own, v] : from_.outputs())
      if (own == name) return v;
    raise(ErrorCode::invalid_argument, "devices", "there is no output '", name, "'");
  }

  /// Whether a node writes rows into an input that others read too. A State has as many rows of it as runs
  /// have written; on ranks with no other reader it would have room for more, and ranks have to agree.
  bool shares_rows(ValueId past) const {
    bool writes = false;
    int readers = 0;
    for (const Graph::Node& n : from_.nodes())
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        if (n.inputs[k] != past || n.op.as<op::Shape>() != nullptr) continue;
        ++readers;
        for (const op::Update& u : n.op.spec().updates) writes |= u.input == static_cast<int>(k);
      }
    for (const auto& [name, v] : from_.outputs()) readers += v == past;
    return writes && readers > 1;
  }

  // --- nodes over weights alone ---

  // What makes a value that depends on constants alone.
  struct Maker {
    const Graph::Node* node = nullptr;
    int steps = 0;
  };
  static constexpr int most_steps = 64;  // the depth of calls of `make`

  Maker& maker(ValueId v) { return makers_[static_cast<std::size_t>(v)]; }
  // The number of nodes from constants to this one. Each rank adds such nodes where it reads their results,
  // for the part of them that it reads. 0: another node, or one that is too far from constants.
  int steps_from_constants(const Graph::Node& n) {
    const auto divisible = [&](ValueId v) { return is_divisible(from_.entry(v).info.type); };
    if (!n.op.spec().deterministic || !n.captures.empty() || !choice_.is_free(n) ||
        !std::ranges::all_of(n.outputs, divisible))
      return 0;
    int steps = 1;
    for (const ValueId v : n.inputs) {
      if (v < 0 || from_.entry(v).source == Graph::Source::constant) continue;
      if (maker(v).node == nullptr) return 0;
      steps = std::max(steps, 1 + maker(v).steps);
    }
    return steps <= most_steps ? steps : 0;
  }
  void make_when_read(const Graph::Node& n, int steps) {
    for (const ValueId v : n.outputs) {
      maker(v) = {&n, steps};
      to_.make_when_read(v);
    }
  }
  ValueId make(ValueId v, const AxisPart& part) {
    const Graph::Node& n = *maker(v).node;
    const auto result = static_cast<std::size_t>(std::ranges::find(n.outputs, v) - n.outputs.begin());
    const bool whole = part.axis < 0;
    const std::optional<Work> work = whole ? std::nullopt : choice_.work_of_part(n, result, part);
    if (!whole && !work) return to_.slice(to_.part(v, {}), part);
    std::vector<ValueId> in;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const ValueId x = n.inputs[k];
      AxisPart of_x;
      if (const auto operand = static_cast<int>(k); work && op::WorkLoop::find(work->loop.in, operand))
        of_x = choice_.lies(*work, work->loop.in, operand, x).part(0);
      in.push_back(x < 0 ? -1 : to_.part(x, of_x));
    }
    AnyOperator op = n.op;
    if (work) divide(op, in, n, *work, 0);
    const auto made = to_.graph().add_node(n.name, std::move(op), std::move(in),
                                           std::vector<std::string>(n.outputs.size()));
    for (std::size_t k = 0; whole && k < made.size(); ++k)
      to_.define(n.outputs[k], to_.everywhere(), made[k]);
    return made[result];
  }

  // --- adding nodes ---

  void add(const Graph::Node& n) {
    to_.set_place(tenon::detail::describe(n));
    if (add_extents(n)) return;
    const Work work = choice_.choose(n);
    const int part = work.pieces.piece_of(to_.rank());
    const bool sums = !work.pieces.whole() && work.loop.out.empty();
    const bool wide = sums && sums_in_float(from_, n, work.loop);
    std::vector<ValueId> in;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const ValueId v = n.inputs[k];
      in.push_back(v < 0 ? -1 : to_.piece(v, choice_.lies(work, work.loop.in, static_cast<int>(k), v)));
      if (part > 0 && std::ranges::find(work.loop.once, static_cast<int>(k)) != work.loop.once.end())
        in.back() = -1;
    }
    std::vector<ValueId> captured(n.op.takes_context() ? from_.values().size() : 0, -1);
    for (const ValueId v : n.captures)
      captured[static_cast<std::size_t>(v)] = to_.piece(v, Pieces::whole_on(work.pieces.ranks()));

    std::vector<ValueId> results(n.outputs.size(), -1);
    if (part >= 0) {
      AnyOperator op = n.op;
      if (op.takes_context())
        op = tenon::detail::with_bodies(op, [&](std::string_view, const auto&, const CapturingBody& body) {
          return body.moved(to_.graph(), captured);
        });
      const op::LoopAxis& lookup = work.loop.lookup;
      ValueId indices = -1;
      if (!work.pieces.whole()) divide(op, in, n, work, part);
      if (lookup.operand >= 0) {
        ValueId& operand = in[static_cast<std::size_t>(lookup.operand)];
        indices = std::exchange(operand, add(OwnIndices{bounds(work, part)}, {operand}));
      }
      for (std::size_t k = 0; k < in.size(); ++k)
        if (wide && in[k] >= 0 &&
            may_widen(from_, n, n.op.spec().input(static_cast<int>(k), n.op.version()), n.inputs[k]))
          in[k] = cast(in[k], DType::float32);
      std::vector<std::string> names;
      for (const ValueId v : n.outputs) names.push_back(from_.entry(v).name);
      results = to_.graph().add_node(n.name, std::move(op), std::move(in), names);
      if (indices >= 0) results[0] = add(OwnResults{bounds(work, part), lookup.axis}, {results[0], indices});
    }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      const ValueId v = n.outputs[k];
      const auto asked = choice_.annotated(n, v);
      const bool scatters = sums && asked && !asked->whole() && asked->holders == work.pieces.holders;
      Pieces pieces = choice_.lies(work, work.loop.out, static_cast<int>(k), v);
      if (scatters) {
        to_.sum_pieces(results[k], work.pieces, *asked);
        pieces = *asked;
      } else if (sums) pieces = to_.sum(results[k], work.pieces);
      if (wide && results[k] >= 0 && may_widen(from_, n, n.op.spec().output(static_cast<int>(k)), v))
        results[k] = cast(results[k], from_.entry(v).info.type.element);
      to_.define(v, std::move(pieces), results[k]);
      if (asked && !scatters) to_.move(v, *asked);
    }
  }

  // The extents of a value that is cut, without another piece of it: a piece's, and what it lacks.
  bool add_extents(const Graph::Node& n) {
    const auto* const shape = n.op.as<op::Shape>();
    if (shape == nullptr || to_.pieces(n.inputs[0]).whole() || choice_.annotated(n, n.inputs[0]) ||
        choice_.annotated(n, n.outputs[0]))
      return false;
    const Pieces pieces = to_.pieces(n.inputs[0]);
    const op::PropagatedData& whole = from_.entry(n.outputs[0]).info.propagated;
    if (!whole.known()) return false;
    ValueId result = -1;
    if (const ValueId x = to_.piece(n.inputs[0], pieces); x >= 0) {
      Tensor<int64_t> lacks(Extents{whole.size()});
      const int64_t rank = from_.entry(n.inputs[0]).info.dims.rank(),
                    first = std::clamp<int64_t>(shape->start + (shape->start < 0 ? rank : 0), 0, rank);
      if (const int64_t k = pieces.axis - first; k >= 0 && k < whole.size())
        lacks[k] = whole[k].value() - pieces.extent(static_cast<std::size_t>(pieces.piece_of(to_.rank())));
      result = add(op::Add{}, {add(*shape, {x}), to_.graph().add_constant({}, std::move(lacks))});
    }
    to_.define(n.outputs[0], Pieces::whole_on(pieces.ranks()), result);
    return true;
  }
  ValueId add(const auto& op, std::vector<ValueId> inputs) {
    return to_.graph().add_node({}, AnyOperator::make(op), std::move(inputs), std::vector<std::string>(1))[0];
  }
  ValueId cast(ValueId x, DType to) { return add(op::Cast{.to = static_cast<int64_t>(to)}, {x}); }
  static std::vector<int64_t> bounds(const Work& work, int part) {
    const AxisPart of = work.pieces.part(static_cast<std::size_t>(part));
    return {of.first, of.end, work.loop.count / of.stretches, of.stretches};
  }

  // Gives the operator the share of a part in numbers that count the loop's iterations.
  void divide(AnyOperator& op, std::vector<ValueId>& in, const Graph::Node& n, const Work& work, int part) {
    const int64_t share = work.pieces.extent(static_cast<std::size_t>(part)), count = work.loop.count;
    op = op.with_attributes([&](std::string_view name, op::AttributeValue& value) {
      auto* const number = std::get_if<int64_t>(&value);
      if (number == nullptr || std::ranges::find(work.loop.attributes, name) == work.loop.attributes.end())
        return false;
      *number = *number / count * share;
      return true;
    });
    for (std::size_t operand = 0; operand < in.size(); ++operand) {
      const auto is_divided = [&](int k) {
        return std::ranges::any_of(work.loop.elements, [&](const op::LoopAxis& e) {
          return e.operand == static_cast<int>(operand) && (k < 0 || e.axis == k);
        });
      };
      if (!is_divided(-1)) continue;
      const op::Info info = info_of(from_.entry(n.inputs[operand]));
      Ints list;
      op::Loops({&info, 1}, {}).integers(0, list);
      Tensor<int64_t> numbers(Extents{list.size()});
      const Dims& y = from_.entry(n.outputs[0]).info.dims;
      for (int k = 0; k < list.size(); ++k) {
        int64_t whole = list[k];
        // Reshape's 0 copies an extent of the whole operand, which is output 0's. Expand's list is aligned
        // with the last axes.
        if (const int axis = k + y.rank() - list.size(); whole == 0 && axis >= 0 && y[axis].known())
          whole = y[axis].value();
        numbers[k] = is_divided(k) && whole > 0 ? whole / count * share : whole;
      }
      in[operand] = to_.graph().add_constant({}, std::move(numbers));
    }
  }

  const Graph& from_;
  const std::map<ValueId, Pieces>& kept_;
  RankGraph to_;
  WorkChoice choice_;
  std::vector<Maker> makers_;  // by value
};

}  // namespace detail

inline Graph partition(const Graph& graph, const Placement& placement,
                       const std::shared_ptr<Transport>& transport, const PartitionOptions& options) {
  using detail::Partition;
  if (options.kept.empty()) return Partition(graph, placement, transport, options).take();
  PartitionOptions unread = options;
  unread.read_constant = {};
  Partition given(graph, placement, transport, unread);
  static_cast<void>(given.take());
  auto kept = given.pieces_to_keep(options.kept);
  // Nodes without annotation follow what they read, and with it what is kept.
  constexpr int most_rounds = 8;
  for (int round = 1;; ++round) {
    Partition part(graph, placement, transport, options, kept);
    Graph own = part.take(options.kept);
    auto next = part.pieces_to_keep(options.kept);
    if (next == kept || round == most_rounds) return own;
    kept = std::move(next);
  }
}

}  // namespace tenon::TENON_ABI::devices
