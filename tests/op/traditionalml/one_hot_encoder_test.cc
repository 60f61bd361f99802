#include "tenon/op/traditionalml/one_hot_encoder.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("OneHotEncoder: cases") {
  using O = op::OneHotEncoder;
  const O ints{.cats_int64s = {3, 0, -1}}, words{.cats_strings = {"a", "b"}};
  check(ints, {t<int64_t>({2, 2}, {0, 3, 5, -1})},
        {t<float>({2, 2, 3}, {0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1})});
  check(ints, {t<int32_t>({1}, {3})}, {t<float>({1, 3}, {1, 0, 0})});
  check(ints, {t<float>({6}, {3.9f, -0.5f, -1.9f, std::nanf(""), INFINITY, -1e30f})},
        {t<float>({6, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})});
  check(ints, {t<double>({}, {3.5})}, {t<float>({3}, {1, 0, 0})});
  check(words, {t<std::string>({3}, {"b", "", "a"})}, {t<float>({3, 2}, {0, 1, 0, 0, 1, 0})});
  check(O{.cats_int64s = {1, 1}}, {t<int64_t>({1}, {1})}, {t<float>({1, 2}, {0, 1})});
  check(O{.cats_int64s = {INT64_MIN}}, {t<float>({2}, {-0x1p63f, 0x1p63f})}, {t<float>({2, 1}, {1, 0})});
  check(words, {t<std::string>({0, 3}, {})}, {t<float>({0, 3, 2}, {})});
  check(O{.cats_strings = {"a"}, .zeros = 0}, {t<std::string>({1}, {"a"})}, {t<float>({1, 1}, {1})});

  check_fails(O{.cats_strings = {"a"}, .zeros = 0}, {t<std::string>({2}, {"a", "b"})},
              "'b' at 1 is of no category");
  check_fails(O{.cats_int64s = {1}, .zeros = 0}, {t<float>({1}, {2})}, "is of no category");
  check_fails(O{}, {t<float>({1}, {2})}, "states no categories");
  check_fails(O{.cats_int64s = {1}, .cats_strings = {"a"}}, {t<float>({1}, {2})}, "categories of two types");
  check_fails(words, {t<float>({1}, {2})}, "X and the categories are of different types");
  check_fails(ints, {t<std::string>({1}, {"a"})}, "X and the categories are of different types");
  check_fails(ints, {t<int64_t>({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {1})}, "no room");
}

TEST_CASE("OneHotEncoder: symbols, called") {
  const Dim n = Dim::symbol(1);
  const op::OneHotEncoder op{.cats_int64s = {1, 2}};
  CHECK(infer(op, {info(DType::int64, {n, 3})})[0].dims == Dims{n, 3, 2});
  const auto y = op(Tensor<int64_t, Shape<1>>{2});
  CHECK(y(0, 1) == 1);
}
}  // namespace tenon
