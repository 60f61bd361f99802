#include "tenon/op/traditionalml/label_encoder.hpp"

#include <cmath>

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;
using L = op::LabelEncoder;

namespace {
op::TensorAttribute attribute(Value v) { return {std::move(v)}; }
}  // namespace

TEST_CASE("LabelEncoder: cases") {
  using i64 = int64_t;
  const float nan = std::nanf("");
  const Value words = t<std::string>({2, 2}, {"a", "c", "b", ""});
  struct Row {
    L op;
    Value x, y;
  } rows[] = {
      {{.keys_strings = {"a", "b"}, .values_int64s = {5, 6}}, words, t<i64>({2, 2}, {5, -1, 6, -1})},
      {{.default_int64 = 9, .keys_strings = {"a", "b"}, .values_int64s = {5, 6}},
       words,
       t<i64>({2, 2}, {5, 9, 6, 9})},
      {{.default_float = 0.5f, .keys_strings = {"", "b"}, .values_floats = {5, 6}},
       words,
       t<float>({2, 2}, {0.5f, 0.5f, 6, 5})},
      {{.default_string = "?", .keys_strings = {"a"}, .values_strings = {"A"}},
       words,
       t<std::string>({2, 2}, {"A", "?", "?", "?"})},
      {{.keys_int64s = {1, -2}, .values_strings = {"x", "y"}},
       t<i64>({3}, {-2, 1, 0}),
       t<std::string>({3}, {"y", "x", "_Unused"})},
      {{.keys_int64s = {1, INT64_MIN}, .values_floats = {1.5f, 2.5f}},
       t<i64>({3}, {INT64_MIN, 0, 1}),
       t<float>({3}, {2.5f, -0.0f, 1.5f})},
      // NaNs are equal, and so are zeros of both signs; the last of equal keys counts.
      {{.keys_floats = {nan, 0, 3}, .values_int64s = {1, 2, 3}},
       t<float>({5}, {-nan, -0.0f, 3, 4, INFINITY}),
       t<i64>({5}, {1, 2, 3, -1, -1})},
      {{.keys_floats = {1, 2, 1}, .values_floats = {10, 20, 30}},
       t<float>({2}, {1, 2}),
       t<float>({2}, {30, 20})},
      {{.keys_int64s = {0}, .values_int64s = {4}}, t<i64>({}, {0}), t<i64>({}, {4})},
      {{.keys_int64s = {0}, .values_int64s = {4}}, t<i64>({0, 2}, {}), t<i64>({0, 2}, {})},
      // Tensors.
      {{.default_tensor = attribute(t<int16_t>({1}, {42})),
        .keys_strings = {"a", "b"},
        .values_tensor = attribute(t<int16_t>({2}, {1, 2}))},
       words,
       t<int16_t>({2, 2}, {1, 42, 2, 42})},
      {{.keys_tensor = attribute(t<int16_t>({1}, {7})), .values_tensor = attribute(t<int16_t>({1}, {8}))},
       t<int16_t>({2}, {7, 6}),
       t<int16_t>({2}, {8, -1})},
      {{.keys_tensor = attribute(t<int32_t>({1}, {7})), .values_tensor = attribute(t<double>({1}, {8}))},
       t<int32_t>({2}, {7, 6}),
       t<double>({2}, {8, -0.0})},
      {{.keys_tensor = attribute(t<double>({2}, {0.1, std::nan("")})),
        .values_tensor = attribute(t<int32_t>({2}, {8, 9}))},
       t<double>({3}, {0.1, std::nan(""), 0.1f}),
       t<int32_t>({3}, {8, 9, -1})},
      {{.default_tensor = attribute(t<std::string>({}, {"none"})),
        .keys_tensor = attribute(t<i64>({1}, {1})),
        .values_tensor = attribute(t<std::string>({1}, {"one"}))},
       t<i64>({2}, {1, 2}),
       t<std::string>({2}, {"one", "none"})},
      {{.default_string = "other",
        .keys_tensor = attribute(t<float>({1}, {1})),
        .values_tensor = attribute(t<std::string>({1}, {"one"}))},
       t<float>({2}, {1, 2}),
       t<std::string>({2}, {"one", "other"})},
  };
  for (const Row& row : rows) check(row.op, {row.x}, {row.y}, 0, 0);
}

