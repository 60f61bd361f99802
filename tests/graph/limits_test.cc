// Bounds of runs and of folded constants: what passes one ends with an Error, and nothing else is touched.
#include <doctest/doctest.h>

#include <thread>

#include "tenon/graph/session.hpp"
#include "tenon/op/controlflow/loop.hpp"
#include "tenon/op/controlflow/scan.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/sequence/sequence_construct.hpp"
#include "tenon/op/sequence/sequence_map.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/non_zero.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tenon/op/text/string_concat.hpp"

namespace tenon {
namespace {

using namespace std::chrono_literals;

/// Runs f, which has to end with an Error of this code whose text holds all of these.
void check_error(auto f, ErrorCode code, std::initializer_list<std::string_view> texts) {
  try {
    f();
  } catch (const Error& e) {
    const std::string what = e.what();
    CHECK_MESSAGE(e.code() == code, what);
    for (std::string_view text : texts)
      CHECK_MESSAGE(what.find(text) != std::string::npos, "'", what, "' lacks '", std::string(text), "'");
    return;
  }
  FAIL_CHECK("no error");
}

template <class Op>
ValueId node(Graph& g, const Op& op, std::vector<ValueId> inputs, std::string name = {}) {
  const std::string names[] = {""};
  return g.add_node(std::move(name), AnyOperator::make(op), std::move(inputs), names)[0];
}

constexpr int64_t forever = no_bound;

/// The body of a Loop: f(body, state) gives the next state.
template <class F>
op::BodyRef loop_body(Graph& outer, const Dims& dims, F f) {
  Graph b = Graph::inside(outer);
  b.add_input("i", DType::int64, {});
  const ValueId go = b.add_input("go", DType::bool_, {});
  const ValueId v = b.add_input("v", DType::float32, dims);
  b.add_output("go_on", go);
  b.add_output("next", f(b, v));
  return body(std::move(b));
}

/// y = x after as many trips of "loop" as the input says, each with `inner` trips of "inner" in it.
Graph loops(int64_t inner = 0) {
  Graph g;
  const ValueId trips = g.add_input("trips", DType::int64, {});
  const ValueId x = g.add_input("x", DType::float32, {2});
  const op::Loop loop{loop_body(g, {2}, [&](Graph& b, ValueId v) {
    if (inner == 0) return node(b, op::Neg{}, {v}, "neg");
    const op::Loop within{loop_body(b, {2}, [](Graph& c, ValueId w) { return node(c, op::Neg{}, {w}); })};
    return node(b, within, {b.add_constant({}, Tensor<int64_t>({}, {inner})), -1, v}, "inner");
  })};
  g.add_output("y", node(g, loop, {trips, -1, x}, "loop"));
  return g;
}

/// The state grows from trip to trip.
Graph growing() {
  Graph g;
  const ValueId trips = g.add_input("trips", DType::int64, {});
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n")});
  const op::Loop loop{loop_body(g, {Dim()}, [](Graph& b, ValueId v) {
    return node(b, op::Relu{}, {node(b, op::Concat{.axis = 0}, {v, v}, "twice")}, "relu");
  })};
  g.add_output("y", node(g, loop, {trips, -1, x}, "loop"));
  return g;
}

Feeds feeds(int64_t trips) {
  return {{"trips", Tensor<int64_t>({}, {trips})}, {"x", Tensor<float>({2}, {1, 2})}};
}
float first(Outputs&& y) { return *y[0].view<float>().data(); }

/// Counts the bytes in use, and their maximum.
struct Counting final : Allocator {
  std::atomic<int64_t> used{0}, most{0};
  void* allocate(size_t bytes, size_t alignment) override {
    const int64_t now = used += static_cast<int64_t>(bytes);
    if (now > most) most = now;
    return default_allocator().allocate(bytes, alignment);
  }
  void deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
    used -= static_cast<int64_t>(bytes);
    default_allocator().deallocate(memory, bytes, alignment);
  }
};

TEST_CASE("Limits: strings are folded while they are short and few") {
  Graph g;
  ValueId v = g.add_constant("text", Tensor<std::string>({1}, {std::string(16, 'a')}));
  for (int k = 0; k < 40; ++k) v = node(g, op::StringConcat{}, {v, v}, str_cat("twice", k));
  g.add_output("long", v);
  const ValueId shape = g.add_constant("shape", Tensor<int64_t>({1}, {int64_t{1} << 22}));
  const ValueId some = g.add_constant("some", Tensor<std::string>({1}, {std::string(16, 'a')}));
  g.add_output("many", node(g, op::Expand{}, {some, shape}, "wide"));
  CHECK(Session(std::move(g)).program().nodes().size() == 40 - 4 + 1);
}

}  // namespace

