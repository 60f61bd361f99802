// States: runs that go on from each other give what one run over all steps gives.
#include "tenon/graph/state.hpp"

#include "tenon/graph/fused/scatter_rows.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/scatter_nd.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"
#include "tests/graph/decoder.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("runs with a state give what one run over all steps gives") {
  const Tensor<float> x = numbers({2, 23, width}, 7);
  for (Form form : {Form::attention, Form::packed_attention, Form::concat, Form::concat_with_readers})
    for (bool passes : {true, false})
      for (int64_t page : {1, 4, 256}) {
        CAPTURE(static_cast<int>(form));
        CAPTURE(passes);
        CAPTURE(page);
        const Session s = session_of(form, passes);
        const Value expected = whole(s, form, x);
        State state({.pairs = pairs, .page_steps = page});
        Outputs out;
        int64_t at = 0;
        for (int64_t steps : {9, 1, 1, 5, 1, 6}) {
          s.run(feeds_of(form, x, at, at + steps), out, {.state = &state});
          check_close(steps_of(out["y"], 0, steps), steps_of(expected, at, at + steps));
          at += steps;
          CHECK(state.length() == at);
          CHECK(out.size() == (form == Form::concat_with_readers ? 4 : 1));
          if (form != Form::concat_with_readers) continue;
          CHECK(out["past_steps"].view<int64_t>()[0] == at - steps);
          CHECK(out["steps"].view<int64_t>()[2] == at);
          CHECK(out["steps"].view<int64_t>()[0] == 2);
          CHECK(out["total"].tensor().extents() == Extents{2, heads, at, size});
        }
        if (form == Form::concat_with_readers)
          check_close(steps_of(out["total"], 0, 23), steps_of(whole(s, form, x, "total"), 0, 23));
      }
}

TEST_CASE("4096 steps give what one run over all of them gives, in memory that does not grow") {
  constexpr int64_t steps = 4096;
  const Tensor<float> x = numbers({1, steps, width}, 7);
  const Form form = Form::packed_attention;
  const Session s = session_of(form);
  const Value expected = whole(s, form, x);
  State state({.pairs = pairs});
  Outputs out;
  for (int64_t at = 0; at < steps; ++at) {
    s.run(feeds_of(form, x, at, at + 1), out, {.state = &state, .max_bytes = 1024});
    check_close(steps_of(out["y"], 0, 1), steps_of(expected, at, at + 1));
  }
  CHECK(state.length() == steps);
  CHECK(state.bytes() == 2 * steps * width * int64_t{sizeof(float)});
}

TEST_CASE("caches of codes are close, and depend on neither pages nor forks") {
  const Tensor<float> x = numbers({2, 23, width}, 7);
  for (Form form : {Form::attention, Form::packed_attention, Form::concat, Form::concat_with_readers})
    for (bool passes : {true, false}) {
      CAPTURE(static_cast<int>(form));
      CAPTURE(passes);
      const Session s = session_of(form, passes);
      const Value expected = whole(s, form, x);
      State plain({.pairs = pairs, .page_steps = 4});
      std::vector<State> states;
      for (int64_t page : {4, 256})
        states.emplace_back(StateOptions{.pairs = pairs, .page_steps = page, .cache_type = DType::int8});
      int64_t at = 0;
      for (int64_t steps : {9, 1, 6, 7}) {
        const Feeds f = feeds_of(form, x, at, at + steps);
        s.run(f, {.state = &plain});
        const std::vector<float> y = steps_of(s.run(f, {.state = &states[0]})["y"], 0, steps),
                                 exact = steps_of(expected, at, at + steps);
        for (std::size_t k = 0; k < y.size(); ++k) REQUIRE(std::abs(y[k] - exact[k]) < 0.02f);
        for (std::size_t other = 1; other < states.size(); ++other)
          CHECK(steps_of(s.run(f, {.state = &states[other]})["y"], 0, steps) == y);
        at += steps;
        if (at == 10) states.push_back(states[0].fork());
        CHECK(states[0].length() == at);
      }
      CHECK(states[0].bytes() < plain.bytes());
    }
}

TEST_CASE("a present that is named is returned as well") {
  const Tensor<float> x = numbers({1, 6, width}, 3);
  for (Form form : {Form::attention, Form::concat}) {
    const Session s = session_of(form);
    State state({.pairs = pairs});
    s.run(feeds_of(form, x, 0, 4), {.state = &state});
    const Outputs out = s.run(feeds_of(form, x, 4, 6), {.outputs = {"y", "present_key"}, .state = &state});
    CHECK(state.length() == 6);
    check_close(steps_of(out["present_key"], 0, 6), steps_of(whole(s, form, x, "present_key"), 0, 6));
  }
}

TEST_CASE("the first run may be given pasts to start from") {
  const Tensor<float> x = numbers({2, 9, width}, 3);
  for (Form form : {Form::attention, Form::concat}) {
    const Session s = session_of(form);
    Feeds first = feeds_of(form, x, 0, 5);
    first.emplace_back("past_key", no_past(2));
    first.emplace_back("past_value", no_past(2));
    const Outputs out = s.run(first);
    State state({.pairs = pairs, .page_steps = 4});
    Feeds next = feeds_of(form, x, 5, 7);
    next.emplace_back("past_key", out["present_key"]);
    next.emplace_back("past_value", out["present_value"]);
    const Value expected = whole(s, form, x);
    check_close(steps_of(s.run(next, {.state = &state})["y"], 0, 2), steps_of(expected, 5, 7));
    CHECK(state.length() == 7);
    check_close(steps_of(s.run(feeds_of(form, x, 7, 9), {.state = &state})["y"], 0, 2),
                steps_of(expected, 7, 9));
  }
}

