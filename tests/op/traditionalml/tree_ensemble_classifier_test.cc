#include "tenon/op/traditionalml/tree_ensemble_classifier.hpp"

#include <cmath>

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;
using C = op::TreeEnsembleClassifier;

namespace {
/// A stump on feature 0 with bound 1, with the votes of its two leaves.
C stump(std::vector<int64_t> classes, std::vector<int64_t> leaves, std::vector<float> weights) {
  return {.class_ids = classes,
          .class_nodeids = leaves,
          .class_treeids = std::vector<int64_t>(classes.size(), 0),
          .class_weights = weights,
          .nodes_falsenodeids = {2, 0, 0},
          .nodes_featureids = {0, 0, 0},
          .nodes_modes = {"BRANCH_LEQ", "LEAF", "LEAF"},
          .nodes_nodeids = {0, 1, 2},
          .nodes_treeids = {0, 0, 0},
          .nodes_truenodeids = {1, 0, 0},
          .nodes_values = {1, 0, 0}};
}
C labelled(C c, std::vector<int64_t> labels) {
  c.classlabels_int64s = std::move(labels);
  return c;
}
C transformed(C c, const char* transform) {
  c.post_transform = transform;
  return c;
}
float sigmoid(double v) { return static_cast<float>(1 / (1 + std::exp(-v))); }
}  // namespace

TEST_CASE("TreeEnsembleClassifier: cases") {
  using i64 = int64_t;
  const Value x = t<float>({2, 1}, {0, 2});
  const C three = labelled(stump({0, 2, 1}, {1, 1, 2}, {1, 3, 4}), {10, 20, 30});
  C words = three;
  words.classlabels_int64s.clear();
  words.classlabels_strings = {"a", "b", "c"};
  C based = three;
  based.base_values = {5, 0, 1};
  // All votes for one class of two.
  const C positive = labelled(stump({0, 0}, {1, 2}, {0.25f, 0.75f}), {7, 8});
  const C mixed = labelled(stump({1, 1}, {1, 2}, {-1.5f, 0.25f}), {7, 8});
  C base = positive;
  base.base_values = {0.5f};
  const C both = labelled(stump({0, 1}, {1, 2}, {0.25f, 0.75f}), {7, 8});
  const C only = labelled(stump({0, 0}, {1, 2}, {-0.25f, 0.75f}), {7});
  C word = only;
  word.classlabels_int64s.clear();
  word.classlabels_strings = {"in"};
  struct Row {
    C op;
    Value x, y, z;
  } rows[] = {
      {three, x, t<i64>({2}, {30, 20}), t<float>({2, 3}, {1, 0, 3, 0, 4, 0})},
      {words, x, t<std::string>({2}, {"c", "b"}), t<float>({2, 3}, {1, 0, 3, 0, 4, 0})},
      {based, x, t<i64>({2}, {10, 10}), t<float>({2, 3}, {6, 0, 4, 5, 4, 1})},
      {transformed(three, "LOGISTIC"), x, t<i64>({2}, {30, 20}),
       t<float>({2, 3}, {sigmoid(1), 0.5f, sigmoid(3), 0.5f, sigmoid(4), 0.5f})},
      {positive, x, t<i64>({2}, {7, 8}), t<float>({2, 2}, {0.75f, 0.25f, 0.25f, 0.75f})},
      {transformed(positive, "LOGISTIC"), x, t<i64>({2}, {8, 8}),
       t<float>({2, 2}, {sigmoid(-0.25), sigmoid(0.25), sigmoid(-0.75), sigmoid(0.75)})},
      {transformed(positive, "SOFTMAX"), x, t<i64>({2}, {8, 8}),
       t<float>({2, 2}, {sigmoid(-0.5), sigmoid(0.5), sigmoid(-1.5), sigmoid(1.5)})},
      {transformed(positive, "SOFTMAX_ZERO"), x, t<i64>({2}, {8, 8}),
       t<float>({2, 2}, {sigmoid(-0.5), sigmoid(0.5), sigmoid(-1.5), sigmoid(1.5)})},
      {transformed(positive, "PROBIT"), x, t<i64>({2}, {7, 8}),
       t<float>({2, 2}, {0.674489f, -0.674489f, -0.674489f, 0.674489f})},
      {base, x, t<i64>({2}, {8, 8}), t<float>({2, 2}, {0.25f, 0.75f, -0.25f, 1.25f})},
      {mixed, x, t<i64>({2}, {7, 8}), t<float>({2, 2}, {1.5f, -1.5f, -0.25f, 0.25f})},
      {both, x, t<i64>({2}, {7, 8}), t<float>({2, 2}, {0.25f, 0, 0, 0.75f})},
      {only, x, t<i64>({2}, {0, 7}), t<float>({2, 1}, {-0.25f, 0.75f})},
      {word, x, t<std::string>({2}, {"", "in"}), t<float>({2, 1}, {-0.25f, 0.75f})},
      {transformed(only, "LOGISTIC"), x, t<i64>({2}, {0, 7}),
       t<float>({2, 1}, {sigmoid(-0.25), sigmoid(0.75)})},
      {three, t<double>({1, 1}, {0}), t<i64>({1}, {30}), t<float>({1, 3}, {1, 0, 3})},
      {three, t<int32_t>({1, 1}, {2}), t<i64>({1}, {20}), t<float>({1, 3}, {0, 4, 0})},
      {three, t<i64>({1, 1}, {2}), t<i64>({1}, {20}), t<float>({1, 3}, {0, 4, 0})},
      {three, t<float>({0, 1}, {}), t<i64>({0}, {}), t<float>({0, 3}, {})},
      {labelled({}, {1, 2}), x, t<i64>({2}, {1, 1}), t<float>({2, 2}, {0, 0, 0, 0})},
  };
  for (const Row& row : rows) check(row.op, {row.x}, {row.y, row.z}, 1e-3, 1e-6);
  check(three, {x}, {t<i64>({2}, {30, 20})});
  C tensors = three;
  tensors.class_weights.clear();
  tensors.class_weights_as_tensor = {t<double>({3}, {1, 3, 4})};
  tensors.nodes_values.clear();
  tensors.nodes_values_as_tensor = {t<double>({3}, {1e-300, 0, 0})};
  tensors.base_values_as_tensor = {t<double>({3}, {0, 0.5, 0})};
  tensors.nodes_hitrates_as_tensor = {t<double>({3}, {0, 0, 0})};
  check(tensors, {t<double>({2, 1}, {1e-300, 2e-300})},
        {t<i64>({2}, {30, 20}), t<float>({2, 3}, {1, 0.5f, 3, 0, 4.5f, 0})});
  // More rows than one block.
  const auto many = run(three, {Tensor<float>(Extents{1000, 1})}, 2);
  CHECK(many[0].view<i64>()[999] == 30);
  CHECK(many[1].view<float>()(999, 2) == 3);
}

