#include "tenon/graph/session.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/controlflow/loop.hpp"
#include "tenon/op/logical/less.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/reduction/arg_max.hpp"
#include "tenon/op/reduction/reduce_mean.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"
#include "tenon/op/sequence/sequence_construct.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/non_zero.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/graph/build.hpp"

namespace tenon {
using namespace test;

namespace {

std::vector<float> floats(const Value& v) {
  const auto view = v.view<float>();
  return std::vector<float>(view.begin(), view.end());
}

/// Products, reductions and windows, for any batch.
Graph network() {
  Graph g;
  const auto x = g.input<float, Shape<dyn, 4, 20, 20>>("x");
  const auto c = g.add<op::Conv{.pads = {1, 1, 1, 1}}>(x, numbers({16, 4, 3, 3}, 2), numbers({16}, 3));
  const auto m = g.add<op::ReduceMean{.keepdims = 0}>(g.add(op::Relu{}, c), constant<int64_t, 2, 3>);
  const auto f = g.add<op::Gemm{}>(m, numbers({16, 50}, 4), numbers({50}, 5));
  g.output("y", g.add<op::Softmax{}>(f));
  return g;
}

}  // namespace

TEST_CASE("a level that is not present is refused") {
  const char* const before = std::getenv("TENON_ARCH");
  const std::string restored = before ? before : "";
  for (const char* name : {"avx", "avx5120", "Baseline", " "}) {
    setenv("TENON_ARCH", name, 1);
    check_error([] { Session{Graph{}}; },
                {str_cat("TENON_ARCH: '", name, "' is not an available level; available: baseline")});
    try {
      Session{Graph{}};
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::invalid_argument);
    }
  }
  for (const std::string_view name :
       {std::string_view("baseline"), simd::present_levels().back().name, std::string_view()}) {
    setenv("TENON_ARCH", std::string(name).c_str(), 1);
    CHECK(error_of([] { Session{Graph{}}; }) == "no error");
  }
  if (before) setenv("TENON_ARCH", restored.c_str(), 1);
  else unsetenv("TENON_ARCH");
}

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

