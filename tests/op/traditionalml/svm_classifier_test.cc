#include "tenon/op/traditionalml/svm_classifier.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using S = op::SVMClassifier;

namespace {
/// A support vector for each class, the unit vectors; the decision of classes a < b is x[a] - x[b] + rho.
S units(int64_t classes) {
  S s{.kernel_type = "LINEAR"};
  for (int64_t a = 0; a < classes; ++a) {
    s.classlabels_ints.push_back(10 * a);
    s.vectors_per_class.push_back(1);
    for (int64_t b = 0; b < classes; ++b) s.support_vectors.push_back(a == b);
    for (int64_t b = a + 1; b < classes; ++b) s.rho.push_back(0);
  }
  // Row k holds class a's coefficient against class k + (k >= a).
  for (int64_t k = 0; k + 1 < classes; ++k)
    for (int64_t a = 0; a < classes; ++a) s.coefficients.push_back(a <= k ? 1.0f : -1.0f);
  return s;
}
float sigmoid(double v) { return static_cast<float>(1 / (1 + std::exp(-v))); }
}  // namespace

TEST_CASE("SVMClassifier: support vectors") {
  using i64 = int64_t;
  S two = units(2);
  two.rho = {0.5f};
  const Value x = t<float>({2, 2}, {2, 1, 0, 3});  // decisions 1.5 and -2.5
  check(two, {x}, {t<i64>({2}, {0, 10}), t<float>({2, 2}, {-1.5f, 1.5f, 2.5f, -2.5f})});
  two.post_transform = "LOGISTIC";
  check(two, {x},
        {t<i64>({2}, {0, 10}), t<float>({2, 2}, {sigmoid(-1.5), sigmoid(1.5), sigmoid(2.5), sigmoid(-2.5)})});
  two.post_transform = "SOFTMAX";
  check(two, {x},
        {t<i64>({2}, {0, 10}), t<float>({2, 2}, {sigmoid(-3), sigmoid(3), sigmoid(5), sigmoid(-5)})});
  two.post_transform = "PROBIT";
  check(two, {t<float>({1, 2}, {0, 0.25f})}, {t<i64>({1}, {0}), t<float>({1, 1}, {-0.674489f})}, 1e-3);
  two.post_transform = "NONE";
  two.prob_a = {-1};
  two.prob_b = {0.5f};
  check(two, {x},
        {t<i64>({2}, {0, 10}), t<float>({2, 2}, {sigmoid(1), sigmoid(-1), sigmoid(-3), sigmoid(3)})}, 1e-2,
        1e-2);

  S three = units(3);
  three.classlabels_ints.clear();
  three.classlabels_strings = {"a", "b", "c"};
  const Value y = t<float>({3, 3}, {3, 2, 1, 1, 2, 3, 0, 5, 5});
  check(three, {y},
        {t<std::string>({3}, {"a", "c", "c"}), t<float>({3, 3}, {1, 2, 1, -1, -2, -1, -5, -5, 0})});
  check(three, {t<double>({3}, {3, 2, 1})}, {t<std::string>({1}, {"a"}), t<float>({1, 3}, {1, 2, 1})});
  check(three, {t<int32_t>({3}, {3, 2, 1})}, {t<std::string>({1}, {"a"}), t<float>({1, 3}, {1, 2, 1})});
  check(three, {t<i64>({3}, {3, 2, 1})}, {t<std::string>({1}, {"a"}), t<float>({1, 3}, {1, 2, 1})});
  check(three, {t<float>({0, 3}, {})}, {t<std::string>({0}, {}), t<float>({0, 3}, {})});
  // All pairs are undecided: all classes are equally probable.
  three.prob_a = three.prob_b = {0, 0, 0};
  check(
      three, {y},
      {t<std::string>({3}, {"a", "c", "c"}), cast<float>({3, 3}, {1 / 3.0, 1 / 3.0, 1 / 3.0, 1 / 3.0, 1 / 3.0,
                                                                  1 / 3.0, 1 / 3.0, 1 / 3.0, 1 / 3.0})});

  // Four classes: six decisions, and probabilities that sum to 1.
  S four = units(4);
  auto out = run(four, {t<float>({1, 4}, {1, 4, 2, 3})}, 2);
  check_equal(out[0], t<i64>({1}, {10}));
  check_equal(out[1], t<float>({1, 6}, {-3, -1, -2, 2, 1, -1}));
  four.prob_a.assign(6, -1);
  four.prob_b.assign(6, 0);
  out = run(four, {t<float>({1, 4}, {1, 4, 2, 3})}, 2);
  const auto p = out[1].view<float>();
  CHECK(p[0] + p[1] + p[2] + p[3] == doctest::Approx(1));
  CHECK(p[1] > p[3]);
  CHECK(p[3] > p[2]);
  CHECK(p[2] > p[0]);
}

