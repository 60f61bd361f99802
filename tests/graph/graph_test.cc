#include "tenon/graph/graph.hpp"

#include <doctest/doctest.h>

#include "tenon/array/slice.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/controlflow/loop.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/math/top_k.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tests/graph/build.hpp"

/// Operators of one's own: the same form, any domain.
namespace mine {
using namespace tenon;

/// y = factor * x + offset, elementwise.
struct Affine {
  float factor = 1;
  float offset = 0;

  static constexpr op::Spec spec{.name = "Affine",
                                 .domain = "example.com",
                                 .since = {1, 3},
                                 .inputs = {{"x", "T"}},
                                 .outputs = {{"y", "T"}},
                                 .types = {{"T", types::floats}},
                                 .memory = op::Memory::elementwise};
  static constexpr op::Attributes attributes{op::attr("factor", &Affine::factor),
                                             op::attr("offset", &Affine::offset).since(3)};

  constexpr void infer(op::Infer& i) const { i.out(0, i.dims(0)); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    for (int64_t k = 0; k < x.size(); ++k) y[k] = T(factor * float(x[k]) + offset);
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Every other element: extents that depend on nothing but are told only by the run.
struct EveryOther {
  static constexpr op::Spec spec{.name = "EveryOther",
                                 .domain = "example.com",
                                 .since = {1},
                                 .inputs = {{"x", "T"}},
                                 .outputs = {{"y", "T"}},
                                 .types = {{"T", types::float32}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const { i.out(0, Dims::of_rank(1)); }
  Tensor<float> compute(TensorView<const float> x) const {
    Tensor<float> y(Extents{(x.size() + 1) / 2});
    for (int64_t k = 0; k < y.size(); ++k) y[k] = x[2 * k];
    return y;
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Promises extents that it does not keep.
struct Liar {
  static constexpr op::Spec spec{.name = "Liar",
                                 .domain = "example.com",
                                 .since = {1},
                                 .inputs = {{"x", "T"}},
                                 .outputs = {{"y", "T"}},
                                 .types = {{"T", types::float32}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const { i.out(0, Dims{2}); }
  Tensor<float> compute(TensorView<const float>) const { return Tensor<float>(Extents{3}); }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

/// Does not tell extents that it could.
struct Silent {
  static constexpr op::Spec spec{.name = "Silent",
                                 .domain = "example.com",
                                 .since = {1},
                                 .inputs = {{"x", "T"}},
                                 .outputs = {{"y", "T"}},
                                 .types = {{"T", types::float32}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer&) const {}
  void compute(TensorView<const float> x, TensorView<float> y) const {
    std::copy(x.begin(), x.end(), y.begin());
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};
}  // namespace mine

namespace tenon {
using namespace test;

TEST_CASE("expressions and parts of tensors are constants") {
  const Tensor<float, Shape<2, 2>> w{{1, 2}, {3, 4}};
  Graph g;
  const auto x = g.input<float, Shape<2>>("x");
  const auto column = g.add(op::Add{}, x, w(all, 0));
  static_assert(std::is_same_v<decltype(column), const Edge<float, Shape<2>>>);
  g.output("y", g.add(op::Mul{}, column, slice(w, 1) * 2.0f));
  Outputs out = Session(std::move(g)).run({{"x", Tensor<float, Shape<2>>{10, 20}}});
  CHECK(out["y"].view<float, Shape<2>>()[1] == 184);
}

TEST_CASE("Graph: typed edges") {
  Graph g;
  const auto x = g.input<float, Shape<dyn, 4>>("x");
  const Tensor<float, Shape<3, 4>> w{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 1}};
  const Tensor<float, Shape<3>> b{0.5f, 0, -10};
  const auto h = g.add<op::Gemm{.transB = 1}>(x, w, b);
  static_assert(std::is_same_v<decltype(h), const Edge<float, Shape<dyn, 3>>>);
  const auto r = g.add(op::Relu{}, h);
  static_assert(std::is_same_v<decltype(r), const Edge<float, Shape<dyn, 3>>>);
  const auto y = g.add<op::Softmax{}>(r);
  const Edge<float> wider = y;
  g.output("y", wider);
  g.output("r", r);
  Session s(std::move(g));
  Outputs out = s.run({{"x", Tensor<float, Shape<1, 4>>{{1, 2, 3, 4}}}});
  CHECK(out["r"].view<float, Shape<1, 3>>()(0, 0) == 1.5f);
  CHECK(out["r"].view<float>()(0, 1) == 2);
  CHECK(out["r"].view<float>()(0, 2) == 0);
  CHECK(out["y"].view<float>()(0, 1) == doctest::Approx(0.5741f).epsilon(1e-3));
}

TEST_CASE("Graph: numbers, constants of the compiler, operands left out, several results") {
  Graph g;
  const auto x = g.input<float, Shape<2, 3>>("x");
  const auto flat = g.add<op::Reshape{}>(g.add(op::Add{}, x, 1.0f), constant<int64_t, 6>);
  static_assert(std::is_same_v<decltype(flat), const Edge<float, Shape<6>>>);
  const auto [values, indices] = g.add<op::TopK{}>(flat, constant<int64_t, 2>);
  static_assert(std::is_same_v<decltype(indices), const Edge<int64_t, Shape<2>>>);
  const auto [front, back] = g.add<op::Split{.num_outputs = 2}, 2>(flat, none);
  static_assert(std::is_same_v<decltype(back), const Edge<float, Shape<3>>>);
  g.output("values", values);
  g.output("indices", indices);
  g.output("back", back);
  const Session s(std::move(g));
  Outputs out = s.run({{"x", Tensor<float, Shape<2, 3>>{{5, 1, 4}, {2, 9, 3}}}});
  CHECK(out["values"].view<float>()(0) == 10);
  CHECK(out["indices"].view<int64_t>()(1) == 0);
  CHECK(out["back"].view<float>()(1) == 10);
}

TEST_CASE("Graph: edges whose types run time knows") {
  Graph g;
  const AnyEdge x(g, g.add_input("x", DType::float32, {2, g.symbol("n")}));
  const auto y = g.add(op::Relu{}, x);
  static_assert(std::is_same_v<decltype(y), const AnyEdge>);
  const auto c = g.add(op::Cast{.to = dtype<int32_t>}, g.add(op::Add{}, y, Tensor<float>({1}, {0.5f})));
  CHECK(g.entry(y.id).info.dims == Dims{2, g.symbol("n")});
  CHECK(g.entry(c.id).info.type == Type(DType::int32));
  const auto [a, b] = g.add<2>(op::Split{.axis = 1, .num_outputs = 2}, x);
  g.output("y", c);
  g.output("b", b);
  const Session s(std::move(g));
  Outputs out = s.run({{"x", Tensor<float, Shape<2, 2>>{{1, 2}, {-3, 4}}}});
  CHECK(out["y"].view<int32_t>()(1, 1) == 4);
  CHECK(out["b"].view<float>()(1, 0) == 4);
}

TEST_CASE("Graph: what the rules tell of values before a run") {
  Graph g;
  const Dim n = g.symbol("batch");
  CHECK(g.symbol("batch") == n);
  CHECK(g.symbol_name(n) == "batch");
  const ValueId x = g.add_input("x", DType::float32, {n, 2, 8});
  const ValueId shape = node(g, op::Shape{}, {x}, "shape");
  const ValueId zero = g.add_constant("zero", Tensor<int64_t>({1}, {0}));
  const ValueId rest = g.add_constant("rest", Tensor<int64_t>({1}, {-1}));
  const ValueId first = node(g, op::Gather{}, {shape, zero}, "first");
  const ValueId wanted = node(g, op::Concat{.axis = 0}, {first, rest}, "wanted");
  const ValueId y = node(g, op::Reshape{}, {x, wanted}, "y");
  CHECK(g.entry(y).info.dims == Dims{n, 16});
  g.add_output("y", y);
  const Session s(std::move(g));
  // Everything about extents is settled when memory is planned: one node is left, and it only renames.
  const detail::Plan plan = detail::plan_of(s.program(), {{"x", Tensor<float>(Extents{3, 2, 8})}});
  CHECK(std::count(plan.actions.begin(), plan.actions.end(), detail::Action::skip) == 3);
  CHECK(s.run({{"x", Tensor<float>(Extents{3, 2, 8})}})["y"].tensor().extents() == Extents{3, 16});
}

TEST_CASE("Graph: building is refused with the node, the operator, its version, and the shapes") {
  Graph g;
  g.set_name("main");
  const ValueId x = g.add_input("x", DType::float32, {2, 3});
  const ValueId i = g.add_input("i", DType::int64, {3});
  check_error([&] { node(g, op::MatMul{}, {x, x}, "y", "product"); },
              {"node 'product' (MatMul-13)", "inner extents differ: 3 and 2", "A: tensor(float) (2,3)"});
  check_error([&] { node(g, op::Add{}, {x, i}, "y"); },
              {"node 'Add_0' (Add-14)", "input B", "tensor(int64)"});
  check_error([&] { node(g, op::Add{}, {x}, "y"); }, {"input B is missing"});
  check_error([&] { node(g, op::Add{}, {x, -1}, "y"); }, {"input B is missing"});
  check_error([&] { node(g, op::Add{}, {x, x, x}, "y"); }, {"takes at most 2 inputs, not 3"});
  check_error([&] { node(g, op::Relu{}, {99}, "y"); }, {"graph 'main'", "not of this graph"});
  check_error([&] { node(g, op::Relu{}, {x}, "x"); }, {"value 'x' is defined twice"});
  check_error([&] { g.add_input("i", DType::int64, {}); }, {"value 'i' is defined twice"});
  check_error([&] { g.add_output("y", -1); }, {"output 'y' has no value"});
  g.add_output("y", x);
  check_error([&] { g.add_output("y", i); }, {"output 'y' is defined twice"});
  const std::string two[] = {"a", "b"};
  check_error([&] { g.add_node({}, AnyOperator::make(op::Relu{}), {x}, two); }, {"has at most 1 outputs"});

  Graph other;
  const auto foreign = other.input<float, Shape<2>>("x");
  check_error([&] { g.add(op::Relu{}, foreign); }, {"an edge belongs to another graph"});
  check_error([&] { g.add(op::Relu{}, AnyEdge(foreign)); }, {"an edge belongs to another graph"});
  check_error([&] { g.output("z", foreign); }, {"an edge belongs to another graph"});
  const auto own = g.input<float, Shape<dyn, 3>>("own");
  check_error([&] { g.add(op::MatMul{}, own, g.input<float>("any")); }, {"no error"});
}

TEST_CASE("Graph: constants whose elements are elsewhere") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims(Extents{2, 3}));
  const ValueId w = g.add_constant("w", DType::float32, Dims(Extents{3, 4}));
  CHECK(g.entry(w).is_outside());
  CHECK(!g.entry(x).is_outside());
  CHECK(!g.entry(g.add_constant("c", Tensor<float>(Extents{2}))).is_outside());
  const ValueId y = g.add_node({}, AnyOperator::make(op::MatMul{}), {x, w}, std::vector<std::string>{"y"})[0];
  CHECK(g.entry(y).info.dims == Dims(Extents{2, 4}));
  // A body reads it as a value of the graph around it.
  Graph body = Graph::inside(g);
  CHECK(body.entry(body.capture(w)).source == Graph::Source::capture);
  g.add_output("y", y);
  CHECK_THROWS_WITH_AS(Session{std::move(g)},
                       doctest::Contains("constant 'w': its elements are not in the graph"), Error);
}

TEST_CASE("Graph: obligatory results without names") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {4});
  const ValueId k = g.add_constant("k", Tensor<int64_t>({1}, {2}));
  const ValueId y = node(g, op::TopK{}, {x, k}, "y");
  CHECK(g.nodes().back().outputs.size() == 2);
  g.add_output("y", y);
  CHECK(Session(std::move(g)).run({{"x", Tensor<float>({4}, {1, 4, 2, 3})}})["y"].view<float>()(1) == 3);
}

TEST_CASE("Graph: functions") {
  Graph twice;  // y = relu(x + x)
  twice.set_name("twice");
  const ValueId x = twice.add_input("x", Type(Kind::unknown, DType::undefined), {});
  const ValueId sum = node(twice, op::Add{}, {x, x}, "sum", "add");
  twice.add_output("y", node(twice, op::Relu{}, {sum}, "result", "relu"));

  Graph g;
  const ValueId a = g.add_input("a", DType::float32, {2});
  const ValueId b = g.add_graph(twice, std::array{a}, "first/")[0];
  const ValueId c = g.add_graph(twice, std::array{b}, "second/")[0];
  CHECK(g.entry(c).name == "second/result");
  CHECK(g.nodes()[2].name == "second/add");
  CHECK(g.entry(c).info.dims == Dims{2});
  g.add_output("y", c);
  check_error([&] { g.add_graph(twice, std::array{a, b}); }, {"graph 'twice' has 1 inputs, not 2"});
  check_error([&] { g.add_graph(twice, std::array{a}, "first/"); }, {"'first/sum' is defined twice"});
  const Session s(std::move(g));
  Outputs out = s.run({{"a", Tensor<float>({2}, {1, -1})}}, {.outputs = {"y", "first/sum"}});
  CHECK(out["y"].view<float>()(0) == 4);
  CHECK(out["first/sum"].view<float>()(1) == -2);
}

TEST_CASE("Graph: functions whose branches use their values") {
  // y = sign ? x + one : (sign ? x : x * x + one), where the last one is captured through two graphs
  Graph f;
  f.set_name("f");
  const ValueId x = f.add_input("x", Type(Kind::unknown, DType::undefined), {});
  const ValueId sign = f.add_input("sign", DType::bool_, Dims{});
  const ValueId square = node(f, op::Mul{}, {x, x}, "square");
  const ValueId one = f.add_constant("one", Tensor<float, Shape<>>{1.0f});
  const auto branch = [](Graph& outer, ValueId a, ValueId b) {
    Graph g = Graph::inside(outer);
    g.add_output("out", node(g, op::Add{}, {g.capture(a), g.capture(b)}, "sum"));
    return g;
  };
  Graph nested = Graph::inside(f);
  const ValueId outer_square = nested.capture(square), outer_x = nested.capture(x),
                outer_sign = nested.capture(sign);
  Graph same = Graph::inside(nested);
  same.add_output("out", node(same, op::Identity{}, {same.capture(outer_x)}, "copy"));
  nested.add_output("out", node(nested,
                                op::If{.else_branch = body(branch(nested, outer_square, nested.capture(one))),
                                       .then_branch = body(std::move(same))},
                                {outer_sign}, "inner"));
  f.add_output("y",
               node(f, op::If{.else_branch = body(std::move(nested)), .then_branch = body(branch(f, x, one))},
                    {sign}, "result"));

  Graph g;
  const ValueId a = g.add_input("a", DType::float32, {g.symbol("N")}),
                c = g.add_input("c", DType::bool_, Dims{});
  const ValueId first = g.add_graph(f, std::array{a, c}, "first/")[0];
  g.add_output("y", g.add_graph(f, std::array{first, c}, "second/")[0]);
  const Session s(std::move(g));
  const auto run = [&](bool c) {
    return s.run({{"a", Tensor<float>({2}, {3, -2})}, {"c", Tensor<bool, Shape<>>{c}}})["y"].as<float>();
  };
  CHECK(run(true)(0) == 5);
  CHECK(run(true)(1) == 0);
  CHECK(run(false)(0) == 101);
  CHECK(run(false)(1) == 26);
}

TEST_CASE("Graph: inputs of a body with default values are what its runs give") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2});
  Graph b = Graph::inside(g);
  b.add_input("i", DType::int64, {});
  const ValueId go = b.add_input("go", DType::bool_, {}),
                v = b.add_input("v", DType::float32, {2}, Tensor<float>({2}, {100, 200}));
  b.add_output("go_on", go);
  b.add_output("next", node(b, op::Add{}, {v, v}, "sum"));
  const ValueId three = g.add_constant("three", Tensor<int64_t, Shape<>>{3});
  g.add_output("y", node(g, op::Loop{.body = body(std::move(b))}, {three, -1, x}, "loop"));
  const Tensor<float> y = Session(std::move(g)).run({{"x", Tensor<float>({2}, {1, -2})}})["y"].as<float>();
  CHECK(y(0) == 8);
  CHECK(y(1) == -16);
}

TEST_CASE("Graph: operators of one's own") {
  Graph g;
  const auto x = g.input<float, Shape<5>>("x");
  const auto a = g.add(mine::Affine{.factor = 2, .offset = 1}, x);
  const auto e = g.add(mine::EveryOther{}, a);
  g.output("y", e);
  const Session s(std::move(g));
  const Tensor<float> in({5}, {0, 1, 2, 3, 4});
  for (int round = 0; round < 3; ++round) {
    const Tensor<float> y = s.run({{"x", in}})["y"].as<float>();
    CHECK(y.size() == 3);
    CHECK(y(2) == 9);
  }
  CHECK(mine::Affine{.factor = 3}(Tensor<float, Shape<1>>{2})(0) == 6);

  Registry registry;
  registry.add<mine::Affine>();
  CHECK(registry.find("example.com", "Affine", 2).version == 1);
  CHECK(registry.find("example.com", "Affine", 9).version == 3);
  CHECK(registry.find("", "Affine", 9).op_class == nullptr);
  check_error([&] { registry.add<mine::Affine>(); }, {"Affine: version 1 is registered twice"});

  const OperatorClass& c = *registry.find("example.com", "Affine", 3).op_class;
  using Stated = std::vector<std::pair<std::string, op::AttributeValue>>;
  check_error([&] { make_operator(c, 1, Stated{{"offset", 5.0f}}); },
              {"version 1 has no attribute 'offset'"});
  check_error([&] { make_operator(c, 3, Stated{{"factor", int64_t{5}}}); },
              {"attribute 'factor' takes FLOAT"});
  check_error([&] { make_operator(c, 3, Stated{{"factor", 1.0f}, {"factor", 1.0f}}); },
              {"attribute 'factor' is given twice"});
  Graph h;
  const std::string names[] = {"y"};
  const ValueId v = h.add_input("x", DType::float32, {1});
  h.add_output("y", h.add_node("scale", make_operator(c, 3, Stated{{"factor", 5.0f}}), {v}, names)[0]);
  CHECK(Session(std::move(h)).run({{"x", Tensor<float>({1}, {2})}})["y"].view<float>()(0) == 10);
}

TEST_CASE("Graph: an operator that does not keep its rule is caught") {
  Graph g;
  g.output("y", g.add(mine::Liar{}, g.input<float, Shape<4>>("x")));
  const Session s(std::move(g));
  check_error([&] { return s.run({{"x", Tensor<float>(Extents{4})}}); },
              {"node 'Liar_0' (Liar-1)", "result 0 is tensor(float) (3), not what its rule said"});

  const std::string_view untold = "the extents of a result cannot be told from the operands";
  const Tensor<float> x(Extents{4});
  check_error([&] { mine::Silent{}(x); }, {"Silent", untold});
  check_error([&] { mine::Silent{}(Value(x)); }, {"Silent", untold});
  for (const bool constant : {false, true}) {
    Graph h;
    const auto in = h.input<float, Shape<4>>("x");
    if (constant) h.output("y", h.add(mine::Silent{}, x));
    else h.output("y", h.add(mine::Silent{}, in));
    const Session silent(std::move(h));
    check_error([&] { return silent.run({{"x", x}}); }, {"node 'Silent_0' (Silent-1)", untold});
  }
}

}  // namespace tenon
