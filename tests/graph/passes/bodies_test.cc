// Passes in the bodies of If, Loop, Scan and SequenceMap.
#include "tenon/graph/passes.hpp"

#include <set>

#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/controlflow/loop.hpp"
#include "tenon/op/controlflow/scan.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/sequence/concat_from_sequence.hpp"
#include "tenon/op/sequence/sequence_map.hpp"
#include "tenon/op/sequence/split_to_sequence.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

/// The program of a graph attribute of the first node of an operator.
template <class Op>
const Program& body_program(const Program& program, std::string_view attribute) {
  for (const Graph::Node& n : program.nodes())
    if (n.op.as<Op>())
      for (const op::AttributeInfo& a : n.op.attributes())
        if (a.name == attribute)
          return dynamic_cast<const GraphBody&>(*std::get<op::BodyRef>(a.value).body).program();
  throw std::logic_error("there is no such node");
}

/// The nodes of an operator in a program and all bodies in it.
template <class Op>
int count(const Program& program) {
  int found = 0;
  for (const Graph::Node& n : program.nodes()) {
    found += n.op.as<Op>() != nullptr;
    for (const op::AttributeInfo& a : n.op.attributes())
      if (const auto* b = std::get_if<op::BodyRef>(&a.value))
        found += count<Op>(dynamic_cast<const GraphBody&>(*b->body).program());
  }
  return found;
}

/// Bytes of the constants that a program and all bodies in it hold.
int64_t constant_bytes(const Program& program) {
  int64_t bytes = 0;
  for (const Program::ValueEntry& v : program.values())
    if (v.constant.is_tensor()) bytes += v.constant.tensor().bytes();
  for (const Graph::Node& n : program.nodes())
    for (const op::AttributeInfo& a : n.op.attributes())
      if (const auto* b = std::get_if<op::BodyRef>(&a.value))
        bytes += constant_bytes(dynamic_cast<const GraphBody&>(*b->body).program());
  return bytes;
}

Session with_passes(Graph g) {
  return Session(std::move(g), {.passes = std::vector{fuse_convolution, test::infos_are_true, pack_matmul,
                                                      test::infos_are_true},
                                .explain = true});
}

/// Runs what `build` makes with the passes and without, and compares all results.
template <class Build>
void check_results(const Build& build, const Feeds& feeds) {
  const Session plain(build()), passed = with_passes(build());
  Outputs expected = plain.run(feeds);
  Outputs got;
  for (int round = 0; round < 2; ++round) {
    passed.run(feeds, got);
    for (std::size_t k = 0; k < expected.size(); ++k)
      CHECK(test::difference(expected[k].tensor(), got[k].tensor()) <= 1e-5);
  }
}

Value truth(bool b) { return Tensor<bool>({}, {b}); }

/// y = sign ? x @ -w : relu(x @ w + x @ -w), where the outer graph computes -w from constants.
Graph branches() {
  Graph g;
  const ValueId sign = g.add_input("sign", DType::bool_, Dims{});
  const ValueId x = g.add_input("x", DType::float32, Dims{g.symbol("N"), 7, 40});
  const ValueId w = g.add_constant("w", floats<float>({40, 40}, 1));
  const ValueId minus = node(g, op::Neg{}, {w});
  Graph a = Graph::inside(g), b = Graph::inside(g);
  a.add_output("y", node(a, op::MatMul{}, {a.capture(x), a.capture(minus)}));
  const ValueId left = node(b, op::MatMul{}, {b.capture(x), b.capture(w)}),
                right = node(b, op::MatMul{}, {b.capture(x), b.capture(minus)});
  b.add_output("y", node(b, op::Relu{}, {node(b, op::Add{}, {left, right})}));
  g.add_output("y",
               node(g, op::If{.else_branch = body(std::move(b)), .then_branch = body(std::move(a))}, {sign}));
  return g;
}