TEST_CASE("a past of a declared number of steps is no cache") {
  Graph g;
  const ValueId q = g.add_input("q", DType::float32, {1, heads, g.symbol("steps"), size}),
                past_key = g.add_input("past_key", DType::float32, {1, heads, 3, size}),
                past_value = g.add_input("past_value", DType::float32, {1, heads, 3, size});
  const std::string names[] = {"y", "present_key", "present_value"};
  const auto out =
      g.add_node("attention", AnyOperator::make(op::Attention{}), {q, q, q, -1, past_key, past_value}, names);
  for (std::size_t k = 0; k < 3; ++k) g.add_output(names[k], out[k]);
  const Session s(std::move(g));
  const Value one = numbers({1, heads, 1, size}), zeros = Tensor<float>(Extents{1, heads, 3, size});
  State state({.pairs = pairs});
  CHECK(test::floats(s.run({{"q", one}}, {.state = &state})["y"]) ==
        test::floats(s.run({{"q", one}, {"past_key", zeros}, {"past_value", zeros}})["y"]));
  test::check_error([&] { s.run({{"q", one}}, {.state = &state}); },
                    {"input 'past_key': (1,2,4,4) given, (1,2,3,4) declared"});
}

TEST_CASE("a fork goes on by itself, and truncation forgets") {
  const Tensor<float> x = numbers({2, 20, width}, 11);
  const Session s = session_of(Form::attention);
  const Value expected = whole(s, Form::attention, x);
  const auto run = [&](State& state, int64_t from, int64_t to) {
    check_close(steps_of(s.run(feeds_of(Form::attention, x, from, to), {.state = &state})["y"], 0, to - from),
                steps_of(expected, from, to));
  };
  State a({.pairs = pairs, .page_steps = 4});
  run(a, 0, 10);
  State b = a.fork();
  run(a, 10, 13);
  run(b, 10, 20);
  a.truncate(2);
  CHECK(a.length() == 2);
  run(a, 2, 20);
  b.truncate(19);
  run(b, 19, 20);
  b.clear();
  CHECK(b.length() == 0);
  CHECK(b.bytes() == 0);
  run(b, 0, 5);
}

TEST_CASE("pages that no window reaches are released") {
  const Tensor<float> x = numbers({1, 40, width}, 5);
  const Session s = session_of(Form::attention, true, 6);
  const Value expected = whole(s, Form::attention, x);
  State state({.pairs = pairs, .page_steps = 4});
  for (int64_t at = 0; at < 40; at += 2)
    check_close(steps_of(s.run(feeds_of(Form::attention, x, at, at + 2), {.state = &state})["y"], 0, 2),
                steps_of(expected, at, at + 2));
  CHECK(state.length() == 40);
  CHECK(state.bytes() <= 2 * 4 * 4 * heads * size * 4);  // keys and values, at most four pages of four steps
  test::check_error([&] { state.truncate(3); }, {"state: ", "were released"});
}

TEST_CASE("the steps of the last run can be cut off, whatever a window releases") {
  const Tensor<float> x = numbers({1, 40, width}, 5);
  const Session s = session_of(Form::attention, true, 6);
  const Value expected = whole(s, Form::attention, x);
  State state({.pairs = pairs, .page_steps = 4});
  for (int64_t at = 0; at + 5 <= 40; at += 1 + at % 2) {
    state.truncate(at);
    check_close(steps_of(s.run(feeds_of(Form::attention, x, at, at + 5), {.state = &state})["y"], 0, 5),
                steps_of(expected, at, at + 5));
  }
}

TEST_CASE("presents that do not grow are the next pasts") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("N")}),
                sum = g.add_input("sum", DType::float32, {g.symbol("N")});
  const ValueId next = node(g, op::Add{}, {x, sum}, "next");
  g.add_output("next", next);
  g.add_output("twice", node(g, op::Add{}, {next, next}, "twice"));
  const Session s(std::move(g));
  State state({.pairs = {{"sum", "next"}}});
  const Value ones = Tensor<float>({3}, {1, 2, 3});
  Outputs out;
  for (int n = 1; n <= 4; ++n) {
    s.run({{"x", ones}}, out, {.state = &state});
    CHECK(out.size() == 1);
    CHECK(test::floats(out["twice"]) == std::vector<float>{2.0f * n, 4.0f * n, 6.0f * n});
  }
  CHECK(state.length() == 0);
  test::check_error([&] { state.truncate(1); }, {"state: 'sum' is no cache"});
  State fork = state.fork();
  s.run({{"x", ones}}, out, {.state = &state});
  s.run({{"x", ones}}, out, {.state = &fork});
  CHECK(test::floats(out["twice"]) == std::vector<float>{10, 20, 30});
  s.run({{"x", ones}}, out, {.outputs = {"next"}, .state = &state});
  test::check_error([&] { (void)out["next"].tensor().out(); }, {"may only be read"});
  const Value held = out["next"];
  for (float n = 7; n < 10; ++n) {
    const Value sums = s.run({{"x", ones}}, {.outputs = {"next"}, .state = &state})["next"];
    CHECK(test::floats(sums) == std::vector<float>{n, 2 * n, 3 * n});
  }
  CHECK(test::floats(held) == std::vector<float>{6, 12, 18});
}

