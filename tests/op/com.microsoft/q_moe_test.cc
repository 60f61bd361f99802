#include "tenon/op/com.microsoft/q_moe.hpp"

#include "tenon/graph/passes/prepare_models.hpp"
#include "tenon/graph/session.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::QMoE;

TEST_CASE("QMoE: results of ONNX Runtime") {
  check_recorded("com.microsoft/q_moe.txt", {&operator_class<QMoE>});
}

namespace {
template <class T>
Tensor<T> numbers(const Extents& extents, int seed, float scale) {
  Tensor<T> t(extents);
  uint32_t state = static_cast<uint32_t>(seed) * 2654435761u + 1;
  for (T& v : t) {
    state = state * 1664525u + 1013904223u;
    if constexpr (std::is_same_v<T, uint8_t>) v = static_cast<uint8_t>(state >> 24);
    else v = static_cast<T>(scale * (static_cast<float>(state >> 8) * 0x1p-23f - 1.0f));
  }
  return t;
}

/// Operands of 7 tokens and 5 experts of (32, 40), with layers' zero points and biases or without.
template <class T>
std::vector<Value> operands(const QMoE& op, bool zeros, bool biases) {
  const int64_t experts = 5, hidden = 32, inter = 40, each = 8 / op.expert_weight_bits, block = op.block_size;
  const float step = 0.5f / static_cast<float>(1 << op.expert_weight_bits);
  std::vector<Value> in(15);
  in[0] = numbers<T>({7, hidden}, 1, 1), in[1] = numbers<T>({7, experts}, 2, 2);
  const auto layer = [&](std::size_t w, std::size_t zero, int64_t rows, int64_t columns) {
    const auto ceil = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    const int64_t blocks = block == 0 ? 1 : ceil(columns, block);
    const int seed = static_cast<int>(w) * 10;
    in[w] = numbers<uint8_t>({experts, rows, columns / each}, seed, 1);
    in[w + 1] =
        numbers<T>(block == 0 ? Extents{experts, rows} : Extents{experts, rows, blocks}, seed + 1, step);
    if (biases) in[w + 2] = numbers<T>({experts, rows}, seed + 2, 1);
    if (zeros)
      in[zero] = numbers<uint8_t>(
          block == 0 ? Extents{experts, ceil(rows, each)} : Extents{experts, rows, ceil(blocks, each)},
          seed + 3, 1);
  };
  layer(2, 11, inter, hidden);
  layer(5, 12, hidden, inter);
  return in;
}

/// A session of the operator whose operands but `fed` are constants.
Session session(const QMoE& op, const std::vector<Value>& in, std::initializer_list<std::size_t> fed,
                std::vector<Pass> passes = {passes::prepare_models}) {
  Graph g;
  std::vector<ValueId> ids;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const bool input = std::find(fed.begin(), fed.end(), k) != fed.end();
    ids.push_back(!in[k] ? -1
                  : input
                      ? g.add_input(str_cat("in", k), in[k].tensor().dtype(), Dims(in[k].tensor().extents()))
                      : g.add_constant({}, in[k]));
  }
  const std::string name[] = {"y"};
  g.add_output("y", g.add_node("n", AnyOperator::make(op), ids, name)[0]);
  return Session(std::move(g), {.passes = std::move(passes), .explain = true});
}
}  // namespace

