// Forms in which exporters write a decoder, whose pasts become caches of pages.
#include "tenon/graph/body.hpp"
#include "tenon/graph/state.hpp"
#include "tenon/op/controlflow/if.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"
#include "tests/graph/decoder.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon {
using namespace test;

namespace {

/// What keeps a decoder's caches: pages of type `stored` hold the steps, and each run gives what one over all
/// steps does, also after a cut, in a fork, and of pasts that are given, which are of this type.
template <class Build>
void check_kept(const Build& build, DType type, bool columns, double tolerance,
                DType stored = DType::undefined) {
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
  CHECK(state.bytes() == 2 * 2 * 4 * heads * size * bits_of(stored == DType::undefined ? type : stored) / 8);
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

TEST_CASE("a past of floats that is read and made in 16 bits is a cache of 16 bits") {
  const auto build = [] {
    return self_attention(
        DType::float32, false, [](Graph& to, ValueId x, ValueId mask, ValueId past_key, ValueId past_value) {
          const auto half = [&](ValueId v) { return cast(to, v, DType::float16); };
          const ValueId h = half(x), k = node(to, op::Concat{.axis = 2}, {half(past_key), h}),
                        v = node(to, op::Concat{.axis = 2}, {half(past_value), h});
          for (const auto& [name, value] : {std::pair("present_key", k), std::pair("present_value", v)})
            to.add_output(name, node(to, op::Cast{.to = 1}, {value}, name));
          const ValueId scores =
              node(to, op::Add{}, {node(to, op::MatMul{}, {h, swapped(to, k)}), half(mask)});
          return cast(to, node(to, op::MatMul{}, {node(to, op::Softmax{}, {scores}), v}), DType::float32);
        });
  };
  check_kept(build, DType::float32, false, 2e-3, DType::float16);
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

namespace {

/// The decoder in the branches of an If: the steps alone if `later` is false, and after the past if it is
/// true.
Graph merged(Form form) {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps"), past = g.symbol("past");
  const ValueId x = g.add_input("x", DType::float32, {batch, heads, steps, size}),
                mask = g.add_input("mask", DType::float32, {batch, 1, steps, g.symbol("all")}),
                past_key = g.add_input("past_key", DType::float32, {batch, heads, past, size}),
                past_value = g.add_input("past_value", DType::float32, {batch, heads, past, size}),
                later = g.add_input("later", DType::bool_, {1});
  const std::string names[] = {"y", "present_key", "present_value"};
  const auto branch = [&](bool with_past) {
    Graph b = Graph::inside(g);
    const ValueId own = b.capture(x), shown = b.capture(mask);
    std::vector<ValueId> pasts(2, -1);
    if (with_past) pasts = {b.capture(past_key), b.capture(past_value)};
    std::vector<ValueId> out;
    if (form == Form::attention) {
      out = b.add_node("attention", AnyOperator::make(op::Attention{}),
                       {own, own, own, shown, pasts[0], pasts[1]}, std::vector<std::string>(3));
    } else {
      const auto all = [&](ValueId v) {
        return with_past ? node(b, op::Concat{.axis = 2}, {v, own}) : node(b, op::Add{}, {own, own});
      };
      const ValueId k = all(pasts[0]), v = all(pasts[1]),
                    scores = node(b, op::Add{}, {node(b, op::MatMul{}, {own, swapped(b, k)}), shown});
      out = {node(b, op::MatMul{}, {node(b, op::Softmax{}, {scores}), v}), k, v};
    }
    for (std::size_t k = 0; k < 3; ++k) b.add_output(names[k], out[k]);
    return body(std::move(b));
  };
  const auto out = g.add_node(
      "choice", AnyOperator::make(op::If{.else_branch = branch(false), .then_branch = branch(true)}), {later},
      names);
  for (std::size_t k = 0; k < 3; ++k) g.add_output(names[k], out[k]);
  return g;
}

}  // namespace

TEST_CASE("branches that an input chooses keep caches, each in a program of its own") {
  for (const Form form : {Form::attention, Form::concat})
    for (const int axis : {-1, 2}) {
      CAPTURE(static_cast<int>(form));
      CAPTURE(axis);
      const StateOptions options{
          .pairs = {{"past_key", "present_key", axis}, {"past_value", "present_value", axis}},
          .page_steps = 4};
      State probe(options);
      const Session s(merged(form), {.passes = standard_passes(), .state = &probe, .explain = true});
      CHECK(std::ranges::any_of(s.reports(), [](const PassReport& r) {
        return r.pass == "keep_caches" && r.applied && r.text.find("reads the caches") != std::string::npos;
      }));
      const Tensor<float> x = numbers({1, heads, 12, size}, 3);
      const auto feeds = [&](int64_t from, int64_t to, bool later) {
        Tensor<float> part{Extents{1, heads, to - from, size}};
        for (int64_t h = 0; h < heads; ++h)
          std::copy_n(x.data() + (h * 12 + from) * size, (to - from) * size,
                      part.data() + h * (to - from) * size);
        return Feeds{{"x", part},
                     {"mask", causal(1, later ? from : 0, later ? to : to - from)},
                     {"later", Tensor<bool>(Extents{1}, {later})}};
      };
      // What the model computes without a state.
      Outputs known;
      const auto plain = [&](int64_t from, int64_t to, bool later) {
        Feeds f = feeds(from, to, later);
        f.emplace_back("past_key", later ? known["present_key"] : no_past(1));
        f.emplace_back("past_value", later ? known["present_value"] : no_past(1));
        known = s.run(f);
        return steps_of(known["y"], 0, to - from);
      };
      State state(options);
      const auto run = [&](int64_t from, int64_t to, bool later) {
        const std::vector<float> y =
            steps_of(s.run(feeds(from, to, later), {.state = &state})["y"], 0, to - from);
        check_close(y, plain(from, to, later));
        // A present whose axis is not known is no cache until there is a past.
        if (later || axis == 2) CHECK(state.bytes() == 2 * ((state.length() + 3) / 4 * 4) * heads * size * 4);
      };
      run(0, 5, false);
      run(5, 6, true);
      run(6, 9, true);
      CHECK(state.length() == 9);
      // A run that fails leaves the steps, even one that would begin again.
      CHECK_THROWS_AS(s.run(feeds(0, 2, false), {.state = &state, .max_bytes = 1}), Error);
      CHECK(state.length() == 9);
      run(9, 10, true);
      run(0, 3, false);
      run(3, 4, true);
      CHECK(state.length() == 4);
    }
}

TEST_CASE("an Attention of repeated heads reads the caches") {
  for (const bool side_by_side : {false, true}) {
    const auto build = [&] {
      return self_attention(
          DType::float32, false,
          [&](Graph& to, ValueId x, ValueId mask, ValueId past_key, ValueId past_value) {
            const auto list = [&](std::vector<int64_t> l) {
              return to.add_constant({},
                                     AnyTensor(Tensor<int64_t>(Extents{std::ssize(l)}, l.begin(), l.end())));
            };
            const auto swapped_heads = [&](ValueId v) { return node(to, op::Transpose{{0, 2, 1, 3}}, {v}); };
            // Queries of twice as many heads as keys and values have.
            const ValueId q = node(to, op::Concat{.axis = 1}, {x, x});
            const auto repeated = [&](ValueId past, const char* name) {
              const ValueId all = node(to, op::Concat{.axis = -2}, {past, x}, name),
                            steps = node(to, op::Shape{.end = 3, .start = 2}, {all});
              to.add_output(name, all);
              const auto extents = [&](std::vector<int64_t> before) {
                return node(to, op::Concat{.axis = 0}, {list(std::move(before)), steps, list({size})});
              };
              const ValueId many = node(
                  to, op::Expand{}, {node(to, op::Unsqueeze{}, {all, list({2})}), extents({1, heads, 2})});
              const ValueId by_heads = node(to, op::Reshape{}, {many, extents({1, 2 * heads})});
              if (!side_by_side) return by_heads;
              return node(to, op::Reshape{}, {swapped_heads(by_heads), list({0, 0, 2 * width})});
            };
            const ValueId k = repeated(past_key, "present_key"), v = repeated(past_value, "present_value");
            op::Attention attention{.scale = 0.7f};
            if (!side_by_side) return node(to, attention, {q, k, v, mask});
            attention.q_num_heads = attention.kv_num_heads = 2 * heads;
            const ValueId y =
                node(to, attention,
                     {node(to, op::Reshape{}, {swapped_heads(q), list({0, 0, 2 * width})}), k, v, mask});
            return swapped_heads(node(to, op::Reshape{}, {y, list({0, 0, 2 * heads, size})}));
          });
    };
    check_kept(build, DType::float32, false, 1e-5);
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
