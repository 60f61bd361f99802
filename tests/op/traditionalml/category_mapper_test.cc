#include "tenon/op/traditionalml/category_mapper.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("CategoryMapper: cases") {
  using i64 = int64_t;
  const op::CategoryMapper op{.cats_int64s = {7, -2, 9}, .cats_strings = {"cat", "dog", "cow"}};
  check(op, {t<std::string>({2, 2}, {"dog", "cow", "ox", ""})}, {t<i64>({2, 2}, {-2, 9, -1, -1})});
  check(op, {t<i64>({3}, {9, 8, 7})}, {t<std::string>({3}, {"cow", "_Unused", "cat"})});
  const op::CategoryMapper own{
      .cats_int64s = {1, 1}, .cats_strings = {"a", "b"}, .default_int64 = 100, .default_string = "?"};
  check(own, {t<i64>({2}, {1, 2})}, {t<std::string>({2}, {"b", "?"})});
  check(own, {t<std::string>({3}, {"a", "b", "c"})}, {t<i64>({3}, {1, 1, 100})});
  check(op, {t<i64>({}, {-2})}, {t<std::string>({}, {"dog"})});
  check(op, {t<std::string>({0, 4}, {})}, {t<i64>({0, 4}, {})});
  check_fails(op::CategoryMapper{}, {t<i64>({1}, {0})}, "has neither cats_int64s nor cats_strings");
  check_fails(op::CategoryMapper{.cats_int64s = {1}}, {t<i64>({1}, {0})},
              "cats_int64s has 1 entries, cats_strings has 0");
  check_fails(op, {t<int32_t>({1}, {0})}, "X cannot be tensor(int32)");
}

TEST_CASE("CategoryMapper: many categories, symbols, called") {
  op::CategoryMapper op;
  Tensor<std::string> x(Extents{5000});
  for (int64_t k = 0; k < 5000; ++k) {
    op.cats_int64s.push_back(3 * k);
    op.cats_strings.push_back(str_cat("name ", k));
    x[k] = str_cat("name ", 4999 - k);
  }
  const Value y = op(x);
  for (int64_t k = 0; k < 5000; ++k) CHECK(y.view<int64_t>()[k] == 3 * (4999 - k));
  const Dims d{Dim::symbol(1), 3};
  const auto out = infer(op, {info(DType::string, d)});
  CHECK(out[0].dims == d);
  CHECK(out[0].type == Type(DType::int64));
  CHECK(infer(op, {info(DType::int64, d)})[0].type == Type(DType::string));
}
}  // namespace tenon
