// Forms in which exporters write a decoder, whose pasts become caches of pages.
#include "tenon/graph/state.hpp"

#include "tests/graph/decoder.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon {
using namespace test;

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

}  // namespace

TEST_CASE("attention of halves whose softmax is computed in float reads the cache") {
  Graph g;
  const Dim steps = g.symbol("steps"), past = g.symbol("past");
  const ValueId x = cast(g, g.add_input("x", DType::float32, {1, heads, steps, size}), DType::float16),
                past_key = g.add_input("past_key", DType::float16, {1, heads, past, size}),
                past_value = g.add_input("past_value", DType::float16, {1, heads, past, size}),
                k = node(g, op::Concat{.axis = 2}, {past_key, x}, "present_key"),
                v = node(g, op::Concat{.axis = 2}, {past_value, x}, "present_value"),
                scores = node(g, op::MatMul{}, {x, node(g, op::Transpose{{0, 1, 3, 2}}, {k})}),
                weights = cast(g, node(g, op::Softmax{}, {cast(g, scores, DType::float32)}), DType::float16);
  g.add_output("y", cast(g, node(g, op::MatMul{}, {weights, v}), DType::float32));
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

}  // namespace tenon
