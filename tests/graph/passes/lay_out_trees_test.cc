#include "tenon/graph/passes/lay_out_trees.hpp"

#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

/// A tree on feature 0: at most 0, then at most -0.5, with votes for two targets.
op::TreeEnsembleRegressor regressor() {
  return {.n_targets = 2,
          .nodes_falsenodeids = {2, 4, 0, 0, 0},
          .nodes_featureids = {0, 0, 0, 0, 0},
          .nodes_modes = {"BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"},
          .nodes_nodeids = {0, 1, 2, 3, 4},
          .nodes_treeids = {0, 0, 0, 0, 0},
          .nodes_truenodeids = {1, 3, 0, 0, 0},
          .nodes_values = {0, -0.5f, 0, 0, 0},
          .target_ids = {0, 1, 0},
          .target_nodeids = {2, 3, 4},
          .target_treeids = {0, 0, 0},
          .target_weights = {1, 2, 3}};
}
op::TreeEnsembleClassifier classifier() {
  const op::TreeEnsembleRegressor r = regressor();
  return {.class_ids = r.target_ids,
          .class_nodeids = r.target_nodeids,
          .class_treeids = r.target_treeids,
          .class_weights = r.target_weights,
          .classlabels_int64s = {5, 6},
          .nodes_falsenodeids = r.nodes_falsenodeids,
          .nodes_featureids = r.nodes_featureids,
          .nodes_modes = r.nodes_modes,
          .nodes_nodeids = r.nodes_nodeids,
          .nodes_treeids = r.nodes_treeids,
          .nodes_truenodeids = r.nodes_truenodeids,
          .nodes_values = r.nodes_values};
}
template <class T>
op::TreeEnsemble ensemble() {
  const auto list = [](std::initializer_list<float> values) {
    return op::TensorAttribute{
        Tensor<T>(Extents{static_cast<int64_t>(values.size())}, values.begin(), values.end())};
  };
  return {.leaf_targetids = {0, 1},
          .leaf_weights = list({1, 2}),
          .nodes_falseleafs = {1},
          .nodes_falsenodeids = {1},
          .nodes_featureids = {0},
          .nodes_modes = {Tensor<uint8_t>(Extents{1}, {0})},
          .nodes_splits = list({0.25f}),
          .nodes_trueleafs = {1},
          .nodes_truenodeids = {0},
          .tree_roots = {0}};
}

template <class Op>
Graph graph(const Op& op, DType x, int output) {
  Graph g;
  const ValueId in = g.add_input("x", x, Dims{g.symbol("N"), 3});
  const std::vector<std::string> names(static_cast<std::size_t>(Op::spec.outputs.size()));
  const auto out = g.add_node({}, AnyOperator::make(op), {in}, names);
  g.add_output("y", out[static_cast<std::size_t>(output)]);
  return g;
}

template <class Op, class T>
void check(const Op& op, int output = 0) {
  const auto build = [&] { return graph(op, dtype_of<T>, output); };
  const Session s(build(), {.passes = std::vector{lay_out_trees}});
  CHECK(s.program().nodes()[0].op.template as<LaidOutTrees<Op>>() != nullptr);
  for (const int64_t rows : {0, 1, 70}) {
    Tensor<T> x(Extents{rows, 3});
    for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<T>(static_cast<float>(k % 7 - 3) / 4);
    test::check_pass(lay_out_trees, build, {{"x", Value(x)}}, 1, 0);
  }
}

}  // namespace

TEST_CASE("trees that are laid out give the results of the nodes that they replace") {
  check<op::TreeEnsembleRegressor, float>(regressor());
  check<op::TreeEnsembleRegressor, double>(regressor());
  check<op::TreeEnsembleRegressor, int64_t>(regressor());
  check<op::TreeEnsembleClassifier, float>(classifier(), 1);
  check<op::TreeEnsembleClassifier, int32_t>(classifier(), 1);
  check<op::TreeEnsemble, float>(ensemble<float>());
  check<op::TreeEnsemble, double>(ensemble<double>());
  check<op::TreeEnsemble, float16>(ensemble<float16>());
}

TEST_CASE("labels, and trees that are no trees") {
  const Session s(graph(classifier(), DType::float32, 0), {.passes = std::vector{lay_out_trees}});
  Outputs y = s.run({{"x", Value(Tensor<float>({2, 3}, {1, 0, 0, -1, 0, 0}))}});
  CHECK(y[0].view<int64_t>()[0] == 5);
  CHECK(y[0].view<int64_t>()[1] == 6);
  op::TreeEnsembleRegressor cycle = regressor();
  cycle.nodes_truenodeids[1] = 0;
  const Session bad(graph(cycle, DType::float32, 0), {.passes = std::vector{lay_out_trees}, .explain = true});
  REQUIRE(bad.reports().size() == 1);
  CHECK_FALSE(bad.reports()[0].applied);
  CHECK_THROWS_AS(bad.run({{"x", Value(Tensor<float>({1, 3}, {1, 0, 0}))}}), Error);
}

}  // namespace tenon::passes