TEST_CASE("a state owns what it keeps: the caller may change its inputs after a run") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2}), last = g.add_input("last", DType::float32, {2}),
                fixed = g.add_input("fixed", DType::float32, {2}),
                same = g.add_input("same", DType::float32, {2});
  g.add_output("x_out", x);
  g.add_output("same_out", same);
  g.add_output("y", node(g, op::Add{}, {node(g, op::Add{}, {last, fixed}), node(g, op::Add{}, {x, same})}));
  const Session s(std::move(g));
  State state({.pairs = {{"last", "x_out"}, {"fixed", "none", -1, true}, {"same", "same_out"}}});
  Tensor<float> now({2}, {1, 2}), given({2}, {10, 20}), kept({2}, {100, 200});
  const auto run = [&](const Feeds& feeds) { return test::floats(s.run(feeds, {.state = &state})["y"]); };
  CHECK(run({{"x", now}, {"fixed", given}, {"same", kept}}) == std::vector<float>{111, 222});
  now[0] = 5, given[0] = 500, kept[0] = 5000;
  CHECK(run({{"x", now}}) == std::vector<float>{116, 224});
  const void* const before =
      s.run({{"x", now}}, {.outputs = {"same_out"}, .state = &state})[0].tensor().data();
  CHECK(s.run({{"x", now}}, {.outputs = {"same_out"}, .state = &state})[0].tensor().data() == before);
  now[0] = 7;
  CHECK(run({{"x", now}}) == std::vector<float>{122, 224});
}

namespace {

/// y is past and x along an axis, in the type of x.
Session joined(DType type, int axis, bool first = false) {
  Graph g;
  Dims extents{2, 3, 2};
  extents[axis] = g.symbol("steps");
  const ValueId x = g.add_input("x", type, extents);
  extents[axis] = g.symbol("past");
  const ValueId past = g.add_input("past", type, extents);
  g.add_output("y", node(g, op::Concat{.axis = axis - 3}, {first ? x : past, first ? past : x}, "y"));
  return Session(std::move(g), {.passes = standard_passes()});
}
/// (2,3,2) with `steps` along an axis, whose numbers tell their places; they go on from step `from`.
template <class T>
Tensor<T> places(int axis, int64_t from, int64_t steps) {
  Extents extents{2, 3, 2};
  extents[axis] = steps;
  Tensor<T> t(extents);
  const AxisSplit split = split_at(extents, axis);
  for (int64_t k = 0; k < t.size(); ++k) {
    const int64_t inner = k % split.inner, step = k / split.inner % steps, outer = k / split.inner / steps;
    const int64_t number = (from + step) * 7 + outer * 2 + inner;
    if constexpr (std::is_same_v<T, std::string>) t[k] = str_cat("a long text, number ", number);
    else t[k] = T(static_cast<int>(number % 8));
  }
  return t;
}
template <class T>
void check_cut(int axis) {
  CAPTURE(axis);
  const Session s = joined(dtype_of<T>, axis);
  State state({.pairs = {{"past", "y"}}});
  const auto run = [&](State& in, int64_t from, int64_t to) {
    const Value x = places<T>(axis, from, to - from);
    const Value y = s.run({{"x", x}}, {.outputs = {"y"}, .state = &in})["y"];
    const Tensor<T> expected = places<T>(axis, 0, to);
    REQUIRE(y.tensor().extents() == expected.extents());
    for (int64_t k = 0; k < expected.size(); ++k) REQUIRE(y.view<T>()[k] == expected[k]);
  };
  run(state, 0, 5);
  run(state, 5, 6);
  CHECK(state.length() == 6);
  State fork = state.fork();
  state.truncate(3);
  CHECK(state.length() == 3);
  run(state, 3, 7);
  fork.truncate(8);
  run(fork, 6, 9);
  fork.truncate(0);
  run(fork, 0, 2);
}

}  // namespace

TEST_CASE("truncation shortens pasts that are no caches along their steps") {
  for (int axis : {0, 1, 2}) {
    check_cut<float>(axis);
    check_cut<double>(axis);
    check_cut<int8_t>(axis);
    check_cut<std::string>(axis);
  }
  // A state that says which axis it is, and others whose steps do not come one after the other.
  const Session s = joined(DType::float32, 1, true);
  for (int axis : {-1, 0, 1}) {
    State state({.pairs = {{"past", "y", axis}}});
    for (int64_t k = 0; k < 3; ++k) s.run({{"x", places<float>(1, k, 1)}}, {.state = &state});
    CHECK(state.length() == (axis == 1 ? 3 : axis == 0 ? 2 : 0));
    if (axis == 1) state.truncate(2);
    else if (axis == 0) CHECK(*state.past_without(3) == "past");
    else test::check_error([&] { state.truncate(2); }, {"state: 'past' is no cache", "StatePair::axis"});
    test::check_error([&] { state.truncate(-1); }, {"state: it cannot be cut to -1 steps"});
  }
}

TEST_CASE("truncation refuses pasts of different lengths") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {1, g.symbol("steps")});
  for (const int times : {1, 2}) {
    const std::string end = std::to_string(times);
    const ValueId past = g.add_input("past" + end, DType::float32, {1, g.symbol("past" + end)});
    const ValueId more = times == 1 ? x : node(g, op::Concat{.axis = 1}, {x, x});
    g.add_output("y" + end, node(g, op::Concat{.axis = 1}, {past, more}));
  }
  const Session s(std::move(g));
  State state({.pairs = {{"past1", "y1"}, {"past2", "y2"}}});
  s.run({{"x", Tensor<float>(Extents{1, 3})}}, {.state = &state});
  test::check_error([&] { state.truncate(2); }, {"state: 'past1' has 3 steps, but another past has 6"});
}

