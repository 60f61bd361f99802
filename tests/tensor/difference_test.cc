#include "tenon/tensor/difference.hpp"

#include <doctest/doctest.h>

namespace tenon {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();

// A vector, converted as Cast would.
template <class T>
AnyTensor vector(std::initializer_list<double> values) {
  Tensor<T> t(Extents{static_cast<int64_t>(values.size())});
  int64_t k = 0;
  for (double v : values) t[k++] = convert<T>(v);
  return t;
}

}  // namespace

TEST_CASE_TEMPLATE("difference: integers exactly", T, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t,
                   int64_t, uint64_t) {
  constexpr T most = std::numeric_limits<T>::max();
  const Tensor<T> expected({3}, {0, 1, most}), near({3}, {0, 1, static_cast<T>(most - 1)});
  CHECK(difference(expected, expected) == "");
  CHECK(difference(near, expected, {.rtol = 1, .atol = 1e30}) ==
        str_cat("1 of 3 elements differ, first at (2): ", +near[2], " instead of ", +most));
}

TEST_CASE("difference: packed integers and bools exactly") {
  const Tolerance wide{1, 100};
  CHECK(difference(vector<int4>({0, 3, -8}), vector<int4>({0, 3, -8})) == "");
  CHECK(difference(vector<int4>({0, 3, -8}), vector<int4>({0, 3, -7}), wide) ==
        "1 of 3 elements differ, first at (2): -8 instead of -7");
  CHECK(difference(vector<uint2>({0, 3, 2}), vector<uint2>({1, 3, 1}), wide) ==
        "2 of 3 elements differ, first at (0): 0 instead of 1");
  CHECK(difference(vector<bool>({0, 1}), vector<bool>({0, 1})) == "");
  CHECK(difference(vector<bool>({0, 1}), vector<bool>({0, 0}), wide) != "");
}

TEST_CASE_TEMPLATE("difference: floats within the tolerance", T, float, double, float16, bfloat16) {
  const AnyTensor expected = vector<T>({1, 2});
  CHECK(difference(vector<T>({1, 2.25}), expected, {.rtol = 0.125}) == "");
  CHECK(difference(vector<T>({1, 2.25}), expected, {.atol = 0.25}) == "");
  CHECK(difference(vector<T>({1.25, 2}), expected, {.rtol = 0.125}) ==
        "1 of 2 elements differ, first at (0): 1.25 instead of 1.0");
  CHECK(difference(vector<T>({1, 2.25}), expected) != "");
  CHECK(difference(vector<T>({-0.0}), vector<T>({0})) == "");
}

TEST_CASE_TEMPLATE("difference: NaN is NaN, and an infinity only itself", T, float, double, float16,
                   bfloat16) {
  const double numbers[] = {0, 1, -1, inf, -inf, nan};
  for (int i = 0; i < 6; ++i)
    for (int k = 0; k < 6; ++k) {
      CAPTURE(i);
      CAPTURE(k);
      const bool finite = i < 3 && k < 3;
      const Tolerance wide{.rtol = 1, .atol = 10};
      CHECK((difference(vector<T>({numbers[i]}), vector<T>({numbers[k]}), wide) == "") == (i == k || finite));
    }
}

TEST_CASE_TEMPLATE("difference: both parts of complex numbers", T, float, double) {
  using C = std::complex<T>;
  const Tensor<C> expected({2}, {C(1, 2), C(nan, inf)});
  CHECK(difference(expected, expected) == "");
  CHECK(difference(Tensor<C>({2}, {C(1.125f, 2.125f), C(nan, inf)}), expected, {.atol = 0.125}) == "");
  for (const C wrong : {C(1.25f, 2), C(1, 2.25f), C(nan, 2), C(1, inf)})
    CHECK(difference(Tensor<C>({2}, {wrong, C(nan, inf)}), expected, {.atol = 0.125})
              .starts_with("1 of 2 elements differ, first at (0): "));
}

TEST_CASE("difference: strings, places, types and extents") {
  using S = std::string;
  CHECK(difference(Tensor<S>({2}, {"a", "b"}), Tensor<S>({2}, {"a", "b"})) == "");
  CHECK(difference(Tensor<S>({2}, {"a", "b"}), Tensor<S>({2}, {"a", "b "})) ==
        "1 of 2 elements differ, first at (1): \"b\" instead of \"b \"");
  const Tensor<float> matrix({2, 3}, {1, 2, 3, 4, 5, 6}), other({2, 3}, {1, 2, 3, 4, 0, 0});
  CHECK(difference(matrix, other) == "2 of 6 elements differ, first at (1,1): 5.0 instead of 0.0");
  CHECK(difference(Tensor<float>({}, {1}), Tensor<float>({}, {2})) ==
        "1 of 1 elements differ, first at (): 1.0 instead of 2.0");
  CHECK(difference(matrix, Tensor<float>({6}, {1, 2, 3, 4, 5, 6})) == "extents (2,3) instead of (6)");
  CHECK(difference(Tensor<float>({0, 2}, {}), Tensor<float>({2, 0}, {})) == "extents (0,2) instead of (2,0)");
  CHECK(difference(Tensor<float>({0, 2}, {}), Tensor<float>({0, 2}, {})) == "");
  CHECK(difference(matrix, Tensor<double>({2, 3}, {1, 2, 3, 4, 5, 6})) ==
        "tensor(float) instead of tensor(double)");
  CHECK(difference(Value(), Value()) == "");
  CHECK(difference(Value(), matrix) == "none instead of tensor(float)");
}

