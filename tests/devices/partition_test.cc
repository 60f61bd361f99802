// Partitions: pipelines, products cut by columns and rows, exchanges, annotations that cannot be honoured.
#include "tenon/op/generator/random_normal_like.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/devices/sharded.hpp"

namespace tenon::devices {
namespace {

ValueId add(Graph& g, const auto& op, std::vector<ValueId> inputs, const std::string& name) {
  return g.add_node(name, AnyOperator::make(op), std::move(inputs), std::vector{name})[0];
}

// y = Softmax(Relu(x w1 + b1) w2 + x), with x (4, 6), w1 (6, 12).
Graph perceptron(Dim rows = 4) {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{rows, 6});
  const ValueId w1 = g.add_constant("w1", numbers({6, 12}, 1)), b1 = g.add_constant("b1", numbers({12}, 2)),
                w2 = g.add_constant("w2", numbers({12, 6}, 3));
  const ValueId h = add(g, op::Add{}, {add(g, op::MatMul{}, {x, w1}, "h1"), b1}, "h2");
  const ValueId p = add(g, op::MatMul{}, {add(g, op::Relu{}, {h}, "h3"), w2}, "p");
  g.add_output("y", add(g, op::Softmax{}, {add(g, op::Add{}, {p, x}, "s")}, "y"));
  return g;
}

// The floats in the constants of a rank's graph.
int64_t weights_of(const Graph& g, const Placement& placement, const std::shared_ptr<Transport>& rank) {
  const Graph part = partition(g, placement, rank);
  int64_t elements = 0;
  for (const Graph::ValueEntry& e : part.values())
    if (e.source == Graph::Source::constant && e.info.type.element == DType::float32)
      elements += e.content.tensor().size();
  return elements;
}

Ranks first(int count) {
  Ranks ranks;
  for (int k = 0; k < count; ++k) ranks.push_back(k);
  return ranks;
}

int64_t sent(const Transports& ranks) {
  int64_t bytes = 0;
  for (const auto& t : ranks) bytes += t->bytes_sent();
  return bytes;
}

TEST_CASE("Products by columns, then by rows: one all-reduce, and weights of 1/p") {
  const Graph g = perceptron();
  const Tensor<float> x = numbers({4, 6}, 4);
  const Value whole = run_whole(g, {{"x", x}})[0];
  for (int p = 1; p <= 5; ++p) {
    CAPTURE(p);
    Placement placement{.devices = p};
    placement.nodes["h1"].tensors["w1"] = cut(1, first(p));
    placement.nodes["p"].tensors["w2"] = cut(0, first(p));
    const Transports ranks = thread_transports(p);
    const Value once = run_sharded(g, placement, {{"x", x}}, ranks)[0];
    CHECK(difference(whole, once) <= 1e-6);
    CHECK(sent(ranks) == 2 * (2 * (p - 1) * 4 * 6 * 4));  // two runs
    CHECK(difference(run_sharded(g, placement, {{"x", x}}, thread_transports(p))[0], once) == 0);
    for (int r = 0; r < p; ++r) {
      const int64_t columns = 12 * (r + 1) / p - 12 * r / p;
      CHECK(weights_of(g, placement, ranks[static_cast<std::size_t>(r)]) == columns * (6 + 1 + 6));
    }
  }
}

// Attention of 3 heads of 4 elements to x (1, 5, 8). One product gives queries, keys and values, which are
// split, or made an axis of their own.
Graph one_projection(bool split) {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{1, 5, 8}),
                w = g.add_constant("w", numbers({8, 36}, 1)), b = g.add_constant("b", numbers({36}, 2)),
                o = g.add_constant("o", numbers({12, 8}, 3));
  const ValueId p = add(g, op::Add{}, {add(g, op::MatMul{}, {x, w}, "p"), b}, "s");
  ValueId a = -1;
  if (split) {
    const auto parts =
        g.add_node({}, AnyOperator::make(op::Split{.axis = -1}), {p, g.add_constant({}, list({12, 12, 12}))},
                   std::vector<std::string>{"q", "k", "v"});
    a = add(g, op::Attention{.kv_num_heads = 3, .q_num_heads = 3}, parts, "a");
  } else {
    const ValueId apart = add(g, op::Reshape{}, {p, g.add_constant({}, list({0, 0, 3, 3, 4}))}, "apart"),
                  turned = add(g, op::Transpose{.perm = {2, 0, 3, 1, 4}}, {apart}, "turned");
    std::vector<ValueId> parts;
    for (int64_t k = 0; k < 3; ++k) {
      Tensor<int64_t> index(Extents{});
      index[0] = k;
      parts.push_back(
          add(g, op::Gather{}, {turned, g.add_constant({}, std::move(index))}, "part" + std::to_string(k)));
    }
    const ValueId heads = add(g, op::Attention{}, parts, "heads");
    a = add(g, op::Transpose{.perm = {0, 2, 1, 3}}, {heads}, "back");
    a = add(g, op::Reshape{}, {a, g.add_constant({}, list({0, 0, 12}))}, "a");
  }
  g.add_output("y", add(g, op::MatMul{}, {a, o}, "y"));
  return g;
}