TEST_CASE("branches of an If: products with captured matrices that are constant outside") {
  const Session s = with_passes(branches());
  CHECK(s.program().nodes().size() == 1);
  CHECK(count<op::MatMul>(s.program()) == 0);
  CHECK(count<PackedMatMul>(s.program()) == 3);
  CHECK(constant_bytes(s.program()) == 0);
  const Program& then_branch = body_program<op::If>(s.program(), "then_branch");
  REQUIRE(then_branch.given().size() == 1);  // x
  CHECK(then_branch.given()[0].outer == s.graph().inputs()[1]);
  for (bool sign : {true, false})
    for (int64_t n : {1, 3})
      check_results(branches, {{"sign", truth(sign)}, {"x", floats<float>({n, 7, 40}, 2)}});
}

TEST_CASE("branches of an If: a convolution and the following activation") {
  const auto build = [] {
    Graph g;
    const ValueId sign = g.add_input("sign", DType::bool_, Dims{});
    const ValueId x = g.add_input("x", DType::float32, Dims{1, 4, 9, 9});
    Graph a = Graph::inside(g), b = Graph::inside(g);
    const ValueId w = a.add_constant({}, floats<float>({4, 4, 3, 3}, 1));
    const ValueId y = node(a, op::Conv{.pads = {1, 1, 1, 1}}, {a.capture(x), w});
    a.add_output("y", node(a, op::Relu{}, {node(a, op::Add{}, {y, a.capture(x)})}));
    b.add_output("y", b.capture(x));
    g.add_output(
        "y", node(g, op::If{.else_branch = body(std::move(b)), .then_branch = body(std::move(a))}, {sign}));
    return g;
  };
  const Session s = with_passes(build());
  const Program& taken = body_program<op::If>(s.program(), "then_branch");
  REQUIRE(taken.nodes().size() == 1);
  CHECK(taken.nodes()[0].op.spec().name == "FusedConv");
  CHECK(constant_bytes(s.program()) == 0);
  for (bool sign : {true, false})
    check_results(build, {{"sign", truth(sign)}, {"x", floats<float>({1, 4, 9, 9}, 2)}});
}

/// `trips` times v = v @ w + x, where each v is kept.
Graph loop(const Dims& declared) {
  Graph g;
  const ValueId trips = g.add_input("trips", DType::int64, Dims{});
  const ValueId x = g.add_input("x", DType::float32, Dims{6, 5});
  const ValueId w = node(g, op::Neg{}, {g.add_constant("w", floats<float>({5, 5}, 1))});
  Graph b = Graph::inside(g);
  b.add_input("trip", DType::int64, Dims{});
  const ValueId go = b.add_input("go", DType::bool_, Dims{});
  const ValueId v = b.add_input("v", DType::float32, declared);
  const ValueId product = b.add_node("product", AnyOperator::make(op::MatMul{}), {v, b.capture(w)},
                                     std::array{std::string("p")})[0];
  const ValueId next = node(b, op::Add{}, {product, b.capture(x)});
  b.add_output("go", go);
  b.add_output("v", next);
  b.add_output("kept", next);
  const auto out = g.add_node("loop", AnyOperator::make(op::Loop{.body = body(std::move(b))}), {trips, -1, x},
                              std::array{std::string("last"), std::string("all")});
  g.add_output("last", out[0]);
  g.add_output("all", out[1]);
  return g;
}

TEST_CASE("the body of a Loop: the extents of its state are known from the node") {
  for (const Dims& declared : {Dims{}, Dims{1, 5}}) {
    const Session s = with_passes(loop(declared));
    CHECK(body_program<op::Loop>(s.program(), "body").nodes()[0].op.as<PackedMatMul>());
    CHECK(constant_bytes(s.program()) == 0);
    for (int64_t n : {0, 1, 3})
      check_results([&] { return loop(declared); },
                    {{"trips", Tensor<int64_t>({}, {n})}, {"x", floats<float>({6, 5}, 3)}});
  }
}