// A session packs constant experts, and computes what the operator computes.
TEST_CASE("QMoE: in a session") {
  const auto run = [](const QMoE& op, const std::vector<Value>& in, double tolerance) {
    const Session s = session(op, in, {0, 1}), plain = session(op, in, {0, 1}, {});
    REQUIRE(s.reports().size() == 1);
    CHECK(s.reports()[0].applied);
    CHECK(s.program().nodes()[0].op.as<op::com_microsoft::PackedExperts>() != nullptr);
    check_equal(s.run({{"in0", in[0]}, {"in1", in[1]}})["y"],
                plain.run({{"in0", in[0]}, {"in1", in[1]}})["y"], tolerance, tolerance);
  };
  for (const int64_t bits : {2, 4, 8})
    for (const int64_t block : {0, 16})
      for (const bool zeros : {false, true})
        for (const bool biases : {false, true}) {
          CAPTURE(bits);
          CAPTURE(block);
          CAPTURE(zeros);
          const QMoE op{.activation_type = "silu", .block_size = block, .expert_weight_bits = bits, .k = 2};
          run(op, operands<float>(op, zeros, biases), 1e-5);
        }
  const QMoE half{.activation_type = "gelu", .block_size = 16, .k = 3};
  run(half, operands<float16>(half, true, true), 2e-3);
  // router_weights stay an operand.
  const QMoE weighted{.k = 2, .normalize_routing_weights = 1};
  std::vector<Value> in = operands<float>(weighted, false, false);
  in[14] = numbers<float>({7, 5}, 9, 1);
  run(weighted, in, 1e-5);
}

TEST_CASE("QMoE: programs of a session hold experts once") {
  const QMoE op{.k = 2};
  const std::vector<Value> in = operands<float>(op, true, true);
  const Session s = session(op, in, {0, 1});
  const Pass passes[] = {passes::prepare_models};
  SharedConstants shared, other;
  const auto compiled = [&](SharedConstants* of) {
    ProgramOptions options;
    options.passes = passes, options.shared = of;
    return Program(s.graph(), {s.graph().outputs()[0].second}, {}, options);
  };
  const auto codes = [](const Program& p) {
    const auto* packed = p.nodes()[0].op.as<op::com_microsoft::PackedExperts>();
    REQUIRE(packed != nullptr);
    return packed->first.codes.data();
  };
  const Program a = compiled(&shared), b = compiled(&shared), c = compiled(&other), d = compiled(nullptr);
  CHECK(codes(a) == codes(b));
  CHECK(codes(a) != codes(c));
  CHECK(codes(a) != codes(d));
}

TEST_CASE("QMoE: experts that a session does not pack") {
  const QMoE op{.k = 2};
  std::vector<Value> in = operands<float>(op, true, true);
  const auto expect_plain = [&](const std::vector<Value>& all, std::initializer_list<std::size_t> fed) {
    const Session s = session(op, all, fed);
    CHECK(s.program().nodes()[0].op.as<QMoE>() != nullptr);
  };
  expect_plain(in, {0, 1, 2});
  expect_plain(in, {0, 1, 6});
  expect_plain(in, {0, 1, 12});
  Tensor<float> scales = numbers<float>({5, 40}, 3, 1);
  scales(4, 39) = std::numeric_limits<float>::infinity();
  in[3] = std::move(scales);
  expect_plain(in, {0, 1});
  // Constants that do not fit each other, where no extents of operands tell.
  const auto expect_refused = [](const QMoE& op, std::size_t k, const Extents& extents) {
    CAPTURE(k);
    std::vector<Value> all = operands<float>(op, true, true);
    const Tensor<uint8_t> bytes = numbers<uint8_t>(extents, 1, 1);
    all[k] = k == 2 || k == 5 || k > 8 ? Value(bytes) : Value(numbers<float>(extents, 1, 1));
    Graph g;
    std::vector<ValueId> ids{g.add_input("in0", DType::float32, {Dim::symbol(0), Dim::symbol(1)}),
                             g.add_input("in1", DType::float32, {Dim::symbol(0), Dim::symbol(2)})};
    for (std::size_t i = 2; i < all.size(); ++i) ids.push_back(all[i] ? g.add_constant({}, all[i]) : -1);
    const std::string name[] = {"y"};
    g.add_output("y", g.add_node("n", AnyOperator::make(op), ids, name)[0]);
    const Session s(std::move(g), {.passes = std::vector<Pass>{passes::prepare_models}});
    CHECK(s.program().nodes()[0].op.as<QMoE>() != nullptr);
    CHECK_THROWS_AS(s.run({{"in0", all[0]}, {"in1", all[1]}}), Error);
  };
  expect_refused(op, 3, {4, 40});
  expect_refused(op, 4, {4, 40});
  expect_refused(op, 5, {4, 32, 20});
  expect_refused(op, 5, {5, 64, 20});
  expect_refused(op, 6, {5, 31});
  expect_refused(op, 7, {5, 31});
  expect_refused(op, 11, {4, 20});
  expect_refused(op, 12, {5, 1});
  const QMoE blocks{.block_size = 16, .k = 2};
  expect_refused(blocks, 3, {5, 40, 1});
  expect_refused(blocks, 6, {5, 32, 1});
  expect_refused(blocks, 11, {5, 40});
  // Extents that only a run knows are checked there.
  in = operands<float>(op, false, false);
  const Session s = session(op, in, {0, 1});
  CHECK_THROWS_AS(s.run({{"in0", Value(numbers<float>({7, 31}, 1, 1))}, {"in1", in[1]}}), Error);
}

