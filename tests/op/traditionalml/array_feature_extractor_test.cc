#include "tenon/op/traditionalml/array_feature_extractor.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ArrayFeatureExtractor: cases") {
  using i64 = int64_t;
  const op::ArrayFeatureExtractor op;
  const Value x = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  check(op, {x, t<i64>({2}, {2, 0})}, {t<float>({2, 2}, {3, 1, 6, 4})});
  check(op, {x, t<i64>({1, 1}, {1})}, {t<float>({2, 1}, {2, 5})});
  check(op, {x, t<i64>({}, {1})}, {t<float>({2, 1}, {2, 5})});
  check(op, {x, t<i64>({2, 2}, {0, 0, 1, 1})}, {t<float>({2, 4}, {1, 1, 2, 2, 4, 4, 5, 5})});
  check(op, {x, t<i64>({0}, {})}, {t<float>({2, 0}, {})});
  check(op, {t<std::string>({3}, {"a", "b", "c"}), t<i64>({2}, {1, 1})},
        {t<std::string>({1, 2}, {"b", "b"})});
  check(op, {t<i64>({2, 1, 2}, {1, 2, 3, 4}), t<i64>({1}, {1})}, {t<i64>({2, 1, 1}, {2, 4})});
  check(op, {t<double>({0, 2}, {}), t<i64>({1}, {1})}, {t<double>({0, 1}, {})});
  check(op, {t<int32_t>({1, 2}, {7, 8}), t<i64>({1}, {0})}, {t<int32_t>({1, 1}, {7})});
  check_fails(op, {x, t<i64>({1}, {3})}, "index 3 outside of [0, 2]");
  check_fails(op, {x, t<i64>({1}, {-1})}, "index -1 outside");
  check_fails(op, {t<float>({2, 0}, {}), t<i64>({1}, {0})}, "index 0 outside");
  check_fails(op, {t<float>({}, {1}), t<i64>({1}, {0})}, "X: rank 0, expected at least 1");
  check_fails(op, {cast<float16>({1}, {1}), t<i64>({1}, {0})}, "X cannot be tensor(float16)");
}

TEST_CASE("ArrayFeatureExtractor: symbols, typed") {
  const Dim n = Dim::symbol(1), k = Dim::symbol(2);
  const op::ArrayFeatureExtractor op;
  CHECK(infer(op, {info(DType::float32, {n, 3}), info(DType::int64, {1, k})})[0].dims == Dims{n, k});
  CHECK(infer(op, {info(DType::float32, {n}), info(DType::int64, {2, 2})})[0].dims == Dims{1, 4});
  const Tensor<float, Shape<1, 2>> z =
      op(Tensor<float, Shape<1, 3>>{{1, 2, 3}}, Tensor<int64_t, Shape<2>>{2, 1});
  CHECK(z(0, 0) == 3);
}
}  // namespace tenon