TEST_CASE("the body of a Loop: a state whose extents change is not taken for one of fixed extents") {
  // v = concat of v and v: 2, 4, 8... rows, while the body declares two.
  const auto build = [] {
    Graph g;
    const ValueId trips = g.add_input("trips", DType::int64, Dims{});
    const ValueId x = g.add_input("x", DType::float32, Dims{2, 5});
    Graph b = Graph::inside(g);
    b.add_input("trip", DType::int64, Dims{});
    const ValueId go = b.add_input("go", DType::bool_, Dims{});
    const ValueId v = b.add_input("v", DType::float32, Dims{2, 5});
    b.add_output("go", go);
    const ValueId product = node(b, op::MatMul{}, {v, b.add_constant({}, floats<float>({5, 5}, 1))});
    b.add_output("v", node(b, op::Concat{.axis = 0}, {product, v}));
    g.add_output("y", node(g, op::Loop{.body = body(std::move(b))}, {trips, -1, x}));
    return g;
  };
  const Session s = with_passes(build());
  CHECK(body_program<op::Loop>(s.program(), "body").nodes()[0].op.as<PackedMatMul>());
  check_results(build, {{"trips", Tensor<int64_t>({}, {3})}, {"x", floats<float>({2, 5}, 3)}});
}

TEST_CASE("the body of a Scan: the extents of its elements are known from the node") {
  const auto build = [] {
    Graph g;
    const ValueId start = g.add_input("start", DType::float32, Dims{6, 5});
    const ValueId x = g.add_input("x", DType::float32, Dims{g.symbol("T"), 6, 5});
    Graph b = Graph::inside(g);
    const ValueId v = b.add_input("v", DType::float32, Dims{});
    const ValueId e = b.add_input("e", DType::float32, Dims{});
    const ValueId product =
        node(b, op::Gemm{.transB = 1}, {e, b.add_constant({}, floats<float>({5, 5}, 1)), v});
    b.add_output("v", node(b, op::Relu{}, {product}));
    b.add_output("kept", node(b, op::Neg{}, {product}));
    const auto out =
        g.add_node({}, AnyOperator::make(op::Scan{.body = body(std::move(b)), .num_scan_inputs = 1}),
                   {start, x}, std::array{std::string("last"), std::string("all")});
    g.add_output("last", out[0]);
    g.add_output("all", out[1]);
    return g;
  };
  const Session s = with_passes(build());
  const Program& inner = body_program<op::Scan>(s.program(), "body");
  CHECK(inner.nodes().size() == 3);  // the product has two readers
  CHECK(inner.nodes()[0].op.as<PackedMatMul>());
  CHECK(constant_bytes(s.program()) == 0);
  for (int64_t t : {0, 1, 4})
    check_results(build, {{"start", floats<float>({6, 5}, 2)}, {"x", floats<float>({t, 6, 5}, 3)}});
}

/// A loop in whose body an If multiplies the state by a matrix of the outermost graph.
Graph nested() {
  Graph g;
  const ValueId trips = g.add_input("trips", DType::int64, Dims{});
  const ValueId sign = g.add_input("sign", DType::bool_, Dims{});
  const ValueId x = g.add_input("x", DType::float32, Dims{6, 5});
  const ValueId w = node(g, op::Neg{}, {g.add_constant("w", floats<float>({5, 5}, 1))});
  Graph b = Graph::inside(g);
  b.add_input("trip", DType::int64, Dims{});
  const ValueId go = b.add_input("go", DType::bool_, Dims{});
  const ValueId v = b.add_input("v", DType::float32, Dims{6, 5});
  const ValueId inner_sign = b.capture(sign), inner_w = b.capture(w);
  Graph yes = Graph::inside(b), no = Graph::inside(b);
  yes.add_output("y", yes.add_node("inner", AnyOperator::make(op::MatMul{}),
                                   {yes.capture(v), yes.capture(inner_w)}, std::array{std::string("p")})[0]);
  no.add_output("y", node(no, op::Neg{}, {no.capture(v)}));
  b.add_output("go", go);
  b.add_output("v", b.add_node("choice",
                               AnyOperator::make(op::If{.else_branch = body(std::move(no)),
                                                        .then_branch = body(std::move(yes))}),
                               {inner_sign}, std::array{std::string("c")})[0]);
  g.add_output("y", g.add_node("loop", AnyOperator::make(op::Loop{.body = body(std::move(b))}),
                               {trips, -1, x}, std::array{std::string("l")})[0]);
  return g;
}

