#include "tenon/graph/passes/fuse_attention.hpp"

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
    {.name = "a mask that widens", .mask = Extents{2, 3, 4, 5}, .batch_is_known = false, .left = 0},
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

}  // namespace
}  // namespace tenon::passes