TEST_CASE("truncation shortens the pasts of an Attention whose scores are read") {
  const Tensor<float> x = numbers({2, 9, width}, 3);
  const Session s = session_of(Form::attention);
  const Value expected = whole(s, Form::attention, x);
  State state({.pairs = pairs});
  const auto run = [&](int64_t from, int64_t to) {
    const Outputs out =
        s.run(feeds_of(Form::attention, x, from, to), {.outputs = {"y", "scores"}, .state = &state});
    check_close(steps_of(out["y"], 0, to - from), steps_of(expected, from, to));
    CHECK(out["scores"].tensor().extents() == Extents{2, heads, to - from, to});
  };
  run(0, 6);
  run(6, 8);
  CHECK(state.length() == 8);
  state.truncate(5);
  run(5, 9);
}

TEST_CASE("a scale of 0 is no default") {
  Graph g;
  const ValueId q = g.add_input("q", DType::float32, {1, heads, 1, size}),
                past_key = g.add_input("past_key", DType::float32, {1, heads, g.symbol("past"), size}),
                past_value = g.add_input("past_value", DType::float32, {1, heads, g.symbol("past"), size});
  const std::string names[] = {"y", "present_key", "present_value"};
  const auto out = g.add_node("attention", AnyOperator::make(op::Attention{.scale = 0.0f}),
                              {q, q, q, -1, past_key, past_value}, names);
  for (std::size_t k = 0; k < 3; ++k) g.add_output(names[k], out[k]);
  const Session s(std::move(g));
  State state({.pairs = pairs});
  const Tensor<float> a = numbers({1, heads, 1, size}, 1), b = numbers({1, heads, 1, size}, 2);
  s.run({{"q", a}}, {.state = &state});
  const std::vector<float> y = test::floats(s.run({{"q", b}}, {.state = &state})["y"]);
  for (std::size_t k = 0; k < y.size(); ++k)
    CHECK(y[k] == doctest::Approx((a.data()[k] + b.data()[k]) / 2).epsilon(1e-5));
}

TEST_CASE("a session without pasts makes the first run of another's") {
  const Tensor<float> x = numbers({2, 12, width}, 7);
  for (Form form : {Form::attention, Form::packed_attention, Form::concat})
    for (int axis : {-1, 2}) {
      CAPTURE(static_cast<int>(form));
      CAPTURE(axis);
      const Session first(decoder(form, -1, true), {.passes = standard_passes()}), later = session_of(form);
      const Value expected = whole(later, form, x);
      std::vector<StatePair> with_axis = pairs;
      for (StatePair& p : with_axis) p.axis = axis;
      State state({.pairs = with_axis, .page_steps = 4}), one({.pairs = with_axis, .page_steps = 4});
      const auto run = [&](const Session& s, State& in, int64_t from, int64_t to) {
        const Outputs out = s.run(feeds_of(form, x, from, to), {.state = &in});
        CHECK(out.size() == 1);
        check_close(steps_of(out["y"], 0, to - from), steps_of(expected, from, to));
      };
      run(first, state, 0, 6);
      run(later, one, 0, 6);
      // Presents of a Concat in the later session have to be known as steps to lie in pages.
      if (axis == 2 || form != Form::concat) CHECK(state.bytes() == one.bytes());
      run(later, state, 6, 7);
      CHECK(state.length() == 7);
      CHECK(state.bytes() == one.bytes());
      run(later, state, 7, 12);
      test::check_error([&] { first.run(feeds_of(form, x, 0, 2), {.state = &state}); },
                        {"session: the state has steps of 'past_key', which is no input"});
      state.truncate(6);
      run(later, state, 6, 9);
      state.clear();
      run(first, state, 0, 2);
      run(later, state, 2, 3);
    }
}

TEST_CASE("an Attention without a past may state how many keys count") {
  Graph g;
  const ValueId q = g.add_input("q", DType::float32, {2, heads, 3, size}),
                count = g.add_input("count", DType::int64, {2});
  const std::string names[] = {"y", "present_key", "present_value"};
  const auto out =
      g.add_node("attention", AnyOperator::make(op::Attention{}), {q, q, q, -1, -1, -1, count}, names);
  for (std::size_t k = 0; k < 3; ++k) g.add_output(names[k], out[k]);
  const Session s(std::move(g));
  const Feeds feeds{{"q", numbers({2, heads, 3, size})}, {"count", Tensor<int64_t>({2}, {1, 3})}};
  for (int axis : {-1, 2}) {
    State state({.pairs = {{"past_key", "present_key", axis}, {"past_value", "present_value", axis}}});
    CHECK(test::floats(s.run(feeds, {.state = &state})["y"]) == test::floats(s.run(feeds)["y"]));
    CHECK(state.length() == (axis == 2 ? 3 : 0));
  }
}

TEST_CASE("runs that keep a cache and runs that read all of it may follow each other") {
  const Tensor<float> x = numbers({2, 12, width}, 5);
  const Form form = Form::attention;
  for (int64_t window : {-1, 3}) {
    const Session s = session_of(form, true, window);
    const Value expected = whole(s, form, x);
    State state({.pairs = pairs, .page_steps = 2});
    const auto run = [&](int64_t from, int64_t to, std::vector<std::string> outputs) {
      const Outputs out =
          s.run(feeds_of(form, x, from, to), {.outputs = std::move(outputs), .state = &state});
      check_close(steps_of(out["y"], 0, to - from), steps_of(expected, from, to));
    };
    run(0, 4, {"y", "scores"});
    run(4, 5, {"y"});
    CHECK(state.length() == 5);
    if (window < 0) {
      run(5, 8, {"scores", "y"});
      run(8, 12, {});
    } else {
      run(5, 10, {});
      test::check_error([&] { run(10, 12, {"y", "scores"}); }, {"state: 'past_key'", "were released"});
      run(10, 12, {});
    }
  }
}

