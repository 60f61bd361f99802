#include "tenon/op/nn/global_average_pool.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("GlobalAveragePool: cases") {
  const float nan = std::nanf("");
  struct Row {
    Value in, out;
  } rows[] = {
      {t<float>({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), t<float>({1, 2, 1, 1}, {2.5f, 6.5f})},
      {t<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6}), t<float>({2, 1, 1}, {2, 5})},
      {t<float>({1, 1, 1, 2, 1}, {1, 2}), t<float>({1, 1, 1, 1, 1}, {1.5f})},
      {t<float>({1, 2}, {1, 2}), t<float>({1, 2}, {1, 2})},
      {t<float>({1, 2, 0}, {}), t<float>({1, 2, 1}, {nan, nan})},
      {t<float>({0, 2, 3}, {}), t<float>({0, 2, 1}, {})},
      {t<float>({1, 1, 2}, {nan, 1}), t<float>({1, 1, 1}, {nan})},
      {t<double>({1, 1, 2}, {1, 2}), t<double>({1, 1, 1}, {1.5})},
      {cast<float16>({1, 1, 2}, {60000, 60000}), cast<float16>({1, 1, 1}, {60000})},
      {cast<bfloat16>({1, 1, 2}, {1, 2}), cast<bfloat16>({1, 1, 1}, {1.5})},
  };
  for (const Row& row : rows) check(op::GlobalAveragePool{}, {row.in}, {row.out});
  check(op::GlobalAveragePool{}, {rows[0].in}, {rows[0].out}, 0, 0, 1);
  check_fails(op::GlobalAveragePool{}, {t<float>({1}, {1})}, "X: rank 1, expected at least 2");
  check_fails(op::GlobalAveragePool{}, {rows[9].in}, "input X cannot be tensor(bfloat16)", 1, 1);
}

TEST_CASE("GlobalAveragePool: typed, and symbols") {
  Tensor<float, Shape<1, 1, 2, 2>> x{{{{1, 2}, {3, 4}}}};
  const auto y = op::GlobalAveragePool{}(x);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 1, 1>>>);
  CHECK(y.item() == 2.5f);
  const auto n = Dim::symbol(1);
  CHECK(infer(op::GlobalAveragePool{}, {info(DType::float32, {n, 3, n})})[0].dims == Dims{n, 3, 1});
}
}  // namespace tenon
