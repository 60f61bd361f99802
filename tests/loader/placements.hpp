// Graphs for which placements are chosen, and runs of them on ranks.
#pragma once

#include "loader/devices/choose_placement.hpp"
#include "loader/devices/rank_costs.hpp"
#include "tenon/devices/sharded_session.hpp"
#include "tests/devices/sharded.hpp"

namespace tenon::placements {

using devices::Placement;
using devices::Ranks;
using devices::Transport;
using devices::Transports;
using loader::PlacementChoice;
using loader::RankCost;

/// A graph whose values have names.
struct Built {
  Graph g{};
  Feeds feeds{};
  uint32_t seed = 0;

  ValueId input(const Extents& extents) {
    Tensor<float> x = devices::numbers(extents, ++seed);
    feeds.emplace_back("x", x);
    return g.add_input("x", DType::float32, Dims(extents));
  }
  // Results of products stay as large as their operands.
  ValueId weights(const std::string& name, const Extents& extents) {
    Tensor<float> w = devices::numbers(extents, ++seed);
    const float rows = static_cast<float>(extents.size() > 1 ? extents[0] : 1);
    for (int64_t k = 0; k < w.size(); ++k) w[k] /= std::sqrt(rows);
    return g.add_constant(name, std::move(w));
  }
  ValueId list(std::initializer_list<int64_t> numbers) {
    Tensor<int64_t> t(Extents{static_cast<int64_t>(numbers.size())});
    std::ranges::copy(numbers, t.data());
    return g.add_constant({}, std::move(t));
  }
  ValueId add(const std::string& name, const auto& op, std::vector<ValueId> in) {
    return g.add_node(name, AnyOperator::make(op), std::move(in), std::vector{name})[0];
  }
};

inline int64_t bytes_of_constants(const Graph& g) {
  int64_t bytes = 0;
  for (const Graph::ValueEntry& e : g.values())
    if (e.source == Graph::Source::constant) bytes += e.content.tensor().bytes();
  return bytes;
}

/// Runs the graph as chosen; checks what the ranks hold and send. Returns the difference of the results.
inline double run(const Built& b, const Placement& placement) {
  const std::vector<RankCost> costs = loader::rank_costs(b.g, placement);
  REQUIRE(costs.size() == static_cast<std::size_t>(placement.devices));
  const Value whole = devices::run_whole(b.g, b.feeds)[0];
  const Transports ranks = devices::thread_transports(placement.devices);
  double most = 0;
  std::mutex mutex;
  devices::on_ranks(ranks, [&](const std::shared_ptr<Transport>& t) {
    devices::ShardedSession s(b.g, placement, t);
    for (int k = 0; k < 2; ++k) {
      const int64_t before = t->bytes_sent();
      const Outputs y = s.run(t->rank() == 0 ? b.feeds : Feeds{});
      const std::lock_guard lock(mutex);
      CHECK(t->bytes_sent() - before == costs[static_cast<std::size_t>(t->rank())].sent);
      if (t->rank() == 0) most = std::max(most, devices::difference(whole, y["y"]));
    }
  });
  return most;
}

inline int64_t held(const std::vector<RankCost>& costs) {
  return std::ranges::max(costs, {}, &RankCost::held).held;
}

/// "w1:0 w2:1": the operands that are cut, and the axes.
inline std::string cuts(const Placement& p, std::string_view suffix = "") {
  std::map<std::string, int64_t> axes;
  for (const auto& [node, of] : p.nodes)
    for (const auto& [name, s] : of.tensors) axes[name] = s.cuts.at(0).axis;
  std::string text;
  for (const auto& [name, axis] : axes)
    if (name.ends_with(suffix)) text += str_cat(text.empty() ? "" : " ", name, ":", axis);
  return text;
}

}  // namespace tenon::placements