TEST_CASE("Limits: iterations") {
  const Session s(loops());
  CHECK(first(s.run(feeds(7), {.max_iterations = 7})) == -1);
  check_error([&] { return s.run(feeds(8), {.max_iterations = 7}); }, ErrorCode::limit,
              {"node 'loop' (Loop-", "more than 7 iterations"});
  check_error([&] { return s.run(feeds(forever), {.max_iterations = 10'000}); }, ErrorCode::limit,
              {"'loop'", "10000"});
  CHECK(first(s.run(feeds(8))) == 1);

  // The trips of the inner loop count together.
  const Session nested(loops(5));
  CHECK(first(nested.run(feeds(3), {.max_iterations = 15})) == -1);
  check_error([&] { return nested.run(feeds(4), {.max_iterations = 15}); }, ErrorCode::limit,
              {"'loop' (Loop-", "'inner' (Loop-", "15 iterations"});
  CHECK(first(nested.run(feeds(4))) == 1);
}

TEST_CASE("Limits: iterations of Scan and SequenceMap") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {Dim(), 2});
  Graph b = Graph::inside(g);
  b.add_output("z", node(b, op::Neg{}, {b.add_input("e", DType::float32, {2})}));
  g.add_output("y", node(g, op::Scan{.body = body(std::move(b)), .num_scan_inputs = 1}, {x}, "scan"));
  const Session scan(std::move(g));
  const Value three = Tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(first(scan.run({{"x", three}}, {.max_iterations = 3})) == -1);
  check_error([&] { return scan.run({{"x", three}}, {.max_iterations = 2}); }, ErrorCode::limit,
              {"'scan' (Scan-", "2 iterations"});

  Graph h;
  const ValueId e = h.add_input("x", DType::float32, {});
  const ValueId list = node(h, op::SequenceConstruct{}, {e, e, e});
  Graph c = Graph::inside(h);
  c.add_output("z", node(c, op::Neg{}, {c.add_input("e", DType::float32, {})}));
  h.add_output("y", node(h, op::SequenceMap{body(std::move(c))}, {list}, "map"));
  const Session map(std::move(h));
  CHECK(map.run({{"x", three}}, {.max_iterations = 3})["y"].sequence().items.size() == 3);
  check_error([&] { return map.run({{"x", three}}, {.max_iterations = 2}); }, ErrorCode::limit,
              {"'map'", "2 iter"});
}

TEST_CASE("Limits: time") {
  const Session s(loops());
  check_error([&] { return s.run(feeds(forever), {.time_limit = 20ms}); }, ErrorCode::limit,
              {"'loop'", "has passed its time of 20 ms"});
  check_error([&] { return s.run(feeds(1), {.time_limit = 0s}); }, ErrorCode::limit, {"'loop'", " 0 ms"});
  check_error([&] { return s.run(feeds(1), {.time_limit = -1s}); }, ErrorCode::limit, {"'loop'"});
  for (const auto limit :
       {std::chrono::steady_clock::duration(1h), std::chrono::steady_clock::duration::max() - 1ns})
    CHECK(first(s.run(feeds(3), {.time_limit = limit})) == -1);
  Profile profile;
  check_error([&] { return s.run(feeds(1), {.profile = &profile, .time_limit = 0s}); }, ErrorCode::limit,
              {"'loop'"});
  CHECK(profile.entries.empty());
}

TEST_CASE("Limits: time in which a graph is made ready is part of a run's") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {1});
  const ValueId minus = node(g, op::Neg{}, {x}, "minus");
  g.add_output("y", node(g, op::Relu{}, {minus}, "relu"));
  static bool slow = false;
  const Pass sleep{"sleep", [](Program&) {
                     if (slow) std::this_thread::sleep_for(30ms);
                   }};
  const Session s(std::move(g), {.passes = std::vector{sleep}});
  const Feeds given = {{"x", Tensor<float>({1}, {1})}};
  slow = true;
  CHECK(first(s.run(given, {.time_limit = 1h})) == 0);  // ready already
  for (const auto limit : {20ms, 0ms})
    check_error([&] { return s.run(given, {.outputs = {"x", "y"}, .time_limit = limit}); }, ErrorCode::limit,
                {"'minus'", limit == 0ms ? " 0 ms" : "20 ms"});
  CHECK(first(s.run(given, {.outputs = {"x", "y"}, .time_limit = 1h})) == 1);
  std::stop_source source;
  source.request_stop();
  check_error([&] { return s.run(given, {.outputs = {"y", "x"}, .stop = source.get_token()}); },
              ErrorCode::cancelled, {"'minus'"});
}

