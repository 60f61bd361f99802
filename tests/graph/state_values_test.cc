// Pasts that a state keeps as they are, and not in pages: constant ones, those that another operator makes,
// and those of which the run writes rows.
#include "tenon/graph/fused/scatter_rows.hpp"
#include "tenon/graph/state.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/scatter_nd.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"
#include "tests/graph/decoder.hpp"

namespace tenon {
using namespace test;

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

TEST_CASE("steps that are computed from the past which they follow") {
  const auto elements = [](const Value& v) {
    const TensorView<const float> t = v.view<float>();
    return std::vector<float>(t.data(), t.data() + t.size());
  };
  for (const bool of_elements : {true, false})
    for (const bool passes : {true, false}) {
      CAPTURE(of_elements);
      CAPTURE(passes);
      Graph g;
      const ValueId x = g.add_input("x", DType::float32, {1, heads, g.symbol("steps"), size}),
                    past = g.add_input("past_key", DType::float32, {1, heads, g.symbol("past"), size});
      const auto list = [&](int64_t n) { return g.add_constant({}, Tensor<int64_t>(Extents{1}, {n})); };
      const ValueId sum = node(g, op::ReduceSum{}, {past, list(2)}),
                    count = node(g, op::Cast{.to = 1}, {node(g, op::Shape{.end = 3, .start = 2}, {past})}),
                    fresh = node(g, op::Add{}, {x, of_elements ? sum : count});
      const ValueId k = node(g, op::Concat{.axis = 2}, {past, fresh}, "present_key");
      g.add_output("y", node(g, op::ReduceSum{}, {k, list(2)}));
      g.add_output("present_key", k);
      SessionOptions options;
      if (passes) options.passes = standard_passes();
      const Session s(std::move(g), options);
      State state({.pairs = {{"past_key", "present_key"}}});
      Value before = Tensor<float>(Extents{1, heads, 0, size});
      for (const int64_t steps : {3, 1, 2}) {
        const Tensor<float> fed = numbers({1, heads, steps, size}, static_cast<uint32_t>(steps));
        const Outputs whole = s.run({{"x", fed}, {"past_key", before}}),
                      kept = s.run({{"x", fed}}, {.state = &state});
        check_close(elements(kept["y"]), elements(whole["y"]));
        before = whole["present_key"];
      }
    }
}

}  // namespace tenon