TEST_CASE("Session: a graph that can be had again keeps no constants") {
  struct Source final : GraphSource {
    mutable int reads = 0;
    bool other = false;
    Graph read() const override {
      ++reads;
      Graph g;
      const ValueId x = g.add_input("x", DType::float32, {2});
      const ValueId w = g.add_input("w", DType::float32, {2}, Tensor<float>({2}, {10, 20}));
      const ValueId c = g.add_constant("c", Tensor<float>({2}, {1, 2}));
      const ValueId p = node(g, op::Mul{}, {x, node(g, op::Neg{}, {w}, "n")}, "p");
      g.add_output("y", other ? p : node(g, op::Add{}, {p, c}));
      return g;
    }
  };
  const auto source = std::make_shared<Source>();
  const Session s(source->read(), {.source = source});
  for (const Graph::ValueEntry& e : s.graph().values()) CHECK(!e.content);
  const Value one = Tensor<float>({2}, {1, 1}), w2 = Tensor<float>({2}, {3, 4});
  for (int round = 0; round < 2; ++round) {
    CHECK(floats(s.run({{"x", one}})["y"]) == std::vector<float>{-9, -18});
    CHECK(floats(s.run({{"x", one}, {"w", w2}})["y"]) == std::vector<float>{-2, -2});
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
  CHECK_NOTHROW(s.run({{"x", fits}, {"more", more}}));
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

TEST_CASE("Session: what fails in a run names the node, the operator, its version, and the shapes") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n"), g.symbol("m")});
  const ValueId i = g.add_input("i", DType::int64, {g.symbol("k")});
  const ValueId shape = g.add_input("shape", DType::int64, {2});
  const ValueId w = g.add_constant("w", Tensor<float>(Extents{3, 3}));
  const ValueId p = node(g, op::MatMul{}, {x, w}, "p", "product");
  const ValueId t = node(g, op::Gather{}, {p, i}, "t", "table");
  g.add_output("y", node(g, op::Reshape{}, {t, shape}, "r", "turn"));
  const Session s(std::move(g));
  const auto run = [&](const Extents& x, std::initializer_list<int64_t> i,
                       std::initializer_list<int64_t> shape) {
    return s.run({{"x", Tensor<float>(x)},
                  {"i", Tensor<int64_t>({static_cast<int64_t>(i.size())}, i)},
                  {"shape", Tensor<int64_t>({2}, shape)}});
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(run({2, 3}, {0, 1}, {3, 2})["y"].tensor().extents() == Extents{3, 2});
    check_error([&] { run({2, 4}, {0}, {1, 3}); },
                {"node 'product' (MatMul-13)", "inner extents differ: 4 and 3", "A: tensor(float) (2,4)",
                 "B: tensor(float) (3,3)"});
    check_error([&] { run({2, 3}, {0, 2}, {3, 2}); }, {"node 'table' (Gather-13)", "2"});
    check_error([&] { run({2, 3}, {0, 1}, {5, 2}); },
                {"node 'turn' (Reshape-25)", "(2,3) cannot become (5,2)", "data: tensor(float) (2,3)"});
  }
}

TEST_CASE("Session: batch sizes in turn") {
  const Session s(network());
  std::vector<Value> in, expected;
  for (int64_t n = 1; n <= 20; ++n) {  // more than are kept ready
    in.push_back(numbers({n, 4, 20, 20}, static_cast<uint32_t>(n)));
    expected.push_back(Session(network()).run({{"x", in.back()}})["y"]);
    CHECK(expected.back().tensor().extents() == Extents{n, 50});
  }
  Outputs out;
  for (int round = 0; round < 3; ++round)
    for (std::size_t k = 0; k < in.size(); ++k) {
      s.run({{"x", in[k]}}, out);
      CHECK(same(out["y"], expected[k]));
    }
  CHECK(same(s.run({{"x", Tensor<float>(Extents{0, 4, 20, 20})}})["y"], Tensor<float>(Extents{0, 50})));
}

TEST_CASE("Session: the number of threads does not show in the results") {
  Graph g;
  const auto x = g.input<float, Shape<257, 311>>("x");
  const auto p = g.add<op::MatMul{}>(x, numbers({311, 193}, 7));
  g.output("softmax", g.add<op::Softmax{}>(p));
  g.output("sum", g.add<op::ReduceSum{.keepdims = 0}>(p));
  g.output("column", g.add<op::ReduceSum{}>(p, constant<int64_t, 0>));
  g.output("exp", g.add(op::Exp{}, p));
  const Session one(std::move(g));
  const Feeds feeds = {{"x", numbers({257, 311}, 9)}};
  Outputs a = one.run(feeds);
  for (int threads : {2, 4, 7}) {
    ThreadPool pool(threads);
    const ScopedPool use(pool);
    Outputs b = one.run(feeds);  // the caller's pool, in force on this thread
    for (const std::string& name : a.names()) CHECK_MESSAGE(same(a[name], b[name]), name);
  }
  Outputs c = Session(network()).run({{"x", numbers({5, 4, 20, 20})}});
  Outputs d = Session(network(), {.threads = 4}).run({{"x", numbers({5, 4, 20, 20})}});
  ThreadPool mine(3);
  Outputs e = Session(network(), {.executor = &mine}).run({{"x", numbers({5, 4, 20, 20})}});
  CHECK(same(c["y"], d["y"]));
  CHECK(same(c["y"], e["y"]));
}

TEST_CASE("Session: runs from many threads at once") {
  for (int threads : {1, 2}) {
    const Session s(network(), {.threads = threads});
    std::vector<Value> in, expected;
    for (int64_t n = 1; n <= 8; ++n) {
      in.push_back(numbers({n, 4, 20, 20}, static_cast<uint32_t>(n)));
      expected.push_back(Session(network()).run({{"x", in.back()}})["y"]);
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> users;
    for (std::size_t k = 0; k < 8; ++k)
      users.emplace_back([&, k] {
        Outputs out;
        for (std::size_t round = 0; round < 6; ++round) {
          const std::size_t which = (k + round / 3) % 8;
          s.run({{"x", in[which]}}, out);
          if (!same(out["y"], expected[which])) ++wrong;
          if (round == 2 && s.run({{"x", in[k]}}, {.outputs = {"x", "y"}}).size() != 2) ++wrong;
        }
      });
    for (std::thread& t : users) t.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("Session: results stay what they are when the session runs again, and when it is gone") {
  auto s = std::make_unique<Session>(network());
  const Value x = numbers({2, 4, 20, 20}), z = numbers({2, 4, 20, 20}, 8);
  Outputs first = s->run({{"x", x}});
  const Value kept = first["y"];
  const Value copy = kept.tensor().clone();
  s->run({{"x", z}}, first);  // `kept` has a handle: its memory is not used again
  CHECK(same(kept, copy));
  CHECK_FALSE(same(first["y"], copy));
  s.reset();
  CHECK(same(kept, copy));
}

TEST_CASE("Session: a result fed back") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2});
  g.add_output("y", node(g, op::Add{}, {x, x}));
  const Session s(std::move(g));
  Outputs out = s.run({{"x", Tensor<float>({2}, {1, 3})}});
  for (int k = 0; k < 3; ++k) s.run({{"x", out["y"]}}, out);
  CHECK(floats(out["y"]) == std::vector<float>{16, 48});
}

TEST_CASE("Session: extents that depend on data, and values that are no tensors") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n")});
  const ValueId at = node(g, op::NonZero{}, {x}, "at");
  const ValueId turned = node(g, op::Transpose{}, {at}, "turned");
  const ValueId flat =
      node(g, op::Reshape{}, {turned, g.add_constant({}, Tensor<int64_t>({1}, {-1}))}, "flat");
  const ValueId picked = node(g, op::Gather{}, {x, flat}, "picked");
  const ValueId twice = node(g, op::Add{}, {picked, picked}, "twice");
  g.add_output("twice", twice);
  g.add_output("list", node(g, op::SequenceConstruct{}, {x, twice, picked}, "sequence"));
  const Session s(std::move(g));
  struct Row {
    std::vector<float> in, twice;
  } rows[] = {{{1, 0, 2}, {2, 4}}, {{0, 0, 0}, {}}, {{0, 5, 0}, {10}}, {{1, 2, 3}, {2, 4, 6}}, {{}, {}}};
  Outputs out;
  for (int round = 0; round < 2; ++round)
    for (const Row& row : rows) {
      const Value in = Tensor<float>({static_cast<int64_t>(row.in.size())}, row.in);
      s.run({{"x", in}}, out);
      CHECK(floats(out["twice"]) == row.twice);
      const std::vector<Value>& items = out["list"].sequence().items;
      CHECK(items.size() == 3);
      CHECK(floats(items[0]) == row.in);
      CHECK(floats(items[1]) == row.twice);
    }
}

