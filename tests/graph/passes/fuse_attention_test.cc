#include "tenon/graph/passes/fuse_attention.hpp"

#include <functional>

#include "tenon/op/generator/constant_of_shape.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

enum class Scale { none, of_q, of_k, of_both, of_scores, quotient };

struct Case {
  const char* name;
  Scale scale = Scale::of_scores;
  Opt<Extents> mask{};
  bool mask_first = false;
  bool steps_first = false;  ///< Q, K and V are (batch, steps, heads, size), and K is transposed once
  bool goes_back = false;    ///< and so is the result
  int64_t softmax_axis = -1;
  int64_t k_heads = 3;
  bool k_is_transposed = true;
  bool scores_are_output = false;
  bool in_float = false;     ///< the softmax is computed in float
  bool forbids_all = false;  ///< the mask has -infinity for all keys of a query
  bool batch_is_known = true;
  int repeats = 1;       ///< heads of Q for each of K and V, which are expanded
  std::size_t left = 1;  ///< nodes; 0: all stay
};

const Case cases[] = {
    {.name = "a scale after the product", .mask = Extents{2, 1, 4, 5}},
    {.name = "a quotient after the product, no mask", .scale = Scale::quotient},
    {.name = "no scale", .scale = Scale::none, .mask = Extents{2, 3, 4, 5}, .mask_first = true},
    {.name = "Q scaled", .scale = Scale::of_q, .mask = Extents{4, 5}},
    {.name = "K scaled", .scale = Scale::of_k, .mask = Extents{5}},
    {.name = "both scaled", .scale = Scale::of_both, .mask = Extents{}},
    {.name = "a mask of one key for all", .mask = Extents{2, 1, 4, 1}},
    {.name = "a mask that forbids all keys", .mask = Extents{2, 1, 4, 5}, .forbids_all = true},
    {.name = "softmax in float", .mask = Extents{2, 1, 4, 5}, .in_float = true},
    {.name = "softmax in float over another axis", .softmax_axis = 2, .in_float = true, .left = 0},
    {.name = "heads after steps", .mask = Extents{2, 1, 1, 5}, .steps_first = true, .left = 4},
    {.name = "heads after steps on both sides",
     .mask = Extents{2, 1, 1, 5},
     .steps_first = true,
     .goes_back = true,
     .left = 5},
    {.name = "heads after steps on both sides, Q scaled",
     .scale = Scale::of_q,
     .steps_first = true,
     .goes_back = true,
     .left = 5},
    {.name = "heads after steps in a batch that only the run knows",
     .mask = Extents{1, 1, 1, 5},
     .steps_first = true,
     .goes_back = true,
     .batch_is_known = false,
     .left = 5},
    {.name = "a result alone with heads after steps", .goes_back = true, .left = 2},
    {.name = "a batch that only the run knows", .mask = Extents{1, 1, 1, 5}, .batch_is_known = false},
    {.name = "a mask that may widen", .mask = Extents{2, 3, 4, 5}, .batch_is_known = false},
    {.name = "heads that repeat", .mask = Extents{2, 1, 4, 5}, .repeats = 3},
    {.name = "heads that repeat, K scaled", .scale = Scale::of_k, .repeats = 3},
    {.name = "heads that repeat in a batch that only the run knows", .batch_is_known = false, .repeats = 3},
    {.name = "another axis", .softmax_axis = 2, .left = 0},
    {.name = "heads that stretch", .k_heads = 1, .left = 0},
    {.name = "K as it is", .k_is_transposed = false, .left = 0},
    {.name = "scores that are an output", .scores_are_output = true, .left = 0},
};