TEST_CASE("A rank has its heads of queries, keys and values that one product computes") {
  const Tensor<float> x = numbers({1, 5, 8}, 4);
  for (const bool split : {true, false}) {
    const Graph g = one_projection(split);
    const Value whole = run_whole(g, {{"x", x}})[0];
    for (int p = 1; p <= 3; ++p) {
      CAPTURE(split);
      CAPTURE(p);
      Placement placement{.devices = p};
      placement.nodes["p"].tensors["w"] = cut(1, first(p), 3, 3);
      const Transports ranks = thread_transports(p);
      CHECK(difference(whole, run_sharded(g, placement, {{"x", x}}, ranks)[0]) <= 1e-6);
      CHECK(sent(ranks) == 2 * (2 * (p - 1) * 5 * 8 * 4));  // two runs
      for (int r = 0; r < p; ++r) {
        const int64_t heads = 3 * (r + 1) / p - 3 * r / p;
        CHECK(weights_of(g, placement, ranks[static_cast<std::size_t>(r)]) == heads * 4 * (3 * 8 + 3 + 8));
      }
    }
  }
}

TEST_CASE("A sum of which each rank needs a piece is a reduce-scatter") {
  const Graph g = perceptron();
  const Tensor<float> x = numbers({4, 6}, 4);
  Placement placement{.devices = 2};
  placement.nodes["p"].tensors["w2"] = cut(0, {1, 0});
  placement.nodes["p"].tensors["p"] = cut(1, {1, 0});
  const Transports ranks = thread_transports(2);
  const Value y = run_sharded(g, placement, {{"x", x}}, ranks)[0];
  CHECK(difference(run_whole(g, {{"x", x}})[0], y) <= 1e-6);
  // Half of p to the other rank, and half of the sum that Softmax reads whole.
  for (const auto& t : ranks) CHECK(t->bytes_sent() == 2 * (4 * 3 * 4 + 4 * 3 * 4));
  placement.nodes["p"].tensors["p"] = cut(1, {1, 0}, 0, 3);
  CHECK(difference(y, run_sharded(g, placement, {{"x", x}}, thread_transports(2))[0]) == 0);
}

TEST_CASE("Pipelines give the same bits") {
  const Tensor<float> x = numbers({4, 6}, 4);
  for (const bool stated : {true, false}) {
    const Graph g = perceptron(stated ? Dim(4) : Dim());
    const Value whole = run_whole(g, {{"x", x}})[0];
    for (int p = 1; p <= 4; ++p) {
      CAPTURE(p);
      Placement placement{.devices = p};
      const char* const nodes[] = {"h1", "h3", "p", "y"};
      for (int k = 0; k < 4; ++k) placement.nodes[nodes[k]].stage = 10 + std::min(k, p - 1);
      const Transports ranks = thread_transports(p);
      CHECK(difference(run_sharded(g, placement, {{"x", x}}, ranks)[0], whole) == 0);
      if (p == 2 && stated) CHECK(sent(ranks) == 2 * (4 * 12 + 4 * 6) * 4);
    }
  }
}

