#include "tenon/op/traditionalml/zip_map.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ZipMap: cases") {
  using i64 = int64_t;
  const auto maps = [](Type type, std::vector<Value> items) {
    return Value(Sequence{type, std::move(items)});
  };
  const auto map = [](const Value& keys, const Value& values) {
    return Value(Map{keys.tensor(), values.tensor()});
  };
  const Type of_ints(Kind::map, DType::float32, DType::int64),
      of_words(Kind::map, DType::float32, DType::string);
  const Value k = t<i64>({2}, {3, 5}), w = t<std::string>({2}, {"a", "b"}),
              x = t<float>({2, 2}, {1, 2, 3, 4});
  const op::ZipMap ints{.classlabels_int64s = {3, 5}}, words{.classlabels_strings = {"a", "b"}};
  check(ints, {x}, {maps(of_ints, {map(k, t<float>({2}, {1, 2})), map(k, t<float>({2}, {3, 4}))})});
  check(words, {x}, {maps(of_words, {map(w, t<float>({2}, {1, 2})), map(w, t<float>({2}, {3, 4}))})});
  check(ints, {t<float>({2}, {1, 2})}, {maps(of_ints, {map(k, t<float>({2}, {1, 2}))})});
  check(ints, {t<float>({0, 2}, {})}, {maps(of_ints, {})});
  check(op::ZipMap{.classlabels_int64s = {3, 5, 3}}, {t<float>({3}, {1, 2, 9})},
        {maps(of_ints, {map(t<i64>({2}, {5, 3}), t<float>({2}, {2, 9}))})});

  check_fails(op::ZipMap{}, {x}, "states no labels");
  check_fails(op::ZipMap{.classlabels_int64s = {1, 2}, .classlabels_strings = {"a", "b"}}, {x},
              "labels are given both as strings and as integers");
  check_fails(op::ZipMap{.classlabels_int64s = {1}}, {x}, "1 labels for 2 columns");
  check_fails(ints, {t<float>({}, {1})}, "X: rank 0, expected 1 or 2");
  check_fails(ints, {t<float>({1, 1, 2}, {1, 2})}, "X: rank 3");
  check_fails(ints, {t<double>({2}, {1, 2})}, "X cannot be tensor(double)");
}

TEST_CASE("ZipMap: rule, called") {
  const op::ZipMap words{.classlabels_strings = {"a", "b"}};
  CHECK(infer(words, {info(DType::float32, {Dim::symbol(1), 2})})[0].type ==
        Type(Kind::sequence_map, DType::float32, DType::string));
  const Value v = words(Tensor<float, Shape<1, 2>>{{1, 2}});
  CHECK(v.sequence().items.size() == 1);
}
}  // namespace tenon