template <class T>
Graph build(const Case& c) {
  Graph g;
  const auto number = [&](double d) {
    return g.add_constant({}, AnyTensor(Tensor<T>(Extents{}, {convert<T>(d)})));
  };
  const auto scaled = [&](ValueId v, double by) { return node(g, op::Mul{}, {number(by), v}); };
  const Dim batch = c.batch_is_known ? Dim(2) : g.symbol("N");
  const auto input = [&](const char* name, int64_t heads, int64_t steps, int64_t size) {
    return g.add_input(name, dtype_of<T>,
                       c.steps_first ? Dims{batch, steps, heads, size} : Dims{batch, heads, steps, size});
  };
  ValueId q = input("q", 3, 4, 8), v = input("v", 3 / c.repeats, 5, 6);
  ValueId k = c.k_is_transposed ? input("k", c.k_heads / c.repeats, 5, 8) : input("k", c.k_heads, 8, 5);
  const auto list = [&](std::vector<int64_t> l) {
    return g.add_constant({}, AnyTensor(Tensor<int64_t>(Extents{std::ssize(l)}, l.begin(), l.end())));
  };
  for (ValueId* x : {&k, &v}) {
    if (c.repeats == 1) break;
    const int64_t size = x == &k ? 8 : 6;
    const ValueId apart = node(g, op::Unsqueeze{}, {*x, list({2})});
    const ValueId many = node(g, op::Expand{}, {apart, list({1, 1, c.repeats, 1, 1})});
    *x = node(g, op::Reshape{}, {many, list({c.batch_is_known ? 2 : -1, 3, 5, size})});
  }
  if (c.steps_first) {
    q = node(g, op::Transpose{{0, 2, 1, 3}}, {q});
    v = node(g, op::Transpose{{0, 2, 1, 3}}, {v});
    k = node(g, op::Transpose{{0, 2, 3, 1}}, {k});
  } else if (c.k_is_transposed) {
    k = node(g, op::Transpose{{0, 1, 3, 2}}, {k});
  }
  if (c.scale == Scale::of_q) q = scaled(q, 0.3);
  if (c.scale == Scale::of_k) k = scaled(k, 0.3);
  if (c.scale == Scale::of_both) q = scaled(q, 0.6), k = scaled(k, 0.5);
  ValueId scores = node(g, op::MatMul{}, {q, k});
  if (c.scale == Scale::of_scores) scores = scaled(scores, 0.3);
  if (c.scale == Scale::quotient) scores = node(g, op::Div{}, {scores, number(3)});
  if (c.scores_are_output) g.add_output("scores", scores);
  if (c.mask) {
    AnyTensor m = floats<T>(*c.mask, 4);
    if (c.forbids_all)
      std::fill_n(static_cast<T*>(m.out().data()) + 5, 5,
                  convert<T>(-std::numeric_limits<double>::infinity()));
    const ValueId mask = g.add_constant({}, m);
    scores = c.mask_first ? node(g, op::Add{}, {mask, scores}) : node(g, op::Add{}, {scores, mask});
  }
  const auto cast = [&](ValueId x, DType to) {
    return c.in_float ? node(g, op::Cast{.to = static_cast<int64_t>(to)}, {x}) : x;
  };
  const ValueId weights = node(g, op::Softmax{c.softmax_axis}, {cast(scores, DType::float32)});
  ValueId y = node(g, op::MatMul{}, {cast(weights, dtype_of<T>), v});
  if (c.goes_back) y = node(g, op::Transpose{{0, 2, 1, 3}}, {y});
  g.add_output("y", y);
  return g;
}

template <class T>
void check_all(double tolerance) {
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const auto value = [&](int64_t heads, int64_t steps, int64_t size, int seed) {
      return Value(
          floats<T>(c.steps_first ? Extents{2, steps, heads, size} : Extents{2, heads, steps, size}, seed));
    };
    const Feeds feeds{
        {"q", value(3, 4, 8, 1)},
        {"k", c.k_is_transposed ? value(c.k_heads / c.repeats, 5, 8, 2) : value(c.k_heads, 8, 5, 2)},
        {"v", value(3 / c.repeats, 5, 6, 3)}};
    const Session plain(build<T>(c)),
        passed(build<T>(c), {.passes = std::vector{fuse_attention, test::infos_are_true}, .explain = true});
    REQUIRE(passed.reports().size() == 1);
    const bool fused =
        c.left > 0 && dtype_of<T> != DType::float64 && !(c.in_float && dtype_of<T> == DType::float32);
    CHECK(passed.reports()[0].applied == fused);
    CHECK(passed.program().nodes().size() == (fused ? c.left : plain.program().nodes().size()));
    CHECK(test::difference(plain.run(feeds)["y"].tensor(), passed.run(feeds)["y"].tensor()) <= tolerance);
  }
}

TEST_CASE("attention gives the results of the nodes in whose place it is") {
  check_all<float>(1e-6);
  check_all<double>(0);
  check_all<float16>(4e-3);
  check_all<bfloat16>(3e-2);
}

// --- attention as exporters of language models write it ---

constexpr int64_t heads = 3, queries = 4, keys = 5, size = 8;