TEST_CASE("a body within a body") {
  const Session s = with_passes(nested());
  const Program& inner = body_program<op::If>(body_program<op::Loop>(s.program(), "body"), "then_branch");
  REQUIRE(inner.nodes().size() == 1);
  CHECK(inner.nodes()[0].op.as<PackedMatMul>());
  CHECK(constant_bytes(s.program()) == 0);
  for (bool sign : {true, false})
    check_results(
        nested,
        {{"trips", Tensor<int64_t>({}, {3})}, {"sign", truth(sign)}, {"x", floats<float>({6, 5}, 2)}});
  REQUIRE(s.reports().size() == 1);
  CHECK(to_string(s.reports()[0]) ==
        "node 'loop' (Loop-25), body: node 'choice' (If-25), then_branch: node 'inner' (MatMul-13)"
        " -> pack_matmul: packed");
}

// --- captures that are constant, though passes keep the nodes that compute them ---

/// The branches of an If over the input "sign".
ValueId choose(Graph& g, Graph yes, Graph no) {
  return node(g, op::If{.else_branch = body(std::move(no)), .then_branch = body(std::move(yes))},
              {g.find("sign")});
}

/// Runs what `build` makes without passes and with the ones that `load` applies, and returns the session with
/// the passes. The results differ by `tolerance` at most.
template <class Build>
Session with_standard_passes(const Build& build, const Feeds& feeds, double tolerance) {
  std::vector<Pass> passes;
  for (const Pass& pass : standard_passes()) passes.insert(passes.end(), {pass, test::infos_are_true});
  const Session plain(build());
  Session passed(build(), {.passes = passes, .explain = true});
  const Outputs expected = plain.run(feeds), got = passed.run(feeds);
  REQUIRE(expected.size() == got.size());
  for (std::size_t k = 0; k < expected.size(); ++k)
    CHECK(test::difference(expected[k].tensor(), got[k].tensor()) <= tolerance);
  return passed;
}

TEST_CASE("the body of a Loop: a product with a large matrix that is transposed outside") {
  const auto build = [] {
    Graph g;
    const ValueId trips = g.add_input("trips", DType::int64, Dims{});
    const ValueId x = g.add_input("x", DType::float32, Dims{6, 300});
    const ValueId w =
        node(g, op::Transpose{.perm = {1, 0}}, {g.add_constant("w", floats<float>({300, 300}, 1))});
    Graph b = Graph::inside(g);
    b.add_input("trip", DType::int64, Dims{});
    const ValueId go = b.add_input("go", DType::bool_, Dims{});
    const ValueId v = b.add_input("v", DType::float32, Dims{6, 300});
    b.add_output("go", go);
    b.add_output("v", node(b, op::MatMul{}, {v, b.capture(w)}));
    g.add_output("y", node(g, op::Loop{.body = body(std::move(b))}, {trips, -1, x}));
    return g;
  };
  const Session s = with_standard_passes(
      build, {{"trips", Tensor<int64_t>({}, {2})}, {"x", floats<float>({6, 300}, 2)}}, 1e-5);
  CHECK(s.program().nodes().size() == 1);
  CHECK(count<PackedMatMul>(s.program()) == 1);
  CHECK(constant_bytes(s.program()) == 0);
  CHECK(body_program<op::Loop>(s.program(), "body").given().size() == 3);  // nothing is captured
}

/// DequantizeLinear of a constant matrix of bytes, with a scale for each column.
ValueId dequantized(Graph& g, int64_t rows, int64_t columns, int seed, std::string name = {}) {
  Tensor<int8_t> codes{Extents{rows, columns}};
  const AnyTensor random = floats<float>({rows, columns}, seed);
  for (int64_t k = 0; k < codes.size(); ++k)
    codes[k] = static_cast<int8_t>(random.view().as<float>()[k] * 127);
  Tensor<float> scales{Extents{columns}};
  for (int64_t k = 0; k < columns; ++k) scales[k] = 0.01f * static_cast<float>(k % 3 + 1);
  return node(g, op::DequantizeLinear{},
              {g.add_constant({}, std::move(codes)), g.add_constant({}, std::move(scales))}, {},
              std::move(name));
}