TEST_CASE("Limits: a run is cancelled from another thread, and no other run with it") {
  const Session s(loops());
  std::stop_source source;
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) CHECK(first(s.run(feeds(101))) == -1);
  });
  std::thread stopper([&] {
    std::this_thread::sleep_for(20ms);
    source.request_stop();
  });
  check_error([&] { return s.run(feeds(forever), {.stop = source.get_token()}); }, ErrorCode::cancelled,
              {"'loop' (Loop-", "cancelled"});
  stopper.join();
  check_error([&] { return s.run(feeds(1), {.stop = source.get_token()}); }, ErrorCode::cancelled,
              {"'loop'"});
  done = true;
  other.join();
  CHECK(first(s.run(feeds(1), {.stop = std::stop_source().get_token()})) == -1);
}

TEST_CASE("Limits: bytes that the plan tells") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n"), 16});
  const ValueId turned = node(g, op::Transpose{}, {x}, "turned");
  g.add_output("y", node(g, op::Transpose{}, {turned}, "back"));
  g.add_output("z", node(g, op::Neg{}, {x}, "minus"));
  Counting memory;
  {
    const Session s(std::move(g), {.allocator = &memory});
    const auto value = [](int64_t n) { return Feeds{{"x", Tensor<float>(Extents{n, 16})}}; };
    constexpr int64_t one = 100 * 16 * 4;
    constexpr int64_t heads = 3 * 64;  // what stands before a block
    Outputs out;
    for (int round = 0; round < 3; ++round) {
      s.run(value(100), out, {.max_bytes = 3 * one + heads});
      check_error([&] { return s.run(value(100), {.max_bytes = 3 * one - 1}); }, ErrorCode::limit,
                  {"node 'turned' (Transpose-", "19200 bytes", "this node's 6400", "bound of 19199"});
      check_error([&] { return s.run(value(100), out, {.max_bytes = 0}); }, ErrorCode::limit, {"bound of 0"});
    }
    CHECK(s.run(value(100))["z"].tensor().size() == 1600);
  }
  CHECK(memory.used == 0);
}

