#include "tenon/op/tensor/trilu.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Trilu: diagonals") {
  const Value x = t<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  struct Row {
    int64_t upper, k;
    Value out;
  } rows[] = {
      {1, 0, t<int32_t>({2, 3}, {1, 2, 3, 0, 5, 6})},
      {1, 1, t<int32_t>({2, 3}, {0, 2, 3, 0, 0, 6})},
      {1, 2, t<int32_t>({2, 3}, {0, 0, 3, 0, 0, 0})},
      {1, 3, t<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0})},
      {1, -1, x},
      {1, INT64_MAX, t<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0})},
      {1, INT64_MIN, x},
      {0, 0, t<int32_t>({2, 3}, {1, 0, 0, 4, 5, 0})},
      {0, 1, t<int32_t>({2, 3}, {1, 2, 0, 4, 5, 6})},
      {0, -1, t<int32_t>({2, 3}, {0, 0, 0, 4, 0, 0})},
      {0, -2, t<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0})},
      {0, INT64_MAX, x},
      {0, INT64_MIN, t<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0})},
  };
  for (const Row& row : rows) {
    CAPTURE(row.upper);
    CAPTURE(row.k);
    check(op::Trilu{.upper = row.upper}, {x, t<int64_t>({}, {row.k})}, {row.out});
    check(op::Trilu{.upper = row.upper}, {x, t<int64_t>({1}, {row.k})}, {row.out});
  }
  check(op::Trilu{}, {x}, {rows[0].out});
  check(op::Trilu{.upper = 0}, {x, Value()}, {rows[7].out});
}

TEST_CASE("Trilu: batches, types, empty tensors") {
  check(op::Trilu{}, {t<float>({2, 2, 2}, {1, 2, 3, NAN, 5, 6, 7, 8})},
        {t<float>({2, 2, 2}, {1, 2, 0, NAN, 5, 6, 0, 8})});
  check(op::Trilu{.upper = 0}, {t<std::string>({2, 2}, {"a", "b", "c", "d"})},
        {t<std::string>({2, 2}, {"a", "", "c", "d"})});
  check(op::Trilu{}, {t<bool>({2, 1}, {true, true})}, {t<bool>({2, 1}, {true, false})});
  check(op::Trilu{}, {cast<bfloat16>({2, 2}, {1, 2, 3, 4})}, {cast<bfloat16>({2, 2}, {1, 2, 0, 4})});
  check(op::Trilu{}, {t<complex128>({2, 2}, {{1, 1}, {2, 2}, {3, 3}, {4, 4}})},
        {t<complex128>({2, 2}, {{1, 1}, {2, 2}, {0, 0}, {4, 4}})});
  for (const Extents& e : {Extents{0, 2}, Extents{2, 0}, Extents{0, 2, 2}})
    check(op::Trilu{}, {t<float>(e, {})}, {t<float>(e, {})});
}

TEST_CASE("Trilu: errors and typed calls") {
  check_fails(op::Trilu{}, {t<float>({3}, {1, 2, 3})}, "input: rank 1, expected at least 2");
  check_fails(op::Trilu{}, {t<float>({1, 1}, {1}), t<int64_t>({2}, {1, 2})}, "k: (2), expected one element");
  check_fails(op::Trilu{}, {t<float>({1, 1}, {1}), t<int32_t>({}, {1})}, "input k cannot be tensor(int32)");
  const Dim n = Dim::symbol(1);
  CHECK(infer(op::Trilu{}, {info(DType::float32, {n, 3})})[0].dims == Dims{n, 3});

  const auto y =
      apply<op::Trilu{.upper = 0}>(Tensor<float, Shape<2, 2>>{{1, 2}, {3, 4}}, constant<int64_t, -1>);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2, 2>>>);
  CHECK(y(1, 0) == 3);
  CHECK(y(1, 1) == 0);
}
}  // namespace tenon