TEST_CASE("branches of an If: products of bytes whose weights are dequantised outside") {
  const auto build = [] {
    Graph g;
    g.add_input("sign", DType::bool_, Dims{});
    const ValueId x = g.add_input("x", DType::float32, Dims{g.symbol("N"), 32});
    const ValueId w = dequantized(g, 32, 32, 1);
    const ValueId turned = node(g, op::Transpose{.perm = {1, 0}}, {w});
    Graph yes = Graph::inside(g), no = Graph::inside(g);
    const auto one = [](Graph& b, auto number) {
      return b.add_constant({}, Tensor<decltype(number)>(Extents{}, {number}));
    };
    const auto rounded = [&](Graph& b, ValueId v, float step) {
      const ValueId scale = one(b, step), zero = one(b, uint8_t{128});
      return node(b, op::DequantizeLinear{}, {node(b, op::QuantizeLinear{}, {v, scale, zero}), scale, zero});
    };
    yes.add_output(
        "y",
        rounded(yes, node(yes, op::MatMul{}, {rounded(yes, yes.capture(x), 0.01f), yes.capture(w)}), 0.1f));
    no.add_output("y", node(no, op::MatMul{}, {no.capture(x), no.capture(turned)}));
    g.add_output("y", choose(g, std::move(yes), std::move(no)));
    return g;
  };
  for (const bool sign : {true, false}) {
    const Session s = with_standard_passes(build, {{"sign", truth(sign)}, {"x", floats<float>({5, 32}, 2)}},
                                           sign ? 0.01 : 1e-5);
    CHECK(count<QuantizedMatMul>(body_program<op::If>(s.program(), "then_branch")) == 1);
    CHECK(count<PackedMatMul>(body_program<op::If>(s.program(), "else_branch")) == 1);
    CHECK(s.program().nodes().size() == 1);
    CHECK(constant_bytes(s.program()) < 1024);  // scales
  }
}

TEST_CASE("the body of a SequenceMap: a product with a matrix that is dequantised outside") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{4, 6, 32});
    const ValueId w = dequantized(g, 32, 32, 1);
    Graph b = Graph::inside(g);
    const ValueId item = b.add_input("item", DType::float32, Dims{});
    b.add_output("product", node(b, op::MatMul{}, {item, b.capture(w)}));
    const ValueId parts = node(g, op::SplitToSequence{.keepdims = 0}, {x});
    const ValueId products = node(g, op::SequenceMap{.body = body(std::move(b))}, {parts});
    g.add_output("y", node(g, op::ConcatFromSequence{.axis = 0}, {products}));
    return g;
  };
  const Session s = with_standard_passes(build, {{"x", floats<float>({4, 6, 32}, 2)}}, 1e-5);
  CHECK(count<PackedMatMul>(s.program()) == 1);
  CHECK(constant_bytes(s.program()) == 0);
}

TEST_CASE("a body within a body: a product with a matrix that the outermost graph dequantises") {
  const auto build = [] {
    Graph g;
    g.add_input("sign", DType::bool_, Dims{});
    const ValueId trips = g.add_input("trips", DType::int64, Dims{});
    const ValueId x = g.add_input("x", DType::float32, Dims{6, 32});
    const ValueId w = dequantized(g, 32, 32, 1);
    Graph b = Graph::inside(g);
    b.add_input("trip", DType::int64, Dims{});
    const ValueId go = b.add_input("go", DType::bool_, Dims{});
    const ValueId v = b.add_input("v", DType::float32, Dims{6, 32});
    Graph yes = Graph::inside(b), no = Graph::inside(b);
    yes.add_output("y", node(yes, op::MatMul{}, {yes.capture(v), yes.capture(b.capture(w))}));
    no.add_output("y", no.capture(v));
    b.add_output("go", go);
    b.add_output("v", choose(b, std::move(yes), std::move(no)));
    g.add_output("y", node(g, op::Loop{.body = body(std::move(b))}, {trips, -1, x}));
    return g;
  };
  for (const bool sign : {true, false}) {
    const Session s = with_standard_passes(
        build, {{"sign", truth(sign)}, {"trips", Tensor<int64_t>({}, {2})}, {"x", floats<float>({6, 32}, 2)}},
        1e-5);
    CHECK(count<PackedMatMul>(s.program()) == 1);
    CHECK(s.program().nodes().size() == 1);
    CHECK(constant_bytes(s.program()) == 0);
  }
}