/// What lies between the product of queries and keys and the one with values.
using Between = std::function<ValueId(Graph& g, ValueId scores)>;

ValueId number(Graph& g, float x) { return g.add_constant({}, AnyTensor(Tensor<float>(Extents{}, {x}))); }
ValueId integers(Graph& g, std::vector<int64_t> l) {
  return g.add_constant({}, AnyTensor(Tensor<int64_t>(Extents{std::ssize(l)}, l.begin(), l.end())));
}
ValueId number_of(Graph& g, int64_t x) {
  return g.add_constant({}, AnyTensor(Tensor<int64_t>(Extents{}, {x})));
}
ValueId input(Graph& g, const char* name, int64_t steps, Dim batch = 2) {
  return g.add_input(name, DType::float32, {batch, heads, steps, size});
}
Feeds operands() {
  return {{"q", floats<float>({2, heads, queries, size}, 1)},
          {"k", floats<float>({2, heads, keys, size}, 2)},
          {"v", floats<float>({2, heads, keys, size}, 3)}};
}
Graph with(const Between& between) {
  Graph g;
  const ValueId q = input(g, "q", queries), k = input(g, "k", keys), v = input(g, "v", keys),
                scores = node(g, op::MatMul{}, {q, node(g, op::Transpose{{0, 1, 3, 2}}, {k})});
  g.add_output("y", node(g, op::MatMul{}, {between(g, scores), v}));
  return g;
}
/// An additive mask, (2, 1, queries, keys), that forbids a query of the first entry all keys.
ValueId mask(Graph& g, float forbidden) {
  AnyTensor m = floats<float>({2, 1, queries, keys}, 4);
  std::fill_n(static_cast<float*>(m.out().data()) + keys, keys, forbidden);
  return g.add_constant({}, m);
}
/// Which keys are shown, (1, 1, queries, keys): none to the first query.
ValueId shown(Graph& g, bool yes = true) {
  Tensor<bool> t{Extents{1, 1, queries, keys}};
  for (int64_t n = 0; n < t.size(); ++n) t[n] = (n >= keys && n % 3 != 1) == yes;
  return g.add_constant({}, AnyTensor(t));
}
constexpr float least = std::numeric_limits<float>::lowest(),
                infinity = std::numeric_limits<float>::infinity();

ValueId softmax(Graph& g, ValueId x) { return node(g, op::Softmax{}, {x}); }

TEST_CASE("scores are capped before they are masked") {
  for (const float cap : {0.4f, -0.4f}) {
    const auto build = [&] {
      return with([&](Graph& g, ValueId s) {
        s = node(g, op::Tanh{}, {node(g, op::Div{}, {s, number(g, cap)})});
        return softmax(g, node(g, op::Add{}, {node(g, op::Mul{}, {s, number(g, cap)}), mask(g, 3)}));
      });
    };
    test::check_pass(fuse_attention, build, operands(), 1, 1e-6);
  }
  const auto masked_first = [&] {
    return with([&](Graph& g, ValueId s) {
      return softmax(g, node(g, op::Tanh{}, {node(g, op::Add{}, {s, mask(g, 3)})}));
    });
  };
  test::check_pass(fuse_attention, masked_first, operands(), 6, 0);
  const auto scaled_last = [&] {
    return with([&](Graph& g, ValueId s) {
      const ValueId capped = node(g, op::Mul{}, {node(g, op::Tanh{}, {s}), number(g, 3)}),
                    chosen = node(g, op::Where{}, {shown(g), capped, number(g, -infinity)});
      return softmax(g, node(g, op::Mul{}, {chosen, number(g, 0.5f)}));
    });
  };
  test::check_pass(fuse_attention, scaled_last, operands(), 1, 1e-6);
}

TEST_CASE("a mask may make more scores") {
  for (const Extents& extents :
       {Extents{1, 1, 1, keys}, Extents{2, 1, 1, keys}, Extents{1, 3, 4, 1}, Extents{2, 3, 4, keys}}) {
    const auto build = [&] {
      Graph g;
      const auto in = [&](const char* name, const char* steps) {
        return g.add_input(name, DType::float32, {g.symbol("N"), g.symbol("H"), g.symbol(steps), size});
      };
      const ValueId q = in("q", "Q"), k = in("k", "K"), v = in("v", "K"),
                    scores = node(g, op::MatMul{}, {q, node(g, op::Transpose{{0, 1, 3, 2}}, {k})});
      const ValueId masked = node(g, op::Add{}, {scores, g.add_constant({}, floats<float>(extents, 4))});
      g.add_output("y", node(g, op::MatMul{}, {softmax(g, masked), v}));
      return g;
    };
    const Feeds feeds{{"q", floats<float>({1, 1, 1, size}, 1)},
                      {"k", floats<float>({1, 1, keys, size}, 2)},
                      {"v", floats<float>({1, 1, keys, size}, 3)}};
    test::check_pass(fuse_attention, build, feeds, 1, 1e-6);
  }
}