TEST_CASE("TreeEnsembleClassifier: refused") {
  const Value x = t<float>({1, 1}, {0});
  const C ok = labelled(stump({0, 1}, {1, 2}, {1, 1}), {1, 2});
  const auto fails = [&](auto change, std::string_view text) {
    C c = ok;
    change(c);
    check_fails(c, {x}, text, 2);
  };
  fails([](C& c) { c.classlabels_int64s.clear(); }, "states no labels");
  fails([](C& c) { c.classlabels_strings = {"a", "b"}; }, "both as strings and as integers");
  fails([](C& c) { c.class_ids[0] = 2; }, "a vote for target 2 of 2");
  fails([](C& c) { c.base_values = {1, 2, 3}; }, "base_values: 3 entries for 2 targets");
  fails([](C& c) { c.class_weights.pop_back(); }, "weights of votes: 1 entries, expected 2");
  fails([](C& c) { c.class_weights_as_tensor = {t<double>({2}, {1, 1})}; }, "are both given");
  fails([](C& c) { c.post_transform = "X"; }, "post_transform: 'X'");
  fails([](C& c) { c.nodes_falsenodeids[0] = 0; }, "a node is its own descendant");
  fails([](C& c) { c.nodes_featureids[0] = 1; }, "feature 1 of rows of 1");
  check_fails(ok, {t<float>({1}, {0})}, "X: rank 1, expected 2", 2);
}

TEST_CASE("TreeEnsembleClassifier: versions, symbols, called") {
  const Dim n = Dim::symbol(1);
  C c = stump({0, 1}, {1, 2}, {1, 1});
  c.classlabels_strings = {"a", "b"};
  const auto out = infer(c, {info(DType::float32, {n, Dim()})}, 2);
  CHECK(out[0].dims == Dims{n});
  CHECK(out[0].type == Type(DType::string));
  CHECK(out[1].dims == Dims{n, 2});
  const auto [y, z] = c(Tensor<float, Shape<1, 1>>{{2}});
  CHECK(y.template view<std::string>()[0] == "b");
  for (int version : {1, 3, 5})
    check(stated<C>(version, {{"classlabels_int64s", ints{4}}}), {t<float>({1, 1}, {0})},
          {t<int64_t>({1}, {0}), t<float>({1, 1}, {0})});
  check_refused<C>(1, {{"base_values_as_tensor", Value(t<double>({1}, {1}))}}, "has no attribute");
}
}  // namespace tenon