TEST_CASE("Session: bound inputs and outputs") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2});
  const ValueId y = node(g, op::Neg{}, {node(g, op::Add{}, {x, x})});
  g.add_output("y", y);
  g.add_output("again", node(g, op::Identity{}, {y}));
  g.add_output("at", node(g, op::NonZero{}, {x}));
  g.add_output("x", x);
  g.add_output("one", g.add_constant({}, Tensor<float>({1}, {1})));
  const Session s(std::move(g));
  Tensor<float> in({2}, {1, 2});
  Outputs before = s.run({{"x", in}});
  const void* const memory = before["y"].tensor().data();
  Binding b = s.bind({{"x", in}}, std::move(before));
  const void* const one = b.outputs()["one"].tensor().data();
  for (int round = 0; round < 3; ++round) {
    in[0] = static_cast<float>(round);
    b.run();
    CHECK(floats(b.outputs()["y"]) == std::vector<float>{-2.0f * static_cast<float>(round), -4});
    CHECK(floats(b.outputs()["again"]) == floats(b.outputs()["y"]));
    CHECK(b.outputs()["at"].tensor().size() == (round == 0 ? 1 : 2));
    CHECK(floats(b.outputs()["x"])[0] == static_cast<float>(round));
    CHECK(floats(b.outputs()["one"])[0] == 1);
    CHECK(b.outputs()["one"].tensor().data() == one);
    CHECK(b.outputs()["y"].tensor().data() == memory);
  }
  CHECK(floats(s.run({{"x", in}})["y"])[1] == -4);  // beside the binding
}

TEST_CASE("Session: strings") {
  Graph g;
  const ValueId x = g.add_input("x", DType::string, {2});
  const ValueId a = node(g, op::Concat{.axis = 0}, {x, x}, "a");
  const ValueId b = node(g, op::Reshape{}, {a, g.add_constant({}, Tensor<int64_t>({2}, {2, 2}))}, "b");
  const ValueId c = node(g, op::Transpose{}, {b}, "c");
  g.add_output("y", node(g, op::Identity{}, {c}, "d"));
  g.add_output("a", a);
  const Session s(std::move(g));
  Outputs out;
  for (const char* text : {"first", "second, and so long that it needs memory of its own", ""}) {
    s.run({{"x", Tensor<std::string>({2}, {text, "b"})}}, out);
    CHECK(out["y"].view<std::string>()(0, 1) == text);
    CHECK(out["a"].view<std::string>()(3) == "b");
  }
}

TEST_CASE("Session: the caller's allocator") {
  struct Counting final : Allocator {
    std::atomic<int> taken{0}, given{0};
    void* allocate(size_t bytes, size_t alignment) override {
      ++taken;
      return ::operator new(bytes, std::align_val_t(alignment));
    }
    void deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
      ++given;
      ::operator delete(memory, bytes, std::align_val_t(alignment));
    }
  } mine;
  {
    const Session s(network(), {.allocator = &mine});
    (void)s.run({{"x", numbers({2, 4, 20, 20})}});
    CHECK(mine.taken > 0);
  }
  CHECK(mine.taken == mine.given);
}

