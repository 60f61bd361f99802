// Caches of pages: runs that go on from each other give what one run over all steps gives.
#include "tenon/graph/state.hpp"

#include "tests/graph/decoder.hpp"

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
