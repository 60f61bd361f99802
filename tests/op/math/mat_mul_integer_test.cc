#include "tenon/op/math/mat_mul_integer.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("MatMulInteger: cases") {
  const Value a = t<uint8_t>({4, 3}, {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0}),
              b = t<uint8_t>({3, 2}, {1, 4, 2, 5, 3, 6});
  const Value none_;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{a, b, t<uint8_t>({1}, {12}), t<uint8_t>({1}, {0})},
       t<int32_t>({4, 2}, {-38, -83, -44, -98, -50, -113, -56, -128})},
      {{a, b, t<uint8_t>({}, {12})}, t<int32_t>({4, 2}, {-38, -83, -44, -98, -50, -113, -56, -128})},
      {{t<uint8_t>({1, 2}, {200, 255}), t<int8_t>({2, 1}, {-128, 127})},
       t<int32_t>({1, 1}, {200 * -128 + 255 * 127})},
      {{t<int8_t>({1, 2}, {-128, 127}), t<int8_t>({2, 1}, {-128, 127}), none_, t<int8_t>({}, {1})},
       t<int32_t>({1, 1}, {-128 * -129 + 127 * 126})},
      {{t<int8_t>({1, 2}, {-128, 127}), t<uint8_t>({2, 1}, {255, 0}), t<int8_t>({}, {-128})},
       t<int32_t>({1, 1}, {0})},
      // A zero point for each row, for each column.
      {{t<uint8_t>({2, 2}, {1, 2, 3, 4}), t<uint8_t>({2, 2}, {1, 2, 3, 4}), t<uint8_t>({2}, {1, 3})},
       t<int32_t>({2, 2}, {3, 4, 3, 4})},
      {{t<uint8_t>({2, 2}, {1, 2, 3, 4}), t<uint8_t>({2, 2}, {1, 2, 3, 4}), t<uint8_t>({2, 1}, {1, 3})},
       t<int32_t>({2, 2}, {3, 4, 3, 4})},
      {{t<uint8_t>({2, 2}, {1, 2, 3, 4}), t<uint8_t>({2, 2}, {1, 2, 3, 4}), none_,
        t<uint8_t>({1, 2}, {1, 2})},
       t<int32_t>({2, 2}, {4, 4, 8, 8})},
      {{t<uint8_t>({2, 2}, {1, 2, 3, 4}), t<uint8_t>({2, 2}, {1, 2, 3, 4}), none_, t<uint8_t>({2}, {1, 2})},
       t<int32_t>({2, 2}, {4, 4, 8, 8})},
      // Batches: stacked rows, zero points that all share, zero points of each matrix.
      {{t<uint8_t>({2, 1, 2}, {1, 2, 3, 4}), t<uint8_t>({2, 1}, {1, 1}), t<uint8_t>({}, {1})},
       t<int32_t>({2, 1, 1}, {1, 5})},
      {{t<uint8_t>({2, 2, 1}, {1, 2, 3, 4}), t<uint8_t>({1, 1}, {1}), t<uint8_t>({2}, {1, 0})},
       t<int32_t>({2, 2, 1}, {0, 2, 2, 4})},
      {{t<uint8_t>({2, 2, 1}, {1, 2, 3, 4}), t<uint8_t>({1, 1}, {1}), t<uint8_t>({2, 2, 1}, {1, 0, 3, 2})},
       t<int32_t>({2, 2, 1}, {0, 2, 0, 2})},
      {{t<uint8_t>({1, 1, 1}, {2}), t<uint8_t>({2, 1, 2}, {1, 2, 3, 4}), none_,
        t<uint8_t>({2, 1, 2}, {1, 0, 3, 2})},
       t<int32_t>({2, 1, 2}, {0, 4, 0, 4})},
      {{t<uint8_t>({2}, {1, 2}), t<uint8_t>({2}, {3, 4})}, t<int32_t>({}, {11})},
      {{t<uint8_t>({2, 0}, {}), t<uint8_t>({0, 1}, {}), t<uint8_t>({}, {3})}, t<int32_t>({2, 1}, {0, 0})},
      {{t<uint8_t>({0, 2}, {}), t<uint8_t>({2, 1}, {1, 2})}, t<int32_t>({0, 1}, {})},
  };
  for (const Row& row : rows) check(op::MatMulInteger{}, row.in, {row.out});
}

TEST_CASE("MatMulInteger: errors") {
  const Value m = t<uint8_t>({2, 2}, {1, 2, 3, 4});
  check_fails(op::MatMulInteger{}, {m, t<uint8_t>({3, 1}, {1, 2, 3})}, "inner extents differ: 2 and 3");
  check_fails(op::MatMulInteger{}, {m, m, t<uint8_t>({3}, {1, 2, 3})}, "zero points (3) do not fit (2,2)");
  check_fails(op::MatMulInteger{}, {m, m, t<uint8_t>({1, 2}, {1, 2})}, "zero points (1,2) do not fit (2,2)");
  check_fails(op::MatMulInteger{}, {m, m, Value(), t<uint8_t>({2, 1}, {1, 2})},
              "zero points (2,1) do not fit (2,2)");
  check_fails(op::MatMulInteger{}, {m, m, t<uint8_t>({0}, {})}, "zero points (0) do not fit");
  check_fails(op::MatMulInteger{}, {m, m, t<int8_t>({}, {1})},
              "input a_zero_point is tensor(int8), but T1 is tensor(uint8)");
  check_fails(op::MatMulInteger{}, {t<int32_t>({1}, {1}), m}, "input A cannot be tensor(int32)");
}

TEST_CASE("MatMulInteger: typed, and symbols") {
  const auto n = Dim::symbol(1);
  const auto out = infer(op::MatMulInteger{}, {info(DType::uint8, {n, 4}), info(DType::int8, {4, 2})});
  CHECK(out[0].dims == Dims{n, 2});
  CHECK(out[0].type == Type(DType::int32));
  Tensor<int8_t, Shape<1, 2>> a{{1, 2}};
  Tensor<uint8_t, Shape<2, 1>> b{{3}, {4}};
  const auto y = op::MatMulInteger{}(a, b);
  static_assert(std::is_same_v<decltype(y), const Tensor<int32_t, Shape<1, 1>>>);
  CHECK(y.item() == 11);
}
}  // namespace tenon