TEST_CASE("bodies whose passes leave a dequantised constant read the enclosing program's only one") {
  constexpr int bodies = 10;
  const auto build = [] {
    Graph g;
    g.add_input("sign", DType::bool_, Dims{});
    const ValueId x = g.add_input("x", DType::float32, Dims{64, 64});
    const ValueId w = dequantized(g, 64, 64, 1);
    ValueId y = x;
    for (int k = 0; k < bodies; ++k) {
      Graph yes = Graph::inside(g), no = Graph::inside(g);
      yes.add_output("y", node(yes, op::Add{}, {yes.capture(y), yes.capture(w)}));
      no.add_output("y", no.capture(w));
      y = choose(g, std::move(yes), std::move(no));
    }
    g.add_output("y", y);
    return g;
  };
  for (const bool sign : {true, false}) {
    const Session s =
        with_standard_passes(build, {{"sign", truth(sign)}, {"x", floats<float>({64, 64}, 2)}}, 0);
    CHECK(s.program().nodes().size() == bodies);
    CHECK(constant_bytes(s.program()) == 64 * 64 * 4);
  }
}

TEST_CASE("bodies with one convolution's weights, dequantised outside, have these packed once") {
  const auto build = [] {
    Graph g;
    g.add_input("sign", DType::bool_, Dims{});
    const ValueId x = g.add_input("x", DType::float32, Dims{1, 16, 9, 9});
    Tensor<int8_t> codes{Extents{16, 16, 3, 3}};
    for (int64_t k = 0; k < codes.size(); ++k) codes[k] = static_cast<int8_t>(k * 37 % 255 - 127);
    const ValueId w =
        node(g, op::DequantizeLinear{},
             {g.add_constant({}, std::move(codes)), g.add_constant({}, Tensor<float>(Extents{}, {0.001f}))});
    const auto convolved = [&](const Ints& pads) {
      Graph b = Graph::inside(g);
      b.add_output("y", node(b, op::Conv{.pads = pads}, {b.capture(x), b.capture(w)}));
      return b;
    };
    g.add_output("y", choose(g, convolved({1, 1, 1, 1}), convolved({2, 0, 0, 2})));
    return g;
  };
  for (const bool sign : {true, false}) {
    const Session s =
        with_standard_passes(build, {{"sign", truth(sign)}, {"x", floats<float>({1, 16, 9, 9}, 2)}}, 1e-5);
    CHECK(constant_bytes(s.program()) == 0);
    std::set<const void*> weights;
    for (const char* branch : {"then_branch", "else_branch"})
      for (const Graph::Node& n : body_program<op::If>(s.program(), branch).nodes())
        if (const auto* conv = n.op.as<BlockedConv>()) weights.insert(conv->weights.data());
    CHECK(weights.size() == 1);
  }
}

TEST_CASE("an error of a node over constants outside of a body names that node") {
  Graph g;
  g.add_input("sign", DType::bool_, Dims{});
  const ValueId w = dequantized(g, 4, 4, 1);
  const ValueId nine = g.add_constant({}, Tensor<int64_t>(Extents{1}, {9}));
  const ValueId row = node(g, op::Gather{}, {w, nine}, {}, "row");
  Graph yes = Graph::inside(g), no = Graph::inside(g);
  yes.add_output("y", node(yes, op::Neg{}, {yes.capture(row)}));
  no.add_output("y", no.capture(row));
  g.add_output("y", choose(g, std::move(yes), std::move(no)));
  const Session s(std::move(g), {.passes = standard_passes()});
  tenon::test::check_error([&] { static_cast<void>(s.run({{"sign", truth(true)}})); },
                           {"node 'row' (Gather-13): index 9 outside"});
}

