#include "tenon/op/nn/mean_variance_normalization.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("MeanVarianceNormalization: cases") {
  using MVN = op::MeanVarianceNormalization;
  const float nan = std::nanf(""), r = std::sqrt(1.5f);
  // Channels (1,3,5,7) and (0,0,2,2).
  const Value x = t<float>({2, 2, 1, 2}, {1, 3, 0, 0, 5, 7, 2, 2});
  const float a = 3 / std::sqrt(5.0f), b = 1 / std::sqrt(5.0f);
  const Value by_channel = t<float>({2, 2, 1, 2}, {-a, -b, -1, -1, b, a, 1, 1});
  struct Row {
    MVN op;
    Value in, out;
  } rows[] = {
      {{}, x, by_channel},
      {{.axes = {0, -2, -1}}, x, by_channel},
      {{.axes = {0}}, t<float>({3, 1}, {1, 2, 3}), t<float>({3, 1}, {-r, 0, r})},
      {{.axes = {1}}, t<float>({2, 3}, {1, 2, 3, 6, 4, 2}), t<float>({2, 3}, {-r, 0, r, r, 0, -r})},
      {{.axes = {}}, t<float>({3}, {1, 2, 3}), t<float>({3}, {-r, 0, r})},
      {{.axes = {}}, t<float>({}, {3}), t<float>({}, {0})},
      // far from 0, and all the same
      {{.axes = {0}}, t<float>({3}, {10001, 10002, 10003}), t<float>({3}, {-r, 0, r})},
      {{.axes = {0}}, t<float>({3}, {7, 7, 7}), t<float>({3}, {0, 0, 0})},
      {{.axes = {1}}, t<float>({2, 2}, {nan, 1, 1, 3}), t<float>({2, 2}, {nan, nan, -1, 1})},
      {{}, t<float>({0, 2, 1, 2}, {}), t<float>({0, 2, 1, 2}, {})},
      {{.axes = {0}}, t<double>({2}, {1, 3}), t<double>({2}, {-1, 1})},
      {{.axes = {0}}, cast<float16>({2}, {60000, 30000}), cast<float16>({2}, {1, -1})},
      {{.axes = {0}}, cast<float16>({2}, {3, 3}), cast<float16>({2}, {0, 0})},
      {{.axes = {0}}, cast<bfloat16>({2}, {1, 3}), cast<bfloat16>({2}, {-1, 1})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out}, 1e-6, 1e-6);
  check_in_place(MVN{}, {x}, 0);
  for (int version : {9, 13}) {
    check(stated<MVN>(version), {x}, {by_channel});
    check(stated<MVN>(version, {{"axes", ints{0}}}), {t<float>({2, 1}, {1, 3})}, {t<float>({2, 1}, {-1, 1})});
  }
}

TEST_CASE("MeanVarianceNormalization: errors, symbols, typed") {
  using MVN = op::MeanVarianceNormalization;
  check_fails(MVN{}, {t<float>({1, 1, 1}, {1})}, "axis 3 outside of [-3, 2]");
  check_fails(MVN{.axes = {0, -1}}, {t<float>({1}, {1})}, "named twice");
  check_fails(MVN{.axes = {0}}, {t<int32_t>({1}, {1})}, "input X cannot be tensor(int32)");
  check_fails(MVN{.axes = {0}}, {cast<bfloat16>({1}, {1})}, "input X cannot be tensor(bfloat16)", 1, 9);
  const auto n = Dim::symbol(1);
  CHECK(infer(MVN{}, {info(DType::float32, {n, 3, 4, Dim()})})[0].dims == Dims{n, 3, 4, Dim()});
  const auto y = apply<MVN{.axes = {1}}>(Tensor<float, Shape<1, 2>>{{1, 3}});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 2>>>);
  CHECK(y[0] == doctest::Approx(-1));
}

TEST_CASE("MeanVarianceNormalization: before opset 9") {
  const Value x = t<float>({2, 2, 1, 2}, {1, 3, 0, 0, 5, 7, 2, 2});
  const float a = 3 / std::sqrt(5.0f), b = 1 / std::sqrt(5.0f);
  check(op::MeanVarianceNormalization_1{}, {x}, {t<float>({2, 2, 1, 2}, {-a, -b, -1, -1, b, a, 1, 1})});
  check(op::MeanVarianceNormalization_1{.normalize_variance = 0}, {x},
        {t<float>({2, 2, 1, 2}, {-3, -1, -1, -1, 1, 3, 1, 1})});
  check(op::MeanVarianceNormalization_1{.across_channels = 1, .normalize_variance = 0}, {x},
        {t<float>({2, 2, 1, 2}, {-1.5, 0.5, -2.5, -2.5, 2.5, 4.5, -0.5, -0.5})});
  check(op::MeanVarianceNormalization_1{.across_channels = 1}, {t<float>({2, 1}, {1, 3})},
        {t<float>({2, 1}, {-1, 1})});
  check_fails(op::MeanVarianceNormalization_1{}, {t<float>({2}, {1, 3})}, "rank 1, expected at least 2");
}
}  // namespace tenon