TEST_CASE("a Where between scores and a number shows keys") {
  for (const bool yes : {true, false})
    for (const float hidden : {-infinity, least, -1e4f, -0.5f, 0.0f, 0.5f}) {
      CAPTURE(hidden);
      const auto choice = [&](Graph& g, ValueId s) {
        std::vector<ValueId> in{shown(g, yes), s, number(g, hidden)};
        if (!yes) std::swap(in[1], in[2]);
        return node(g, op::Where{}, in);
      };
      const auto alone = [&] { return with([&](Graph& g, ValueId s) { return softmax(g, choice(g, s)); }); };
      test::check_pass(fuse_attention, alone, operands(), hidden < 0 ? 1 : 5, 1e-6);
      const auto then_scaled_and_masked = [&] {
        return with([&](Graph& g, ValueId s) {
          const ValueId half = node(g, op::Mul{}, {choice(g, s), number(g, 0.5f)});
          return softmax(g, node(g, op::Add{}, {half, mask(g, 0)}));
        });
      };
      test::check_pass(fuse_attention, then_scaled_and_masked, operands(), hidden <= least ? 1 : 7, 1e-6);
    }
}

TEST_CASE("a Where after a mask replaces its numbers too") {
  const auto build = [&] {
    return with([&](Graph& g, ValueId s) {
      const ValueId sum = node(g, op::Add{}, {s, mask(g, least)});
      return softmax(g, node(g, op::Where{}, {shown(g), sum, number(g, least)}));
    });
  };
  // The first query's keys are all hidden, some by both, and count the same.
  test::check_pass(fuse_attention, build, operands(), 1, 1e-6);
}

TEST_CASE("a bound below a mask is one of the mask") {
  for (const float bound : {least, -2.0f}) {
    const auto build = [&] {
      return with([&](Graph& g, ValueId s) {
        return softmax(g,
                       node(g, op::Max{}, {node(g, op::Add{}, {s, mask(g, -infinity)}), number(g, bound)}));
      });
    };
    test::check_pass(fuse_attention, build, operands(), bound == least ? 1 : 6, 1e-6);
  }
}

TEST_CASE("weights that are NaN may be 0") {
  for (const float forbidden : {-infinity, std::numeric_limits<float>::quiet_NaN()}) {
    const auto build = [&] {
      return with([&](Graph& g, ValueId s) {
        const ValueId w = softmax(g, node(g, op::Add{}, {s, mask(g, forbidden)}));
        return node(g, op::Where{}, {node(g, op::IsNaN{}, {w}), number(g, 0), w});
      });
    };
    test::check_pass(fuse_attention, build, operands(), 1, 1e-6);
  }
  const auto ones = [&] {
    return with([&](Graph& g, ValueId s) {
      const ValueId w = softmax(g, node(g, op::Add{}, {s, mask(g, -infinity)}));
      return node(g, op::Where{}, {node(g, op::IsNaN{}, {w}), number(g, 1), w});
    });
  };
  test::check_pass(fuse_attention, ones, operands(), 7, 0);
}

