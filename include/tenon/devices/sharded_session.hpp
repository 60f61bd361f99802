// ShardedSession: one rank's part of a graph that several ranks run together.
#pragma once

#include "tenon/devices/agreement.hpp"
#include "tenon/devices/partition.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/graph/state.hpp"

namespace tenon::TENON_ABI::devices {

namespace detail {

/// Calls f(). An exception ends the waits of the other ranks, with its reason.
template <class F>
void abort_on_failure(Transport& transport, F f) {
  const std::exception_ptr failed = tenon::detail::caught(f);
  if (!failed) return;
  const auto abort = [&](std::string_view why) {
    transport.abort(str_cat("rank ", transport.rank(), ": ", why));
  };
  const std::exception_ptr other = tenon::detail::caught([&] {
    tenon::detail::attempt<std::exception>([&] { std::rethrow_exception(failed); },
                                           [&](const std::exception& e) { abort(e.what()); });
  });
  if (other) abort("an exception");
  std::rethrow_exception(failed);
}

/// What the other ranks get ahead of an input's elements.
struct InputHeader {
  int64_t given = 0, type = 0;
  Header extents;
};

}  // namespace detail

/// Every rank makes one, from the same graph, placement and options, and calls `run` as often as rank 0 does.
/// Making it exchanges a few bytes; Error{invalid_argument} on all ranks if what they were given differs.
///
///     ShardedSession s(graph, placement, transport);
///     Outputs out = s.run(transport->rank() == 0 ? Feeds{{"x", batch}} : Feeds{});
///
/// An error on one rank ends the run on all of them: on the others with Error{cancelled} and the reason. The
/// transport cannot be used afterwards.
class ShardedSession {
 public:
  ShardedSession(const Graph& graph, const Placement& placement, std::shared_ptr<Transport> transport,
                 SessionOptions session = {}, const PartitionOptions& options = {})
      : transport_(std::move(transport)) {
    detail::abort_on_failure(*transport_, [&] {
      Graph part = partition(graph, placement, transport_, options);
      detail::expect_agreement(*transport_, detail::PlanDigest(graph, placement, options).value());
      std::vector<ValueId> outputs;
      for (const auto& [name, v] : part.outputs()) outputs.push_back(v);
      const std::vector<bool> needed = part.needed_by(outputs);
      for (const ValueId v : part.inputs()) {
        inputs_.push_back({part.entry(v).name, {0}});
        needs_.push_back(needed[static_cast<std::size_t>(v)] ? std::byte{1} : std::byte{0});
      }
      keep(graph, part, options.kept);
      std::optional<State> first;
      if (!kept_.empty()) session.state = &first.emplace(StateOptions{.pairs = kept_});
      if (!part.outputs().empty()) session_.emplace(std::move(part), std::move(session));
      share_needs();
    });
  }

  /// Runs the graph. Rank 0 gives the inputs and gets the outputs; the others give none and get none. Inputs
  /// that other ranks read are tensors of numbers; those with default values may be omitted. A rank that
  /// waits for others does not see its own time limit.
  ///
  /// Error{invalid_argument} for an input that is not there, is kept, or is given on another rank than 0, and
  /// for a state without kept inputs, or none with them; {not_supported} for RunOptions::outputs and
  /// RunOptions::last.
  [[nodiscard]] Outputs run(const Feeds& feeds = {}, const RunOptions& options = {}) {
    Outputs results;
    detail::abort_on_failure(*transport_, [&] {
      if (!options.outputs.empty())
        raise(ErrorCode::not_supported, "devices", "a sharded session runs for all outputs of its graph");
      if (!options.last.output.empty())
        raise(ErrorCode::not_supported, "devices", "a sharded session computes all steps");
      if ((options.state != nullptr) != keeps_)
        raise(ErrorCode::invalid_argument, "devices",
              keeps_ ? "the ranks keep inputs, and a run needs a state for them"
                     : "PartitionOptions::kept names nothing that a state would keep");
      const std::vector<Value> given = exchange_inputs(feeds);
      if (!session_) return;
      Feeds own;
      for (std::size_t k = 0; k < given.size(); ++k)
        if (given[k]) own.emplace_back(inputs_[k].name, given[k]);
      RunOptions with_state = options;
      if (kept_.empty()) with_state.state = nullptr;
      Outputs outputs = session_->run(own, with_state);
      if (shows_) results = std::move(outputs);
    });
    return results;
  }

  /// What a State for this rank's runs carries: the pairs of PartitionOptions::kept of which it has a piece.
  ///
  ///     State state({.pairs = s.kept()});
  ///     Outputs out = s.run(feeds, {.state = &state});
  ///
  /// Each rank has one, and truncates, clears and forks it as the others do. Pasts begin without steps.
  const std::vector<StatePair>& kept() const { return kept_; }
  /// This rank's graph; null if it has nothing to do.
  const Graph* graph() const { return session_ ? &session_->graph() : nullptr; }

