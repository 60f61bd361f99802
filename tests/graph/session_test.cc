#include "tenon/graph/session.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tenon/op/math/add.hpp"
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/conv.hpp"
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
  CHECK(floats(s.run({{"x", in}})["y"])[1] == -4);  // independently of the binding
}

TEST_CASE("Session: bound outputs that the caller takes, replaces, drops or adds") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2});
  g.add_output("y", node(g, op::Neg{}, {x}));
  g.add_output("one", g.add_constant({}, Tensor<float>({1}, {1})));
  g.add_output("at", node(g, op::NonZero{}, {x}));
  const Session s(std::move(g));
  Tensor<float> in({2}, {1, 2});
  Binding b = s.bind({{"x", in}});
  std::vector<Value>& values = b.outputs().values();
  const auto in_place = [&] {
    b.run();
    return values.size() == 3 && floats(b.outputs()["y"]) == std::vector<float>{-in[0], -2} &&
           floats(b.outputs()["one"])[0] == 1 && b.outputs()["at"].tensor().size() == 2;
  };
  CHECK(in_place());
  for (Value& v : values) Value(std::move(v));
  in[0] = 3;
  CHECK(in_place());
  b.outputs()["y"] = Tensor<float>({1}, {7});
  CHECK(in_place());
  values.clear();
  in[0] = 4;
  CHECK(in_place());
  values.resize(100);
  CHECK(in_place());
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

}  // namespace tenon
