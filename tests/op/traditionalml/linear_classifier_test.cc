#include "tenon/op/traditionalml/linear_classifier.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using C = op::LinearClassifier;

TEST_CASE("LinearClassifier: cases") {
  using i64 = int64_t;
  const Value x = t<float>({2, 2}, {1, 2, -3, 0});
  const std::vector<float> three{1, 0, 0, 1, 1, 1};  // x0, x1, x0 + x1
  const std::vector<i64> count{0, 1, 2};
  const std::vector<std::string> words{"no", "yes"};
  const auto sigmoid = [](double v) { return static_cast<float>(1 / (1 + std::exp(-v))); };
  const float e4 = std::exp(-4.0f);
  struct Row {
    C op;
    Value x, y, z;
  } rows[] = {
      {{.classlabels_ints = {4, 5, 6}, .coefficients = three, .intercepts = {0, 0.5f, 0}},
       x,
       t<i64>({2}, {6, 5}),
       t<float>({2, 3}, {1, 2.5f, 3, -3, 0.5f, -3})},
      // Coefficients beyond those of the stated intercepts; ONNX Runtime's results.
      {{.classlabels_ints = {4, 5, 6},
        .coefficients = {1, -2, 3, 4, -5, 6, 7, 8, 9, 10, 11, 12},
        .intercepts = {1, 2, 3}},
       t<float>({2, 2}, {1, 2, -3, 1}),
       t<i64>({2}, {5, 6}),
       t<float>({2, 3}, {-2, 13, 10, -4, -3, 24})},
      // Intercepts may be left out; of equal scores the first counts.
      {{.classlabels_ints = count, .coefficients = three},
       x,
       t<i64>({2}, {2, 1}),
       t<float>({2, 3}, {1, 2, 3, -3, 0, -3})},
      {{.classlabels_ints = count, .coefficients = three},
       t<float>({2}, {0, 0}),
       t<i64>({1}, {0}),
       t<float>({1, 3}, {0, 0, 0})},
      // One function for two labels.
      {{.classlabels_strings = words, .coefficients = {1, 1}, .intercepts = {-1}},
       x,
       t<std::string>({2}, {"yes", "no"}),
       t<float>({2, 2}, {-2, 2, 4, -4})},
      {{.classlabels_strings = words,
        .coefficients = {1, 1},
        .intercepts = {-1},
        .post_transform = "LOGISTIC"},
       x,
       t<std::string>({2}, {"yes", "no"}),
       t<float>({2, 2}, {sigmoid(-2), sigmoid(2), sigmoid(4), sigmoid(-4)})},
      {{.classlabels_strings = words,
        .coefficients = {1, 1},
        .intercepts = {-1},
        .post_transform = "SOFTMAX"},
       x,
       t<std::string>({2}, {"yes", "no"}),
       t<float>({2, 2}, {sigmoid(-4), sigmoid(4), sigmoid(8), sigmoid(-8)})},
      // One function for one label.
      {{.classlabels_ints = {7}, .coefficients = {1, 1}}, x, t<i64>({2}, {7, 0}), t<float>({2, 1}, {3, -3})},
      {{.classlabels_strings = {"in"}, .coefficients = {1, 1}},
       x,
       t<std::string>({2}, {"in", ""}),
       t<float>({2, 1}, {3, -3})},
      {{.classlabels_ints = {7}, .coefficients = {1, 1}, .post_transform = "LOGISTIC"},
       x,
       t<i64>({2}, {7, 0}),
       t<float>({2, 1}, {sigmoid(3), sigmoid(-3)})},
      {{.classlabels_ints = {7}, .coefficients = {1, 1}, .post_transform = "SOFTMAX"},
       x,
       t<i64>({2}, {7, 7}),
       t<float>({2, 1}, {1, 1})},
      // Scores of 0 stay 0.
      {{.classlabels_ints = count, .coefficients = three, .post_transform = "SOFTMAX_ZERO"},
       t<float>({2, 2}, {-4, 0, 2, -2}),
       t<i64>({2}, {0, 0}),
       t<float>({2, 3}, {0.5f, 0, 0.5f, 1 / (1 + e4), e4 / (1 + e4), 0})},
      {{.classlabels_ints = count, .coefficients = three, .post_transform = "SOFTMAX_ZERO"},
       t<float>({2}, {0, 0}),
       t<i64>({1}, {0}),
       t<float>({1, 3}, {0.5f, 0.5f, 0.5f})},
      {{.classlabels_ints = {0, 1, 2}, .coefficients = three, .post_transform = "PROBIT"},
       t<float>({1, 2}, {0.25f, 0.5f}),
       t<i64>({1}, {2}),
       t<float>({1, 3}, {-0.674489f, 0, 0.674489f})},
      // Other types, no rows, no features.
      {{.classlabels_ints = count, .coefficients = three},
       t<double>({2}, {1, 2}),
       t<i64>({1}, {2}),
       t<float>({1, 3}, {1, 2, 3})},
      {{.classlabels_ints = count, .coefficients = three},
       t<int32_t>({2}, {1, 2}),
       t<i64>({1}, {2}),
       t<float>({1, 3}, {1, 2, 3})},
      {{.classlabels_ints = count, .coefficients = three},
       t<i64>({2}, {1, 2}),
       t<i64>({1}, {2}),
       t<float>({1, 3}, {1, 2, 3})},
      {{.classlabels_ints = count, .coefficients = three},
       t<float>({0, 2}, {}),
       t<i64>({0}, {}),
       t<float>({0, 3}, {})},
      {{.classlabels_ints = {0, 1}, .coefficients = {}, .intercepts = {1, 2}},
       t<float>({1, 0}, {}),
       t<i64>({1}, {1}),
       t<float>({1, 2}, {1, 2})},
  };
  for (const Row& row : rows) check(row.op, {row.x}, {row.y, row.z}, 1e-3, 1e-6);
  check(rows[0].op, {x}, {rows[0].y});

  check_fails(C{.coefficients = three}, {x}, "states no labels", 2);
  check_fails(C{.classlabels_ints = count, .coefficients = three, .multi_class = 2}, {x},
              "multi_class: 2, expected 0 or 1", 2);
  check_fails(C{.classlabels_ints = {1}, .coefficients = {1, 2, 3}}, {x}, "3 coefficients for 2 features", 2);
  check_fails(C{.coefficients = three, .intercepts = {1, 2, 3, 4}}, {x}, "numbers of models differ: 3 and 4",
              2);
  check_fails(C{.coefficients = {1, 2, 3, 4}, .intercepts = {1, 2, 3, 4}}, {x},
              "numbers of models differ: 2 and 4", 2);
  check_fails(C{.classlabels_ints = {1, 2}, .coefficients = three}, {x}, "2 labels for 3 classes", 2);
  check_fails(C{.classlabels_ints = {1}, .classlabels_strings = {"a"}, .coefficients = {1, 1}}, {x},
              "classlabels are given both as strings and as integers", 2);
  check_fails(C{.coefficients = three, .post_transform = "TANH"}, {x}, "post_transform: 'TANH', expected", 2);
  check_fails(C{.coefficients = three}, {t<float>({}, {1})}, "X: rank 0, expected 1 or 2", 2);
  check_fails(C{.coefficients = {}}, {x}, "has no classes", 2);
}

TEST_CASE("LinearClassifier: symbols, called") {
  const Dim n = Dim::symbol(1), f = Dim::symbol(2);
  const C two{.classlabels_strings = {"a", "b"}, .coefficients = {1, 1}, .intercepts = {0}};
  auto out = infer(two, {info(DType::float32, {n, f})}, 2);
  CHECK(out[0].dims == Dims{n});
  CHECK(out[0].type == Type(DType::string));
  CHECK(out[1].dims == Dims{n, 2});
  out = infer(C{.classlabels_ints = {0, 1}, .coefficients = {1, 2, 3, 4}}, {info(DType::float32, {n, 2})}, 2);
  CHECK(out[1].dims == Dims{n, 2});
  CHECK(out[0].type == Type(DType::int64));
  const auto [y, z] = two(Tensor<float, Shape<1, 2>>{{1, 2}});
  CHECK(y.template view<std::string>()[0] == "b");
}
}  // namespace tenon