TEST_CASE("steps that were released are not read again") {
  const Tensor<float> x = numbers({1, 30, width}, 3);
  const Form form = Form::attention;
  const Session s = session_of(form, true, 6);
  State state({.pairs = pairs, .page_steps = 4});
  for (int64_t at = 0; at < 26; at += 2) s.run(feeds_of(form, x, at, at + 2), {.state = &state});
  State shorter = state.fork();
  shorter.truncate(21);  // from step 16 on there are pages, and the window begins with step 15
  CHECK_THROWS_AS(s.run(feeds_of(form, x, 21, 22), {.state = &shorter}), Error);
  CHECK_THROWS_AS(s.run(feeds_of(form, x, 26, 27), {.outputs = {"y", "present_key"}, .state = &state}),
                  Error);
  check_close(steps_of(s.run(feeds_of(form, x, 26, 30), {.state = &state})["y"], 0, 4),
              steps_of(whole(s, form, x), 26, 30));
}

TEST_CASE("a past that is asked for is what the run began with") {
  const Tensor<float> x = numbers({1, 6, width}, 3);
  for (Form form : {Form::attention, Form::concat}) {
    const Session s = session_of(form);
    State state({.pairs = pairs});
    s.run(feeds_of(form, x, 0, 4), {.state = &state});
    const Outputs out = s.run(feeds_of(form, x, 4, 6), {.outputs = {"y", "past_key"}, .state = &state});
    REQUIRE(out["past_key"].tensor().extents() == Extents{1, heads, 4, size});
    const Value keys = whole(s, form, x, "present_key");
    check_close(steps_of(out["past_key"], 0, 4), steps_of(keys, 0, 4));
    CHECK(state.length() == 6);
  }
}

TEST_CASE("a run adds its steps to caches that nothing in it reads") {
  const Tensor<float> x = numbers({2, 12, width}, 5);
  for (Form form : {Form::attention, Form::concat}) {
    const Session s = session_of(form);
    const Value expected = whole(s, form, x);
    State state({.pairs = pairs, .page_steps = 2});
    const Outputs keys = s.run(feeds_of(form, x, 0, 7), {.outputs = {"present_key"}, .state = &state});
    CHECK(keys["present_key"].tensor().extents() == Extents{2, heads, 7, size});
    CHECK(state.length() == 7);
    check_close(steps_of(s.run(feeds_of(form, x, 7, 12), {.state = &state})["y"], 0, 5),
                steps_of(expected, 7, 12));
  }
}

TEST_CASE("a constant past is computed once") {
  enum class Part { both, first, later };
  const auto session = [](Part part) {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {2});
    ValueId cross = -1, sum = x;
    if (part != Part::first) cross = g.add_input("cross", DType::float32, {g.symbol("encoded")});
    if (part == Part::later) sum = node(g, op::Add{}, {x, cross});
    if (part != Part::later) {
      const ValueId made = node(g, op::Add{}, {x, x}, "cross_out");
      sum = node(g, op::Add{}, {x, made});
      g.add_output("cross_out", made);
    }
    if (part == Part::both) g.add_output("cross_sum", node(g, op::Add{}, {cross, cross}, "cross_sum"));
    g.add_output("y", sum);
    return Session(std::move(g));
  };
  const Session both = session(Part::both), first = session(Part::first), later = session(Part::later);
  const Value a = Tensor<float>({2}, {1, 2}), b = Tensor<float>({2}, {5, 7});
  const StateOptions options{.pairs = {{"cross", "cross_out", -1, true}}};
  State merged(options);
  Outputs out = both.run({{"x", a}}, {.state = &merged});
  CHECK(out.size() == 2);
  CHECK(out["cross_sum"].tensor().size() == 0);
  CHECK(test::floats(both.run({{"x", b}}, {.state = &merged})["cross_sum"]) == std::vector<float>{4, 8});
  CHECK(test::floats(both.run({{"x", b}}, {.state = &merged})["cross_sum"]) == std::vector<float>{4, 8});
  State two(options);
  test::check_error([&] { later.run({{"x", b}}, {.state = &two}); },
                    {"session: the state has no 'cross' yet, and the graph no 'cross_out'"});
  for (int n = 0; n < 2; ++n) CHECK(test::floats(first.run({{"x", a}}, {.state = &two})["y"])[1] == 6);
  first.run({{"x", b}}, {.state = &two});
  for (State* s : {&two, &merged})
    CHECK(test::floats(later.run({{"x", b}}, {.state = s})["y"]) == std::vector<float>{7, 11});
  CHECK(two.length() == 0);
  two.truncate(0);
  State given(options);
  {
    const std::vector<float> lent{10, 20};
    const Value borrowed = AnyTensor(DType::float32, {2}, Storage::borrow(lent.data(), 8));
    CHECK(test::floats(later.run({{"x", b}, {"cross", borrowed}}, {.state = &given})["y"]) ==
          std::vector<float>{15, 27});
  }
  CHECK(test::floats(later.run({{"x", a}}, {.state = &given})["y"]) == std::vector<float>{11, 22});
}