TEST_CASE("keys and values that Casts widen are read in 16 bits") {
  for (const bool narrow_weights : {true, false})
    for (const bool repeats : {true, false})
      for (const bool cast_first : {true, false}) {
        CAPTURE(narrow_weights);
        CAPTURE(repeats);
        CAPTURE(cast_first);
        const int64_t stored = repeats ? 1 : heads;
        const auto build = [&] {
          Graph g;
          const auto cast = [&](ValueId x, DType to) {
            return node(g, op::Cast{.to = static_cast<int64_t>(to)}, {x});
          };
          const auto all_heads = [&](ValueId x) {
            if (!repeats) return x;
            const ValueId many =
                node(g, op::Expand{},
                     {node(g, op::Unsqueeze{}, {x, integers(g, {2})}), integers(g, {1, 1, heads, 1, 1})});
            return node(g, op::Reshape{}, {many, integers(g, {2, heads, keys, size})});
          };
          const auto read = [&](const char* name, bool widens) {
            ValueId x = g.add_input(name, DType::float16, {2, stored, keys, size});
            if (widens && cast_first) x = cast(x, DType::float32);
            x = all_heads(x);
            return widens && !cast_first ? cast(x, DType::float32) : x;
          };
          const ValueId q = input(g, "q", queries), k = read("k", true), v = read("v", !narrow_weights),
                        scores = node(g, op::MatMul{}, {q, node(g, op::Transpose{{0, 1, 3, 2}}, {k})});
          ValueId w = softmax(g, node(g, op::Add{}, {scores, mask(g, least)}));
          if (narrow_weights) w = cast(w, DType::float16);
          g.add_output("y", node(g, op::MatMul{}, {w, v}));
          return g;
        };
        const Feeds feeds{{"q", floats<float>({2, heads, queries, size}, 1)},
                          {"k", floats<float16>({2, stored, keys, size}, 2)},
                          {"v", floats<float16>({2, stored, keys, size}, 3)}};
        test::check_pass(fuse_attention, build, feeds, narrow_weights ? 2 : 1, narrow_weights ? 2e-3 : 1e-6);
      }
}

TEST_CASE("an Attention reads keys and values before their heads are repeated, or put side by side") {
  for (const bool side_by_side : {false, true})
    for (const bool repeats : {true, false})
      for (const DType type : {DType::float32, DType::float16}) {
        if (!side_by_side && !repeats) continue;
        CAPTURE(side_by_side);
        CAPTURE(repeats);
        CAPTURE(name_of(type));
        const int64_t all = repeats ? 2 * heads : heads;
        const auto build = [&] {
          Graph g;
          const Dim batch = g.symbol("N");
          const auto swapped = [&](ValueId x) { return node(g, op::Transpose{{0, 2, 1, 3}}, {x}); };
          const auto read = [&](const char* name) {
            ValueId x = g.add_input(name, type, {batch, heads, keys, size});
            if (repeats) {
              x = node(g, op::Unsqueeze{}, {x, integers(g, {2})});
              x = node(g, op::Expand{}, {x, integers(g, {1, 1, 2, 1, 1})});
              x = node(g, op::Reshape{}, {x, integers(g, {0, all, keys, size})});
            }
            return side_by_side ? node(g, op::Reshape{}, {swapped(x), integers(g, {0, 0, all * size})}) : x;
          };
          op::Attention attention{.softcap = 3};
          if (side_by_side) attention.q_num_heads = attention.kv_num_heads = all;
          const Dims q = side_by_side ? Dims{batch, queries, all * size} : Dims{batch, all, queries, size};
          const ValueId hidden = g.add_input("mask", DType::bool_, {queries, keys});
          g.add_output("y", node(g, attention, {g.add_input("q", type, q), read("k"), read("v"), hidden}));
          return g;
        };
        Tensor<bool> mask(Extents{queries, keys});
        for (int64_t k = 0; k < mask.size(); ++k) mask[k] = k % 3 != 1;
        const auto numbers = [&](const Extents& e, int seed) {
          return type == DType::float32 ? floats<float>(e, seed) : floats<float16>(e, seed);
        };
        const Extents q = side_by_side ? Extents{2, queries, all * size} : Extents{2, all, queries, size};
        const Feeds feeds{{"q", numbers(q, 1)},
                          {"k", numbers({2, heads, keys, size}, 2)},
                          {"v", numbers({2, heads, keys, size}, 3)},
                          {"mask", mask}};
        test::check_pass(fuse_attention, build, feeds, side_by_side ? 5 : 1,
                         type == DType::float32 ? 1e-6 : 1e-3);
      }
}

