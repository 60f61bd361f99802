// The inputs of a session: their names, default values, types and extents.
#include "tenon/graph/session.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tests/graph/build.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Session: values by name") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {3});
  const ValueId w = g.add_constant("w", Tensor<float>({3}, {1, 2, 3}));
  const ValueId a = node(g, op::Add{}, {x, w}, "a");
  const ValueId b = node(g, op::Neg{}, {a}, "b");
  const ValueId c = node(g, op::Relu{}, {b}, "c");
  node(g, op::Exp{}, {x}, "unneeded");
  g.add_output("y", c);
  const Session s(std::move(g));
  const Feeds feeds = {{"x", Tensor<float>({3}, {-5, 1, -4})}};
  CHECK(s.program().nodes().size() == 3);
  Outputs out = s.run(feeds);
  CHECK(out.size() == 1);
  CHECK(out.names()[0] == "y");
  CHECK(floats(out["y"]) == std::vector<float>{4, 0, 1});
  CHECK(floats(out[0]) == floats(out["y"]));
  check_error([&] { return out["z"]; }, {"there is no output 'z'"});
  Outputs some = s.run(feeds, {.outputs = {"a", "unneeded", "y", "x", "w", "b"}});
  CHECK(floats(some["a"]) == std::vector<float>{-4, 3, -1});
  CHECK(floats(some["b"]) == std::vector<float>{4, -3, 1});
  CHECK(floats(some["y"]) == std::vector<float>{4, 0, 1});
  CHECK(floats(some["x"]) == std::vector<float>{-5, 1, -4});
  CHECK(floats(some["w"]) == std::vector<float>{1, 2, 3});
  CHECK(some["unneeded"].view<float>()(1) == doctest::Approx(2.71828f));
  s.run(feeds, some);  // into outputs of other names
  CHECK(some.size() == 1);
  CHECK(floats(some["y"]) == std::vector<float>{4, 0, 1});
  check_error([&] { return s.run(feeds, {.outputs = {"nothing"}}); }, {"there is no value 'nothing'"});
}

TEST_CASE("Session: inputs with a value of their own") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2});
  const ValueId w = g.add_input("w", DType::float32, {2}, Tensor<float>({2}, {10, 20}));
  const ValueId b = g.add_input("b", DType::float32, {}, Tensor<float>({}, {1}));
  g.add_output("y", node(g, op::Add{}, {node(g, op::Mul{}, {x, node(g, op::Neg{}, {w})}), b}));
  const Session s(std::move(g));
  CHECK(s.program().nodes().size() == 2);  // -w is a constant
  const Value one = Tensor<float>({2}, {1, 1}), w2 = Tensor<float>({2}, {3, 4}),
              b2 = Tensor<float>({}, {100});
  for (int round = 0; round < 2; ++round) {
    CHECK(floats(s.run({{"x", one}})["y"]) == std::vector<float>{-9, -19});
    CHECK(floats(s.run({{"x", one}, {"w", w2}})["y"]) == std::vector<float>{-2, -3});
    CHECK(floats(s.run({{"b", b2}, {"x", one}})["y"]) == std::vector<float>{90, 80});
    CHECK(floats(s.run({{"b", b2}, {"w", w2}, {"x", one}})["y"]) == std::vector<float>{97, 96});
    CHECK(floats(s.run({{"w", w2}, {"x", one}, {"b", b2}})["y"]) == std::vector<float>{97, 96});
  }
}

TEST_CASE("Session: a graph that can be read again keeps small constants alone") {
  constexpr int64_t rows = 20;  // more than Graph::small_bytes
  static const auto repeated = [](std::initializer_list<float> row) {
    Tensor<float> t({rows, 2});
    for (int64_t k = 0; k < t.size(); ++k) t[k] = row.begin()[k % 2];
    return t;
  };
  struct Source final : GraphSource {
    mutable int reads = 0;
    bool other = false;
    Graph read() const override {
      ++reads;
      Graph g;
      const ValueId x = g.add_input("x", DType::float32, {2});
      const ValueId w = g.add_input("w", DType::float32, {2}, Tensor<float>({2}, {10, 20}));
      const ValueId c = g.add_constant("c", repeated({1, 2}));
      const ValueId p = node(g, op::Mul{}, {x, node(g, op::Neg{}, {w}, "n")}, "p");
      g.add_output("y", other ? p : node(g, op::Add{}, {p, c}));
      return g;
    }
  };
  const auto source = std::make_shared<Source>();
  const Session s(source->read(), {.source = source});
  for (const Graph::ValueEntry& e : s.graph().values()) CHECK((!e.content || e.name == "w"));
  const auto is = [&](const Value& y, std::initializer_list<float> row) {
    return floats(y) == floats(repeated(row));
  };
  const Value one = Tensor<float>({2}, {1, 1}), w2 = Tensor<float>({2}, {3, 4});
  for (int round = 0; round < 2; ++round) {
    CHECK(is(s.run({{"x", one}})["y"], {-9, -18}));
    CHECK(is(s.run({{"x", one}, {"w", w2}})["y"], {-2, -2}));
    CHECK(floats(s.run({{"x", one}}, {.outputs = {"n"}})["n"]) == std::vector<float>{-10, -20});
  }
  CHECK(source->reads == 3);
  source->other = true;
  check_error([&] { return s.run({{"x", one}}, {.outputs = {"p"}}); },
              {"the graph is not the one that it was"});
}