TEST_CASE("Session: profile") {
  Profile profile;
  const Session s(network());
  (void)s.run({{"x", numbers({2, 4, 20, 20})}}, {.profile = &profile});
  REQUIRE(profile.entries.size() == 5);
  CHECK(profile.entries[0].op == "Conv");
  CHECK(profile.entries[0].node == "Conv_0");
  for (std::size_t k = 1; k < profile.entries.size(); ++k)
    CHECK(profile.entries[k].start_us >=
          profile.entries[k - 1].start_us + profile.entries[k - 1].duration_us);
}

TEST_CASE("Session: constants are computed once, and what fails there fails in the run") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2});
  const ValueId table = g.add_constant("table", Tensor<float>({2, 2}, {1, 2, 3, 4}));
  const ValueId good = g.add_constant("good", Tensor<int64_t>({}, {1})),
                bad = g.add_constant("bad", Tensor<int64_t>({}, {7}));
  g.add_output("y", node(g, op::Add{}, {x, node(g, op::Gather{}, {table, good}, "row")}));
  g.add_output("z", node(g, op::Add{}, {x, node(g, op::Gather{}, {table, bad}, "none", "beyond")}));
  const Session s(std::move(g));
  CHECK(s.program().nodes().size() == 3);
  const Feeds feeds = {{"x", Tensor<float>({2}, {1, 1})}};
  CHECK(floats(s.run(feeds, {.outputs = {"y"}})["y"]) == std::vector<float>{4, 5});
  check_error([&] { return s.run(feeds); }, {"node 'beyond' (Gather-13)", "7"});
  Graph h;
  const ValueId c = h.add_constant("c", Tensor<float>({1}, {2}));
  h.add_output("y", node(h, op::Neg{}, {c}));
  const Session unfolded(std::move(h), {.fold_constants = false});
  CHECK(unfolded.program().nodes().size() == 1);
  CHECK(floats(unfolded.run({})["y"]) == std::vector<float>{-2});
}

TEST_CASE("Session: branches see the values around them") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n")});
  const ValueId cond = g.add_input("cond", DType::bool_, {});
  g.add_constant("w", Tensor<float>({1}, {10}));
  node(g, op::Neg{}, {x}, "a");  // dies in the If
  const ValueId b = node(g, op::Exp{}, {x}, "b");
  Graph then_branch = Graph::inside(g), else_branch = Graph::inside(g);
  then_branch.add_output("r",
                         node(then_branch, op::Add{}, {then_branch.find("a"), then_branch.find("w")}, "r"));
  // A branch within the branch reads `a` from two graphs above; the other one gives `x` as it is.
  Graph inner = Graph::inside(else_branch), other = Graph::inside(else_branch);
  inner.add_output("i", node(inner, op::Mul{}, {inner.find("a"), inner.find("a")}, "i"));
  other.add_output("o", other.find("x"));
  const ValueId again = else_branch.find("cond");
  const ValueId nested =
      node(else_branch, op::If{.else_branch = body(std::move(inner)), .then_branch = body(std::move(other))},
           {again}, "n");
  else_branch.add_output("r", nested);
  const ValueId r = node(
      g, op::If{.else_branch = body(std::move(else_branch)), .then_branch = body(std::move(then_branch))},
      {cond}, "r");
  g.add_output("y", node(g, op::Add{}, {r, r}, "y"));
  g.add_output("b", b);
  const Session s(std::move(g));
  const auto run = [&](std::initializer_list<float> x, bool cond) {
    return floats(s.run({{"x", Tensor<float>({static_cast<int64_t>(x.size())}, x)},
                         {"cond", Tensor<bool>({}, {cond})}})["y"]);
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(run({1, 2}, true) == std::vector<float>{18, 16});
    CHECK(run({1, 2}, false) == std::vector<float>{2, 8});
    CHECK(run({3}, false) == std::vector<float>{18});
  }
}

