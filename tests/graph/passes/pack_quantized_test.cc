#include "tenon/graph/passes/pack_quantized.hpp"

#include "tenon/graph/passes/fuse_qdq.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

template <class T>
AnyTensor numbers(const Extents& extents, int seed) {
  Tensor<T> t{extents};
  const AnyTensor f = floats<float>(extents, seed);
  for (int64_t k = 0; k < t.size(); ++k)
    t[k] = static_cast<T>(static_cast<int>(f.view().as<float>()[k] * 127) + (std::is_signed_v<T> ? 0 : 128));
  return t;
}
template <class T>
ValueId constant(Graph& g, std::initializer_list<T> values, bool scalar = false) {
  return g.add_constant({},
                        Tensor<T>(scalar ? Extents{} : Extents{static_cast<int64_t>(values.size())}, values));
}
template <class T>
ValueId one(Graph& g, T x) {
  return constant<T>(g, {x}, true);
}
ValueId as_floats(Graph& g, ValueId v) { return node(g, op::Cast{.to = dtype<float>}, {v}); }

TEST_CASE("pack_quantized: MatMulInteger") {
  for (const Extents& a : {Extents{5, 12}, Extents{2, 3, 12}})
    for (const int zeros : {0, 1, 2}) {  // none, one, one for each row of a matrix
      CAPTURE(a);
      CAPTURE(zeros);
      const int64_t rows = a[a.size() - 2];
      const auto build = [&] {
        Graph g;
        std::vector<ValueId> in{g.add_input("a", DType::uint8, Dims(a)),
                                g.add_constant({}, numbers<int8_t>({12, 7}, 1))};
        const ValueId zero = g.add_input("zero", DType::uint8, zeros == 2 ? Dims{rows} : Dims{});
        if (zeros != 0) in.push_back(zero);
        g.add_output("y", as_floats(g, node(g, op::MatMulInteger{}, in)));
        return g;
      };
      test::check_pass(pack_quantized, build,
                       {{"a", numbers<uint8_t>(a, 2)},
                        {"zero", numbers<uint8_t>(zeros == 2 ? Extents{rows} : Extents{}, 3)}},
                       1, 0);
    }
}

// A product, the Cast of it, and the nodes that `finish` adds after the Cast.
template <class Finish>
Graph scaled_product(const Finish& finish) {
  Graph g;
  const ValueId a = g.add_input("a", DType::uint8, Dims{2, 3, 12}),
                zero = g.add_input("zero", DType::uint8, Dims{});
  const ValueId sums =
      node(g, op::MatMulInteger{}, {a, g.add_constant({}, numbers<int8_t>({12, 7}, 1)), zero});
  g.add_output("y", finish(g, as_floats(g, sums), g.add_input("scale", DType::float32, Dims::of_rank(0)),
                           g.add_input("residual", DType::float32, Dims{2, 3, 7})));
  return g;
}
const Feeds scaled_feeds{{"a", numbers<uint8_t>({2, 3, 12}, 2)},
                         {"zero", numbers<uint8_t>({}, 3)},
                         {"scale", AnyTensor(Tensor<float>(Extents{}, {0.01f}))},
                         {"residual", floats<float>({2, 3, 7}, 4)}};

TEST_CASE("pack_quantized: what makes floats of a product's sums comes along") {
  const auto check = [&](std::size_t nodes, const auto& finish) {
    test::check_pass(pack_quantized, [&] { return scaled_product(finish); }, scaled_feeds, nodes, 1e-6);
  };
  const auto row = [](Graph& g, int seed) { return g.add_constant({}, floats<float>({7}, seed)); };
  using V = ValueId;
  SUBCASE("scales, bias, residual, bounds") {
    check(1, [&](Graph& g, V x, V scale, V residual) {
      const V scales = node(g, op::Mul{}, {scale, one(g, 0.25f)});
      const V y = node(g, op::Add{}, {row(g, 5), node(g, op::Mul{}, {x, scales})});
      return node(g, op::Relu{}, {node(g, op::Add{}, {residual, y})});
    });
  }
  SUBCASE("scales of columns") {
    check(1, [&](Graph& g, V x, V scale, V) {
      return node(g, op::Mul{}, {node(g, op::Mul{}, {row(g, 5), scale}), x});
    });
    check(1, [&](Graph& g, V x, V scale, V) {
      return node(g, op::Mul{}, {node(g, op::Mul{}, {row(g, 5), x}), scale});
    });
  }
  SUBCASE("a factor after the bias, a second scale and a second residual stay") {
    check(2, [&](Graph& g, V x, V scale, V) {
      return node(g, op::Mul{}, {node(g, op::Add{}, {x, row(g, 5)}), scale});
    });
    check(2, [&](Graph& g, V x, V scale, V) {
      return node(g, op::Mul{}, {node(g, op::Mul{}, {x, scale}), scale});
    });
    check(2, [&](Graph& g, V x, V, V residual) {
      return node(g, op::Add{}, {node(g, op::Add{}, {x, residual}), residual});
    });
  }
  SUBCASE("a value that is asked for stays") {
    check(2, [&](Graph& g, V x, V scale, V) {
      const V y = node(g, op::Mul{}, {x, scale});
      g.add_output("scaled", y);
      return node(g, op::Relu{}, {y});
    });
  }
}

