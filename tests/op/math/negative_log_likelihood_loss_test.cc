#include "tenon/op/math/negative_log_likelihood_loss.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using Loss = op::NegativeLogLikelihoodLoss;

TEST_CASE("NegativeLogLikelihoodLoss: reductions, weights, types") {
  const Value x = t<float>({2, 3, 2}, {1, 2, 2, 2, 3, 2, 0, 1, 2, 2, 1, 2});
  const Value target = t<int64_t>({2, 2}, {2, 1, 0, 2}), weight = t<float>({3}, {0.2f, 0.3f, 0.1f});
  for (int version : Loss::spec.since) {
    check(Loss{.reduction = "none"}, {x, target}, {t<float>({2, 2}, {-3, -2, -0.0f, -2})}, 0, 0, version);
    check(Loss{.reduction = "none"}, {x, target, weight}, {t<float>({2, 2}, {-0.3f, -0.6f, 0, -0.2f})}, 1e-6,
          0, version);
    check(Loss{.reduction = "sum"}, {x, target, weight}, {t<float>({}, {-1.1f})}, 1e-6, 0, version);
    check(Loss{}, {x, target, weight}, {t<float>({}, {-1.1f / 0.7f})}, 1e-6, 0, version);
    check(Loss{}, {x, target}, {t<float>({}, {-7.0f / 4})}, 0, 0, version);
  }
  const std::initializer_list<double> e = {1, 2, 2, 2, 3, 2, 0, 1, 2, 2, 1, 2}, w = {0.25, 0.5, 1};
  for (DType d : {DType::float16, DType::float32, DType::float64, DType::bfloat16}) {
    const Value labels = t<int32_t>({2, 2}, {2, 1, 0, 2});
    check(Loss{.reduction = "none"}, {cast(d, {2, 3, 2}, e), labels, cast(d, {3}, w)},
          {cast(d, {2, 2}, {-3, -1, 0, -2})}, 0, 0);
    check(Loss{}, {cast(d, {2, 3, 2}, e), labels}, {cast(d, {}, {-1.75})}, 0, 0);
    check(Loss{}, {cast(d, {2, 3, 2}, e), labels, cast(d, {3}, w)}, {cast(d, {}, {-6 / 2.75})}, 1e-2, 0);
  }
  check(Loss{.reduction = "none"}, {t<double>({2, 2}, {1, 2, 3, 4}), t<int32_t>({2}, {1, 0})},
        {t<double>({2}, {-2, -3})}, 0, 0);
}

TEST_CASE("NegativeLogLikelihoodLoss: ignore_index") {
  const Value x = t<float>({3, 2}, {1, 2, NAN, 4, 5, 6}), w = t<float>({2}, {2, 3});
  for (int64_t ignored : {int64_t{-100}, int64_t{-1}, int64_t{0}, int64_t{7}}) {
    const Value target = t<int64_t>({3}, {1, ignored, 1});
    check(Loss{.ignore_index = ignored, .reduction = "none"}, {x, target}, {t<float>({3}, {-2, 0, -6})}, 0,
          0);
    check(Loss{.ignore_index = ignored}, {x, target}, {t<float>({}, {-4})}, 0, 0);
    check(Loss{.ignore_index = ignored, .reduction = "sum"}, {x, target, w}, {t<float>({}, {-24})}, 0, 0);
    check(Loss{.ignore_index = ignored}, {x, target, w}, {t<float>({}, {-4})}, 0, 0);
  }
  const Value all = t<int32_t>({3}, {-1, -1, -1});
  check(Loss{.ignore_index = -1}, {x, all}, {t<float>({}, {NAN})});
  check(Loss{.ignore_index = -1, .reduction = "sum"}, {x, all, w}, {t<float>({}, {0})}, 0, 0);
  check(Loss{.ignore_index = int64_t{1} << 32 | 1, .reduction = "sum"}, {x, t<int32_t>({3}, {1, 1, 1})},
        {t<float>({}, {-12})}, 0, 0);
}