TEST_CASE("Session: loops see the values around them") {
  // v = v * x + step, as long as there are trips; every v is kept. Where the body never runs, the captured
  // value tells the extents of v.
  for (const Dims& declared : {Dims{2}, Dims()}) {
    Graph g;
    const ValueId trips = g.add_input("trips", DType::int64, {});
    const ValueId x = g.add_input("x", DType::float32, declared);
    const ValueId start = g.add_input("start", DType::float32, {2});
    node(g, op::Neg{}, {x}, "minus");
    Graph b = Graph::inside(g);
    b.set_name("body");
    b.add_input("i", DType::int64, {});
    const ValueId go = b.add_input("go", DType::bool_, {});
    const ValueId v = b.add_input("v", DType::float32, {2});
    const ValueId next =
        node(b, op::Add{},
             {node(b, op::Mul{}, {v, b.find("minus")}), b.add_constant({}, Tensor<float>({}, {1}))}, "next");
    b.add_output("go_on", go);
    b.add_output("next", next);
    b.add_output("kept", next);
    const std::string names[] = {"last", "all"};
    const auto out =
        g.add_node("loop", AnyOperator::make(op::Loop{body(std::move(b))}), {trips, -1, start}, names);
    g.add_output("last", out[0]);
    g.add_output("all", out[1]);
    const Session s(std::move(g));
    for (int64_t n : {0, 1, 3, 2}) {
      std::vector<float> expected = {5, -1}, all;
      for (int64_t k = 0; k < n; ++k) {
        expected = {expected[0] * -2 + 1, expected[1] * -3 + 1};
        all.insert(all.end(), expected.begin(), expected.end());
      }
      Outputs y = s.run({{"trips", Tensor<int64_t>({}, {n})},
                         {"x", Tensor<float>({2}, {2, 3})},
                         {"start", Tensor<float>({2}, {5, -1})}});
      CHECK(floats(y["last"]) == expected);
      CHECK(floats(y["all"]) == all);
      CHECK(y["all"].tensor().extents() == Extents{n, 2});
    }
  }

  // A value around a body that never runs may be one that the body could not take.
  Graph g;
  const ValueId trips = g.add_input("trips", DType::int64, {});
  g.add_input("x", DType::float32, Dims{Dim::symbol(g.symbol("N").symbol())});
  Graph b = Graph::inside(g);
  b.add_input("i", DType::int64, {});
  const ValueId go = b.add_input("go", DType::bool_, {});
  b.add_output("go_on", go);
  b.add_output("greatest", node(b, op::ArgMax{}, {b.find("x")}, "greatest"));
  const std::string name[] = {"all"};
  g.add_output("all",
               g.add_node("loop", AnyOperator::make(op::Loop{body(std::move(b))}), {trips, -1}, name)[0]);
  const Session s(std::move(g));
  Outputs y = s.run({{"trips", Tensor<int64_t>({}, {0})}, {"x", Tensor<float>({0}, {})}});
  CHECK(y["all"].tensor().extents() == Extents{0, 1});
}

TEST_CASE("Session: what a rule refuses is refused where only the run knows it, known extents or not") {
  const Value x = Tensor<float>({1, 4}, {1, 2, 3, 4}), one = Tensor<float>({1, 1}, {1});
  const struct {
    AnyOperator op;
    Value x, second;
  } rows[] = {
      {AnyOperator::make(op::Reshape{}), x, Tensor<int64_t>(Extents{0})},
      {AnyOperator::make(op::Expand{}), x, Tensor<int64_t>({1}, {3})},
      {AnyOperator::make(op::ReduceSum{}), one, Tensor<int64_t>({1}, {2})},
      {AnyOperator::make(op::ReduceSum{}), one, Tensor<int64_t>({1}, {std::numeric_limits<int64_t>::min()})},
  };
  for (const auto& row : rows) {
    CAPTURE(row.op.spec().name);
    Graph g;
    const ValueId in = g.add_input("x", DType::float32, {}), second = g.add_input("second", DType::int64, {});
    g.add_output("y", g.add_node({}, row.op, {in, second}, std::array{std::string("y")})[0]);
    const Session s(std::move(g));
    CHECK_THROWS_AS(s.run({{"x", row.x}, {"second", row.second}}), Error);
  }
}

TEST_CASE("Outputs: read when const; names and numbers that are none are refused") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2});
  g.add_output("y", node(g, op::Neg{}, {x}));
  const Session s(std::move(g));
  const Outputs out = s.run({{"x", Tensor<float>({2}, {1, 2})}});
  CHECK(floats(out["y"]) == std::vector<float>{-1, -2});
  CHECK(floats(out[0]) == floats(out["y"]));
  CHECK(out.values().size() == 1);
  check_error([&] { return out["z"]; }, {"there is no output 'z'"});
  check_error([&] { return out[1]; }, {"there is no output 1, but 1 outputs"});
  // A caller may take the values away; the next run makes them anew.
  Outputs taken = out;
  taken.values().clear();
  check_error([&] { return taken["y"]; }, {"there is no output 0, but 0 outputs"});
  s.run({{"x", Tensor<float>({2}, {3, 4})}}, taken);
  CHECK(floats(taken["y"]) == std::vector<float>{-3, -4});
}

