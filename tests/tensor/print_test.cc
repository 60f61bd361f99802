#include "tenon/tensor/print.hpp"

#include <doctest/doctest.h>

namespace tenon {

TEST_CASE("to_string: tensors of every rank") {
  struct Row {
    AnyTensor tensor;
    std::string text;
  } rows[] = {
      {Tensor<float>({}, {1.5f}), "1.5"},
      {Tensor<float>({3}, {1, -0.1f, 1e20f}), "[1.0, -0.1, 1e+20]"},
      {Tensor<float>({0}, {}), "[]"},
      {Tensor<float>({1000000000, 0, 2}, {}), "[]"},
      {Tensor<int32_t>({2, 3}, {1, 2, 3, -4, 50, 600}), "[[  1,   2,   3],\n [ -4,  50, 600]]"},
      {Tensor<int8_t>({2, 2, 1}, {1, 2, 3, 4}), "[[[1],\n  [2]],\n\n [[3],\n  [4]]]"},
      {Tensor<float>({4}, {NAN, INFINITY, -INFINITY, -0.0f}), "[nan, inf, -inf, -0.0]"},
  };
  for (const Row& row : rows) {
    const std::string head =
        str_cat("tensor(", name_of(row.tensor.dtype()), ") ", to_string(row.tensor.extents()));
    CHECK(to_string(row.tensor) == str_cat(head, row.tensor.rank() > 1 ? "\n" : " ", row.text));
    CHECK(to_string(Value(row.tensor)) == to_string(row.tensor));
  }
  CHECK(to_string(Tensor<float, Shape<2>>{1, 2}) == "[1.0, 2.0]");
  CHECK(to_string(Tensor<float, Shape<2>>{1, 2}.view()) == "[1.0, 2.0]");
  CHECK(to_string(TensorView<float>()) == "none");
  CHECK(to_string(AnyView()) == "none");
  CHECK(to_string(AnyTensor()) == "none");
  CHECK(to_string(Value()) == "none");
}

TEST_CASE("to_string: every element type") {
  for (int d = 1; d < dtype_count; ++d) {
    const auto dtype = static_cast<DType>(d);
    visit_dtype(dtype, [&]<class T>() {
      Tensor<T> t{Extents{3}};
      if constexpr (!std::is_same_v<T, std::string>)
        for (int k = 0; k < 3; ++k) t[k] = convert<T>(static_cast<float>(k % 2));
      const std::string_view one = is_complex(dtype)            ? "[0j, (1+0j), 0j]"
                                   : dtype == DType::string     ? "[\"\", \"\", \"\"]"
                                   : dtype == DType::bool_      ? "[False, True, False]"
                                   : dtype == DType::float8e8m0 ? "[5.877472e-39, 1.0, 5.877472e-39]"
                                   : is_float(dtype)            ? "[0.0, 1.0, 0.0]"
                                                                : "[0, 1, 0]";
      CHECK(to_string(t) == one);
    });
  }
  CHECK(to_string(Tensor<uint64_t>({1}, {UINT64_MAX})) == "[18446744073709551615]");
  CHECK(to_string(Tensor<int4>({3}, {int4(-8), int4(7), int4(-1)})) == "[-8, 7, -1]");
  CHECK(to_string(Tensor<float16>({1}, {float16(0.1f)})) == "[0.1]");
  CHECK(to_string(Tensor<std::string>({2}, {"a\"\\\n\x01", "\xc3\xa4"})) ==
        "[\"a\\\"\\\\\\n\\x01\", \"\xc3\xa4\"]");
}

TEST_CASE("to_string: more than a thousand elements") {
  std::vector<int64_t> numbers(2000);
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<int64_t>(k);
  const std::span<const int64_t> all(numbers);
  CHECK(to_string(Tensor<int64_t>({2000}, all)) == "[0, 1, 2, ..., 1997, 1998, 1999]");
  CHECK(to_string(Tensor<int64_t>({2, 1000}, all)) ==
        "[[   0,    1,    2, ...,  997,  998,  999],\n [1000, 1001, 1002, ..., 1997, 1998, 1999]]");
  CHECK(to_string(Tensor<int64_t>({1000, 2}, all)) ==
        "[[   0,    1],\n [   2,    3],\n [   4,    5],\n ...,\n [1994, 1995],\n [1996, 1997],\n [1998, "
        "1999]]");
  CHECK(to_string(Tensor<int64_t>({1000}, all.first(1000))).find("...") == std::string::npos);
  // Many short axes: the ends get shorter, so that the text stays short.
  CHECK(to_string(Tensor<int8_t>(Extents::filled(8, 5))).size() < 5000);
}

TEST_CASE("to_string: values that are not tensors") {
  const Tensor<float> two({2}, {1, 2}), matrix({2, 1}, {1, 2});
  CHECK(
      to_string(Value(Sequence{DType::float32, {two, matrix}})) ==
      "seq(tensor(float)) of 2\n  tensor(float) (2) [1.0, 2.0]\n  tensor(float) (2,1)\n  [[1.0],\n   [2.0]]");
  CHECK(to_string(Value(Sequence{DType::int4, {}})) == "seq(tensor(int4)) of 0");
  CHECK(to_string(Value(OptionalValue{DType::float32, nullptr})) == "optional(tensor(float)) of nothing");
  CHECK(to_string(Value(OptionalValue{DType::float32, std::make_shared<const Value>(two)})) ==
        "optional(tensor(float))\n  tensor(float) (2) [1.0, 2.0]");
  const Sequence nested{DType::float32, {two}};
  CHECK(to_string(Value(
            OptionalValue{Type(Kind::sequence, DType::float32), std::make_shared<const Value>(nested)})) ==
        "optional(seq(tensor(float)))\n  seq(tensor(float)) of 1\n    tensor(float) (2) [1.0, 2.0]");
  const Map map{Tensor<std::string>({2}, {"a", "b"}), two};
  CHECK(to_string(Value(map)) == "map(string,tensor(float)) of 2\n  \"a\": 1.0\n  \"b\": 2.0");
  CHECK(to_string(Value(Sequence{Type(Kind::map, DType::float32, DType::string), {map}})) ==
        "seq(map(string,tensor(float))) of 1\n  map(string,tensor(float)) of 2\n    \"a\": 1.0\n    \"b\": "
        "2.0");
  CHECK(to_string(Value(SparseTensor{two, Tensor<int64_t>({2, 2}, {0, 1, 2, 2}), {3, 3}})) ==
        "sparse_tensor(float) (3,3)\n  values tensor(float) (2) [1.0, 2.0]\n  indices tensor(int64) (2,2)\n"
        "  [[0, 1],\n   [2, 2]]");
  CHECK(to_string(Value(Sequence{DType::float32, std::vector<Value>(1001, two)})).size() < 300);
}

}  // namespace tenon
