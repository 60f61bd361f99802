// The graph of one rank while a partition builds it: the values that the rank has, and exchanges with others.
#pragma once

#include <functional>

#include "tenon/devices/operators.hpp"
#include "tenon/devices/placement.hpp"
#include "tenon/graph/graph.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tenon/tensor/part_rows.hpp"

namespace tenon::TENON_ABI::devices {

/// A part of the elements of a constant that are not in the graph, Graph::ValueEntry::is_outside.
using ReadConstant = std::function<AnyTensor(const std::string& name, const AxisPart& part)>;

namespace detail {

/// Whether ranks can exchange a value.
inline bool is_movable(const Type& type) { return type.kind == Kind::tensor && !is_string(type.element); }
/// Whether they can exchange pieces of it, which Slice makes and Concat joins.
inline bool is_divisible(const Type& type) {
  return is_movable(type) && op::Slice::spec.types[0].any().contains(type) &&
         op::Concat::spec.types[0].any().contains(type);
}

/// All ranks make the same calls in the same order; each adds its own nodes, if any.
class RankGraph {
 public:
  /// `kept`: inputs of which each rank is given its piece alone.
  RankGraph(const Graph& whole, std::shared_ptr<Transport> transport, const ReadConstant& read,
            const std::map<ValueId, Pieces>& kept = {})
      : whole_(whole), transport_(std::move(transport)), read_(read), states_(whole.values().size()) {
    Ranks all;
    for (int r = 0; r < transport_->size(); ++r) all.push_back(r);
    everywhere_ = Pieces::whole_on(std::move(all));
    graph_.set_name(whole.name());
    for (State& s : states_) s.pieces = everywhere_;
    for (const ValueId v : whole.inputs()) {
      const Graph::ValueEntry& e = whole.entry(v);
      Dims dims = e.info.dims;
      for (int k = 0; k < dims.rank(); ++k)
        if (dims[k].symbolic()) dims[k] = graph_.symbol(whole.symbol_name(dims[k]));
      const auto own = kept.find(v);
      const int piece = own != kept.end() ? own->second.piece_of(rank()) : -1;
      Value content = e.content;
      if (piece >= 0 && !own->second.whole()) {
        const AxisPart part = own->second.part(static_cast<std::size_t>(piece));
        dims[part.axis] = part.extent();
        if (content) content = slice(content.tensor(), part);
      }
      const ValueId here = graph_.add_input(e.name, e.info.type, dims, std::move(content));
      if (own != kept.end()) define(v, own->second, piece >= 0 ? here : -1);
      else if (is_movable(e.info.type)) state(v).here = here;
      else define(v, Pieces::whole_on({0}), rank() == 0 ? here : -1);  // rank 0 is given it
    }
  }

  Graph& graph() { return graph_; }
  int rank() const { return transport_->rank(); }
  int ranks() const { return transport_->size(); }
  /// Whole on every rank: inputs that can pass to it, constants, and what is computed from these alone.
  const Pieces& everywhere() const { return everywhere_; }
  const Pieces& pieces(ValueId v) const { return states_[static_cast<std::size_t>(v)].pieces; }
  /// Says where a value lies that nodes have made; `here` is this rank's piece, -1 if it has none.
  void define(ValueId v, Pieces pieces, ValueId here) {
    State& s = state(v);
    s.pieces = std::move(pieces);
    s.here = here;
  }
  /// Passes a value that nodes have made to where its annotation asks for it. Nodes that read it as it was
  /// made are not sent it again.
  void move(ValueId v, const Pieces& as) {
    if (pieces(v) == as) return;
    const ValueId id = piece(v, as);
    State& s = state(v);
    s.copies.emplace_back(s.pieces, std::exchange(s.here, id));
    s.made = std::exchange(s.pieces, as);
  }
  /// Where nodes have made a value.
  const Pieces& made(ValueId v) const {
    const State& s = states_[static_cast<std::size_t>(v)];
    return s.made ? *s.made : s.pieces;
  }
  /// Lets no pass see that nodes read an input of this rank: a run keeps its memory as it is.
  void withhold(ValueId v) {
    if (ValueId& own = state(v).here; own >= 0) own = add(After{}, {own, -1});
  }
  /// Makes a value that depends on constants alone, or a part of it, when something reads it.
  using Make = std::function<ValueId(ValueId v, const AxisPart& part)>;
  void set_make(Make make) { make_ = std::move(make); }
  void make_when_read(ValueId v) { state(v).made_when_read = true; }
  /// A part of a constant or of such a value.
  ValueId part(ValueId v, const AxisPart& p) { return cut(v, p.axis < 0 ? here(v) : -1, p); }
  /// A part of one of this rank's values.
  ValueId slice(ValueId x, const AxisPart& p) {
    if (p.stretches > 1) return add(TakePart{p.axis, p.first, p.end, p.stretches}, {x});
    const auto number = [&](int64_t n) {
      Tensor<int64_t> t(Extents{1});
      t[0] = n;
      return graph_.add_constant({}, std::move(t));
    };
    return add(op::Slice{}, {x, number(p.first), number(p.end), number(p.axis)});
  }
  /// Names the node that the exchanges are for, in messages.
  void set_place(std::string place) { place_ = std::move(place); }