TEST_CASE("Session and Binding: moved from, bound to nothing, outlived") {
  const auto graph = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {2});
    g.add_output("y", node(g, op::Neg{}, {x}));
    return g;
  };
  const Feeds feeds = {{"x", Tensor<float>({2}, {1, 2})}};
  const std::vector<float> expected{-1, -2};
  const auto is_refused = [](auto f, std::string_view text) {
    check_error(f, {text});
    try {
      f();
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::invalid_argument);
    }
  };
  Binding none;
  is_refused([&] { none.run(); }, "bound to nothing");
  CHECK(none.outputs().size() == 0);
  for (int threads : {1, 2}) {
    auto first = std::make_unique<Session>(graph(), SessionOptions{.threads = threads});
    Binding bound = first->bind(feeds);
    Session second = std::move(*first);
    bound.run();  // its session has moved
    CHECK(floats(std::as_const(bound).outputs()["y"]) == expected);
    for (const Feeds& f : {feeds, Feeds()}) {
      is_refused([&] { return first->run(f); }, "moved from");
      is_refused([&] { return first->run(f, {.outputs = {"x"}}); }, "moved from");
      is_refused([&] { return first->bind(f); }, "moved from");
      is_refused([&] { return first->plan(f); }, "moved from");
    }
    is_refused([&] { return first->program().nodes().size(); }, "moved from");
    is_refused([&] { return first->graph().nodes().size(); }, "moved from");
    is_refused([&] { return first->reports().size(); }, "moved from");
    CHECK(floats(second.run(feeds)["y"]) == expected);
    *first = std::move(second);  // one that was moved from may get a graph again
    CHECK(floats(first->run(feeds)["y"]) == expected);
    Binding moved = std::move(bound);
    is_refused([&] { bound.run(); }, "moved from");
    is_refused([&] { return std::as_const(bound).outputs()["y"]; }, "there is no output 'y'");
    first.reset();
    moved.run();  // its session is gone
    CHECK(floats(moved.outputs()["y"]) == expected);
    none = std::move(moved);  // one that was bound to nothing
    none.run();
    none = Binding();
    is_refused([&] { none.run(); }, "bound to nothing");
  }
}

TEST_CASE("Session: the memory of a run, before it") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n")});
  const ValueId a = node(g, op::Exp{}, {node(g, op::Neg{}, {x})});
  g.add_output("at", node(g, op::NonZero{}, {node(g, op::Add{}, {a, x})}));
  const Session s(std::move(g));
  const MemoryPlan p = s.plan({{"x", Tensor<float>(Extents{32})}});
  CHECK(p.arena_bytes == 128);
  CHECK(p.naive_bytes == 128);
  CHECK(p.run_time_values == 1);
  CHECK(s.plan({}).run_time_values == 4);  // of an input whose extents are only declared
  check_error([&] { return s.plan({{"z", Tensor<float>(Extents{32})}}); }, {"there is no input 'z'"});
  check_error([&] { return s.plan({{"x", Tensor<float>(Extents{4, 8})}}); }, {"(4,8) given, (n) declared"});
}

namespace {

Value one(float x) { return Tensor<float>({1}, {x}); }

/// Where Gated operators wait until it is open, and then throw if it `throws`. `arrived` counts them.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true, throws = false;
  int arrived = 0;

  void pass() {
    std::unique_lock lock(mutex);
    ++arrived;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
    if (throws) throw std::runtime_error("the gate is shut");  // folding lets no Error through
  }
  void set(bool is_open, bool throwing = false) {
    const std::lock_guard lock(mutex);
    open = is_open, throws = throwing;
    changed.notify_all();
  }
  void await(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return arrived >= count; });
  }
  static inline Gate* current = nullptr;
};
/// -x. Over a constant it is computed, and waits, while a program is made.
struct Gated {
  static constexpr op::Spec spec = op::own_spec("Gated", {{"X", "T"}}, {{"Y", "T"}}, {{"T", types::float32}});
  constexpr void infer(op::Infer& i) const { i.out(0, i.dims(0)); }
  void compute(TensorView<const float> x, TensorView<float> y) const {
    Gate::current->pass();
    for (int64_t k = 0; k < x.size(); ++k) y[k] = -x[k];
  }
};

/// y = x + 1; values "slow<k>" and "other<k>", k < count, are x - k and 2 x - k. The former's -k is gated.
Graph gated_graph(int count) {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {1}), w = g.add_input("w", DType::float32, {1}, one(1));
  g.add_output("y", node(g, op::Add{}, {x, w}));
  const ValueId twice = node(g, op::Add{}, {x, x});
  for (int k = 0; k < count; ++k) {
    const ValueId c = g.add_constant({}, one(static_cast<float>(k)));
    node(g, op::Add{}, {x, node(g, Gated{}, {c})}, str_cat("slow", k));
    node(g, op::Add{}, {twice, node(g, op::Neg{}, {c})}, str_cat("other", k));
  }
  return g;
}

/// What threads found, for doctest's macros belong to one thread.
struct Found {
  std::mutex mutex;
  std::vector<float> numbers;
  std::vector<std::string> errors;