TEST_CASE("SVMClassifier: linear functions") {
  using i64 = int64_t;
  const Value x = t<float>({2, 2}, {2, -3, 0.25f, -1});
  S s{.classlabels_ints = {7, 8}, .coefficients = {1, 0, 0, 1}, .rho = {0.5f, 0}};
  check(s, {x}, {t<i64>({2}, {7, 7}), t<float>({2, 2}, {2.5f, -2.5f, 0.75f, -0.5f})});
  s.rho = {-0.5f};  // one rho and no negative weight: the second class from 0.5 on
  check(s, {x}, {t<i64>({2}, {8, 7}), t<float>({2, 2}, {1.5f, -3.5f, -0.25f, -1.5f})});
  s.coefficients = {1, 0, 0, -1};
  check(s, {x}, {t<i64>({2}, {8, 8}), t<float>({2, 2}, {1.5f, 2.5f, -0.25f, 0.5f})});
  s.post_transform = "LOGISTIC";
  check(s, {x},
        {t<i64>({2}, {8, 8}), t<float>({2, 2}, {sigmoid(1.5), sigmoid(2.5), sigmoid(-0.25), sigmoid(0.5)})});
  const S one{.classlabels_strings = {"only"}, .coefficients = {1, 1}, .rho = {0}};
  check(one, {x}, {t<std::string>({2}, {"0", "0"}), t<float>({2, 1}, {-1, -0.75f})});
  const S number{.classlabels_ints = {5}, .coefficients = {1, -1}, .rho = {0}};
  check(number, {x}, {t<i64>({2}, {1, 1}), t<float>({2, 1}, {5, 1.25f})});
}

TEST_CASE("SVMClassifier: refused") {
  const Value x = t<float>({1, 3}, {1, 2, 3});
  const auto fails = [&](auto change, std::string_view text) {
    S s = units(3);
    change(s);
    check_fails(s, {x}, text, 2);
  };
  fails([](S& s) { s.coefficients.pop_back(); }, "5 coefficients for 3 classes and 3 support vectors");
  fails([](S& s) { s.support_vectors.pop_back(); }, "support_vectors: 8 numbers for 3 vectors");
  fails([](S& s) { s.rho.pop_back(); }, "entries of rho: 2, expected at least 3");
  fails([](S& s) { s.rho.clear(); }, "rho is missing");
  fails([](S& s) { s.prob_a = {1}; }, "prob_a has 1 entries, prob_b has 0");
  fails([](S& s) { s.prob_a = s.prob_b = {1}; }, "entries of prob_a: 1, expected at least 3");
  fails([](S& s) { s.vectors_per_class = {3}; }, "vectors_per_class: 1 entries, expected 3");
  fails([](S& s) { s.vectors_per_class = {3, -1, 1}; }, "vectors_per_class holds -1");
  fails([](S& s) { s.vectors_per_class = {INT64_MAX, 1, 1}; }, "vectors_per_class holds 1");
  fails([](S& s) { s.vectors_per_class = {int64_t{1} << 40, 1, 1}; }, "6 coefficients for 3 classes");
  fails([](S& s) { s.classlabels_ints.clear(); }, "states no labels");
  fails([](S& s) { s.classlabels_strings = {"a"}; }, "both as strings and as integers");
  fails([](S& s) { s.classlabels_ints = {1}; }, "has support vectors, but one class");
  fails([](S& s) { s.vectors_per_class.clear(), s.coefficients.pop_back(); }, "5 coefficients for 3 classes");
  fails([](S& s) { s.vectors_per_class.clear(); }, "X has 3 features, expected 2");
  fails([](S& s) { s.kernel_type = "GAUSS"; }, "kernel_type: 'GAUSS'");
  fails([](S& s) { s.post_transform = "GAUSS"; }, "post_transform: 'GAUSS'");
  check_fails(units(3), {t<float>({2}, {1, 2})}, "X has 2 features, expected 3", 2);
  check_fails(units(3), {t<float>({}, {1})}, "X: rank 0", 2);
}

TEST_CASE("SVMClassifier: symbols, called") {
  const Dim n = Dim::symbol(1);
  const auto out = infer(units(4), {info(DType::float32, {n, 4})}, 2);
  CHECK(out[0].dims == Dims{n});
  CHECK(out[1].dims == Dims{n, 6});
  const auto [y, z] = units(2)(Tensor<float, Shape<1, 2>>{{1, 2}});
  CHECK(y.template view<int64_t>()[0] == 10);
}
}  // namespace tenon
