// Nodes over weights alone: a rank computes the part of them that it reads.
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/max.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/quantization/dequantize_linear.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/devices/loops.hpp"

namespace tenon::devices {
namespace {

struct Layers {
  Graph g{};
  Placement placement{.devices = 3};

  ValueId add(const std::string& name, const auto& op, std::vector<ValueId> in) {
    return g.add_node(name, AnyOperator::make(op), std::move(in), std::vector{name})[0];
  }
  // The product of x with w, cut along an axis of w; if that is 0, along x's columns too.
  ValueId product(const std::string& name, ValueId x, ValueId w, int64_t axis) {
    auto& tensors = placement.nodes[name].tensors;
    tensors[g.entry(w).name] = cut(axis, {0, 1, 2});
    if (axis == 0) tensors[g.entry(x).name] = cut(1, {0, 1, 2});
    return add(name, op::MatMul{}, {x, w});
  }
};

// What a rank's outputs need of the constants.
int64_t bytes_of_weights(const Graph& part) {
  std::vector<ValueId> outputs;
  for (const auto& [name, v] : part.outputs()) outputs.push_back(v);
  const std::vector<bool> needed = part.needed_by(outputs);
  int64_t bytes = 0;
  for (std::size_t v = 0; v < needed.size(); ++v)
    if (const Graph::ValueEntry& e = part.values()[v]; needed[v] && e.source == Graph::Source::constant)
      bytes += e.content.tensor().bytes();
  return bytes;
}

int64_t most_held(const Layers& l) {
  int64_t most = 0;
  for (const auto& rank : thread_transports(3))
    most = std::max(most, bytes_of_weights(partition(l.g, l.placement, rank)));
  return most;
}

TEST_CASE("Turned, widened and dequantised weights are computed in parts") {
  Layers l;
  const ValueId x = l.g.add_input("x", DType::float32, Dims{4, 6});
  // (24, 6) of bytes with a scale for each row, turned; then (24, 6) of halves.
  const ValueId bytes = l.g.add_constant("bytes", integers<int8_t>({24, 6})),
                scales = l.g.add_constant("scales", numbers({24}, 1)),
                d = l.add("d", op::DequantizeLinear{.axis = 0}, {bytes, scales}),
                t = l.add("t", op::Transpose{}, {d});
  Tensor<float16> halves(Extents{24, 6});
  for (int64_t k = 0; k < halves.size(); ++k) halves[k] = float16(static_cast<float>(k % 7) / 8);
  const ValueId c = l.add("c", op::Cast{.to = 1}, {l.g.add_constant("halves", std::move(halves))});
  const ValueId p = l.product("p", x, t, 1), r = l.add("r", op::Relu{}, {p});
  l.g.add_output("y", l.product("y", r, c, 0));
  const Feeds feeds{{"x", numbers({4, 6}, 3)}};
  CHECK(difference(run_whole(l.g, feeds)[0], run_sharded(l.g, l.placement, feeds, thread_transports(3))[0]) <=
        1e-6);
  CHECK(most_held(l) == (24 * 6 + 24 * 4 + 24 * 6 * 2) / 3);
}

TEST_CASE("Weights that no loop cuts, and those that are read whole") {
  Layers l;
  const ValueId x = l.g.add_input("x", DType::float32, Dims{4, 6});
  const ValueId a = l.g.add_constant("a", numbers({6, 9}, 1)), b = l.g.add_constant("b", numbers({6, 6}, 2));
  const ValueId joined = l.add("joined", op::Concat{.axis = 1}, {a, b});  // (6, 15)
  const auto parts =
      l.g.add_node("parts", AnyOperator::make(op::Split{.axis = 1}),
                   {joined, l.g.add_constant("lengths", list({9, 6}))}, std::vector<std::string>{"s", "t"});
  const ValueId p = l.product("p", x, parts[0], 1), q = l.product("q", x, parts[1], 0);
  l.g.add_output("p", p), l.g.add_output("q", q), l.g.add_output("s", parts[0]);
  l.g.add_output("z", l.add("z", op::MatMul{}, {x, parts[1]}));
  const Feeds feeds{{"x", numbers({4, 6}, 3)}};
  const auto whole = run_whole(l.g, feeds),
             sharded = run_sharded(l.g, l.placement, feeds, thread_transports(3));
  for (std::size_t k = 0; k < whole.size(); ++k) CHECK(difference(whole[k], sharded[k]) <= 1e-6);
}

TEST_CASE("A node over weights runs as its annotation says") {
  Layers l;
  const ValueId x = l.g.add_input("x", DType::float32, Dims{4, 6});
  const ValueId t = l.add("t", op::Transpose{}, {l.g.add_constant("w", numbers({9, 6}, 1))});
  l.placement.nodes["t"].tensors["w"] = cut(0, {2, 1, 0});
  l.g.add_output("y", l.add("y", op::MatMul{}, {x, t}));
  const Feeds feeds{{"x", numbers({4, 6}, 3)}};
  CHECK(difference(run_whole(l.g, feeds)[0], run_sharded(l.g, l.placement, feeds, thread_transports(3))[0]) <=
        1e-6);
  CHECK(most_held(l) == 9 * 6 * 4 / 3);
}

TEST_CASE("Long chains of nodes over weights, each read twice") {
  for (const int length : {40, 100}) {
    Layers l;
    ValueId w = l.g.add_constant("w0", numbers({6, 9}, 1));
    for (int k = 1; k <= length; ++k) {
      const std::string name = "w" + std::to_string(k);
      w = k % 2 == 0 ? l.add(name, op::Relu{}, {w}) : l.add(name, op::Max{}, {w, w});
    }
    const ValueId x = l.g.add_input("x", DType::float32, Dims{4, 6});
    l.g.add_output("y", l.product("y", x, w, 1));
    const Feeds feeds{{"x", numbers({4, 6}, 3)}};
    CHECK(difference(run_whole(l.g, feeds)[0],
                     run_sharded(l.g, l.placement, feeds, thread_transports(3))[0]) <= 1e-6);
    if (length == 40) CHECK(most_held(l) == 6 * 9 * 4 / 3);
  }
}

}  // namespace
}  // namespace tenon::devices