  void add(auto f) {
    float number = 0;
    std::string error;
    try {
      number = f();
    } catch (const std::exception& e) {
      error = e.what();
    }
    const std::lock_guard lock(mutex);
    if (error.empty()) numbers.push_back(number);
    else errors.push_back(error);
  }
};

}  // namespace

TEST_CASE("Session: while a program is made, other runs go on, and those that want it wait for it") {
  for (int threads : {1, 2}) {
    Gate gate;
    Gate::current = &gate;
    const Session s(gated_graph(4), {.threads = threads});
    CHECK(gate.arrived == 0);  // no output of the graph's
    const Feeds feeds = {{"x", one(5)}};
    const auto get = [&](const std::string& name) {
      return s.run(feeds, {.outputs = {name}})[name].view<float>()(0);
    };
    CHECK(get("other3") == 7);
    gate.set(false);
    Found found;
    std::vector<std::thread> users;
    for (int k = 0; k < 4; ++k) users.emplace_back([&] { found.add([&] { return get("slow2"); }); });
    gate.await(1);
    // Until the gate opens: the graph's own outputs, a program that is there, new ones, a Binding.
    CHECK(floats(s.run(feeds)["y"]) == std::vector<float>{6});
    CHECK(get("other3") == 7);
    CHECK(get("other1") == 9);
    CHECK(floats(s.run({{"x", one(5)}, {"w", one(2)}})["y"]) == std::vector<float>{7});
    Binding b = s.bind(feeds, {}, {.outputs = {"other0"}});
    b.run();
    CHECK(floats(b.outputs()["other0"]) == std::vector<float>{10});
    users.emplace_back([&] { found.add([&] { return get("slow1"); }); });  // another one behind the gate
    gate.await(2);
    // A run that waits keeps its bounds.
    std::stop_source source;
    std::string stopped;
    std::thread waits([&] {
      stopped = error_of([&] { return s.run(feeds, {.outputs = {"slow2"}, .stop = source.get_token()}); });
    });
    source.request_stop();
    waits.join();
    CHECK(stopped == "the run was cancelled");
    check_error(
        [&] { return s.run(feeds, {.outputs = {"slow2"}, .time_limit = std::chrono::nanoseconds(1)}); },
        {"has passed its time"});
    CHECK(found.numbers.empty());
    gate.set(true);
    for (std::thread& t : users) t.join();
    std::ranges::sort(found.numbers);
    CHECK(found.numbers == std::vector<float>{3, 3, 3, 3, 4});
    CHECK(found.errors.empty());
    CHECK(gate.arrived == 2);  // four runs wanted slow2, and one made it
    CHECK(get("slow2") == 3);
    CHECK(gate.arrived == 2);
  }
}

TEST_CASE("Session: what making a program throws reaches all that wait, and the next run tries again") {
  Gate gate;
  Gate::current = &gate;
  const Pass wait{"wait", [](Program&) {
                    try {
                      Gate::current->pass();
                    } catch (const std::runtime_error& e) {
                      throw Error(ErrorCode::invalid_model, "wait", e.what());
                    }
                  }};
  const Session s(gated_graph(1), {.passes = std::vector{wait}});
  const Feeds feeds = {{"x", one(5)}};
  const auto run = [&](const char* name) { return s.run(feeds, {.outputs = {name}})[0].view<float>()(0); };
  for (int round = 0; round < 2; ++round) {
    gate.arrived = 0;
    gate.set(false);
    Found found;
    std::atomic<int> asked{0};
    std::vector<std::thread> users;
    for (int k = 0; k < 4; ++k)
      users.emplace_back([&] {
        ++asked;
        found.add([&] { return run("other0"); });
      });
    gate.await(1);
    while (asked < 4) std::this_thread::yield();
    gate.set(true, true);
    for (std::thread& t : users) t.join();
    CHECK(found.numbers.empty());
    CHECK(found.errors == std::vector<std::string>(4, "wait: the gate is shut"));
    CHECK(floats(s.run(feeds)["y"]) == std::vector<float>{6});
    CHECK_THROWS_WITH_AS(run("slow0"), "the gate is shut", std::runtime_error);  // no Error
  }
  gate.set(true);
  CHECK(run("other0") == 10);
  CHECK(run("slow0") == 5);
}

TEST_CASE("Session: a run that is cancelled while it makes a program leaves that to those that wait") {
  Gate gate;
  Gate::current = &gate;
  const Session s(gated_graph(1));
  const Feeds feeds = {{"x", one(5)}};
  gate.set(false);
  std::stop_source source;
  std::string first;
  std::thread maker([&] {
    first = error_of([&] { return s.run(feeds, {.outputs = {"slow0"}, .stop = source.get_token()}); });
  });
  gate.await(1);
  Found found;
  std::thread waits(
      [&] { found.add([&] { return s.run(feeds, {.outputs = {"slow0"}})[0].view<float>()(0); }); });
  source.request_stop();
  gate.set(true);
  maker.join();
  waits.join();
  CHECK(first.find("cancelled") != std::string::npos);
  CHECK(found.numbers == std::vector<float>{5});
}