 private:
  struct Input {
    std::string name;
    Ranks ranks;  // 0, and those that read it
    bool kept = false;
  };
  // No other rank gives a rank what it keeps. The first run needs an input that has each of its symbols.
  void keep(const Graph& whole, const Graph& part, const std::vector<StatePair>& pairs) {
    static_cast<void>(State({.pairs = pairs}));  // or a name appears twice
    keeps_ = !pairs.empty();
    shows_ = transport_->rank() == 0 && std::ranges::any_of(whole.outputs(), [&](const auto& o) {
               return std::ranges::find(pairs, o.first, &StatePair::present) == pairs.end();
             });
    const auto place = [&](std::string_view name) {
      return static_cast<std::size_t>(std::ranges::find(inputs_, name, &Input::name) - inputs_.begin());
    };
    for (const StatePair& pair : pairs) {
      Input& past = inputs_[place(pair.past)];
      past.kept = true;
      needs_[place(pair.past)] = std::byte{0};
    }
    for (const StatePair& pair : pairs) {
      if (std::ranges::none_of(part.outputs(), [&](const auto& o) { return o.first == pair.present; }))
        continue;
      kept_.push_back(pair);
      for (const Dim d : part.entry(part.inputs()[place(pair.past)]).info.dims)
        if (d.symbolic()) need_symbol(part, d);
    }
  }
  void need_symbol(const Graph& part, Dim symbol) {
    std::byte* first = nullptr;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      const op::Info& info = part.entry(part.inputs()[k]).info;
      if (inputs_[k].kept || !detail::is_movable(info.type) ||
          std::ranges::none_of(info.dims, [&](Dim d) { return d.same(symbol); }))
        continue;
      if (needs_[k] != std::byte{0}) return;
      if (first == nullptr) first = &needs_[k];
    }
    if (first != nullptr) *first = std::byte{1};
  }
  void share_needs() {
    Ranks all;
    for (int r = 0; r < transport_->size(); ++r) all.push_back(r);
    std::vector<std::byte> table(needs_.size() * all.size());
    std::copy(needs_.begin(), needs_.end(),
              table.begin() + static_cast<std::ptrdiff_t>(needs_.size()) * transport_->rank());
    transport_->all_gather(all, std::vector<std::size_t>(all.size(), needs_.size()), table);
    for (std::size_t r = 1; r < all.size(); ++r)
      for (std::size_t k = 0; k < inputs_.size(); ++k)
        if (table[r * inputs_.size() + k] != std::byte{0})
          inputs_[k].ranks.push_back(static_cast<int64_t>(r));
  }

  // The values of the inputs that this rank reads, or was given.
  std::vector<Value> exchange_inputs(const Feeds& feeds) {
    std::vector<Value> values(inputs_.size());
    const bool first = transport_->rank() == 0;
    if (!first && !feeds.empty())
      raise(ErrorCode::invalid_argument, "devices", "inputs are given on rank 0, not on ",
            transport_->rank());
    for (const auto& [name, value] : feeds) {
      const auto it = std::ranges::find_if(inputs_, [&](const Input& i) { return i.name == name; });
      if (it == inputs_.end())
        raise(ErrorCode::invalid_argument, "devices", "there is no input '", name, "'");
      if (it->kept)
        raise(ErrorCode::invalid_argument, "devices", "input '", name, "' is kept by the ranks' states");
      values[static_cast<std::size_t>(it - inputs_.begin())] = value;
    }
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (const Ranks& ranks = inputs_[k].ranks;
          ranks.size() > 1 && std::ranges::count(ranks, transport_->rank()))
        exchange(inputs_[k], values[k]);
    return values;
  }
  void exchange(const Input& input, Value& value) {
    detail::InputHeader header;
    const bool first = transport_->rank() == 0;
    if (first && value) {
      if (!value.is_tensor() || is_string(value.tensor().dtype()))
        raise(ErrorCode::not_supported, "devices", "input '", input.name,
              "' is no tensor of numbers, and rank ", input.ranks[1], " reads it");
      const AnyTensor& t = value.tensor();
      header = {1, static_cast<int64_t>(t.dtype()), {.rank = t.rank()}};
      std::copy(t.extents().begin(), t.extents().end(), header.extents.extents);
    }
    transport_->broadcast(input.ranks, std::as_writable_bytes(std::span(&header, 1)));
    if (header.given == 0) return;
    if (!first)
      value = AnyTensor::uninitialized(
          static_cast<DType>(header.type),
          Extents(std::span(header.extents.extents).first(static_cast<std::size_t>(header.extents.rank))));
    const AnyTensor& t = value.tensor();
    // Rank 0's bytes are only read.
    transport_->broadcast(input.ranks, {static_cast<std::byte*>(const_cast<void*>(t.data())),
                                        static_cast<std::size_t>(t.bytes())});
  }

  std::shared_ptr<Transport> transport_;
  std::vector<Input> inputs_;
  std::vector<std::byte> needs_;
  bool keeps_ = false;
  bool shows_ = false;  // whether runs return outputs: on rank 0, if there are others than presents
  std::vector<StatePair> kept_;
  std::optional<Session> session_;
};

}  // namespace tenon::TENON_ABI::devices