TEST_CASE("attention of halves whose softmax is computed in float reads the cache") {
  Graph g;
  const Dim steps = g.symbol("steps"), past = g.symbol("past");
  const auto cast = [&](ValueId x, DType to) {
    return node(g, op::Cast{.to = static_cast<int64_t>(to)}, {x});
  };
  const ValueId x = cast(g.add_input("x", DType::float32, {1, heads, steps, size}), DType::float16),
                past_key = g.add_input("past_key", DType::float16, {1, heads, past, size}),
                past_value = g.add_input("past_value", DType::float16, {1, heads, past, size}),
                k = node(g, op::Concat{.axis = 2}, {past_key, x}, "present_key"),
                v = node(g, op::Concat{.axis = 2}, {past_value, x}, "present_value"),
                scores = node(g, op::MatMul{}, {x, node(g, op::Transpose{{0, 1, 3, 2}}, {k})}),
                weights = cast(node(g, op::Softmax{}, {cast(scores, DType::float32)}), DType::float16);
  g.add_output("y", cast(node(g, op::MatMul{}, {weights, v}), DType::float32));
  g.add_output("present_key", k);
  g.add_output("present_value", v);
  State state({.pairs = pairs});
  const Session s(std::move(g), {.passes = standard_passes(), .state = &state, .explain = true});
  for (const PassReport& r : s.reports())
    if (r.pass == "keep_caches") CHECK_MESSAGE(r.applied, r.text);
  const Tensor<float> one = numbers({1, heads, 1, size}, 3);
  (void)s.run({{"x", one}}, {.state = &state});
  const std::vector<float> y = test::floats(s.run({{"x", one}}, {.state = &state})["y"]),
                           same = test::floats(one);
  for (std::size_t n = 0; n < y.size(); ++n) CHECK(std::abs(y[n] - same[n]) < 1e-3f);
}

namespace {

/// What keeps a decoder's caches: `bytes` of pages hold `steps` steps, and each run gives what one over all
/// steps does, also after a cut, in a fork, and of pasts that are given.
template <class Build>
void check_kept(const Build& build, DType type, bool columns, double tolerance) {
  State probe({.pairs = pairs});
  const Session s(build(), {.passes = standard_passes(), .state = &probe, .explain = true});
  bool reads = false;
  for (const PassReport& r : s.reports()) {
    if (r.pass != "keep_caches") continue;
    CHECK_MESSAGE(r.applied, r.text);
    reads |= r.text.find("reads the caches") != std::string::npos;
  }
  CHECK(reads);
  const Tensor<float> x = numbers({1, heads, 12, size}, 3);
  const auto feeds = [&](int64_t from, int64_t to) {
    Tensor<float> part{Extents{1, heads, to - from, size}};
    for (int64_t h = 0; h < heads; ++h)
      std::copy_n(x.data() + (h * 12 + from) * size, (to - from) * size,
                  part.data() + h * (to - from) * size);
    return Feeds{{"x", part}, {"mask", causal(1, from, to)}};
  };
  const auto with_pasts = [&](Feeds f, const Value& key, const Value& value) {
    f.emplace_back("past_key", key), f.emplace_back("past_value", value);
    return f;
  };
  const auto none = [&](bool transposed) -> Value {
    return AnyTensor::uninitialized(type,
                                    transposed ? Extents{1, heads, size, 0} : Extents{1, heads, 0, size});
  };
  const Outputs all = s.run(with_pasts(feeds(0, 12), none(columns), none(false)));
  const auto run = [&](State& state, int64_t from, int64_t to) {
    const std::vector<float> y = test::floats(s.run(feeds(from, to), {.state = &state})["y"]),
                             expected = steps_of(all["y"], from, to);
    for (std::size_t k = 0; k < y.size(); ++k)
      REQUIRE(y[k] == doctest::Approx(expected[k]).epsilon(tolerance).scale(1));
  };
  State state({.pairs = pairs, .page_steps = 4});
  run(state, 0, 5);
  run(state, 5, 6);
  CHECK(state.length() == 6);
  CHECK(state.bytes() == 2 * 2 * 4 * heads * size * bits_of(type) / 8);
  State fork = state.fork();
  state.truncate(3);
  run(state, 3, 8);
  run(fork, 6, 12);
  // A present that is asked for is what it is without a state, also where another program then has the pages.
  const Outputs part = s.run(with_pasts(feeds(0, 7), none(columns), none(false)));
  State asked({.pairs = pairs, .page_steps = 4});
  run(asked, 0, 5);
  const Outputs shown = s.run(feeds(5, 7), {.outputs = {"y", "present_key"}, .state = &asked});
  CHECK(shown["present_key"].tensor().extents() == part["present_key"].tensor().extents());
  CHECK(passes::test::difference(part["present_key"].tensor(), shown["present_key"].tensor()) <= tolerance);
  run(asked, 7, 9);
  State given({.pairs = pairs, .page_steps = 4});
  const Outputs next =
      s.run(with_pasts(feeds(7, 9), part["present_key"], part["present_value"]), {.state = &given});
  CHECK(given.length() == 9);
  run(given, 9, 12);
}

/// Attention of x to itself and the past. `between` makes of scores the weights.
template <class Between>
Graph self_attention(DType type, bool columns, const Between& attend) {
  Graph g;
  const Dim steps = g.symbol("steps"), past = g.symbol("past");
  const ValueId x = g.add_input("x", DType::float32, {1, heads, steps, size}),
                mask = g.add_input("mask", DType::float32, {1, 1, steps, g.symbol("all")}),
                past_key = columns ? g.add_input("past_key", type, {1, heads, size, past})
                                   : g.add_input("past_key", type, {1, heads, past, size}),
                past_value = g.add_input("past_value", type, {1, heads, past, size});
  g.add_output("y", attend(g, x, mask, past_key, past_value));
  return g;
}
ValueId cast(Graph& g, ValueId x, DType to) { return node(g, op::Cast{.to = static_cast<int64_t>(to)}, {x}); }
ValueId swapped(Graph& g, ValueId x) { return node(g, op::Transpose{{0, 1, 3, 2}}, {x}); }

}  // namespace