TEST_CASE("Session: inputs in any order, the last of a name in force") {
  Graph g;
  const ValueId a = g.add_input("a", DType::float32, {1}), b = g.add_input("b", DType::float32, {1}),
                c = g.add_input("c", DType::float32, {1});
  g.add_output("y", node(g, op::Concat{.axis = 0}, {a, b, c}));
  const Session s(std::move(g));
  const auto one = [](float x) { return Value(Tensor<float>({1}, {x})); };
  const Feeds feeds[] = {{{"a", one(1)}, {"b", one(2)}, {"c", one(3)}},
                         {{"c", one(3)}, {"a", one(1)}, {"b", one(2)}},
                         {{"c", one(5)}, {"b", one(2)}, {"c", one(3)}, {"a", one(1)}}};
  for (const Feeds& f : feeds) CHECK(floats(s.run(f)["y"]) == std::vector<float>{1, 2, 3});
}

TEST_CASE("Session: inputs that do not fit") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n"), 3});
  g.add_input("more", DType::int64, {});
  g.add_output("y", node(g, op::Relu{}, {x}));
  const Session s(std::move(g));
  const Value fits = Tensor<float>(Extents{2, 3}), more = Tensor<int64_t>(Extents{});
  CHECK_NOTHROW(s.run({{"x", fits}, {"more", more}}));
  check_error([&] { return s.run({}); }, {"input 'x' is missing"});
  check_error([&] { return s.run({{"x", fits}, {"more", more}, {"z", fits}}); }, {"there is no input 'z'"});
  check_error([&] { return s.run({{"x", Tensor<double>(Extents{2, 3})}, {"more", more}}); },
              {"input 'x'", "tensor(double) given, tensor(float) declared"});
  check_error([&] { return s.run({{"x", Tensor<float>(Extents{2, 4})}, {"more", more}}); },
              {"input 'x'", "(2,4) given, (n,3) declared"});
  check_error([&] { return s.run({{"x", Tensor<float>(Extents{3})}, {"more", more}}); }, {"(3) given"});
  check_error([&] { return s.run({{"x", Value()}, {"more", more}}); }, {"input 'x'", "none given"});
  float numbers[4] = {};
  const AnyTensor within(DType::float32, {1, 3}, Storage::borrow(numbers, sizeof numbers).slice(2, 12));
  check_error([&] { return s.run({{"x", within}, {"more", more}}); },
              {"input 'x'", "its memory is not aligned for tensor(float)"});
  Tensor<float, Shape<dyn, 3>> gone;
  const auto elsewhere = std::move(gone);
  check_error([&] { return s.run({{"x", gone}, {"more", more}}); }, {"input 'x'", "none given"});
  CHECK_NOTHROW(s.run({{"x", fits}, {"more", more}}));
}