TEST_CASE("batch and heads may be joined in one axis") {
  enum class Known { extents, product, nothing };
  enum class Scores { joined, apart, apart_for_the_mask, apart_until_v, of_zeros, of_joined_addend };
  for (const Known known : {Known::extents, Known::product, Known::nothing})
    for (const Scores as : {Scores::joined, Scores::apart, Scores::apart_for_the_mask, Scores::apart_until_v,
                            Scores::of_zeros, Scores::of_joined_addend}) {
      CAPTURE(static_cast<int>(known));
      CAPTURE(static_cast<int>(as));
      if (as != Scores::joined && known == Known::nothing) continue;
      const auto build = [&] {
        Graph g;
        const Dim batch = known == Known::extents ? Dim(2) : g.symbol("N");
        const ValueId q = input(g, "q", queries, batch), k = input(g, "k", keys, batch),
                      v = input(g, "v", keys, batch),
                      entries = node(g, op::Gather{}, {node(g, op::Shape{}, {q}), number_of(g, 0)}),
                      all = node(g, op::Mul{}, {entries, number_of(g, known == Known::nothing ? 6 : heads)});
        const auto list = [&](ValueId first, std::vector<int64_t> rest) {
          return node(g, op::Concat{.axis = 0},
                      {node(g, op::Unsqueeze{}, {first, integers(g, {0})}), integers(g, std::move(rest))});
        };
        const auto joined = [&](ValueId x) {
          // Of another number, an axis of steps takes part in the extent.
          if (known == Known::nothing) return node(g, op::Reshape{}, {x, list(entries, {-1, size})});
          return node(g, op::Reshape{}, {x, list(all, {-1, size})});
        };
        const ValueId rows = joined(k), one = number_of(g, 1);
        ValueId scores = node(g, op::MatMul{}, {joined(q), node(g, op::Transpose{{0, 2, 1}}, {rows})});
        if (as != Scores::joined) {
          const auto one_of = [&](ValueId x) { return node(g, op::Unsqueeze{}, {x, integers(g, {0})}); };
          const ValueId count = one_of(node(g, op::Gather{}, {node(g, op::Shape{}, {rows}), one}));
          const auto extents = [&](ValueId first, std::vector<int64_t> rest) {
            return node(g, op::Concat{.axis = 0}, {one_of(first), integers(g, std::move(rest)), count});
          };
          const auto to = [&](ValueId first, std::vector<int64_t> rest) {
            scores = node(g, op::Reshape{}, {scores, extents(first, std::move(rest))});
          };
          if (as == Scores::of_zeros)
            scores = node(g, op::Add{}, {node(g, op::ConstantOfShape{}, {extents(all, {queries})}), scores});
          if (as == Scores::of_joined_addend) {
            const ValueId a = g.add_input("a", DType::float32, {batch, heads, keys});
            scores = node(g, op::Add{}, {node(g, op::Reshape{}, {a, list(all, {1, keys})}), scores});
          }
          to(entries, {heads, queries});
          scores = node(g, op::Add{}, {scores, mask(g, least)});
          if (as == Scores::apart_for_the_mask) to(all, {queries});
          scores = softmax(g, scores);
          if (as == Scores::apart_until_v) to(all, {queries});
        } else {
          scores = softmax(g, scores);
        }
        const bool together =
            as == Scores::joined || as == Scores::apart_for_the_mask || as == Scores::apart_until_v;
        const ValueId values = together ? joined(v) : v;
        g.add_output("y", node(g, op::MatMul{}, {scores, values}));
        return g;
      };
      const Session plain(build()),
          passed(build(), {.passes = std::vector{fuse_attention, test::infos_are_true}, .explain = true});
      REQUIRE(passed.reports().size() == 1);
      CHECK(passed.reports()[0].applied == (known != Known::nothing));
      Feeds feeds = operands();
      if (as == Scores::of_joined_addend) feeds.emplace_back("a", floats<float>({2, heads, keys}, 5));
      const Outputs a = plain.run(feeds), b = passed.run(feeds);
      CHECK(test::difference(a["y"].tensor(), b["y"].tensor()) <= 1e-6);
    }
}