TEST_CASE("pack_quantized: a value is quantised once") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{5, 12});
    ValueId y = -1;
    for (int k = 0; k < 3; ++k) {
      const std::vector<ValueId> q =
          g.add_node({}, AnyOperator::make(op::DynamicQuantizeLinear{}), {x}, std::vector<std::string>(3));
      const ValueId b = g.add_constant({}, numbers<int8_t>({12, 7}, k));
      const ValueId sums = as_floats(g, node(g, op::MatMulInteger{}, {q[0], b, q[2]}));
      const ValueId product = node(g, op::Mul{}, {sums, q[1]});
      y = k == 0 ? product : node(g, op::Add{}, {y, product});
    }
    g.add_output("y", y);
    return g;
  };
  test::check_pass(pack_quantized, build, {{"x", floats<float>({5, 12}, 2)}}, 4, 1e-6);
}

TEST_CASE("pack_quantized: QLinearMatMul") {
  const auto product = [] {
    Graph g;
    const ValueId a = g.add_input("x", DType::int8, Dims{2, 5, 12}),
                  b = g.add_constant({}, numbers<int8_t>({12, 3}, 1));
    g.add_output("y",
                 as_floats(g, node(g, op::QLinearMatMul{},
                                   {a, one(g, 0.5f), one<int8_t>(g, 3), b, constant(g, {0.1f, 0.2f, 0.3f}),
                                    constant<int8_t>(g, {0, 5, -7}), one(g, 30.0f), one<uint8_t>(g, 99)})));
    return g;
  };
  test::check_pass(pack_quantized, product, {{"x", numbers<int8_t>({2, 5, 12}, 2)}}, 2, 0);
}

TEST_CASE("pack_quantized: convolutions that fuse_qdq made") {
  for (const uint8_t zero : {128, 1}) {  // the second leaves weights that are no int8
    const auto convolution = [zero] {
      Graph g;
      op::QLinearConv conv;
      conv.pads = {1, 1, 1, 1};
      const ValueId x = g.add_input("x", DType::uint8, Dims{2, 4, 6, 9}),
                    w = g.add_constant({}, numbers<uint8_t>({3, 4, 3, 3}, 1));
      g.add_output(
          "y", as_floats(g, node(g, conv,
                                 {x, one(g, 0.5f), one<uint8_t>(g, 130), w, constant(g, {0.1f, 0.2f, 0.3f}),
                                  constant<uint8_t>(g, {128, zero, 140}), one(g, 60.0f), one<int8_t>(g, 9),
                                  constant<int32_t>(g, {100, -2000, 30000})})));
      return g;
    };
    const Feeds feeds{{"x", numbers<uint8_t>({2, 4, 6, 9}, 2)}};
    test::check_pass(fuse_qdq, convolution, feeds, 2, 0);
    const auto apply = [](Program& program) {
      fuse_qdq.apply(program);
      pack_quantized.apply(program);
    };
    test::check_pass(Pass{"both", apply}, convolution, feeds, 2, 0);
  }
}

TEST_CASE("pack_quantized: outputs of equal values stay values of their own") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{8});
  for (const char* name : {"a", "b"}) g.add_output(name, node(g, op::DynamicQuantizeLinear{}, {x}));
  const Session s(std::move(g), {.passes = std::vector{pack_quantized}});
  Outputs out = s.run({{"x", floats<float>({8}, 1)}});
  CHECK(out[0].tensor().data() != out[1].tensor().data());
}

TEST_CASE("pack_quantized: what varies is left alone") {
  Graph g;
  const ValueId a = g.add_input("a", DType::uint8, Dims{5, 12}),
                b = g.add_input("b", DType::uint8, Dims{12, 4});
  g.add_output("y", node(g, op::MatMulInteger{}, {a, b}));
  const Session s(std::move(g),
                  {.passes = std::vector{pack_quantized, test::infos_are_true}, .explain = true});
  REQUIRE(s.reports().size() == 1);
  CHECK_FALSE(s.reports()[0].applied);
}

}  // namespace
}  // namespace tenon::passes