TEST_CASE("keys of 16 bits that the products read in float stay where they lie") {
  for (const bool narrow_values : {true, false}) {
    const auto build = [&] {
      return self_attention(
          DType::float16, false,
          [&](Graph& to, ValueId x, ValueId mask, ValueId past_key, ValueId past_value) {
            const ValueId half = cast(to, x, DType::float16),
                          k = node(to, op::Concat{.axis = 2}, {past_key, half}, "present_key"),
                          v = node(to, op::Concat{.axis = 2}, {past_value, half}, "present_value"),
                          wide = cast(to, k, DType::float32),
                          scores = node(to, op::MatMul{}, {x, swapped(to, wide)});
            to.add_output("present_key", k), to.add_output("present_value", v);
            ValueId w = node(to, op::Softmax{}, {node(to, op::Add{}, {scores, mask})});
            if (!narrow_values) return node(to, op::MatMul{}, {w, cast(to, v, DType::float32)});
            w = cast(to, w, DType::float16);
            return cast(to, node(to, op::MatMul{}, {w, v}), DType::float32);
          });
    };
    check_kept(build, DType::float16, false, 2e-3);
  }
}

TEST_CASE("a present that is a copy of a Concat is a cache") {
  const auto build = [] {
    return self_attention(
        DType::float32, false, [](Graph& to, ValueId x, ValueId mask, ValueId past_key, ValueId past_value) {
          const ValueId k = node(to, op::Cast{.to = 1}, {node(to, op::Concat{.axis = 2}, {past_key, x})},
                                 "present_key"),
                        v = node(to, op::Concat{.axis = 2}, {past_value, x}, "present_value");
          to.add_output("present_key", k), to.add_output("present_value", v);
          const ValueId scores = node(to, op::MatMul{}, {x, swapped(to, k)});
          return node(to, op::MatMul{}, {node(to, op::Softmax{}, {node(to, op::Add{}, {scores, mask})}), v});
        });
  };
  check_kept(build, DType::float32, false, 1e-5);
}

TEST_CASE("a past of transposed keys is a cache of keys") {
  for (const bool inside : {true, false}) {
    // The past has columns; or rows, which the graph transposes before it adds columns.
    const auto build = [&] {
      return self_attention(
          DType::float32, !inside,
          [&](Graph& to, ValueId x, ValueId mask, ValueId past_key, ValueId past_value) {
            const ValueId k = node(to, op::Concat{.axis = -1},
                                   {inside ? swapped(to, past_key) : past_key, swapped(to, x)},
                                   inside ? "" : "present_key"),
                          v = node(to, op::Concat{.axis = 2}, {past_value, x}, "present_value"),
                          scores = node(to, op::MatMul{}, {x, k});
            to.add_output("present_key",
                          inside ? node(to, op::Transpose{{0, 1, 3, 2}}, {k}, "present_key") : k);
            to.add_output("present_value", v);
            to.add_output("past_shape", node(to, op::Shape{}, {past_key}, "past_shape"));
            const ValueId w = node(to, op::Softmax{}, {node(to, op::Add{}, {scores, mask})});
            return node(to, op::MatMul{}, {w, v});
          });
    };
    check_kept(build, DType::float32, !inside, 1e-5);
    const Session s(build(), {.passes = standard_passes()});
    State state({.pairs = pairs});
    const Feeds f{{"x", numbers({1, heads, 3, size})}, {"mask", Tensor<float>(Extents{1, 1, 3, 3})}};
    const Feeds next{{"x", numbers({1, heads, 1, size})}, {"mask", Tensor<float>(Extents{1, 1, 1, 4})}};
    (void)s.run(f, {.state = &state});
    const Value shape = s.run(next, {.state = &state})["past_shape"];
    CHECK(shape.view<int64_t>()[inside ? 2 : 3] == 3);
    CHECK(shape.view<int64_t>()[inside ? 3 : 2] == size);
  }
}

TEST_CASE("a past of transposed keys that is no cache is cut along its columns") {
  const auto build = [] {
    Graph g;
    const ValueId x = g.add_input("x", DType::float64, {1, heads, g.symbol("steps"), size}),
                  past = g.add_input("past_key", DType::float64, {1, heads, size, g.symbol("past")}),
                  k = node(g, op::Concat{.axis = 2}, {swapped(g, past), x});
    g.add_output("y", node(g, op::Softmax{}, {k}));
    g.add_output("present_key", node(g, op::Transpose{{0, 1, 3, 2}}, {k}, "present_key"));
    return g;
  };
  const Session s(build(), {.passes = standard_passes()});
  Tensor<double> x{Extents{1, heads, 5, size}};
  for (int64_t n = 0; n < x.size(); ++n) x[n] = static_cast<double>(n % 7);
  State state({.pairs = {{"past_key", "present_key"}}}), other({.pairs = {{"past_key", "present_key"}}});
  (void)s.run({{"x", x}}, {.state = &state});
  state.truncate(2);
  CHECK(state.length() == 2);
  (void)s.run({{"x", x}}, {.state = &other});
  const Value twice = s.run({{"x", x}}, {.state = &other})["y"],
              y = s.run({{"x", x}}, {.state = &state})["y"];
  REQUIRE(y.tensor().extents() == Extents{1, heads, 7, size});
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t n = 0; n < 2 * size; ++n)
      CHECK(y.view<double>()[h * 7 * size + n] == twice.view<double>()[h * 10 * size + n]);
}

