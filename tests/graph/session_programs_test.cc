// Programs for other outputs: how runs wait for them, and how many are kept.
#include "tenon/graph/session.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tenon/op/math/add.hpp"
#include "tenon/op/math/neg.hpp"
#include "tests/graph/build.hpp"

namespace tenon {
using namespace test;

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
    users.emplace_back(
        [&] { found.add([&] { return get("slow1"); }); });  // another one that waits for the gate
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
  CHECK(programs() == 5);  // including the run's program
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
