// Caches of attention and the nodes that read them, placed at random: whatever ranks accept gives one
// session's results, and what they refuse names a node of the graph.
#include <random>

#include "tenon/devices/sharded_session.hpp"
#include "tests/devices/decoder.hpp"

namespace tenon::devices {
namespace {

constexpr Form forms[] = {Form::attention, Form::grouped, Form::concat, Form::stacked, Form::multi_head};
constexpr int64_t steps[] = {4, 5, 6, 8, 9, 10};

class RandomPlacement {
 public:
  RandomPlacement(const Decoder& d, int devices, uint32_t seed) : d_(d), devices_(devices), random_(seed) {
    if (const int64_t base = below(3); base == 0) {
      placement = d.tensors(devices);
    } else {
      placement.devices = devices;
      if (base == 1 && devices > 1)
        for (const Graph::Node& n : d.g.nodes())
          if (const std::string& name = name_of(n.outputs[0]); name.ends_with("0") || name.ends_with("1"))
            placement.nodes[name].stage = name.back() - '0';
    }
    // Mostly of the nodes that have to do with the caches.
    for (const Graph::Node& n : d.g.nodes()) {
      for (const auto* list : {&n.inputs, &n.outputs})
        for (const ValueId v : *list) {
          if (v < 0 || name_of(v).empty()) continue;
          const std::string& name = name_of(v);
          if (below(name.starts_with("past") || name.starts_with("present") ? 5 : 30) == 0)
            placement.nodes[name_of(n.outputs[0])].tensors[name] = sharding(d.g.entry(v).info.dims);
        }
    }
  }
  Placement placement;

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  const std::string& name_of(ValueId v) const { return d_.g.entry(v).name; }
  // Whole, or in pieces of heads or of other elements of an axis.
  Sharding sharding(const Dims& dims) {
    Ranks order;
    for (int r = 0; r < devices_; ++r) order.push_back(r);
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<int> axes;
    for (int a = 0; a < dims.rank(); ++a)
      if (dims[a].known() && dims[a].value() >= devices_) axes.push_back(a);
    const int64_t shards = axes.empty() ? 1 : 1 + below(devices_);
    Sharding s;
    if (shards > 1) {
      int axis = axes[static_cast<std::size_t>(below(std::ssize(axes)))];
      if (dims.rank() > 3 && below(4) != 0) axis = dims.rank() - 3;
      s.cuts.push_back({axis, shards, dims[axis].is(Decoder::width) ? Decoder::heads : 0});
    }
    s.holders.resize(static_cast<std::size_t>(shards));
    for (int64_t r = 0, count = shards + below(devices_ - shards + 1); r < count; ++r)
      s.holders[static_cast<std::size_t>(r % shards)].push_back(order[static_cast<std::size_t>(r)]);
    return s;
  }

  const Decoder& d_;
  int devices_;
  std::mt19937 random_;
};

// A run's inputs; without kept caches also the pasts, which are empty at first.
Feeds feeds_of(const Decoder& d, const Tensor<float>& x, std::size_t run, bool kept, const Outputs& before) {
  Feeds feeds = d.feeds(x, run == 0 ? 0 : steps[run - 1], steps[run]);
  if (kept) return feeds;
  for (const StatePair& pair : d.pairs) {
    if (run > 0) {
      feeds.emplace_back(pair.past, before[pair.present]);
    } else {
      Extents first{d.batch(), Decoder::heads, 0, Decoder::size};
      if (d.form == Form::stacked) first = {2, d.batch(), Decoder::heads, 0, Decoder::size};
      feeds.emplace_back(pair.past, Tensor<float>(first));
    }
  }
  return feeds;
}

// Rows that a graph does not declare are few at first, so that they grow.
StateOptions state_of(std::vector<StatePair> pairs) { return {.pairs = std::move(pairs), .capacity = 3}; }

struct Expected {
  Expected(Form form, bool others, bool kept)
      : d(form, others), x(numbers({d.batch(), 12, Decoder::width}, 7)) {
    const Session whole(std::move(Decoder(form, others).g));
    State state(state_of(d.pairs));
    Outputs before;
    for (std::size_t run = 0; run < std::size(steps); ++run) {
      const Feeds feeds = feeds_of(d, x, run, kept, before);
      outputs.push_back(before = whole.run(feeds, {.state = kept ? &state : nullptr}));
    }
  }
  Decoder d;
  Tensor<float> x;
  std::vector<Outputs> outputs{};
};

// Whether the ranks accept the placement; else the refusal names a node.
bool run(const Expected& expected, const Placement& placement, bool kept, bool gather) {
  const Decoder& d = expected.d;
  std::atomic<bool> ready = false;
  try {
    on_ranks(thread_transports(placement.devices), [&](const std::shared_ptr<Transport>& t) {
      ShardedSession s(d.g, placement, t, {},
                       {.gather = gather, .kept = kept ? d.pairs : std::vector<StatePair>{}});
      ready = true;
      State state(state_of(s.kept()));
      Outputs results;
      for (std::size_t run = 0; run < std::size(steps); ++run) {
        const Feeds feeds = t->rank() == 0 ? feeds_of(d, expected.x, run, kept, results) : Feeds{};
        results = s.run(feeds, {.state = kept ? &state : nullptr});
        for (const std::string& name : results.names())
          CHECK(difference(expected.outputs[run][name], results[name]) <= 5e-6);
      }
    });
    return true;
  } catch (const Error& e) {
    const std::string said = e.what();
    CAPTURE(said);
    CHECK(!ready);
    CHECK(std::ranges::any_of(d.g.nodes(), [&](const Graph::Node& n) {
      return said.find(tenon::detail::describe(n)) != std::string::npos;
    }));
    return false;
  }
}

TEST_CASE("Caches and the nodes that read them in random places") {
  int accepted = 0, refused = 0;
  for (const Form form : forms)
    for (const bool others : {false, true})
      for (const bool kept : {false, true}) {
        const Expected expected(form, others, kept);
        for (uint32_t seed = 1; seed <= 24; ++seed) {
          CAPTURE(static_cast<int>(form));
          CAPTURE(others);
          CAPTURE(kept);
          CAPTURE(seed);
          const int devices = 1 + static_cast<int>(seed % 4);
          const Placement placement = RandomPlacement(expected.d, devices, seed).placement;
          CHECK(run(expected, placement, kept, true));
          run(expected, placement, kept, false) ? ++accepted : ++refused;
        }
      }
  CHECK(accepted > 250);
  CHECK(refused > 50);
}

}  // namespace
}  // namespace tenon::devices
