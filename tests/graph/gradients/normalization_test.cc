#include "tenon/graph/session.hpp"
#include "tests/graph/gradients/check.hpp"

namespace tenon::test {

/// Result 1 or 2 of LayerNormalization, the mean and the inverse deviation, which are floats.
void check_statistics(int result) {
  Graph g;
  const ValueId x = g.add_input("x", DType::float64, {1, 3});
  const ValueId scale = g.add_constant({}, Tensor<double>(Extents{3}, {1, 1, 1}));
  const ValueId y = g.add_node({}, any(op::LayerNormalization{.epsilon = 0}), {x, scale},
                               std::vector<std::string>(3))[static_cast<std::size_t>(result)];
  g.add_output("d", add_gradient(g, {.xs = {x}, .y = y}, standard_registry())[0]);
  const Outputs out = Session(std::move(g)).run({{"x", Tensor<double>(Extents{1, 3}, {1, 2, 6})}});
  const double mean = 3, deviation = std::sqrt(14.0 / 3);
  for (int64_t k = 0; k < 3; ++k) {
    const double at = k == 0 ? 1 : k == 1 ? 2 : 6;
    CHECK(out["d"].view<double>()[k] ==
          doctest::Approx(result == 1 ? 1.0 / 3 : (mean - at) / (3 * std::pow(deviation, 3))));
  }
}

TEST_CASE("Normalisations") {
  check_op(op::Softmax{}, {reals({2, 4})});
  check_op(op::Softmax{.axis = 0}, {reals({2, 4})});
  check_op(op::LogSoftmax{.axis = 1}, {reals({2, 4, 2})});
  check_op(op::LayerNormalization{}, {reals({2, 4}), reals({4}), reals({4})});
  check_op(op::LayerNormalization{.axis = 1}, {reals({2, 2, 2}), reals({2, 2})});
  for (int result : {1, 2}) check_statistics(result);
  check_op(op::RMSNormalization{}, {reals({2, 4}), reals({4})});
  check_op(op::InstanceNormalization{}, {reals({2, 2, 3}), reals({2}), reals({2})});
  check_op(op::GroupNormalization{.num_groups = 2}, {reals({2, 4, 3}), reals({4}), reals({4})});
  check_op(op::GroupNormalization_18{.num_groups = 2}, {reals({2, 4, 3}), reals({2}), reals({2})});
  check_operator(old("Softmax", 11), {reals({2, 4})});
  check_operator(old("BatchNormalization", 9),
                 {reals({2, 3, 2}), reals({3}), reals({3}), reals({3}), reals({3}, 0.5, 2)});
  check_op(op::LayerNormalization{.axis = -2}, {reals({2, 2, 2}), reals({2}), reals({})});
  check_op(op::BatchNormalization{},
           {reals({2, 3, 2}), reals({3}), reals({3}), reals({3}), reals({3}, 0.5, 2)});
  check_op(op::BatchNormalization{.training_mode = 1},
           {reals({2, 3, 2}), reals({3}), reals({3}), reals({3}), reals({3}, 0.5, 2)}, 3, {0, 1, 2});
  for (int64_t training : {0, 1})  // samples of one channel
    check_op(op::BatchNormalization{.training_mode = training},
             {reals({4}), reals({1}), reals({1}), reals({1}), reals({1}, 0.5, 2)});
  check_op(op::MeanVarianceNormalization{}, {reals({2, 2, 2, 2})});
  check_op(op::LpNormalization{.p = 1}, {reals({2, 3})});
  check_op(op::LpNormalization{.axis = 0}, {reals({2, 3})});
  check_op(op::LRN{.alpha = 0.5f, .size = 3}, {reals({2, 5, 2})});
  check_op(op::LRN{.alpha = 0.5f, .size = 2}, {reals({1, 3, 2, 2})});
}

TEST_CASE("Losses") {
  for (const char* reduction : {"none", "sum", "mean"}) {
    const Given weights = reals({3}, 0.5, 2), labels = ints({2, 2}, {0, 2, 1, 2}), few = ints({2}, {2, 0});
    const Given ignored = ints({2, 2}, {0, -1, 1, 2});
    check_op(op::NegativeLogLikelihoodLoss{.reduction = reduction}, {reals({2, 3}), few});
    check_op(op::NegativeLogLikelihoodLoss{.ignore_index = -1, .reduction = reduction},
             {reals({2, 3, 2}), ignored, weights});
    check_op(op::SoftmaxCrossEntropyLoss{.reduction = reduction}, {reals({2, 3, 2}), labels, weights}, 2,
             {0, 1});
    check_op(op::SoftmaxCrossEntropyLoss{.ignore_index = 2, .reduction = reduction},
             {reals({2, 3, 2}), labels});
  }
}

TEST_CASE("Normalisations of nothing, and of a constant") {
  check_op(op::Softmax{}, {reals({0, 4})});
  check_op(op::LayerNormalization{}, {reals({0, 4}), reals({4}), reals({4})});
  check_op(op::InstanceNormalization{}, {reals({0, 2, 3}), reals({2}), reals({2})});
  check_op(op::GroupNormalization{.num_groups = 2}, {reals({0, 4, 3}), reals({4}), reals({4})});
  check_op(op::LRN{.size = 3}, {reals({0, 5, 2})});
  const auto ones = [](const Extents& extents) {
    Tensor<double> t(extents);
    std::fill(t.begin(), t.end(), 1.0);
    return Value(t);
  };
  for (double d : slopes(any(op::MeanVarianceNormalization{}), {ones({1, 1, 2, 2})})) CHECK(std::isfinite(d));
  for (double d : slopes(any(op::LayerNormalization{}), {ones({1, 2}), ones({2})})) CHECK(std::isfinite(d));
}

TEST_CASE("Normalisations of halves whose squares are no halves") {
  const auto check_halves = [](const AnyOperator& op, const std::vector<Extents>& extents) {
    CAPTURE(std::string(op.spec().name));
    std::vector<Value> wide, half;
    for (const Extents& e : extents) {
      Tensor<double> d(e);
      Tensor<float16> h(e);
      for (int64_t k = 0; k < d.size(); ++k) {
        d[k] = wide.empty() ? static_cast<double>(k * k * 97 % 1601) - 400 : static_cast<double>(k + 1);
        h[k] = float16(static_cast<float>(d[k]));
      }
      wide.emplace_back(d);
      half.emplace_back(h);
    }
    const std::vector<double> expected = slopes(op, wide), found = slopes(op, half, DType::float16);
    REQUIRE(expected.size() == found.size());
    for (std::size_t k = 0; k < found.size(); ++k)
      CHECK(found[k] == doctest::Approx(expected[k]).epsilon(0.01).scale(0.01));
  };
  check_halves(any(op::LayerNormalization{}), {{3, 5}, {5}, {5}});
  check_halves(any(op::RMSNormalization{}), {{3, 5}, {5}});
  check_halves(any(op::InstanceNormalization{}), {{2, 2, 4}, {2}, {2}});
  check_halves(any(op::GroupNormalization{.num_groups = 2}), {{2, 4, 3}, {4}, {4}});
  check_halves(any(op::BatchNormalization{.training_mode = 1}), {{3, 2, 3}, {2}, {2}, {2}, {2}});
  check_halves(any(op::MeanVarianceNormalization{}), {{2, 2, 2, 3}});
  check_halves(any(op::LpNormalization{}), {{2, 4}});
  check_halves(any(op::LRN{.alpha = 0.5f, .size = 3}), {{2, 4, 2}});
}

TEST_CASE("Second derivatives of normalisations") {
  check_twice(op::Softmax{}, {reals({2, 3})});
  check_twice(op::LogSoftmax{}, {reals({2, 3})});
  check_twice(op::LayerNormalization{}, {reals({2, 3}), reals({3}), reals({3})});
  check_twice(op::BatchNormalization{},
              {reals({2, 2, 2}), reals({2}), reals({2}), reals({2}), reals({2}, 0.5, 2)});
  check_twice(op::SoftmaxCrossEntropyLoss{}, {reals({2, 3}), ints({2}, {2, 0})});
}

}  // namespace tenon::test