TEST_CASE("Limits: bytes that only the run tells") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n")});
  const ValueId shape = g.add_input("shape", DType::int64, {1});
  const ValueId wide = node(g, op::Expand{}, {x, shape}, "wide");
  const ValueId minus = node(g, op::Neg{}, {wide}, "minus");
  g.add_output("at", node(g, op::NonZero{}, {minus}, "at"));
  Counting memory;
  {
    const Session s(std::move(g), {.allocator = &memory});
    const auto run = [&](int64_t n, int64_t bytes) {
      return s.run({{"x", Tensor<float>({1}, {1})}, {"shape", Tensor<int64_t>({1}, {n})}},
                   {.max_bytes = bytes});
    };
    Outputs kept;
    for (int round = 0; round < 3; ++round) {
      CHECK(run(1000, 20'000)["at"].tensor().size() == 1000);
      check_error([&] { run(1000, 3'999); }, ErrorCode::limit, {"node 'wide' (Expand-", "bound of 3999"});
      check_error([&] { run(1000, 4'200); }, ErrorCode::limit, {"node 'minus' (Neg-"});
      check_error([&] { run(1000, 8'200); }, ErrorCode::limit, {"node 'at' (NonZero-"});
      memory.most = 0;
      check_error([&] { run(int64_t{1} << 40, 1 << 20); }, ErrorCode::limit, {"'wide'"});
      CHECK(memory.most < 1 << 20);
      kept = run(1000, no_bound);
    }
    kept = run(10, 1000);
    CHECK(kept["at"].tensor().size() == 10);
  }
  CHECK(memory.used == 0);
}

TEST_CASE("Limits: bytes of loops") {
  Counting memory;
  {
    const Session s(growing(), {.allocator = &memory});
    CHECK(s.run(feeds(10), {.max_bytes = 1 << 20})["y"].tensor().size() == 2048);
    for (int round = 0; round < 2; ++round) {
      memory.most = 0;
      check_error([&] { return s.run(feeds(forever), {.max_bytes = 1 << 20}); }, ErrorCode::limit,
                  {"node 'loop' (Loop-", "node 'twice' (Concat-"});
      CHECK(memory.most <= 2 << 20);
    }
    CHECK(s.run(feeds(3))["y"].tensor().size() == 16);
  }
  CHECK(memory.used == 0);
}

TEST_CASE("Limits: bytes of strings") {
  const auto texts = [](int64_t n, std::size_t size) {
    Tensor<std::string> t(Extents{n});
    for (int64_t k = 0; k < n; ++k) t[k] = std::string(size, 'a');
    return t;
  };
  constexpr int64_t each = sizeof(std::string), head = 64;
  // Doubled by each node, known before the run.
  Graph chain;
  ValueId v = chain.add_input("x", DType::string, {chain.symbol("n")});
  for (int k = 0; k < 20; ++k) v = node(chain, op::StringConcat{}, {v, v}, str_cat("twice", k));
  chain.add_output("y", v);
  const Session doubled(std::move(chain));
  CHECK(doubled.run({{"x", texts(2, 4)}}, {.max_bytes = 32 << 20})["y"].tensor().size() == 2);
  for (int round = 0; round < 2; ++round)
    check_error([&] { return doubled.run({{"x", texts(2, 400)}}, {.max_bytes = 1 << 20}); }, ErrorCode::limit,
                {"node 'twice", "strings of up to", "bound of 1048576"});
  CHECK(doubled.run({{"x", texts(1, 4)}})["y"].view<std::string>()[0].size() == 4 << 20);

  // By each trip of a loop; by a loop's results and the values that it keeps.
  const auto loop = [&](bool grows) {
    Graph g;
    const ValueId trips = g.add_input("trips", DType::int64, {}), x = g.add_input("x", DType::string, {1});
    Graph b = Graph::inside(g);
    b.add_input("i", DType::int64, {});
    const ValueId go = b.add_input("go", DType::bool_, {}), s = b.add_input("s", DType::string, {1});
    b.add_output("go_on", go);
    const ValueId twice = node(b, op::StringConcat{}, {s, s}, "twice");
    b.add_output("next", grows ? twice : s);
    b.add_output("scanned", twice);
    const std::string names[] = {"last", "all"};
    const auto results =
        g.add_node("loop", AnyOperator::make(op::Loop{body(std::move(b))}), {trips, -1, x}, names);
    g.add_output("last", results[0]);
    g.add_output("all", results[1]);
    return g;
  };
  for (const bool grows : {true, false}) {
    const Session s(loop(grows));
    const auto run = [&](int64_t trips, std::size_t size, int64_t bytes) {
      return s.run({{"trips", Tensor<int64_t>({}, {trips})}, {"x", texts(1, size)}}, {.max_bytes = bytes});
    };
    CHECK(run(4, 100, 1 << 20)["all"].tensor().size() == 4);
    for (int round = 0; round < 2; ++round)
      check_error([&] { run(forever, 1000, 1 << 20); }, ErrorCode::limit, {"node 'loop' (Loop-"});
  }

  // One long string in many elements is refused before it is there; what dies is not counted any more.
  Graph wide;
  const ValueId x = wide.add_input("x", DType::string, {1}),
                shape = wide.add_input("shape", DType::int64, {1});
  wide.add_output("y", node(wide, op::Expand{}, {x, shape}, "wide"));
  const Session s(std::move(wide));
  const auto expand = [&](int64_t n, std::size_t size, int64_t bytes) {
    return s.run({{"x", texts(1, size)}, {"shape", Tensor<int64_t>({1}, {n})}}, {.max_bytes = bytes});
  };
  check_error([&] { expand(10'000, 1 << 20, 1 << 20); }, ErrorCode::limit,
              {"node 'wide' (Expand-", "strings of up to 10485760000 bytes"});
  Outputs y = expand(1000, 100, 1000 * (each + 100) + 2 * head);
  CHECK(y["y"].view<std::string>()[999].size() == 100);
  check_error([&] { expand(1000, 100, 1000 * (each + 99)); }, ErrorCode::limit, {"'wide'"});
}

TEST_CASE("Limits: bindings keep the bounds that they were given") {
  const Session s(loops());
  Tensor<int64_t> trips({}, {3});
  const Feeds given = {{"trips", trips}, {"x", Tensor<float>({2}, {1, 2})}};
  Binding counted = s.bind(given, {}, {.max_iterations = 3});
  for (int round = 0; round < 3; ++round) counted.run();  // each counts for itself
  CHECK(counted.outputs()["y"].view<float>()(0) == -1);
  trips[0] = 4;
  check_error([&] { counted.run(); }, ErrorCode::limit, {"'loop'", "3 iterations"});
  trips[0] = 3;
  counted.run();
  CHECK(counted.outputs()["y"].view<float>()(0) == -1);

  std::stop_source source;
  Binding stopped = s.bind(given, {}, {.time_limit = 1h, .stop = source.get_token()});
  stopped.run();
  source.request_stop();
  check_error([&] { stopped.run(); }, ErrorCode::cancelled, {"'loop'"});

  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {100});
  g.add_output("y", node(g, op::Neg{}, {x}, "minus"));
  const Session t(std::move(g));
  const Feeds hundred = {{"x", Tensor<float>(Extents{100})}};
  check_error([&] { return t.bind(hundred, {}, {.max_bytes = 399}); }, ErrorCode::limit, {"'minus'", "399"});
  Binding enough = t.bind(hundred, {}, {.max_bytes = 512});
  for (int round = 0; round < 3; ++round) enough.run();
}

TEST_CASE("Limits: constants are folded as far as their memory is allowed") {
  const auto graph = [](int64_t n) {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {1});
    const ValueId one = g.add_constant("one", Tensor<float>({1}, {2}));
    const ValueId shape = g.add_constant("shape", Tensor<int64_t>({1}, {n}));
    const ValueId wide = node(g, op::Expand{}, {one, shape}, "wide");
    g.add_output("y", node(g, op::Add{}, {node(g, op::Neg{}, {wide}, "minus"), x}, "sum"));
    return g;
  };
  struct Row {
    int64_t n;
    std::optional<int64_t> bytes;
    std::size_t nodes;
  };
  // Blocks have 64 bytes before them, and are as long as multiples of that.
  for (const Row& row : {Row{1000, {}, 1},
                         {1000, 10'000, 1},
                         {1000, 5'000, 2},
                         {1000, 4'000, 3},
                         {1000, 0, 3},
                         {int64_t{1} << 40, {}, 3}}) {
    const Session s(graph(row.n), {.max_folded_bytes = row.bytes});
    CHECK_MESSAGE(s.program().nodes().size() == row.nodes, row.n, " ", row.bytes.value_or(-1));
    if (row.n > 1000) continue;
    const Outputs y = s.run({{"x", Tensor<float>({1}, {5})}});
    CHECK(const_cast<Outputs&>(y)["y"].view<float>()(999) == 3);
  }
  const Session s(graph(int64_t{1} << 40));
  check_error([&] { return s.run({{"x", Tensor<float>({1}, {5})}}, {.max_bytes = 1 << 20}); },
              ErrorCode::limit, {"node '"});
}

}  // namespace tenon
