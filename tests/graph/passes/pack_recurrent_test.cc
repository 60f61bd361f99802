#include "tenon/graph/passes/pack_recurrent.hpp"

#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

template <class T>
Tensor<T> filled(const Extents& extents, int seed) {
  Tensor<T> t(extents);
  for (int64_t k = 0; k < t.size(); ++k)
    t[k] = static_cast<T>(static_cast<float>((k * 7 + seed) % 11 - 5) / 16);
  return t;
}

/// X (steps, 2, 3), bidirectional, four units.
template <class Op, class T>
Graph graph(const Op& op, int64_t gates, Dim steps, bool constant = true) {
  Graph g;
  const ValueId x = g.add_input("x", dtype_of<T>, Dims{steps, 2, 3});
  const Extents extents{2, gates * 4, 3};
  const ValueId w =
      constant ? g.add_constant("w", filled<T>(extents, 1)) : g.add_input("w", dtype_of<T>, extents);
  const ValueId r = g.add_constant("r", filled<T>({2, gates * 4, 4}, 2));
  const ValueId b = g.add_constant("b", filled<T>({2, gates * 8}, 3));
  const std::vector<std::string> names(static_cast<std::size_t>(Op::spec.outputs.size()));
  for (const ValueId y : g.add_node({}, AnyOperator::make(op), {x, w, r, b}, names))
    g.add_output(std::to_string(y), y);
  return g;
}

template <class Op, class T>
void check(int64_t gates, double tolerance) {
  const auto build = [&] { return graph<Op, T>(Op{.direction = "bidirectional"}, gates, Dim()); };
  const Session s(build(), {.passes = std::vector{pack_recurrent}});
  REQUIRE(s.program().nodes()[0].op.template as<PackedRecurrent<Op>>() != nullptr);
  CHECK(s.program().nodes()[0].inputs[1] == -1);
  for (const int64_t steps : {0, 1, 9})
    test::check_pass(pack_recurrent, build, {{"x", Value(filled<T>({steps, 2, 3}, 4))}}, 1, tolerance);
}

}  // namespace

TEST_CASE("packed recurrent networks give the results of the nodes that they replace") {
  check<op::GRU, float>(3, 1e-6);
  check<op::LSTM, double>(4, 1e-14);
  check<op::LSTM, float16>(4, 1e-3);
  check<op::RNN, float>(1, 1e-6);
}

TEST_CASE("networks without a constant W, and those with few rows, stay as they are") {
  const auto untouched = [](Graph g, std::string_view why) {
    const Session s(std::move(g), {.passes = std::vector{pack_recurrent}, .explain = true});
    CHECK(s.program().nodes()[0].op.as<op::LSTM>() != nullptr);
    REQUIRE(s.reports().size() == 1);
    CHECK(s.reports()[0].text.find(why) != std::string::npos);
  };
  const op::LSTM op{.direction = "bidirectional"};
  untouched(graph<op::LSTM, float>(op, 4, 9, false), "W is not constant");
  untouched(graph<op::LSTM, float>(op, 4, 2), "X has 4 rows");
}

}  // namespace tenon::passes
