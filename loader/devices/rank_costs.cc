#include "loader/devices/rank_costs.hpp"

#include <set>

#include "loader/devices/multiplications.hpp"
#include "tenon/devices/sharded_session.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using devices::Ranks;

// Counts the bytes that a rank's collective calls send, and sends none; elements are not read.
class CountingTransport final : public devices::Transport {
 public:
  CountingTransport(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void send(int, std::span<const std::byte> bytes) override { count_sent(bytes.size()); }
  void receive(int, std::span<std::byte>) override {}
  void abort(std::string_view) override {}

  void reduce(const Ranks& ranks, DType type, int64_t bytes) {
    const auto sizes = even_blocks(ranks.size(), type, static_cast<std::size_t>(bytes));
    scatter(ranks, sizes), gather(ranks, sizes);
  }
  // All blocks pass through this rank's hands but the one that it keeps,
  void scatter(const Ranks& ranks, const std::vector<std::size_t>& sizes) {
    count_without(sizes, place_of(ranks, rank_));
  }
  // and all but the one that the next rank has from the beginning.
  void gather(const Ranks& ranks, const std::vector<std::size_t>& sizes) {
    count_without(sizes, (place_of(ranks, rank_) + 1) % ranks.size());
  }
  void spread(const Ranks& ranks, int64_t bytes) {
    count_sent(broadcast_receivers(ranks) * static_cast<std::size_t>(bytes));
  }

 private:
  void count_without(const std::vector<std::size_t>& sizes, std::size_t one) {
    for (std::size_t k = 0; k < sizes.size(); ++k)
      if (k != one) count_sent(sizes[k]);
  }

  int rank_, size_;
};

// The bytes of each piece of an axis, whose first `extent` elements take `bytes`.
std::vector<std::size_t> blocks_of(const std::vector<int64_t>& pieces, int64_t extent, int64_t bytes) {
  std::vector<std::size_t> sizes;
  for (const int64_t piece : pieces)
    sizes.push_back(static_cast<std::size_t>(extent == 0 ? 0 : bytes / extent * piece));
  return sizes;
}

void count_exchange(const Graph& part, const Graph::Node& n, CountingTransport& t) {
  const auto info = [&](ValueId v) -> const op::Info& { return part.entry(v).info; };
  constexpr auto header = static_cast<int64_t>(sizeof(devices::detail::Header));
  if (const auto* all = n.op.as<devices::AllReduce>()) {
    t.reduce(all->ranks, info(n.inputs[0]).type.element, bytes_of(info(n.inputs[0])));
  } else if (const auto* gather = n.op.as<devices::AllGather>()) {
    const auto own =
        static_cast<std::size_t>(std::ranges::find(gather->ranks, t.rank()) - gather->ranks.begin());
    t.gather(gather->ranks, blocks_of(gather->pieces, gather->pieces[own], bytes_of(info(n.inputs[0]))));
  } else if (const auto* scatter = n.op.as<devices::ReduceScatter>()) {
    int64_t extent = 0;
    for (const int64_t piece : scatter->pieces) extent += piece;
    t.scatter(scatter->ranks, blocks_of(scatter->pieces, extent, bytes_of(info(n.inputs[0]))));
  } else if (const auto* send = n.op.as<devices::Send>()) {
    t.spread(send->ranks, bytes_of(info(n.inputs[0])) + (send->stated == 0 ? header : 0));
  } else if (const auto* receive = n.op.as<devices::Receive>()) {
    t.spread(receive->ranks, bytes_of(info(n.outputs[0])) + (receive->stated() ? 0 : header));
  }
}

// Adds the bytes of constants of a graph and of its nodes' bodies, each once.
class ConstantBytes {
 public:
  void add(const Graph& graph, const std::vector<bool>& needed) {
    for (std::size_t v = 0; v < needed.size(); ++v)
      if (const Graph::ValueEntry& e = graph.values()[v]; needed[v] && e.source == Graph::Source::constant &&
                                                          e.content.is_tensor() &&
                                                          seen_.insert(e.content.tensor().data()).second)
        bytes_ += e.content.tensor().bytes();
    for (const Graph::Node& n : graph.nodes()) {
      if (!n.op.takes_graphs() || !Graph::makes(n, needed)) continue;
      for (const op::AttributeInfo& a : n.op.attributes())
        tenon::detail::if_capturing(
            a.value, [&](const op::BodyRef&, const CapturingBody& body) { add(body.graph()); });
    }
  }
  int64_t bytes() const { return bytes_; }

 private:
  void add(const Graph& body) {
    std::vector<ValueId> outputs;
    for (const auto& [name, v] : body.outputs()) outputs.push_back(v);
    add(body, body.needed_by(outputs));
  }

  std::set<const void*> seen_;
  int64_t bytes_ = 0;
};

}  // namespace

std::vector<RankCost> rank_costs(const Graph& graph, const devices::Placement& placement) {
  std::vector<RankCost> costs;
  std::vector<std::shared_ptr<CountingTransport>> ranks;
  std::vector<Ranks> readers(graph.inputs().size(), Ranks{0});
  for (int r = 0; r < placement.devices; ++r) {
    RankCost& cost = costs.emplace_back();
    const auto& t = ranks.emplace_back(std::make_shared<CountingTransport>(r, placement.devices));
    const Graph part = devices::partition(graph, placement, t);
    std::vector<ValueId> outputs;
    for (const auto& [name, v] : part.outputs()) outputs.push_back(v);
    const std::vector<bool> needed = part.needed_by(outputs);
    for (const Graph::Node& n : part.nodes())
      if (Graph::makes(n, needed)) count_exchange(part, n, *t);
    ConstantBytes held;
    held.add(part, needed);
    cost.held = held.bytes();
    for (std::size_t k = 0; r > 0 && k < readers.size(); ++k)
      if (needed[static_cast<std::size_t>(part.inputs()[k])]) readers[k].push_back(r);
  }
  for (std::size_t k = 0; k < readers.size(); ++k)
    if (const Graph::ValueEntry& e = graph.entry(graph.inputs()[k]); readers[k].size() > 1)
      for (const int64_t r : readers[k])
        // Headers are messages of their own, through the same tree.
        ranks[static_cast<std::size_t>(r)]->spread(
            readers[k], bytes_of(e.info) + static_cast<int64_t>(sizeof(devices::detail::InputHeader)));
  for (std::size_t r = 0; r < costs.size(); ++r) costs[r].sent = ranks[r]->bytes_sent();
  return costs;
}

}  // namespace tenon::TENON_ABI::loader
