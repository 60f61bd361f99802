#include "tenon/op/traditionalml/feature_vectorizer.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("FeatureVectorizer: cases") {
  using V = op::FeatureVectorizer;
  const Value a = t<float>({2, 3}, {0, 1, 2, 3, 4, 5}), b = t<float>({2, 1}, {8, 9});
  struct Row {
    V op;
    std::vector<Value> x;
    Value y;
  } rows[] = {
      {{}, {a}, a},
      {{}, {a, b}, t<float>({2, 4}, {0, 1, 2, 8, 3, 4, 5, 9})},
      {{{1}}, {a}, t<float>({2, 1}, {0, 3})},
      {{{4}}, {a}, t<float>({2, 4}, {0, 1, 2, 0, 3, 4, 5, 0})},
      {{{2, 2}}, {a, b}, t<float>({2, 4}, {0, 1, 8, 0, 3, 4, 9, 0})},
      {{{0, 1}}, {a, b}, t<float>({2, 1}, {8, 9})},
      {{}, {t<int32_t>({2}, {1, 2}), t<int32_t>({1, 1}, {3})}, t<float>({1, 3}, {1, 2, 3})},
      {{}, {t<int64_t>({1, 1}, {5})}, t<float>({1, 1}, {5})},
      {{}, {t<double>({1, 2}, {0.5, 1e300})}, t<float>({1, 2}, {0.5f, INFINITY})},
      // The converter of Core ML's models gives each feature (N,1,C).
      {{{1, 1}}, {t<float>({2, 1, 1}, {1, 2}), b}, t<float>({2, 2}, {1, 8, 2, 9})},
      {{}, {t<float>({2, 2, 1}, {1, 2, 3, 4}), b}, t<float>({2, 3}, {1, 2, 8, 3, 4, 9})},
      {{{3}}, {t<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, t<float>({2, 3}, {1, 2, 3, 5, 6, 7})},
      {{}, {t<float>({0, 2}, {})}, t<float>({0, 2}, {})},
      {{{0}}, {a}, t<float>({2, 0}, {})},
  };
  for (const Row& row : rows) check(row.op, row.x, {row.y}, 0, 0);
  check_fails(V{{1}}, {a, b}, "inputdimensions: 1 entries, expected 2");
  check_fails(V{{-1}}, {a}, "inputdimensions: -1, expected at least 0");
  check_fails(V{}, {a, t<float>({3, 1}, {1, 2, 3})}, "rows of inputs differ: 2 and 3");
  check_fails(V{}, {t<float>({}, {1})}, "input 0: rank 0, expected at least 1");
  check_fails(V{}, {a, t<double>({2, 1}, {1, 2})}, "is tensor(double), but T1 is tensor(float)");
  check_fails(V{{INT64_MAX, INT64_MAX}}, {a, b}, "");
}

TEST_CASE("FeatureVectorizer: symbols, called") {
  using V = op::FeatureVectorizer;
  const Dim n = Dim::symbol(1), c = Dim::symbol(2);
  CHECK(infer(V{}, {info(DType::float32, {n, 2}), info(DType::float32, {n, 3})})[0].dims == Dims{n, 5});
  CHECK(infer(V{}, {info(DType::float32, {n, c}), info(DType::float32, {4, 3})})[0].dims == Dims{4, Dim()});
  CHECK(infer(V{}, {info(DType::float32, {n, 2, 3}), info(DType::float32, {n, 1})})[0].dims == Dims{n, 7});
  CHECK(infer(V{{1, 2}}, {info(DType::float32, {n, c}), info(DType::float32, {n, c})})[0].dims == Dims{n, 3});
  const auto y = V{}(Tensor<float, Shape<1, 2>>{{1, 2}}, Tensor<float, Shape<1, 1>>{{3}});
  CHECK(y(0, 2) == 3);
}
}  // namespace tenon