namespace {

/// An operator for Neg that holds a mark of its program.
struct Marked {
  std::shared_ptr<const int> mark{};

  static constexpr op::Spec spec =
      op::own_spec("Marked", {{"X", "T"}}, {{"Y", "T"}}, {{"T", types::float32}});
  constexpr void infer(op::Infer& i) const { i.out(0, i.dims(0)); }
  void compute(TensorView<const float> x, TensorView<float> y) const {
    for (int64_t k = 0; k < x.size(); ++k) y[k] = -x[k];
  }
};
std::vector<std::weak_ptr<const int>> marks;  // of all programs that were made

void apply_marks(Program& program) {
  const auto mark = std::make_shared<const int>();
  marks.push_back(mark);
  program.for_each<op::Neg>([&](int n, const op::Neg&) {
    program.replace(n, AnyOperator::make(Marked{mark}), std::vector<ValueId>(program.node(n).inputs));
  });
}
std::size_t programs() {
  return static_cast<std::size_t>(std::ranges::count_if(marks, [](const auto& m) { return !m.expired(); }));
}

/// v0 = -x, v1 = -v0, … and their gate, "gated".
Graph chain() {
  Graph g;
  ValueId v = g.add_input("x", DType::float32, {1});
  for (int k = 0; k < 10; ++k) v = node(g, op::Neg{}, {v}, str_cat("v", k));
  node(g, Gated{}, {v}, "gated");
  g.add_output("y", v);
  return g;
}
std::vector<std::string> set_of(int number) {
  return {str_cat("v", number % 10), str_cat("v", number / 10 % 10), str_cat("v", number / 100)};
}

}  // namespace

TEST_CASE("Session: programs of a thousand sets of outputs take bounded memory") {
  const struct {
    int most, sets;
  } rows[] = {{0, 100}, {1, 100}, {16, 1000}};
  for (const auto& row : rows) {
    CAPTURE(row.most);
    marks.clear();
    const Session s(chain(), {.passes = std::vector{Pass{"marks", apply_marks}}, .max_programs = row.most});
    const Feeds feeds = {{"x", one(1)}};
    for (int k = 0; k < row.sets; ++k) {
      const Outputs out = s.run(feeds, {.outputs = set_of(k)});
      for (std::size_t o = 0; o < 3; ++o) CHECK(floats(out[o])[0] == (set_of(k)[o].back() % 2 == 0 ? -1 : 1));
      CHECK(programs() == 1 + static_cast<std::size_t>(std::min(row.most, k + 1)));
    }
    const std::size_t made = marks.size();
    CHECK(made == 1 + static_cast<std::size_t>(row.sets));
    CHECK(floats(s.run(feeds)["y"]) == std::vector<float>{1});
    CHECK(marks.size() == made);  // the graph's own stays
  }
}

TEST_CASE("Session: the program unused for longest goes, and stays for those that have it") {
  marks.clear();
  Gate gate;
  Gate::current = &gate;
  auto s = std::make_unique<Session>(
      chain(), SessionOptions{.passes = std::vector{Pass{"marks", apply_marks}}, .max_programs = 2});
  const Feeds feeds = {{"x", one(1)}};
  const auto run = [&](int number) { return floats(s->run(feeds, {.outputs = set_of(number)})[0])[0]; };
  for (int k = 1; k < 20; ++k) run(0), run(k);
  CHECK(marks.size() == 1 + 20);  // the first set was used all the time
  run(1);
  CHECK(marks.size() == 1 + 21);

  Binding bound = s->bind(feeds, {}, {.outputs = set_of(30)});
  CHECK(programs() == 3);
  run(31), run(32);
  CHECK(programs() == 4);  // the Binding's too
  bound.run();
  CHECK(floats(bound.outputs()[0])[0] == -1);

  gate.set(false);
  Found found;
  std::thread user([&] { found.add([&] { return floats(s->run(feeds, {.outputs = {"gated"}})[0])[0]; }); });
  gate.await(1);
  CHECK(programs() == 4);
  run(33), run(34);
  CHECK(programs() == 5);  // that of the run too
  gate.set(true);
  user.join();
  CHECK(found.numbers == std::vector<float>{-1});
  CHECK(programs() == 4);
  s.reset();
  CHECK(programs() == 1);
  bound.run();
  bound = Binding();
  CHECK(programs() == 0);
}

}  // namespace tenon