TEST_CASE("a node from outside that a pass replaces in a body stays there") {
  // Moves a Neg before the value that it reads: the value then has other numbers than outside.
  constexpr Pass other{
      "other",
      [](Program& program) {
        program.for_each<op::DequantizeLinear>([&](int n, const op::DequantizeLinear&) {
          const ValueId w = program.node(n).outputs[0];
          for (const int reader : std::vector<int>(program.readers(w).begin(), program.readers(w).end())) {
            if (!program.node(reader).op.as<op::Neg>()) continue;
            const std::vector<ValueId> in = program.node(n).inputs;
            const ValueId minus = program.add_node(n, AnyOperator::make(op::DequantizeLinear{}), in)[0];
            program.replace(n, AnyOperator::make(op::Neg{}), {minus});
            program.replace(reader, AnyOperator::make(op::Identity{}), {w});
            return;
          }
        });
      },
      fuse_qdq.keeps};
  const auto build = [] {
    Graph g;
    g.add_input("sign", DType::bool_, Dims{});
    const ValueId w = dequantized(g, 4, 4, 1);
    Graph yes = Graph::inside(g), no = Graph::inside(g);
    yes.add_output("y", node(yes, op::Neg{}, {yes.capture(w)}));
    no.add_output("y", no.capture(w));
    g.add_output("y", choose(g, std::move(yes), std::move(no)));
    return g;
  };
  const Session plain(build()), passed(build(), {.passes = std::vector{other}});
  for (const bool sign : {true, false}) {
    const Outputs a = plain.run({{"sign", truth(sign)}}), b = passed.run({{"sign", truth(sign)}});
    CHECK(tenon::test::same(a[0], b[0]));
  }
}

TEST_CASE("a value that a run gives in place of its own is no constant in bodies") {
  const auto build = [] {
    Graph g;
    const ValueId sign = g.add_input("sign", DType::bool_, Dims{});
    const ValueId x = g.add_input("x", DType::float32, Dims{6, 5});
    const ValueId w = g.add_input("w", DType::float32, Dims{5, 5}, floats<float>({5, 5}, 1));
    Graph a = Graph::inside(g), b = Graph::inside(g);
    a.add_output("y", node(a, op::MatMul{}, {a.capture(x), a.capture(w)}));
    b.add_output("y", b.capture(x));
    g.add_output(
        "y", node(g, op::If{.else_branch = body(std::move(b)), .then_branch = body(std::move(a))}, {sign}));
    return g;
  };
  CHECK(count<PackedMatMul>(with_passes(build()).program()) == 1);
  check_results(build, {{"sign", truth(true)}, {"x", floats<float>({6, 5}, 2)}});
  check_results(build,
                {{"sign", truth(true)}, {"x", floats<float>({6, 5}, 2)}, {"w", floats<float>({5, 5}, 9)}});
}

TEST_CASE("a value that a body reads stays as it is") {
  const auto build = [] {
    Graph g;
    const ValueId sign = g.add_input("sign", DType::bool_, Dims{});
    const ValueId x = g.add_input("x", DType::float32, Dims{6, 5});
    const ValueId y = node(g, op::MatMul{}, {x, g.add_constant({}, floats<float>({5, 5}, 1))});
    Graph a = Graph::inside(g), b = Graph::inside(g);
    a.add_output("z", node(a, op::Neg{}, {a.capture(y)}));
    b.add_output("z", b.capture(y));
    g.add_output("relu", node(g, op::Relu{}, {y}));
    g.add_output(
        "z", node(g, op::If{.else_branch = body(std::move(b)), .then_branch = body(std::move(a))}, {sign}));
    return g;
  };
  CHECK(with_passes(build()).program().nodes().size() == 3);
  for (bool sign : {true, false})
    check_results(build, {{"sign", truth(sign)}, {"x", floats<float>({6, 5}, 2)}});
}

}  // namespace
}  // namespace tenon::passes
