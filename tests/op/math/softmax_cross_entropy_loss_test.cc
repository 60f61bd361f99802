#include "tenon/op/math/softmax_cross_entropy_loss.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using Loss = op::SoftmaxCrossEntropyLoss;

TEST_CASE("SoftmaxCrossEntropyLoss: reductions, weights, log_prob") {
  // The probabilities are 1/4, 3/4 and 2/5, 3/5.
  const float l1 = std::log(1.0f), l3 = std::log(3.0f), l2 = std::log(2.0f);
  const Value x = t<float>({2, 2}, {l1, l3, l2, l3}), labels = t<int64_t>({2}, {0, 1});
  const Value weights = t<float>({2}, {2, 0.5f});
  const double a = std::log(4), b = std::log(5.0 / 3);
  const Value log_prob = cast<float>({2, 2}, {std::log(0.25), std::log(0.75), std::log(0.4), std::log(0.6)});
  for (int version : Loss::spec.since) {
    check(Loss{.reduction = "none"}, {x, labels}, {cast<float>({2}, {a, b}), log_prob}, 1e-6, 1e-6, version);
    check(Loss{.reduction = "none"}, {x, labels, weights}, {cast<float>({2}, {2 * a, b / 2})}, 1e-6, 1e-6,
          version);
    check(Loss{.reduction = "sum"}, {x, labels, weights}, {cast<float>({}, {2 * a + b / 2})}, 1e-6, 1e-6,
          version);
    check(Loss{}, {x, labels, weights}, {cast<float>({}, {(2 * a + b / 2) / 2.5}), log_prob}, 1e-6, 1e-6,
          version);
    check(Loss{}, {x, labels}, {cast<float>({}, {(a + b) / 2})}, 1e-6, 1e-6, version);
  }
  check(Loss{.ignore_index = 1}, {x, labels}, {cast<float>({}, {a}), log_prob}, 1e-6, 1e-6);
  check(Loss{.ignore_index = -7, .reduction = "none"}, {x, t<int32_t>({2}, {-7, 1})},
        {cast<float>({2}, {0, b})}, 1e-6, 1e-6);
}

TEST_CASE("SoftmaxCrossEntropyLoss: types and inner axes") {
  // Each sample has two equal scores: the loss is log(2) everywhere.
  for (DType d : {DType::float16, DType::float32, DType::float64, DType::bfloat16}) {
    const Value x = cast(d, {1, 2, 3}, {1, 2, -50, 1, 2, -50}), labels = t<int32_t>({1, 3}, {0, 1, 0});
    const double l = std::log(2);
    check(Loss{.reduction = "none"}, {x, labels},
          {cast(d, {1, 3}, {l, l, l}), cast(d, {1, 2, 3}, {-l, -l, -l, -l, -l, -l})}, 1e-6, 1e-6);
    check(Loss{.reduction = "sum"}, {x, labels, cast(d, {2}, {1, 3})}, {cast(d, {}, {5 * l})}, 1e-6, 1e-6);
  }
  // Stable, and -infinity where the probability is 0.
  check(Loss{.reduction = "none"}, {t<float>({2, 2}, {1000, 0, 0, -INFINITY}), t<int64_t>({2}, {1, 1})},
        {t<float>({2}, {1000, INFINITY})});
}

TEST_CASE("SoftmaxCrossEntropyLoss: empty, refused, symbols, typed") {
  check(Loss{.reduction = "none"}, {t<float>({0, 3, 2}, {}), t<int64_t>({0, 2}, {})},
        {t<float>({0, 2}, {}), t<float>({0, 3, 2}, {})});
  check(Loss{}, {t<double>({2, 3, 0}, {}), t<int64_t>({2, 0}, {})},
        {t<double>({}, {NAN}), t<double>({2, 3, 0}, {})});
  check(Loss{.ignore_index = 0, .reduction = "sum"}, {t<float>({1, 0}, {}), t<int64_t>({1}, {0})},
        {t<float>({}, {0}), t<float>({1, 0}, {})}, 0, 0);
  const Value x = t<float>({2, 3}, {1, 2, 3, 4, 5, 6}), labels = t<int64_t>({2}, {0, 1});
  check_fails(Loss{}, {x, t<int64_t>({2}, {0, 3})}, "label 3 outside of [0, 2]");
  check_fails(Loss{.reduction = ""}, {x, labels}, "reduction: '', expected none, sum or mean");
  check_fails(Loss{}, {t<float>({2}, {1, 2}), labels}, "scores: rank 1, expected at least 2");
  check_fails(Loss{}, {x, t<int64_t>({}, {0})}, "extents of samples differ");
  check_fails(Loss{}, {x, labels, t<float>({2}, {1, 2})}, "numbers of classes differ: 3 and 2");
  check_fails(Loss{}, {cast<bfloat16>({1, 1}, {1}), t<int64_t>({1}, {0})}, "cannot be tensor(bfloat16)", 1,
              12);
  const auto n = Dim::symbol(1);
  const auto out =
      infer(Loss{.reduction = "none"}, {info(DType::float32, {n, 3}), info(DType::int32, {n})}, 2);
  CHECK(out[0].dims == Dims{n});
  CHECK(out[1].dims == Dims{n, 3});
  auto y = apply<Loss{}>(Tensor<float, Shape<1, 2>>{{3, 3}}, Tensor<int64_t, Shape<1>>{1});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<>>>);
  CHECK(std::abs(y() - std::log(2.0f)) < 1e-6f);
}
}  // namespace tenon