TEST_CASE("LabelEncoder: refused") {
  const Value x = t<int64_t>({1}, {1});
  check_fails(L{.values_int64s = {1}}, {x}, "states 0 lists of keys, not 1");
  check_fails(L{.keys_int64s = {1}}, {x}, "states 0 lists of values, not 1");
  check_fails(L{.keys_floats = {1}, .keys_int64s = {1}, .values_int64s = {1}}, {x}, "states 2 lists of keys");
  check_fails(L{.keys_int64s = {1}, .values_floats = {1}, .values_int64s = {1}}, {x}, "2 lists of values");
  check_fails(L{.keys_int64s = {1, 2}, .values_int64s = {1}}, {x}, "2 keys, but 1 values");
  check_fails(L{.keys_floats = {1}, .values_int64s = {1}}, {x}, "keys are tensor(float), X is tensor(int64)");
  check_fails(L{.keys_tensor = attribute(t<int64_t>({1, 1}, {1})), .values_int64s = {1}}, {x},
              "keys (1,1) and values (1) are not lists");
  const L scalar{.default_tensor = attribute(t<int64_t>({}, {1})), .keys_int64s = {1}, .values_int64s = {1}};
  std::vector<op::Info> out(1);
  CHECK(any(scalar).infer(std::vector{op::info_of(x)}, out).of_files());
  check_fails(L{.default_tensor = attribute(t<float>({1}, {1})), .keys_int64s = {1}, .values_int64s = {1}},
              {x}, "default_tensor is tensor(float), the values are tensor(int64)");
  check_fails(
      L{.default_tensor = attribute(t<int64_t>({2}, {1, 2})), .keys_int64s = {1}, .values_int64s = {1}}, {x},
      "default_tensor: (2), expected one element");
  check_fails(L{.keys_int64s = {1}, .values_tensor = attribute(cast<float16>({1}, {1}))}, {x},
              "output Y cannot be tensor(float16)");
  check_refused<L>(2, {{"keys_tensor", Value(t<int64_t>({1}, {1}))}}, "has no attribute 'keys_tensor'");
  check_fails(stated<L>(2, {{"keys_int64s", ints{1}}, {"values_int64s", ints{1}}}), {t<int32_t>({1}, {1})},
              "X cannot be tensor(int32)");
}

TEST_CASE("LabelEncoder: old versions, symbols, called") {
  const std::vector<std::string> ab{"a", "b", "a"};
  for (int version : {2, 4})
    check(stated<L>(version, {{"keys_strings", ab}, {"values_int64s", ints{1, 2, 3}}}),
          {t<std::string>({2}, {"a", "b"})}, {t<int64_t>({2}, {3, 2})});
  const Stated first =
      stated<op::LabelEncoder_1>(1, {{"classes_strings", ab}, {"default_int64", int64_t{7}}});
  check(first, {t<std::string>({3}, {"b", "a", "z"})}, {t<int64_t>({3}, {1, 2, 7})});
  check(first, {t<int64_t>({4}, {0, 1, 3, -1})}, {t<std::string>({4}, {"a", "b", "_Unused", "_Unused"})});
  check(stated<op::LabelEncoder_1>(1), {t<int64_t>({1}, {0})}, {t<std::string>({1}, {"_Unused"})});
  check_fails(first, {t<float>({1}, {1})}, "X cannot be tensor(float)");

  const Dims d{Dim::symbol(1), 2};
  const L op{.keys_int64s = {1}, .values_strings = {"one"}};
  const auto out = infer(op, {info(DType::int64, d)});
  CHECK(out[0].dims == d);
  CHECK(out[0].type == Type(DType::string));
  const Value y = op(Tensor<int64_t, Shape<1>>{1});
  CHECK(y.view<std::string>()[0] == "one");
}
}  // namespace tenon