TEST_CASE("QMoE: extents and errors") {
  const Value x = t<float>({1, 2}, {1, -2}), router = t<float>({1, 1}, {3}),
              w = t<uint8_t>({1, 2, 1}, {0x21, 0x43}), s = t<float>({1, 2}, {1, 2}), none;
  // W = (-7,-6; -10,-8): x W^T = (5, 6), and so on.
  check(QMoE{}, {x, router, w, s, none, w, s}, {t<float>({1, 2}, {-71, -98})});
  // Without numbers between the layers, blocks or not, the second one gives 0.
  const Value between = t<uint8_t>({1, 0, 1}, {}), nothing = t<uint8_t>({1, 2, 0}, {});
  check(QMoE{.block_size = 16},
        {x, router, between, t<float>({1, 0, 1}, {}), none, nothing, t<float>({1, 2, 1}, {1, 1})},
        {t<float>({1, 2}, {0, 0})});
  CHECK(infer(QMoE{}, {info(DType::float32, {Dim::symbol(1), 5, 8}),
                       info(DType::float32, {Dim(), 4}),
                       info(DType::uint8, {4, 16, 4}),
                       info(DType::float32, {4, 16}),
                       {},
                       info(DType::uint8, {4, 8, 8}),
                       info(DType::float32, {4, 8})})[0]
            .dims == Dims{Dim::symbol(1), 5, 8});
  const auto fails = [&](const QMoE& op, std::string_view text) {
    check_fails(op, {x, router, w, s, none, w, s}, text);
  };
  fails({.activation_type = "swiglu", .swiglu_fusion = 2}, "swiglu needs swiglu_fusion 1");
  fails({.block_size = 8}, "block_size: 8, expected a power of two from 16 on");
  fails({.block_size = 16}, "fc1_scales: (1,2), expected (1,2,1)");
  fails({.expert_weight_bits = 3}, "expert_weight_bits: 3, expected 2, 4 or 8");
  fails({.expert_weight_bits = 8}, "fc1_experts_weights: (1,2,1), expected (1,1,2)");
  fails({.k = 2}, "k: 2, but there are 1 experts");
  fails({.quant_type = "fp4"}, "quant_type: 'fp4'");
  fails({.weights_prepacked = 1}, "weights_prepacked: 1, expected");
  check_fails(QMoE{}, {x, router, w, none, none, w, s}, "fc1_scales is missing, which quant_type int needs");
  check_fails(QMoE{}, {x, router, w, s, none, w, s, none, w}, "fc3_experts_weights is not supported");
  check_fails(QMoE{}, {x, router, w, s, none, w, s, none, none, none, none, t<uint8_t>({1, 2}, {1, 2})},
              "fc1_zero_points: (1,2), expected (1,1)");
  check_fails(
      QMoE{},
      {x, router, w, s, none, w, s, none, none, none, none, none, none, none, t<float>({1, 2}, {1, 2})},
      "router_weights: (1,2), expected (1,1)");
}
}  // namespace tenon