  /// The ways in which an input has been read so far.
  const std::vector<Pieces>& reads(ValueId input) const {
    static const std::vector<Pieces> none;
    const auto it = reads_.find(input);
    return it == reads_.end() ? none : it->second;
  }

  /// This rank's piece of a value that lies as `as` says, -1 if it has none there. Exchanges what is missing.
  ValueId piece(ValueId v, const Pieces& as) {
    if (whole_.entry(v).source == Graph::Source::input) {
      std::vector<Pieces>& reads = reads_[v];
      if (std::ranges::find(reads, as) == reads.end()) reads.push_back(as);
    }
    if (pieces(v) == as) return here(v);
    for (const auto& [other, id] : state(v).copies)
      if (other == as) return id;
    const ValueId id = exchange(v, as);
    state(v).copies.emplace_back(as, id);
    return id;
  }

  /// The sum of addends that the ranks of `parts` have, whole on all of them.
  Pieces sum(ValueId& addend, const Pieces& parts) {
    for (const Ranks& ring : parts.rings())
      if (takes_part(ring) && ring.size() > 1)
        addend = link(AllReduce{transport_, ring}, {addend, token_}, 2);
    return Pieces::whole_on(parts.ranks());
  }

  /// The same, of which each rank gets the piece that it has of `as`, in the order of its part.
  void sum_pieces(ValueId& addend, const Pieces& parts, const Pieces& as) {
    for (const Ranks& ring : parts.rings())
      if (takes_part(ring))
        addend =
            link(ReduceScatter{transport_, ring, as.axis, as.extents(), as.stretches}, {addend, token_}, 2);
  }

  /// Adds the outputs that this rank has, and those of the pieces that it keeps. The exchanges that only
  /// serve other ranks are done before the first; without any, the exchanges are an output of their own.
  void add_outputs(std::vector<std::pair<std::string, ValueId>> outputs,
                   std::vector<std::pair<std::string, ValueId>> kept) {
    if (token_ >= 0) {
      if (outputs.empty()) outputs.emplace_back("exchanges", token_);
      else outputs[0].second = add(After{}, {outputs[0].second, token_});
    }
    for (auto* const list : {&outputs, &kept})
      for (auto& [name, id] : *list) graph_.add_output(std::move(name), id);
  }

 private:
  struct State {
    Pieces pieces;
    std::optional<Pieces> made{};  // if they have passed to others
    ValueId here = -1;
    bool made_when_read = false;
    // Of a constant, or of a value that depends on constants alone.
    std::vector<std::pair<AxisPart, ValueId>> parts{};
    std::vector<std::pair<Pieces, ValueId>> copies{};
  };

  State& state(ValueId v) { return states_[static_cast<std::size_t>(v)]; }
  static bool has(const Ranks& ranks, int64_t rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  }
  bool takes_part(const Ranks& ranks) const { return has(ranks, rank()); }