TEST_CASE("rows that a ScatterND writes between Transposes are written in place") {
  constexpr int64_t rows = 64;
  const auto build = [](Ints back) {
    Graph g;
    const Dim steps = g.symbol("steps");
    const ValueId x = g.add_input("x", DType::float32, {1, heads, steps, size}),
                  places = g.add_input("places", DType::int64, {steps}),
                  past = g.add_input("past_key", DType::float32, {1, heads, rows, size});
    const auto list = [&](std::vector<int64_t> l) {
      return g.add_constant({}, AnyTensor(Tensor<int64_t>(Extents{std::ssize(l)}, l.begin(), l.end())));
    };
    const ValueId written =
        node(g, op::ScatterND{},
             {node(g, op::Transpose{{2, 0, 1, 3}}, {past}), node(g, op::Unsqueeze{}, {places, list({-1})}),
              node(g, op::Transpose{{2, 0, 1, 3}}, {x})});
    const ValueId k = node(g, op::Transpose{back}, {written}, "present_key");
    g.add_output("y", node(g, op::Gather{.axis = 2}, {k, list({1, -1})}));
    g.add_output("present_key", k);
    g.add_output("past_rows", node(g, op::Shape{.end = 3, .start = 2}, {past}, "past_rows"));
    return g;
  };
  const Session s(build({1, 2, 0, 3}), {.passes = standard_passes()});
  State state({.pairs = {{"past_key", "present_key"}}});
  Outputs out;
  const auto run = [&](std::vector<int64_t> places, uint32_t seed) {
    const auto steps = std::ssize(places);
    s.run({{"x", numbers({1, heads, steps, size}, seed)},
           {"places", Tensor<int64_t>(Extents{steps}, places.begin(), places.end())}},
          out, {.outputs = {"y", "present_key", "past_rows"}, .state = &state});
    return out["present_key"].tensor().data();
  };
  const void* const place = run({0, 1, 2}, 1);
  CHECK(run({-1, 1}, 2) == place);
  CHECK(state.bytes() == heads * rows * size * int64_t{sizeof(float)});
  CHECK(out["past_rows"].view<int64_t>()[0] == rows);
  const Value y = out["y"];
  const Tensor<float> x = numbers({1, heads, 2, size}, 2);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t d = 0; d < size; ++d) {
      CHECK(y.view<float>()[h * 2 * size + d] == x[(h * 2 + 1) * size + d]);
      CHECK(y.view<float>()[(h * 2 + 1) * size + d] == x[h * 2 * size + d]);
    }
  try {
    (void)run({rows}, 3);
    FAIL("it wrote past the end");
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::out_of_range);
  }
  // A Transpose that does not turn the axes back makes another tensor.
  const auto writes_rows = [&](Ints back) {
    State probe({.pairs = {{"past_key", "present_key"}}});
    const Session of(build(back), {.passes = standard_passes(), .state = &probe});
    return std::ranges::any_of(of.program().nodes(), [](const Graph::Node& n) {
      return n.op && n.op.as<passes::ScatterRows>() != nullptr;
    });
  };
  CHECK(writes_rows({1, 2, 0, 3}));
  CHECK_FALSE(writes_rows({2, 1, 0, 3}));
}

TEST_CASE("an Attention that reads presents reads the caches") {
  const auto graph = [](const op::Attention& attention) {
    return self_attention(
        DType::float32, false, [&](Graph& to, ValueId x, ValueId mask, ValueId past_key, ValueId past_value) {
          const ValueId k = node(to, op::Concat{.axis = 2}, {past_key, x}, "present_key"),
                        v = node(to, op::Concat{.axis = 2}, {past_value, x}, "present_value");
          to.add_output("present_key", k), to.add_output("present_value", v);
          return node(to, attention, {x, k, v, mask});
        });
  };
  check_kept([&] { return graph({.scale = 0.3f, .softcap = 2}); }, DType::float32, false, 1e-5);
  // Its positions would count from the first key.
  for (const op::Attention& bounded : {op::Attention{.is_causal = 1}, op::Attention{.left_window_size = 2}}) {
    State probe({.pairs = pairs});
    const Session s(graph(bounded), {.passes = standard_passes(), .state = &probe, .explain = true});
    CHECK(std::ranges::any_of(s.reports(), [](const PassReport& r) {
      return r.pass == "keep_caches" && r.text.find("which get a copy in every run") != std::string::npos;
    }));
  }
}

TEST_CASE("a session made for a state has one program, and says who copies") {
  const Tensor<float> x = numbers({1, 6, width}, 3);
  for (Form form : {Form::attention, Form::concat, Form::concat_with_readers}) {
    CAPTURE(static_cast<int>(form));
    State state({.pairs = pairs});
    const Session s(decoder(form), {.passes = standard_passes(), .state = &state, .explain = true});
    const std::size_t with_steps = form == Form::concat_with_readers ? 6 : 3;
    CHECK(s.program().outputs().size() == with_steps);
    s.run(feeds_of(form, x, 0, 4), {.state = &state});
    check_close(steps_of(s.run(feeds_of(form, x, 4, 6), {.state = &state})["y"], 0, 2),
                steps_of(whole(s, form, x), 4, 6));  // the second program has no state
    CHECK(s.program().outputs().size() == with_steps);
    int reads = 0, copies = 0;
    for (const PassReport& r : s.reports()) {
      reads += r.pass == "keep_caches" && r.applied;
      copies += r.pass == "keep_caches" && r.text.find("get a copy in every run") != std::string::npos;
    }
    CHECK(reads == 1);
    CHECK(copies == (form == Form::concat_with_readers ? 1 : 0));
  }
}

}  // namespace tenon
