#include "tenon/op/traditionalml/dict_vectorizer.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("DictVectorizer: cases") {
  using i64 = int64_t;
  const auto map = [](Value keys, Value values) { return Value(Map{keys.tensor(), values.tensor()}); };
  const Value names = t<std::string>({2}, {"c", "a"}), numbers = t<i64>({2}, {30, 10});
  const op::DictVectorizer words{.string_vocabulary = {"a", "b", "c"}},
      ints{.int64_vocabulary = {10, 20, 30, 10}};
  check(words, {map(names, t<i64>({2}, {8, 4}))}, {t<i64>({1, 3}, {4, 0, 8})});
  check(words, {map(names, t<float>({2}, {8, 4}))}, {t<float>({1, 3}, {4, 0, 8})});
  check(words, {map(names, t<double>({2}, {8, 4}))}, {t<double>({1, 3}, {4, 0, 8})});
  check(ints, {map(numbers, t<std::string>({2}, {"x", "y"}))}, {t<std::string>({1, 4}, {"y", "", "x", "y"})});
  check(ints, {map(numbers, t<float>({2}, {1, 2}))}, {t<float>({1, 4}, {2, 0, 1, 2})});
  check(ints, {map(numbers, t<double>({2}, {1, 2}))}, {t<double>({1, 4}, {2, 0, 1, 2})});
  check(words, {map(t<std::string>({0}, {}), t<i64>({0}, {}))}, {t<i64>({1, 3}, {0, 0, 0})});

  check_fails(words, {map(t<std::string>({1}, {"z"}), t<i64>({1}, {1}))}, "key 'z' is not in the vocabulary");
  check_fails(ints, {map(t<i64>({1}, {11}), t<float>({1}, {1}))}, "key '11' is not in the vocabulary");
  check_fails(ints, {map(names, t<float>({2}, {1, 2}))}, "keys and vocabulary are of different types");
  check_fails(op::DictVectorizer{}, {map(numbers, t<float>({2}, {1, 2}))}, "states no vocabulary");
  check_fails(op::DictVectorizer{.int64_vocabulary = {1}, .string_vocabulary = {"a"}},
              {map(numbers, t<float>({2}, {1, 2}))}, "states two vocabularies");
  check_fails(ints, {map(numbers, t<i64>({2}, {1, 2}))}, "X cannot be");
}

TEST_CASE("DictVectorizer: rule") {
  op::Info x;
  x.type = Type(Kind::map, DType::float64, DType::string);
  const auto y = infer(op::DictVectorizer{.string_vocabulary = {"a", "b"}}, {x});
  CHECK(y[0].type == Type(DType::float64));
  CHECK(y[0].dims == Dims{1, 2});
}
}  // namespace tenon
