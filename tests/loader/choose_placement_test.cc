// Placements that are chosen for graphs: what is cut where, what ranks hold and send, and that runs agree.
#include "loader/devices/choose_placement.hpp"

#include <tuple>

#include "loader/devices/multiplications.hpp"
#include "loader/devices/stages.hpp"
#include "tenon/graph/body.hpp"
#include "tenon/op/com.microsoft/attention.hpp"
#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/controlflow/loop.hpp"
#include "tenon/op/controlflow/scan.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/nn/layer_normalization.hpp"
#include "tenon/op/sequence/concat_from_sequence.hpp"
#include "tenon/op/sequence/split_to_sequence.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/loader/placements.hpp"

namespace tenon {
namespace {

using namespace placements;

// x (4, 6) through products of these widths.
Built perceptron(const std::vector<int64_t>& widths) {
  Built b;
  ValueId x = b.input({4, widths[0]});
  for (std::size_t k = 1; k < widths.size(); ++k) {
    const std::string n = std::to_string(k);
    x = b.add("h" + n, op::MatMul{}, {x, b.weights("w" + n, {widths[k - 1], widths[k]})});
    x = b.add("s" + n, op::Add{}, {x, b.weights("b" + n, {widths[k]})});
    if (k + 1 < widths.size()) x = b.add("r" + n, op::Relu{}, {x});
  }
  b.g.add_output("y", x);
  return b;
}

// Two layers of attention with `heads` heads of 4 elements over (1, 5, heads * 4), each with an MLP,
// residuals and normalisations, after a table of 12 rows and before its product with the result.
Built transformer(int64_t heads, bool fused = false) {
  Built b;
  const int64_t width = heads * 4;
  Tensor<int64_t> tokens(Extents{1, 5});
  for (int64_t k = 0; k < 5; ++k) tokens[k] = (5 * k + 11) % 24 - 12;
  b.feeds.emplace_back("x", tokens);
  const ValueId table = b.weights("table", {12, width});
  ValueId x = b.add("embedded", op::Gather{}, {table, b.g.add_input("x", DType::int64, Dims{1, 5})});
  for (const std::string layer : {"1.", "2."}) {
    const auto product = [&](const std::string& name, ValueId of, int64_t in, int64_t out) {
      const ValueId p =
          b.add(layer + name + "p", op::MatMul{}, {of, b.weights(layer + name + "w", {in, out})});
      return b.add(layer + name, op::Add{}, {b.weights(layer + name + "b", {out}), p});
    };
    const auto normalised = [&](const std::string& name, ValueId of) {
      return b.add(layer + name, op::LayerNormalization{}, {of, b.weights(layer + name + "g", {width})});
    };
    const ValueId n = normalised("n", x);
    ValueId q = product("q", n, width, width), k = product("k", n, width, width),
            v = product("v", n, width, width);
    ValueId a = -1;
    if (fused) {
      a = b.add(layer + "a", op::Attention{.kv_num_heads = heads, .q_num_heads = heads}, {q, k, v});
    } else {
      const auto apart = [&](const std::string& name, ValueId of, Ints order) {
        const ValueId r = b.add(layer + name + "r", op::Reshape{}, {of, b.list({0, 0, heads, 4})});
        return b.add(layer + name + "t", op::Transpose{.perm = order}, {r});
      };
      q = apart("q", q, {0, 2, 1, 3}), k = apart("k", k, {0, 2, 3, 1}), v = apart("v", v, {0, 2, 1, 3});
      const ValueId s = b.add(layer + "s", op::MatMul{}, {q, k});
      const ValueId m = b.add(layer + "m", op::Mul{}, {s, b.weights(layer + "scale", {})});
      a = b.add(layer + "a", op::MatMul{}, {b.add(layer + "p", op::Softmax{}, {m}), v});
      a = b.add(layer + "at", op::Transpose{.perm = {0, 2, 1, 3}}, {a});
      a = b.add(layer + "ar", op::Reshape{}, {a, b.list({0, -1, width})});
    }
    x = b.add(layer + "x", op::Add{}, {x, product("o", a, width, width)});
    const ValueId up = product("u", normalised("l", x), width, 4 * width);
    x = b.add(layer + "y", op::Add{},
              {x, product("d", b.add(layer + "r", op::Relu{}, {up}), 4 * width, width)});
  }
  x = b.add("last", op::MatMul{}, {x, b.add("turned", op::Transpose{}, {table})});
  b.g.add_output("y", b.add("y", op::Softmax{}, {x}));
  return b;
}

// Convolutions of a picture of (1, 3, 9, 9), the fourth in groups, with a shortcut, and a product.
Built convolutional() {
  Built b;
  ValueId x = b.input({1, 3, 9, 9});
  const auto conv = [&](const std::string& name, ValueId of, Extents w, op::Conv c = {.pads = {1, 1, 1, 1}}) {
    const ValueId bias = b.weights(name + "b", {w[0]});
    return b.add(name, op::Relu{}, {b.add(name + "c", c, {of, b.weights(name + "w", w), bias})});
  };
  x = conv("1", x, {8, 3, 3, 3});
  x = b.add("sum", op::Add{}, {x, conv("2", x, {8, 8, 3, 3})});
  x = conv("3", x, {8, 8, 1, 1}, {});
  x = conv("4", x, {8, 1, 3, 3}, {.group = 8, .pads = {1, 1, 1, 1}});
  x = b.add("flat", op::Reshape{}, {x, b.list({1, -1})});
  b.g.add_output("y", b.add("y", op::Gemm{.transB = 1}, {x, b.weights("w", {5, 648}), b.weights("b", {5})}));
  return b;
}

TEST_CASE("An MLP is cut by columns, then by rows") {
  const Built b = perceptron({6, 12, 6});
  CHECK(cuts(loader::choose_placement(b.g, {.devices = 2})) == "b1:0 h1:1 r1:1 s1:1 w1:1 w2:0");
  CHECK(loader::choose_placement(b.g, {.devices = 1}).nodes.empty());
  for (int p = 1; p <= 4; ++p) {
    CAPTURE(p);
    for (const std::optional<int> stages : {std::optional<int>(), std::optional<int>(1)}) {
      const Placement placement = loader::choose_placement(b.g, {p, stages});
      CHECK(run(b, placement) <= 1e-6);
      const auto costs = loader::rank_costs(b.g, placement);
      // Rank 0 alone has b2, and each sends 2 (p - 1) / p of the sum; the last one passes no input on.
      for (const RankCost& c : costs) CHECK(c.held == 4 * (12 / p * (6 + 1 + 6) + (&c == &costs[0] ? 6 : 0)));
      CHECK(costs.back().sent == 2 * (p - 1) * (4 * 6 / p) * 4);
    }
  }
  // Of products one after the other, each second one is summed.
  CHECK(cuts(loader::choose_placement(perceptron({6, 12, 12, 12, 6}).g, {.devices = 3}), "") ==
        "b1:0 b3:0 h1:1 h3:1 r1:1 r3:1 s1:1 s3:1 w1:1 w2:0 w3:1 w4:0");
  // The second and the third have most weights. What they leave of pairs with others is cut by itself.
  const Built wide = perceptron({12, 12, 48, 12, 12});
  const Placement placement = loader::choose_placement(wide.g, {.devices = 2});
  CHECK(cuts(placement) == "b2:0 b4:0 h2:1 h4:1 r2:1 s2:1 w1:0 w2:1 w3:0 w4:1 x:1");
  CHECK(run(wide, placement) <= 1e-6);
}

TEST_CASE("Attention is cut by heads, tables by rows") {
  for (const bool fused : {false, true})
    for (const int64_t heads : {3, 4, 12}) {
      const Built b = transformer(heads, fused);
      for (int p = 1; p <= 4; ++p) {
        CAPTURE(fused);
        CAPTURE(heads);
        CAPTURE(p);
        const Placement placement = loader::choose_placement(b.g, {.devices = p, .stages = 1});
        CHECK(run(b, placement) <= 1e-6);
        if (p == 1) continue;
        const bool whole_heads = heads >= p;
        CHECK(cuts(placement, "w") == (whole_heads ? "1.dw:0 1.kw:1 1.ow:0 1.qw:1 1.uw:1 1.vw:1 "
                                                     "2.dw:0 2.kw:1 2.ow:0 2.qw:1 2.uw:1 2.vw:1"
                                                   : cuts(placement, "w")));
        CHECK(cuts(placement, "table") == "table:0");
        if (!whole_heads) continue;
        // Scales, biases of sums and extents are whole.
        const int64_t width = 4 * heads, whole = 2 * (4 * width * 4 + 4 + 7 * 4 * 8);
        const int64_t most = (heads + p - 1) / p * p * bytes_of_constants(b.g) / heads / p;
        CHECK(held(loader::rank_costs(b.g, placement)) <= most + whole);
      }
    }
}

// Attention over (1, 5, heads * 4). One product gives queries, keys and values, which are split, or made an
// axis of their own, or remain in one operator.
enum class Projection { split, axis, inside };
Built one_projection(int64_t heads, Projection how) {
  Built b;
  const int64_t width = heads * 4;
  const ValueId x = b.input({1, 5, width}), w = b.weights("w", {width, 3 * width}),
                bias = b.weights("b", {3 * width});
  const auto product = [&] { return b.add("s", op::Add{}, {b.add("p", op::MatMul{}, {x, w}), bias}); };
  ValueId a = -1;
  if (how == Projection::inside) {
    a = b.add("p", op::com_microsoft::Attention{.num_heads = heads}, {x, w, bias});
  } else if (how == Projection::split) {
    const ValueId s = product();
    const auto parts =
        b.g.add_node("parts", AnyOperator::make(op::Split{.axis = -1}), {s, b.list({width, width, width})},
                     std::vector<std::string>{"q", "k", "v"});
    a = b.add("a", op::Attention{.kv_num_heads = heads, .q_num_heads = heads}, parts);
  } else {
    const ValueId apart = b.add("apart", op::Reshape{}, {product(), b.list({0, 0, 3, heads, 4})}),
                  turned = b.add("turned", op::Transpose{.perm = {2, 0, 3, 1, 4}}, {apart});
    std::vector<ValueId> parts;
    for (int64_t k = 0; k < 3; ++k) {
      Tensor<int64_t> index(Extents{});
      index[0] = k;
      parts.push_back(
          b.add("part" + std::to_string(k), op::Gather{}, {turned, b.g.add_constant({}, std::move(index))}));
    }
    const ValueId k = b.add("k", op::Transpose{.perm = {0, 1, 3, 2}}, {parts[1]});
    const ValueId scores = b.add("scores", op::Softmax{}, {b.add("qk", op::MatMul{}, {parts[0], k})});
    a = b.add("heads", op::MatMul{}, {scores, parts[2]});
    a = b.add("a", op::Reshape{},
              {b.add("back", op::Transpose{.perm = {0, 2, 1, 3}}, {a}), b.list({0, 0, width})});
  }
  b.g.add_output("y", b.add("y", op::MatMul{}, {a, b.weights("o", {width, width})}));
  return b;
}

TEST_CASE("One product for queries, keys and values is cut by the heads of each") {
  constexpr int64_t heads = 12;
  for (const Projection how : {Projection::split, Projection::axis, Projection::inside}) {
    const Built b = one_projection(heads, how), narrow = one_projection(2, how);
    for (int p = 2; p <= 4; ++p) {
      CAPTURE(static_cast<int>(how));
      CAPTURE(p);
      const Placement placement = loader::choose_placement(b.g, {.devices = p, .stages = 1});
      const devices::Sharding::Cut& cut = placement.nodes.at("p").tensors.at("w").cuts.at(0);
      CHECK(cut.axis == 1);
      CHECK(cut.blocks == heads);
      CHECK(cut.stretches == 3);
      CHECK(placement.nodes.at("y").tensors.at("o").cuts.at(0).stretches == 1);
      CHECK(run(b, placement) <= 1e-6);
      const auto costs = loader::rank_costs(b.g, placement);
      CHECK(held(costs) <= bytes_of_constants(b.g) / p + 128);
      CHECK(costs.back().sent == 2 * (p - 1) * (5 * 4 * heads / p) * 4);  // the last product's sum
      // Fewer heads than ranks: columns of the product are cut, and gathered.
      const Placement of_narrow = loader::choose_placement(narrow.g, {.devices = p, .stages = 1});
      CHECK(run(narrow, of_narrow) <= 1e-6);
      if (how != Projection::inside) CHECK(cuts(of_narrow, "w") == "w:1");
    }
  }
}

TEST_CASE("Products whose pieces the next operator cannot take are gathered") {
  Built b;
  const ValueId x = b.input({3, 8});
  const ValueId p = b.add("p", op::MatMul{}, {x, b.weights("w", {8, 24})});
  std::vector<ValueId> parts;
  for (int64_t k = 0; k < 3; ++k)
    parts.push_back(b.add("part" + std::to_string(k), op::Slice{},
                          {p, b.list({8 * k}), b.list({8 * k + 8}), b.list({1})}));
  const ValueId s = b.add("s", op::Mul{}, {parts[0], b.add("t", op::Mul{}, {parts[1], parts[2]})});
  b.g.add_output("y", b.add("y", op::MatMul{}, {s, b.weights("o", {8, 8})}));
  for (int n = 2; n <= 4; ++n) {
    CAPTURE(n);
    const Placement placement = loader::choose_placement(b.g, {.devices = n, .stages = 1});
    CHECK(cuts(placement).find("w:1") != std::string::npos);
    CHECK(run(b, placement) <= 1e-6);
    CHECK(held(loader::rank_costs(b.g, placement)) <=
          (24 + n - 1) / n * 8 * 4 + (8 + n - 1) / n * 8 * 4 + 3 * 3 * 8);
  }
}

TEST_CASE("Weights that other nodes turn are cut, within stages too") {
  Built b;
  ValueId x = b.input({4, 8});
  for (const auto& [name, in, out] : {std::tuple{"1", 8, 24}, {"2", 24, 8}, {"3", 8, 24}, {"4", 24, 8}}) {
    const std::string n = name;
    const ValueId w = b.weights("w" + n, {out, in}), t = b.add("t" + n, op::Transpose{}, {w});
    x = b.add("r" + n, op::Relu{}, {b.add("p" + n, op::MatMul{}, {x, t})});
  }
  b.g.add_output("y", x);
  for (const int stages : {1, 2}) {
    CAPTURE(stages);
    const Placement placement = loader::choose_placement(b.g, {.devices = 4, .stages = stages});
    CHECK(run(b, placement) <= 1e-6);
    // Between stages, also where a slice lies.
    CHECK(held(loader::rank_costs(b.g, placement)) <= bytes_of_constants(b.g) / 4 + 24);
  }
}

TEST_CASE("Where a value would be cut along two axes, groups end") {
  Built b;
  ValueId x = b.input({3, 8});
  for (const std::string layer : {"1", "2"}) {
    const ValueId p = b.add("p" + layer, op::MatMul{}, {x, b.weights("w" + layer, {8, 8})});
    x = b.add("x" + layer, op::Add{}, {x, b.add("r" + layer, op::Relu{}, {p})});
  }
  b.g.add_output("y", x);
  for (int n = 2; n <= 4; ++n) {
    CAPTURE(n);
    const Placement placement = loader::choose_placement(b.g, {.devices = n, .stages = 1});
    CHECK(run(b, placement) <= 1e-6);
    CHECK(held(loader::rank_costs(b.g, placement)) <=
          2 * 8 * ((8 + n - 1) / n) * 4 + 24);  // and where a slice lies
  }
}

TEST_CASE("Stages of equal work give the same bits") {
  for (const Built& b : {perceptron({6, 12, 12, 12, 12}), convolutional()})
    for (int p = 1; p <= 4; ++p) {
      CAPTURE(p);
      const Placement placement = loader::choose_placement(b.g, {.devices = p, .stages = p});
      CHECK(run(b, placement) == 0);
    }
  const Built b = convolutional();
  const auto most_work = [&](int64_t stages) {
    int64_t most = 0;
    for (const auto& nodes : loader::divide_into_stages(b.g, stages)) {
      int64_t sum = 0;
      for (const std::size_t n : nodes) sum += loader::product_of(b.g, b.g.nodes()[n]).multiplications;
      most = std::max(most, sum);
    }
    return most;
  };
  const int64_t work[] = {81 * 8 * 27, 81 * 8 * 72, 81 * 8 * 8, 81 * 8 * 9, 5 * 648};
  CHECK(most_work(1) == work[0] + work[1] + work[2] + work[3] + work[4]);
  CHECK(most_work(2) <= (work[0] + work[1]) * 21 / 20);
  CHECK(most_work(3) == work[1]);
  CHECK(most_work(5) == work[1]);
  CHECK_THROWS_WITH_AS(static_cast<void>(loader::divide_into_stages(b.g, 6)),
                       "devices: the graph's 5 products do not fill 6 pipeline stages", Error);
  // Convolutions without a choice.
  CHECK(loader::choose_placement(b.g, {.devices = 3}).nodes.at("y").stage == 2);
  CHECK(!loader::choose_placement(transformer(4).g, {.devices = 3}).nodes.at("last").stage);
}

TEST_CASE("The work of attention and of bodies") {
  Built b;
  const auto work = [&](const auto& op, std::vector<ValueId> in) {
    b.g.add_node({}, AnyOperator::make(op), std::move(in), std::vector<std::string>(1));
    return loader::product_of(b.g, b.g.nodes().back()).multiplications;
  };
  const auto given = [&](Dims dims) { return b.g.add_input({}, DType::float32, dims); };
  for (const int64_t heads : {1, 2}) {
    // Of 3 queries and 5 keys of 4 elements, with values of 6.
    CHECK(work(op::Attention{}, {given({2, heads, 3, 4}), given({2, heads, 5, 4}),
                                 given({2, heads, 5, 6})}) == 2 * heads * 3 * 5 * (4 + 6));
    const op::Attention packed{.kv_num_heads = heads, .q_num_heads = heads};
    CHECK(work(packed, {given({2, 3, 4 * heads}), given({2, 5, 4 * heads}), given({2, 5, 6 * heads}), -1,
                        given({2, heads, 7, 4}), given({2, heads, 7, 6})}) == 2 * heads * 3 * 12 * (4 + 6));
  }
  const ValueId w = given({4, 4}), x = given({1, 4}), cond = b.g.add_input({}, DType::bool_, Dims{});
  // A step of a loop or a scan, and a branch with as many products.
  const auto step = [&](int64_t products, bool branch, bool scan) {
    Graph body = Graph::inside(b.g);
    ValueId of = body.capture(x);
    if (!branch && !scan) {
      body.add_input("number", DType::int64, Dims{});
      body.add_output("on", body.add_input("on", DType::bool_, Dims{}));
    }
    if (!branch) of = body.add_input("state", DType::float32, Dims{1, 4});
    if (scan) body.add_input("element", DType::float32, Dims{1});
    for (int64_t k = 0; k < products; ++k)
      of = body.add_node({}, AnyOperator::make(op::MatMul{}), {of, body.capture(w)},
                         std::vector<std::string>(1))[0];
    body.add_output("result", of);
    return tenon::body(std::move(body));
  };
  CHECK(work(op::If{.else_branch = step(1, true, false), .then_branch = step(3, true, false)}, {cond}) ==
        3 * 16);
  const op::Loop loop{step(2, false, false)};
  CHECK(work(loop, {b.g.add_constant({}, Tensor<int64_t>(Extents{}, {10})), -1, x}) == 10 * 2 * 16);
  CHECK(work(loop, {b.g.add_input({}, DType::int64, Dims{}), cond, x}) == 2 * 16);
  CHECK(work(op::Scan{.body = step(1, false, true), .num_scan_inputs = 1}, {x, given({7, 1})}) == 7 * 16);
  CHECK(work(op::Loop{step(2, false, false)},
             {b.g.add_constant({}, Tensor<int64_t>(Extents{}, {INT64_MAX})), -1, x}) == int64_t{1} << 42);
}

TEST_CASE("Stages end where no sequence passes, and outputs that are sequences are made on rank 0") {
  Built b;
  const ValueId x = b.input({1, 6});
  const ValueId p = b.add("p", op::MatMul{}, {x, b.weights("w1", {6, 6})});
  const ValueId parts = b.add("parts", op::SplitToSequence{}, {b.add("r", op::Relu{}, {p})});
  const ValueId joined = b.add("joined", op::ConcatFromSequence{.axis = 0}, {parts});
  b.g.add_output("y", b.add("y", op::MatMul{}, {joined, b.weights("w2", {6, 6})}));
  b.g.add_output("rows", b.add("rows", op::SplitToSequence{}, {b.g.find("y")}));
  const Placement placement = loader::choose_placement(b.g, {.devices = 2, .stages = 2});
  CHECK(placement.nodes.at("parts").stage == placement.nodes.at("joined").stage);
  CHECK(run(b, placement) == 0);
}

TEST_CASE("Tensors are cut within stages") {
  for (const bool fused : {false, true}) {
    const Built b = transformer(4, fused);
    const Placement placement = loader::choose_placement(b.g, {.devices = 4, .stages = 2});
    CHECK(run(b, placement) <= 1e-6);
    CHECK(cuts(placement, "w") ==
          "1.dw:0 1.kw:1 1.ow:0 1.qw:1 1.uw:1 1.vw:1 2.dw:0 2.kw:1 2.ow:0 2.qw:1 2.uw:1 2.vw:1");
    CHECK(placement.nodes.at("1.op").tensors.empty() == false);
  }
}

TEST_CASE("What cannot be chosen") {
  const Built b = perceptron({6, 12, 6});
  const auto refused = [](const Graph& g, const PlacementChoice& choice) {
    try {
      static_cast<void>(loader::choose_placement(g, choice));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused(b.g, {.devices = 0}) == "devices: a model on 0 devices");
  CHECK(refused(b.g, {.devices = 1 << 17}) == "devices: a model on 131072 devices");
  CHECK(refused(b.g, {.devices = 4, .stages = 3}) ==
        "devices: 4 devices do not divide into 3 pipeline stages");
  CHECK(refused(b.g, {.devices = 4, .stages = 0}) ==
        "devices: 4 devices do not divide into 0 pipeline stages");
  CHECK(refused(b.g, {.devices = 13, .stages = 1}) ==
        "devices: the graph has no weights that can be cut into 13 pieces");
  CHECK(refused(b.g, {.devices = 13}) == "devices: the graph's 2 products do not fill 13 pipeline stages");
  const Graph empty;
  CHECK(refused(empty, {.devices = 2}) == "devices: the graph's 0 products do not fill 2 pipeline stages");
  CHECK(refused(empty, {.devices = 1}) == "");
}

TEST_CASE("Extents that only the run knows") {
  for (const std::optional<int> stages : {1, 2}) {
    Built b;
    const ValueId x = b.g.add_input("x", DType::float32, Dims{b.g.symbol("batch"), 6});
    const ValueId h = b.add("h", op::Relu{}, {b.add("p", op::MatMul{}, {x, b.weights("w1", {6, 12})})});
    b.g.add_output("y", b.add("y", op::MatMul{}, {h, b.weights("w2", {12, 6})}));
    b.feeds.emplace_back("x", devices::numbers({1, 6}, 9));  // extents count as 1
    CHECK(run(b, loader::choose_placement(b.g, {.devices = 2, .stages = stages})) <= 1e-6);
  }
}

}  // namespace
}  // namespace tenon