  // A constant, or a value that depends on constants alone, is added when a node reads it whole.
  ValueId here(ValueId v) {
    const Graph::ValueEntry& e = whole_.entry(v);
    if (state(v).here < 0 && e.source == Graph::Source::constant) state(v).here = constant(e, {});
    if (state(v).here < 0 && state(v).made_when_read) state(v).here = make_(v, {});
    return state(v).here;
  }

  // Adds an operator that exchanges; its last result is the next one's `after`. Returns its first.
  ValueId link(const auto& op, std::vector<ValueId> inputs, std::size_t outputs) {
    const auto out =
        graph_.add_node({}, AnyOperator::make(op), std::move(inputs), std::vector<std::string>(outputs));
    token_ = out.back();
    return out.front();
  }
  ValueId add(const auto& op, std::vector<ValueId> inputs) {
    return graph_.add_node({}, AnyOperator::make(op), std::move(inputs), std::vector<std::string>(1))[0];
  }

  // A part of a constant: rows share its memory.
  static AnyTensor slice(const AnyTensor& x, const AxisPart& p) {
    const PartRows part(x.extents(), x.dtype(), p);
    if (part.rows == 1)
      return {x.dtype(), part.extents,
              x.storage().slice(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.length))};
    AnyTensor y = AnyTensor::uninitialized(x.dtype(), part.extents);
    part.take(static_cast<const std::byte*>(x.data()) + part.begin, part.rows, y.out().data());
    return y;
  }

  // The part of piece k of `from` that belongs to piece j of `to`, if any. Pieces of one axis have as many
  // stretches of it.
  static std::optional<AxisPart> overlap(const Pieces& from, std::size_t k, const Pieces& to, std::size_t j) {
    if (to.whole()) return AxisPart{};
    AxisPart p = to.part(j);
    if (from.axis == to.axis) {
      p.first = std::max(p.first, from.cuts[k]) - from.cuts[k];
      p.end = std::min(p.end, from.cuts[k + 1]) - from.cuts[k];
      if (p.first == 0 && p.end == from.cuts[k + 1] - from.cuts[k]) return AxisPart{};
    }
    return p.first < p.end ? std::optional(p) : std::nullopt;
  }
  ValueId cut(ValueId v, ValueId x, const AxisPart& p) {
    if (p.axis < 0) return x;
    const Graph::ValueEntry& e = whole_.entry(v);
    const bool is_constant = e.source == Graph::Source::constant;
    if (!is_constant && !state(v).made_when_read) return slice(x, p);
    for (const auto& [other, id] : state(v).parts)
      if (other == p) return id;
    const ValueId id = is_constant ? constant(e, p) : make_(v, p);
    state(v).parts.emplace_back(p, id);
    return id;
  }
  ValueId constant(const Graph::ValueEntry& e, const AxisPart& p) {
    if (e.is_outside()) {
      if (read_) return graph_.add_constant({}, read_(e.name, p));
      Dims dims = e.info.dims;
      if (p.axis >= 0) dims[p.axis] = p.extent();
      return graph_.add_constant({}, e.info.type, dims);
    }
    return graph_.add_constant({}, p.axis < 0 ? e.content : slice(e.content.tensor(), p));
  }

  void expect_movable(ValueId v, const Pieces& as) const {
    const Graph::ValueEntry& e = whole_.entry(v);
    const bool cut = !as.whole() || !pieces(v).whole();
    if (cut ? is_divisible(e.info.type) : is_movable(e.info.type)) return;
    raise(ErrorCode::not_supported, place_, "value '", e.name, "', of type ", to_string(e.info.type),
          cut ? ", cannot be cut" : ", cannot pass from one device to another");
  }