TEST_CASE("Every way from one layout to another") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{5, 6});
  add(g, op::Relu{}, {x}, "a");
  g.add_output("y", add(g, op::Relu{}, {g.find("a")}, "y"));
  const Tensor<float> input = numbers({5, 6}, 9);
  const Value whole = run_whole(g, {{"x", input}})[0];
  const Sharding layouts[] = {
      cut(0, {0, 1}),
      cut(0, {1, 0}),
      cut(1, {0, 1, 2, 3}),
      cut(-1, {3, 1}),
      cut(1, {2, 0}, 3),
      {.holders = {{0}}},
      {.holders = {{3}}},
      {.holders = {{0, 1}}},
      {.holders = {{3, 1, 2}}},
      {.holders = {{0, 1, 2, 3}}},
      {.cuts = {{0, 2}}, .holders = {{0, 1}, {2, 3}}},
      {.cuts = {{1, 2}}, .holders = {{0, 3}, {2}}},
      {.cuts = {{0, 1}, {1, 2}}, .holders = {{0}, {2}}},
      cut(1, {3, 2}, 0, 2),
      cut(-1, {0, 1, 3}, 3, 2),
      {.cuts = {{1, 2, 0, 3}}, .holders = {{0, 1}, {3, 2}}},
      {.cuts = {{1, 2, 0, 3}}, .holders = {{0, 2}, {1}}},
  };
  for (const Sharding& first : layouts)
    for (const Sharding& second : layouts)
      for (const bool input_too : {false, true}) {
        Placement placement{.devices = 4};
        placement.nodes["a"].tensors["a"] = first;
        if (input_too) placement.nodes["a"].tensors["x"] = first;
        placement.nodes["y"].tensors["a"] = second;
        CHECK(difference(run_sharded(g, placement, {{"x", input}}, thread_transports(4))[0], whole) == 0);
      }
}

TEST_CASE("A result lies elsewhere than the operands") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{4, 6});
  g.add_output("y", add(g, op::Softmax{}, {add(g, op::Relu{}, {x}, "a")}, "y"));
  const Tensor<float> input = numbers({4, 6}, 5);
  const Value whole = run_whole(g, {{"x", input}})[0];
  const Sharding both{.holders = {{0, 1}}}, one{.holders = {{1}}}, columns = cut(1, {0, 1});
  const Sharding last{.cuts = {{0, 2}}, .holders = {{1}, {2}}};
  for (const Sharding& in : {both, one, cut(0, {1, 2})})
    for (const Sharding& out : {both, one, columns, last}) {
      Placement placement{.devices = 3};
      placement.nodes["y"].tensors["a"] = in;
      placement.nodes["y"].tensors["y"] = out;
      CHECK(difference(run_sharded(g, placement, {{"x", input}}, thread_transports(3))[0], whole) == 0);
    }
}

TEST_CASE("Random numbers are drawn once, and extents of cut tensors are the whole ones") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{6, 2});
  const ValueId a = add(g, op::Relu{}, {x}, "a");
  g.add_output("extents", add(g, op::Shape{}, {a}, "extents"));
  const ValueId r = add(g, op::RandomNormalLike{}, {a}, "r");
  const ValueId p = add(g, op::Identity{}, {r}, "p"), q = add(g, op::Identity{}, {r}, "q");
  g.add_output("p", p), g.add_output("q", q);
  Placement placement{.devices = 2};
  placement.nodes["a"].tensors["a"] = cut(0, {0, 1});
  placement.nodes["p"].tensors["p"] = {.holders = {{1}}};
  placement.nodes["q"].tensors["q"] = {.holders = {{0, 1}}};
  const auto out = run_sharded(g, placement, {{"x", numbers({6, 2}, 3)}}, thread_transports(2));
  CHECK(out[0].view<int64_t>()[0] == 6);
  CHECK(difference(out[1], out[2]) == 0);
}

