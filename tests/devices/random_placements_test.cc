// Random graphs with random annotations: whatever ranks accept gives one session's results, and on request
// they accept everything.
#include <random>

#include "tenon/devices/sharded_session.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/reduction/reduce_mean.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"
#include "tenon/op/sequence/concat_from_sequence.hpp"
#include "tenon/op/sequence/split_to_sequence.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/devices/sharded.hpp"

namespace tenon::devices {
namespace {

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    const ValueId x = g_.add_input("x", DType::float32, Dims{below(4) == 0 ? g_.symbol("n") : Dim(4), 6, 8});
    std::vector<ValueId> values{x};
    for (int64_t steps = 4 + below(8); steps > 0; --steps)
      values.push_back(
          next(values[values.size() - 1 - static_cast<std::size_t>(below(2) * (std::ssize(values) > 1))]));
    g_.add_output("y", values.back());
    g_.add_output("z", values[values.size() / 2]);
  }
  const Graph& graph() const { return g_; }

  // Some operands and results of some nodes, each in pieces or whole, on some of the devices.
  Placement placement(int devices) {
    Placement placement{.devices = devices};
    for (const Graph::Node& n : g_.nodes()) {
      if (below(4) == 0) continue;
      NodePlacement& p = placement.nodes[g_.entry(n.outputs[0]).name];
      if (below(3) == 0) p.stage = below(3);
      for (const auto* list : {&n.inputs, &n.outputs})
        for (const ValueId v : *list)
          if (v >= 0 && below(4) == 0)
            p.tensors[g_.entry(v).name] = sharding(g_.entry(v).info.dims.rank(), devices);
    }
    return placement;
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  std::string name() { return "v" + std::to_string(g_.values().size()); }
  ValueId weights(const Extents& extents) {
    return g_.add_constant(name(), numbers(extents, static_cast<uint32_t>(random_())));
  }
  ValueId list(std::initializer_list<int64_t> of) {
    return g_.add_constant(name(), Tensor<int64_t>(Extents{std::ssize(of)}, of));
  }
  ValueId add(const auto& op, std::vector<ValueId> in) {
    return g_.add_node({}, AnyOperator::make(op), std::move(in), std::vector{name()})[0];
  }
  // A tensor of three axes made from another one.
  ValueId next(ValueId x) {
    const Dims d = g_.entry(x).info.dims;
    const Dim rows = d[1], columns = d[2];
    if (!rows.known() || !columns.known()) return add(op::Relu{}, {x});
    switch (below(15)) {
      case 0: return add(op::Add{}, {x, weights({columns.value()})});
      case 1: {
        if (below(2) == 0) return add(op::MatMul{}, {x, weights({columns.value(), 8})});
        return add(op::MatMul{}, {x, add(op::Transpose{}, {weights({8, columns.value()})})});
      }
      case 2: return add(op::MatMul{}, {x, add(op::Transpose{.perm = {0, 2, 1}}, {x})});
      case 3: return add(op::Softmax{.axis = below(3)}, {x});
      case 4: return add(op::ReduceSum{}, {x, list({below(3)})});
      case 5: return add(op::Add{}, {x, add(op::ReduceMean{}, {x, list({below(3)})})});
      case 6: return add(op::Concat{.axis = 1 + below(2)}, {x, x});
      case 7: return add(op::Slice{}, {x, list({0}), list({-1}), list({1 + below(2)}), list({2})});
      case 8: return add(op::Gather{.axis = 1 + below(2)}, {x, list({0, -1, 0, -1})});
      case 9: return add(op::Conv{.pads = {1, 1}}, {x, weights({4, rows.value(), 3}), weights({4})});
      case 10: {
        const int64_t heads = columns.value() % 2 == 0 ? 2 : 1;
        return add(op::Attention{.kv_num_heads = heads, .q_num_heads = heads}, {x, x, x});
      }
      case 11: {
        if (rows.is(0) || columns.is(0)) return add(op::Relu{}, {x});  // 0 would copy an extent
        const ValueId folded = add(op::Reshape{}, {x, list({0, 0, 1, -1})});
        const ValueId turned = add(op::Transpose{.perm = {0, 3, 2, 1}}, {folded});
        return add(op::Reshape{}, {turned, list({0, columns.value(), rows.value()})});
      }
      case 12: {
        const int64_t axis = 1 + below(2), half = d[static_cast<int>(axis)].value() / 2;
        if (d[static_cast<int>(axis)].value() % 2 != 0) return add(op::Relu{}, {x});
        const ValueId lengths = list({half, half});
        const auto halves = g_.add_node({}, AnyOperator::make(op::Split{.axis = axis}), {x, lengths},
                                        std::vector{name(), name() + "b"});
        return add(op::Add{}, halves);
      }
      case 13: {
        if (rows.is(0) || columns.value() % 2 != 0 || columns.is(0)) return add(op::Relu{}, {x});
        const ValueId folded = add(op::Reshape{}, {x, list({0, 0, 2, -1})});
        return add(op::ReduceSum{.keepdims = 0}, {folded, list({2})});
      }
      default: return add(op::ConcatFromSequence{.axis = 1}, {add(op::SplitToSequence{.axis = 1}, {x})});
    }
  }
  Sharding sharding(int rank, int devices) {
    Ranks order;
    for (int64_t r = 0; r < devices; ++r) order.push_back(r);
    std::shuffle(order.begin(), order.end(), random_);
    const int64_t shards = rank == 0 ? 1 : 1 + below(devices);
    Sharding s;
    if (shards > 1)
      s.cuts.push_back({below(2 * rank) - rank, shards, 2 * (below(4) == 0), 1 + below(2) * below(3)});
    s.holders.resize(static_cast<std::size_t>(shards));
    for (int64_t r = 0, count = shards + below(devices - shards + 1); r < count; ++r)
      s.holders[static_cast<std::size_t>(r % shards)].push_back(order[static_cast<std::size_t>(r)]);
    return s;
  }

  std::mt19937 random_;
  Graph g_;
};

TEST_CASE("Random graphs with random annotations") {
  int accepted = 0, refused = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    RandomGraph random(seed);
    const Graph& g = random.graph();
    const Feeds feeds{{"x", numbers({4, 6, 8}, seed)}};
    const std::vector<Value> whole = run_whole(g, feeds);
    const int devices = 2 + static_cast<int>(seed % 3);
    const Placement placement = random.placement(devices);
    for (const bool gather : {false, true}) try {
        on_ranks(thread_transports(devices), [&](const std::shared_ptr<Transport>& t) {
          ShardedSession s(g, placement, t, {}, {.gather = gather});
          const Outputs out = s.run(t->rank() == 0 ? feeds : Feeds{});
          if (t->rank() != 0) return;
          CHECK(out.size() == whole.size());
          for (std::size_t k = 0; k < whole.size(); ++k) CHECK(difference(whole[k], out[k]) <= 4e-6);
        });
        ++accepted;
      } catch (const Error& e) {
        CAPTURE(e.what());
        CHECK(!gather);
        ++refused;
      }
  }
  CHECK(accepted > 420);
  CHECK(refused > 50);
}

}  // namespace
}  // namespace tenon::devices
