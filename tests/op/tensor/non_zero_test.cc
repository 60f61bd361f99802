#include "tenon/op/tensor/non_zero.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("NonZero: cases") {
  struct Row {
    Value x, y;
  } rows[] = {
      {t<float>({2, 2}, {1, 0, 1, 1}), t<int64_t>({2, 3}, {0, 1, 1, 0, 0, 1})},
      {t<float>({3}, {0, std::nanf(""), -0.0f}), t<int64_t>({1, 1}, {1})},
      {t<bool>({2, 1, 2}, {true, false, false, true}), t<int64_t>({3, 2}, {0, 1, 0, 0, 0, 1})},
      {t<int8_t>({4}, {0, -1, 0, 1}), t<int64_t>({1, 2}, {1, 3})},
      {t<int64_t>({2}, {0, 0}), t<int64_t>({1, 0}, {})},
      {t<uint64_t>({2}, {0, UINT64_MAX}), t<int64_t>({1, 1}, {1})},
      {t<double>({2}, {0, 5e-324}), t<int64_t>({1, 1}, {1})},
      {t<std::string>({3}, {"", "0", "a"}), t<int64_t>({1, 2}, {1, 2})},
      {t<complex64>({3}, {{0, 0}, {0, 1}, {1, 0}}), t<int64_t>({1, 2}, {1, 2})},
      {cast<float16>({3}, {0, -0.0, 2}), t<int64_t>({1, 1}, {2})},
      {cast<bfloat16>({3}, {0, -0.0, 2}), t<int64_t>({1, 1}, {2})},
      {t<float>({}, {3}), t<int64_t>({0, 1}, {})},
      {t<float>({}, {0}), t<int64_t>({0, 0}, {})},
      {t<float>({0, 3}, {}), t<int64_t>({2, 0}, {})},
  };
  for (const Row& row : rows) check(op::NonZero{}, {row.x}, {row.y});
}

TEST_CASE("NonZero: refused, symbols, typed") {
  check_fails(op::NonZero{}, {cast<bfloat16>({1}, {1})}, "X cannot be tensor(bfloat16)", 1, 9);
  check_fails(op::NonZero{}, {cast<int4>({1}, {1})}, "X cannot be tensor(int4)");
  const auto out = infer(op::NonZero{}, {info(DType::float32, {Dim::symbol(1), 3})});
  CHECK(out[0].dims == Dims{2, Dim::unknown()});
  CHECK(out[0].type == Type(DType::int64));
  CHECK(infer(op::NonZero{}, {info(DType::float32, Dims())})[0].dims == Dims::of_rank(2));
  CHECK(infer(op::NonZero{}, {info(DType::float32, Dims::of_rank(0))})[0].dims == Dims{0, Dim::unknown()});
  check_equal(op::NonZero{}(Tensor<int32_t, Shape<3>>{2, 0, 2}), t<int64_t>({1, 2}, {0, 2}));
}
}  // namespace tenon