  // The operator that receives a part of piece k of a value.
  Receive receiver(ValueId v, Ranks ranks, std::size_t k, const AxisPart& p) const {
    const op::Info& info = whole_.entry(v).info;
    Receive r{transport_, std::move(ranks), static_cast<int64_t>(info.type.element), {}, info.dims.ranked()};
    for (int d = 0; d < info.dims.rank(); ++d)
      r.extents.push_back(info.dims[d].known() ? info.dims[d].value() : -1);
    const Pieces& from = pieces(v);
    if (!from.whole()) r.extents[static_cast<std::size_t>(from.axis)] = from.extent(k);
    if (p.axis >= 0) r.extents[static_cast<std::size_t>(p.axis)] = p.extent();
    return r;
  }
  ValueId send_to(ValueId v, const Ranks& ranks, std::size_t k, const AxisPart& p) {
    const Receive r = receiver(v, ranks, k, p);
    if (rank() != ranks[0]) return link(r, {token_}, 2);
    const ValueId x = cut(v, here(v), p);
    link(Send{transport_, ranks, r.stated()}, {x, token_}, 1);
    return x;
  }

  ValueId exchange(ValueId v, const Pieces& as) {
    const Pieces from = pieces(v);
    const bool local = from == everywhere_;
    const bool stays = from.whole() && as.whole() && std::ranges::includes(from.holders[0], as.holders[0]);
    if (!stays && (!local || !as.whole())) expect_movable(v, as);
    if (from.whole() && as.whole()) {
      Ranks ranks{from.holders[0][0]};
      for (const int64_t r : as.holders[0])
        if (!has(from.holders[0], r)) ranks.push_back(r);
      const bool receives = takes_part(ranks) && !has(from.holders[0], rank());
      ValueId got = -1;
      if (ranks.size() > 1 && takes_part(ranks)) got = send_to(v, ranks, 0, {});
      return as.piece_of(rank()) < 0 ? -1 : receives ? got : here(v);
    }
    if (as.whole() && as.holders[0].size() > 1) {
      const Pieces all = Pieces::whole_on(from.ranks());
      const auto rings = from.rings();
      if (as == all && !rings.empty()) {
        ValueId got = -1;
        for (const Ranks& ring : rings)
          if (takes_part(ring))
            got = link(AllGather{transport_, ring, from.axis, from.extents(), from.stretches},
                       {here(v), token_}, 2);
        return got;
      }
    }
    if (from.axis == as.axis && from.stretches != as.stretches) {
      // A piece is made of many parts of the others' pieces: it is cut from the whole.
      const ValueId whole = piece(v, Pieces::whole_on(as.ranks()));
      const int j = as.piece_of(rank());
      return j < 0 ? -1 : slice(whole, as.part(static_cast<std::size_t>(j)));
    }
    return exchange_pieces(v, from, as);
  }

  // Each rank gets the parts of its new piece that it lacks, one by one.
  ValueId exchange_pieces(ValueId v, const Pieces& from, const Pieces& as) {
    ValueId got = -1;
    for (std::size_t j = 0; j < as.holders.size(); ++j)
      for (std::size_t h = 0; h < as.holders[j].size(); ++h) {
        const int64_t to = as.holders[j][h];
        std::vector<ValueId> parts;
        for (std::size_t k = 0; k < from.holders.size(); ++k) {
          const std::optional<AxisPart> part = overlap(from, k, as, j);
          if (!part) continue;
          const Ranks& of = from.holders[k];
          if (has(of, to)) {
            if (rank() == to)
              parts.push_back(
                  cut(v, from == everywhere_ && part->axis >= 0 ? state(v).here : here(v), *part));
          } else if (const Ranks ranks{of[h % of.size()], to}; takes_part(ranks)) {
            const ValueId x = send_to(v, ranks, k, *part);
            if (rank() == to) parts.push_back(x);
          }
        }
        if (rank() != to) continue;
        if (parts.size() == 1) got = parts[0];
        else if (from.stretches > 1) got = add(JoinParts{from.axis, from.stretches}, parts);
        else got = add(op::Concat{.axis = from.axis}, parts);
      }
    return got;
  }

  const Graph& whole_;
  std::shared_ptr<Transport> transport_;
  const ReadConstant& read_;
  Graph graph_;
  Pieces everywhere_;
  std::vector<State> states_;
  Make make_;
  ValueId token_ = -1;
  std::string place_;
  std::map<ValueId, std::vector<Pieces>> reads_;
};

}  // namespace detail

}  // namespace tenon::TENON_ABI::devices