TEST_CASE("Session: a symbol is one extent in all inputs") {
  Graph g;
  const Dim n = g.symbol("N"), m = g.symbol("M");
  const ValueId x = g.add_input("x", DType::float32, {n}), y = g.add_input("y", DType::float32, {m, n}),
                z = g.add_input("z", Type(Kind::optional, DType::float32), {n});
  g.add_output("r", node(g, op::Add{}, {x, y}));
  static_cast<void>(z);
  const Session s(std::move(g));
  const auto of = [](Extents e) { return Value(Tensor<float>(e)); };
  const auto some = [&](Extents e) {
    return Value(OptionalValue{DType::float32, std::make_shared<const Value>(of(e))});
  };
  const Value nothing = OptionalValue{DType::float32, nullptr};
  CHECK_NOTHROW(s.run({{"x", of({2})}, {"y", of({3, 2})}, {"z", some({2})}}));
  CHECK_NOTHROW(s.run({{"x", of({2})}, {"y", of({2, 2})}, {"z", nothing}}));
  check_error([&] { return s.run({{"x", of({1})}, {"y", of({3, 2})}, {"z", nothing}}); },
              {"input 'y'", "the extent 'N' is 2 here, and 1 in input 'x'"});
  check_error([&] { return s.run({{"x", of({2})}, {"y", of({3, 2})}, {"z", some({3})}}); },
              {"input 'z'", "the extent 'N' is 3 here, and 2 in input 'y'"});
  check_error([&] { return s.plan({{"y", of({3, 2})}, {"x", of({1})}}); }, {"the extent 'N'"});

  Graph square;
  const Dim k = square.symbol("K");
  square.add_output("r", node(square, op::Neg{}, {square.add_input("x", DType::float32, {k, k})}));
  const Session t(std::move(square));
  CHECK_NOTHROW(t.run({{"x", of({3, 3})}}));
  check_error([&] { return t.run({{"x", of({3, 2})}}); }, {"'K'", "in input 'x'"});
}

TEST_CASE("Session: elements of sequences and optional values have the declared extents") {
  Graph g;
  const Type sequence(Kind::sequence, DType::float32), optional(Kind::optional, DType::float32),
      both(Kind::optional_sequence, DType::float32);
  g.add_input("s", sequence, {Dim(), 3});
  g.add_input("o", optional, {2});
  g.add_input("b", both, {1});
  g.add_output("y", node(g, op::Neg{}, {g.add_input("x", DType::float32, {1})}));
  const Session s(std::move(g));
  const auto of = [](Extents e) { return Value(Tensor<float>(e)); };
  const auto list = [&](std::initializer_list<Extents> all) {
    Sequence q{DType::float32, {}};
    for (const Extents& e : all) q.items.push_back(of(e));
    return q;
  };
  const auto some = [](Type type, Value v) {
    return Value(OptionalValue{type, std::make_shared<const Value>(std::move(v))});
  };
  const Value x = of({1});
  CHECK_NOTHROW(s.run({{"x", x}, {"s", list({{1, 3}, {2, 3}})}, {"o", some(DType::float32, of({2}))}}));
  CHECK_NOTHROW(s.run({{"x", x}, {"s", list({})}, {"o", OptionalValue{DType::float32, nullptr}}}));
  check_error([&] { return s.run({{"x", x}, {"s", list({{1, 3}, {2, 4}})}}); },
              {"input 's', element 1", "(2,4) given, (?,3) declared"});
  check_error([&] { return s.run({{"x", x}, {"o", some(DType::float32, of({3}))}}); },
              {"input 'o'", "(3) given, (2) declared"});
  check_error([&] { return s.run({{"x", x}, {"b", some(sequence, list({{1}, {2}}))}}); },
              {"input 'b', element 1", "(2) given, (1) declared"});
}

TEST_CASE("Session: inputs on which no requested output depends may be left out") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2}), more = g.add_input("more", DType::float32, {2});
  const ValueId h = node(g, op::Relu{}, {x}, "h");
  Graph then = Graph::inside(g), otherwise = Graph::inside(g);
  then.add_output("a", node(then, op::Neg{}, {then.capture(more)}));
  otherwise.add_output("b", otherwise.capture(h));
  const ValueId c = g.add_constant("c", Tensor<bool>(Extents{}, {true}));
  g.add_output(
      "y",
      node(g, op::If{.else_branch = body(std::move(otherwise)), .then_branch = body(std::move(then))}, {c}));
  const Session s(std::move(g), {.fold_constants = false});
  const Value v = Tensor<float>(Extents{2}, {1, -2});
  CHECK(floats(s.run({{"x", v}}, {.outputs = {"h"}})["h"]) == std::vector<float>{1, 0});
  check_error([&] { return s.run({{"x", v}}); }, {"input 'more' is missing"});  // a body reads it
  check_error([&] { return s.run({{"more", v}}, {.outputs = {"h"}}); }, {"input 'x' is missing"});
  CHECK(floats(s.run({{"x", v}, {"more", v}})["y"]) == std::vector<float>{-1, 2});
  CHECK(floats(s.run({{"x", v}, {"more", v}}, {.outputs = {"h"}})["h"]) == std::vector<float>{1, 0});
}

}  // namespace tenon