TEST_CASE("difference: sequences and optionals") {
  const Tensor<float> one({1}, {1}), two({1}, {2});
  const auto sequence = [](std::vector<Value> items) {
    return Value(Sequence{DType::float32, std::move(items)});
  };
  CHECK(difference(sequence({one, two}), sequence({one, two})) == "");
  CHECK(difference(sequence({one, one}), sequence({one, two})) ==
        "item 1: 1 of 1 elements differ, first at (0): 1.0 instead of 2.0");
  CHECK(difference(sequence({one}), sequence({one, two})) == "1 items instead of 2");
  CHECK(difference(sequence({}), Sequence{DType::int64, {}}) ==
        "seq(tensor(float)) instead of seq(tensor(int64))");
  CHECK(difference(sequence({one}), one) == "seq(tensor(float)) instead of tensor(float)");

  const auto optional = [](const Value& v) {
    return Value(OptionalValue{DType::float32, v ? std::make_shared<const Value>(v) : nullptr});
  };
  CHECK(difference(optional(one), optional(one)) == "");
  CHECK(difference(optional({}), optional({})) == "");
  CHECK(difference(optional(one), optional({})) == "a value instead of none");
  CHECK(difference(optional({}), optional(one)) == "no value");
  CHECK(difference(optional(two), optional(one)) ==
        "1 of 1 elements differ, first at (0): 2.0 instead of 1.0");
}

TEST_CASE("difference: maps, in whatever order") {
  const auto map = [](std::initializer_list<int64_t> keys, std::initializer_list<float> values) {
    return Value(Map{Tensor<int64_t>({static_cast<int64_t>(keys.size())}, keys),
                     Tensor<float>({static_cast<int64_t>(values.size())}, values)});
  };
  const Value expected = map({1, 2}, {10, 20});
  CHECK(difference(map({2, 1}, {20, 10}), expected) == "");
  CHECK(difference(map({2, 1}, {20.5f, 10}), expected, {.atol = 0.5}) == "");
  CHECK(difference(map({1, 2}, {20, 10}), expected) == "entry for 1: 20.0 instead of 10.0");
  CHECK(difference(map({1, 3}, {10, 20}), expected) == "no entry for 2");
  CHECK(difference(map({1}, {10}), expected) == "1 entries instead of 2");
  const Value named = Map{Tensor<std::string>({1}, {"a"}), Tensor<float>({1}, {1})};
  CHECK(difference(Map{Tensor<std::string>({1}, {"b"}), Tensor<float>({1}, {1})}, named) ==
        "no entry for \"a\"");
  CHECK(difference(expected, named) == "map(int64,tensor(float)) instead of map(string,tensor(float))");
}

TEST_CASE("difference: sparse tensors, in either form") {
  const auto sparse = [](Value indices, std::initializer_list<float> values, const Extents& extents) {
    return Value(SparseTensor{Tensor<float>({static_cast<int64_t>(values.size())}, values), indices.tensor(),
                              extents});
  };
  const Value expected = sparse(Tensor<int64_t>({2}, {1, 5}), {1, 2}, {2, 3});
  CHECK(difference(sparse(Tensor<int64_t>({2, 2}, {0, 1, 1, 2}), {1, 2}, {2, 3}), expected) == "");
  CHECK(difference(sparse(Tensor<int64_t>({2, 2}, {0, 1, 1, 1}), {1, 2}, {2, 3}), expected) ==
        "offsets: 1 of 2 elements differ, first at (1): 4 instead of 5");
  CHECK(difference(sparse(Tensor<int64_t>({2}, {1, 5}), {1, 3}, {2, 3}), expected) ==
        "values: 1 of 2 elements differ, first at (1): 3.0 instead of 2.0");
  CHECK(difference(sparse(Tensor<int64_t>({1}, {1}), {1}, {2, 3}), expected) ==
        "offsets: extents (1) instead of (2)");
  CHECK(difference(sparse(Tensor<int64_t>({2}, {1, 5}), {1, 2}, {3, 2}), expected) ==
        "extents (3,2) instead of (2,3)");
}
}  // namespace tenon