TEST_CASE("NegativeLogLikelihoodLoss: many samples") {
  constexpr int64_t n = 3, c = 4, d = 10001;
  Tensor<float> x(Extents{n, c, d});
  Tensor<int64_t> target(Extents{n, d});
  Tensor<float> expected(Extents{n, d});
  double sum = 0;
  for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % 97) * 0.25f;
  for (int64_t k = 0; k < target.size(); ++k) {
    target[k] = k * 7 % c;
    expected[k] = -x[(k / d * c + target[k]) * d + k % d];
    sum += static_cast<double>(expected[k]);
  }
  check(Loss{.reduction = "none"}, {x, target}, {expected}, 0, 0);
  check(Loss{.reduction = "sum"}, {x, target}, {t<float>({}, {static_cast<float>(sum)})}, 0, 0);
  check(Loss{}, {x, target}, {t<float>({}, {static_cast<float>(sum / (n * d))})}, 0, 0);
}

TEST_CASE("NegativeLogLikelihoodLoss: empty, refused, symbols, typed") {
  check(Loss{.reduction = "none"}, {t<float>({0, 3, 2}, {}), t<int64_t>({0, 2}, {})}, {t<float>({0, 2}, {})});
  check(Loss{}, {t<float>({2, 3, 0}, {}), t<int64_t>({2, 0}, {})}, {t<float>({}, {NAN})});
  check(Loss{.reduction = "sum"}, {t<float>({0, 3}, {}), t<int64_t>({0}, {})}, {t<float>({}, {0})}, 0, 0);
  check(Loss{.ignore_index = 0, .reduction = "sum"}, {t<float>({1, 0}, {}), t<int64_t>({1}, {0})},
        {t<float>({}, {0})}, 0, 0);
  const Value x = t<float>({2, 3}, {1, 2, 3, 4, 5, 6}), target = t<int64_t>({2}, {0, 1});
  for (int64_t wrong : {int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN})
    check_fails(Loss{.ignore_index = 5}, {x, t<int64_t>({2}, {0, wrong})}, "outside of [0, 2]");
  check_fails(Loss{}, {t<float>({1, 0}, {}), t<int64_t>({1}, {0})}, "label 0 outside of [0, -1]");
  check_fails(Loss{.reduction = "max"}, {x, target}, "reduction: 'max', expected none, sum or mean");
  check_fails(Loss{}, {t<float>({2}, {1, 2}), target}, "input: rank 1, expected at least 2");
  check_fails(Loss{}, {x, t<int64_t>({2, 1}, {0, 1})}, "extents of samples differ: (2) and (2,1)");
  check_fails(Loss{}, {x, t<int64_t>({3}, {0, 1, 2})}, "extents of samples differ: 2 and 3");
  check_fails(Loss{}, {x, target, t<float>({2}, {1, 2})}, "numbers of classes differ: 3 and 2");
  check_fails(Loss{}, {x, target, t<float>({3, 1}, {1, 2, 3})}, "weight: rank 2, expected 1");
  check_fails(Loss{}, {cast<bfloat16>({1, 1}, {1}), t<int64_t>({1}, {0})}, "cannot be tensor(bfloat16)", 1,
              13);
  const auto n = Dim::symbol(1), d = Dim::symbol(2);
  const auto labels = info(DType::int64, {n, d});
  CHECK(infer(Loss{.reduction = "none"}, {info(DType::float32, {n, 3, d}), labels})[0].dims == Dims{n, d});
  CHECK(infer(Loss{.reduction = "none"}, {info(DType::float32, {}), labels})[0].dims == Dims{n, d});
  CHECK(infer(Loss{}, {info(DType::float32, {n, 3, d}), labels})[0].dims == Dims::of_rank(0));
  CHECK(infer(Loss{.reduction = "none"}, {info(DType::float32, {n, 3, 8}), info(DType::int32, Dims())})[0]
            .dims == Dims{n, 8});
  auto y = apply<Loss{.reduction = "none"}>(Tensor<float, Shape<1, 2>>{{3, 4}}, Tensor<int64_t, Shape<1>>{1});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<1>>>);
  CHECK(y(0) == -4);
}
}  // namespace tenon