TEST_CASE("no heads are repeated for their extents") {
  const auto build = [] {
    Graph g;
    const Dim batch = g.symbol("N"), steps = g.symbol("K");
    const auto in = [&](const char* name, int64_t count, Dim rows) {
      return g.add_input(name, DType::float32, {batch, count, rows, size});
    };
    const ValueId q = in("q", heads, queries), mask = g.add_input("m", DType::float32, {1, 1, queries, 9});
    const auto repeated = [&](ValueId x) {
      const ValueId shape = node(g, op::Shape{}, {x});
      const auto part = [&](int64_t axis) { return node(g, op::Gather{}, {shape, integers(g, {axis})}); };
      const auto list = [&](const std::vector<ValueId>& parts) {
        return node(g, op::Concat{.axis = 0}, parts);
      };
      const ValueId many = node(g, op::Expand{},
                                {node(g, op::Unsqueeze{}, {x, integers(g, {2})}),
                                 list({part(0), part(1), integers(g, {heads}), part(2), part(3)})});
      return node(
          g, op::Reshape{},
          {many, list({part(0), node(g, op::Mul{}, {part(1), integers(g, {heads})}), part(2), part(3)})});
    };
    const ValueId k = repeated(in("k", 1, steps)), v = repeated(in("v", 1, steps)),
                  count = node(g, op::Gather{}, {node(g, op::Shape{}, {k}), integers(g, {2})}),
                  columns = node(g, op::Slice{}, {mask, integers(g, {0}), count, integers(g, {3})}),
                  scores = node(g, op::MatMul{}, {q, node(g, op::Transpose{{0, 1, 3, 2}}, {k})});
    g.add_output("y", node(g, op::MatMul{}, {softmax(g, node(g, op::Add{}, {scores, columns})), v}));
    return g;
  };
  const Feeds feeds{{"q", floats<float>({2, heads, queries, size}, 1)},
                    {"k", floats<float>({2, 1, keys, size}, 2)},
                    {"v", floats<float>({2, 1, keys, size}, 3)},
                    {"m", floats<float>({1, 1, queries, 9}, 4)}};
  const Session plain(build()),
      passed(build(), {.passes = std::vector{fuse_attention, test::infos_are_true}});
  CHECK(test::difference(plain.run(feeds)["y"].tensor(), passed.run(feeds)["y"].tensor()) <= 1e-6);
  CHECK(std::ranges::none_of(passed.program().nodes(),
                             [](const Graph::Node& n) { return n.op.as<op::Expand>() != nullptr; }));
}

TEST_CASE("scores of three axes may be weights of four that V stretches to") {
  const auto build = [&] {
    Graph g;
    const auto in = [&](const char* name, int64_t steps) {
      const ValueId x = g.add_input(name, DType::float32, {1, heads, steps, size});
      return node(g, op::Reshape{}, {x, integers(g, {heads, steps, size})});
    };
    const ValueId q = in("q", queries), k = in("k", keys), v = in("v", keys),
                  scores = node(g, op::MatMul{}, {q, node(g, op::Transpose{{0, 2, 1}}, {k})}),
                  apart = node(g, op::Reshape{}, {scores, integers(g, {1, heads, queries, keys})});
    g.add_output("y", node(g, op::MatMul{}, {softmax(g, apart), v}));
    return g;
  };
  const Feeds feeds{{"q", floats<float>({1, heads, queries, size}, 1)},
                    {"k", floats<float>({1, heads, keys, size}, 2)},
                    {"v", floats<float>({1, heads, keys, size}, 3)}};
  test::check_pass(fuse_attention, build, feeds, 8, 0);
}

TEST_CASE("keys may be transposed with the batch and the heads in one axis") {
  for (const bool known : {true, false}) {
    CAPTURE(known);
    const auto build = [&] {
      Graph g;
      const Dim batch = known ? Dim(2) : g.symbol("N");
      const auto in = [&](const char* name, const char* steps, int64_t count) {
        return g.add_input(name, DType::float32, {batch, heads, known ? Dim(count) : g.symbol(steps), size});
      };
      const ValueId q = in("q", "Q", queries), k = in("k", "K", keys), v = in("v", "K", keys),
                    shape = node(g, op::Shape{}, {k});
      const auto part = [&](int64_t first, int64_t last) {
        return node(g, op::Slice{}, {shape, integers(g, {first}), integers(g, {last})});
      };
      const auto list = [&](const std::vector<ValueId>& parts) {
        return node(g, op::Concat{.axis = 0}, parts);
      };
      const ValueId steps = part(-2, -1), last = part(-1, INT64_MAX),
                    rows = node(g, op::Reshape{}, {k, list({integers(g, {-1}), steps, last})}),
                    columns = node(g, op::Transpose{{0, 2, 1}}, {rows}),
                    swapped = node(g, op::Reshape{}, {columns, list({part(INT64_MIN, -2), last, steps})}),
                    root = number(g, std::sqrt(0.3f)),
                    scores = node(g, op::MatMul{},
                                  {node(g, op::Mul{}, {q, root}), node(g, op::Mul{}, {swapped, root})});
      g.add_output("y", node(g, op::MatMul{}, {softmax(g, scores), v}));
      return g;
    };
    test::check_pass(fuse_attention, build, operands(), 1, 1e-6);
  }
}

}  // namespace
}  // namespace tenon::passes