TEST_CASE("Annotations that cannot be honoured") {
  const Graph g = perceptron();
  const Tensor<float> x = numbers({4, 6}, 4);
  const Value whole = run_whole(g, {{"x", x}})[0];
  const auto with = [&](const std::string& node, const std::string& tensor, Sharding s, bool gather = false) {
    Placement placement{.devices = 3};
    placement.nodes[node].tensors[tensor] = std::move(s);
    try {
      const auto out = run_sharded(g, placement, {{"x", x}}, thread_transports(3), {.gather = gather});
      CHECK(difference(out[0], whole) <= 1e-6);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(with("y", "s", cut(1, {0, 1})) ==
        "node 'y' (Softmax-13): the sharding of 's' cuts axis 1, and Softmax cannot work on such pieces by "
        "themselves; to run the node whole, ask for it to be gathered");
  CHECK(with("y", "s", cut(1, {0, 1}), true) == "");
  CHECK(with("y", "s", cut(0, {0, 1})) == "");
  CHECK(with("y", "y", cut(1, {0, 2})) == "");
  const Sharding both{.cuts = {{0, 2}, {1, 1}, {-1, 2}}, .holders = {{0}, {1}}};
  CHECK(with("y", "s", both) == "node 'y' (Softmax-13): the sharding of 's' cuts several axes");
  CHECK(with("y", "s", both, true) == "");
  CHECK(with("y", "s", cut(2, {0, 1})).ends_with("cuts axis 2 of 2"));
  CHECK(with("y", "s", cut(0, {0, 3})).ends_with("names a device that is not there"));
  CHECK(with("y", "s", cut(0, {0, 0})).ends_with("gives a device two pieces"));
  CHECK(with("y", "s", {.cuts = {{0, 3}}, .holders = {{0}, {1}}})
            .ends_with("has another number of pieces than of devices"));
  const Sharding narrow{.cuts = {{0, 3, 2}}, .holders = {{0}, {1}, {2}}};
  CHECK(with("y", "s", narrow).ends_with("into 3 pieces of whole blocks, of which there are 2"));
  CHECK(with("y", "s", narrow, true) == "");
  CHECK(with("y", "s", cut(0, {0, 1, 2}, 0, 2)).ends_with("of which there are 2 in a stretch"));
  CHECK(with("y", "s", cut(1, {0, 1}, 0, 3)).find("cannot work on such pieces") != std::string::npos);
  for (const int64_t stretches : {int64_t{4}, int64_t{0}, int64_t{-2}, INT64_MIN, INT64_MAX}) {
    CHECK(with("y", "s", cut(1, {0, 1}, 0, stretches)) ==
          str_cat("node 'y' (Softmax-13): the sharding of 's' cuts axis 1 of 6 elements in ", stretches,
                  " stretches of equal length"));
    CHECK(with("y", "s", cut(1, {0, 1}, 0, stretches), true) == "");
  }

  Placement placement{.devices = 2};
  placement.nodes["p"].tensors["h3"] = cut(1, {0, 1});
  placement.nodes["p"].tensors["w2"] = cut(1, {0, 1});
  const auto refused = [&](const Graph& graph) {
    try {
      static_cast<void>(partition(graph, placement, thread_transports(2)[0]));
    } catch (const Error& e) {
      return std::string(e.message());
    }
    return std::string();
  };
  CHECK(refused(g).starts_with("the sharding of 'w2' does not agree with the others of the node"));
  placement = {.devices = 2};
  placement.nodes["y"].tensors["s"] = cut(0, {0, 1});
  CHECK(refused(perceptron(Dim())).ends_with("cuts axis 0, whose extent is not known before the run"));
  placement = {.devices = 3};
  CHECK(refused(g) == "a placement on 3 devices for 2 ranks");
  placement = {.devices = 1};
  placement.nodes["h1"].stage = 0, placement.nodes["y"].stage = 1;
  CHECK(refused(g) == "2 pipeline stages on 1 devices");
  CHECK(difference(run_sharded(g, placement, {{"x", x}}, thread_transports(1), {.gather = true})[0], whole) ==
        0);
  // Stages may share devices that their nodes name.
  for (const char* node : {"h1", "y"}) placement.nodes[node].tensors[node] = {.holders = {{0}}};
  CHECK(difference(run_sharded(g, placement, {{"x", x}}, thread_transports(1))[0], whole) == 0);
}

}  // namespace
}  // namespace tenon::devices
