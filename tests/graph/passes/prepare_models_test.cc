#include "tenon/graph/passes/prepare_models.hpp"

#include "tenon/op/nn/tf_idf_vectorizer.hpp"
#include "tenon/op/traditionalml/category_mapper.hpp"
#include "tenon/op/traditionalml/label_encoder.hpp"
#include "tenon/op/traditionalml/linear_classifier.hpp"
#include "tenon/op/traditionalml/linear_regressor.hpp"
#include "tenon/op/traditionalml/one_hot_encoder.hpp"
#include "tenon/op/traditionalml/svm_classifier.hpp"
#include "tenon/op/traditionalml/svm_regressor.hpp"
#include "tenon/op/traditionalml/tree_ensemble.hpp"
#include "tenon/op/traditionalml/tree_ensemble_classifier.hpp"
#include "tenon/op/traditionalml/tree_ensemble_regressor.hpp"
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
  const Session s(build(), {.passes = std::vector{prepare_models}});
  CHECK(s.program().nodes()[0].op.template as<op::PreparedModel<Op>>() != nullptr);
  for (const int64_t rows : {0, 1, 70}) {
    Tensor<T> x(Extents{rows, 3});
    for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<T>(static_cast<float>(k % 7 - 3) / 4);
    test::check_pass(prepare_models, build, {{"x", Value(x)}}, 1, 0);
  }
}

}  // namespace

TEST_CASE("prepared models give the results of the nodes that they replace") {
  check<op::TreeEnsembleRegressor, float>(regressor());
  check<op::TreeEnsembleRegressor, double>(regressor());
  check<op::TreeEnsembleRegressor, int64_t>(regressor());
  check<op::TreeEnsembleClassifier, float>(classifier(), 1);
  check<op::TreeEnsembleClassifier, int32_t>(classifier(), 1);
  check<op::TreeEnsemble, float>(ensemble<float>());
  check<op::TreeEnsemble, double>(ensemble<double>());
  check<op::TreeEnsemble, float16>(ensemble<float16>());
  const op::LinearRegressor linear{.coefficients = {1, 2, 3}, .intercepts = {4}};
  check<op::LinearRegressor, float>(linear);
  check<op::LinearRegressor, int32_t>(linear);
  const op::LinearClassifier classes{
      .classlabels_ints = {3, 4}, .coefficients = {1, 2, 3, 4, 5, 6}, .intercepts = {1, 2}};
  check<op::LinearClassifier, float>(classes, 1);
  check<op::LinearClassifier, double>(classes, 1);
  const op::SVMRegressor machine{.coefficients = {1, -2},
                                 .kernel_params = {0.5f, 0, 3},
                                 .kernel_type = "RBF",
                                 .n_supports = 2,
                                 .rho = {0.25f},
                                 .support_vectors = {0, 1, 0, 1, 0, 1}};
  check<op::SVMRegressor, float>(machine);
  check<op::SVMRegressor, int64_t>(machine);
  const op::SVMClassifier votes{.classlabels_ints = {1, 2},
                                .coefficients = machine.coefficients,
                                .kernel_params = machine.kernel_params,
                                .kernel_type = "POLY",
                                .rho = machine.rho,
                                .support_vectors = machine.support_vectors,
                                .vectors_per_class = {1, 1}};
  check<op::SVMClassifier, float>(votes, 1);
  check<op::SVMClassifier, double>(votes, 1);
  check<op::OneHotEncoder, float>({.cats_int64s = {0, -1}});
  check<op::OneHotEncoder, int64_t>({.cats_int64s = {0, -1}});
  check<op::LabelEncoder, int64_t>({.keys_int64s = {0, -1}, .values_floats = {5, 6}});
  check<op::LabelEncoder, float>({.keys_floats = {0.25f, -0.5f}, .values_floats = {5, 6}});
  check<op::TfIdfVectorizer, int32_t>({.max_gram_length = 2,
                                       .max_skip_count = 0,
                                       .min_gram_length = 1,
                                       .mode = Str("TF"),
                                       .ngram_counts = {0, 1},
                                       .ngram_indexes = {1, 0},
                                       .pool_int64s = {0, 0, 0}});
}

TEST_CASE("strings") {
  const Value words = Tensor<std::string>({2, 3}, {"a", "b", "", "b", "a", "c"});
  const auto run = [&](const auto& op) {
    using Op = std::remove_cvref_t<decltype(op)>;
    const Session s(graph(op, DType::string, 0), {.passes = std::vector{prepare_models}});
    CHECK(s.program().nodes()[0].op.template as<op::PreparedModel<Op>>() != nullptr);
    return std::move(s.run({{"x", words}})[0]);
  };
  const Value numbers = run(op::CategoryMapper{.cats_int64s = {7, 8}, .cats_strings = {"a", "b"}});
  CHECK(numbers.view<int64_t>()(1, 1) == 7);
  const Value others = run(op::LabelEncoder{.keys_strings = {"a", "b"}, .values_strings = {"A", "B"}});
  CHECK(others.view<std::string>()(0, 1) == "B");
  const Value hot = run(op::OneHotEncoder{.cats_strings = {"c", "a"}});
  CHECK(hot.view<float>()(1, 2, 0) == 1);
  const Value counts = run(op::TfIdfVectorizer{.max_gram_length = 2,
                                               .max_skip_count = 0,
                                               .min_gram_length = 2,
                                               .mode = Str("TF"),
                                               .ngram_counts = {0, 0},
                                               .ngram_indexes = {0},
                                               .pool_strings = {"b", "a"}});
  CHECK(counts.view<float>()(1, 0) == 1);
}

TEST_CASE("labels, and trees that are no trees") {
  const Session s(graph(classifier(), DType::float32, 0), {.passes = std::vector{prepare_models}});
  Outputs y = s.run({{"x", Value(Tensor<float>({2, 3}, {1, 0, 0, -1, 0, 0}))}});
  CHECK(y[0].view<int64_t>()[0] == 5);
  CHECK(y[0].view<int64_t>()[1] == 6);
  op::TreeEnsembleRegressor cycle = regressor();
  cycle.nodes_truenodeids[1] = 0;
  const Session bad(graph(cycle, DType::float32, 0),
                    {.passes = std::vector{prepare_models}, .explain = true});
  REQUIRE(bad.reports().size() == 1);
  CHECK_FALSE(bad.reports()[0].applied);
  CHECK_THROWS_AS(bad.run({{"x", Value(Tensor<float>({1, 3}, {1, 0, 0}))}}), Error);
}

}  // namespace tenon::passes
