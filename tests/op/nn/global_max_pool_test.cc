#include "tenon/op/nn/global_max_pool.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("GlobalMaxPool: cases") {
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    Value in, out;
  } rows[] = {
      {t<float>({1, 2, 2, 2}, {1, 2, 3, 6, -1, -1, -3, -3}), t<float>({1, 2, 1, 1}, {6, -1})},
      {t<float>({2, 1, 3}, {1, 2, 3, 4, 5, 3}), t<float>({2, 1, 1}, {3, 5})},
      {t<float>({2, 2}, {1, 2, 3, 4}), t<float>({2, 2}, {1, 2, 3, 4})},
      {t<float>({1, 2, 2}, {nan, 1, -inf, -inf}), t<float>({1, 2, 1}, {nan, -inf})},
      {t<float>({0, 2, 2}, {}), t<float>({0, 2, 1}, {})},
      {t<float>({1, 1, 0}, {}), t<float>({1, 1, 1}, {-inf})},
      {t<double>({1, 1, 1, 1, 2}, {1, 2}), t<double>({1, 1, 1, 1, 1}, {2})},
      {cast<float16>({1, 1, 2}, {1, 2}), cast<float16>({1, 1, 1}, {2})},
      {cast<bfloat16>({1, 1, 2}, {1, -4}), cast<bfloat16>({1, 1, 1}, {1})},
  };
  for (const Row& row : rows) check(op::GlobalMaxPool{}, {row.in}, {row.out}, 0, 0);
  check(op::GlobalMaxPool{}, {rows[0].in}, {rows[0].out}, 0, 0, 1);
  check_fails(op::GlobalMaxPool{}, {t<float>({2}, {1, 2})}, "X: rank 1, expected at least 2");
  check_fails(op::GlobalMaxPool{}, {cast<bfloat16>({1, 1}, {1})}, "input X cannot be tensor(bfloat16)", 1, 1);
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  CHECK(infer(op::GlobalMaxPool{}, {info(DType::float32, {n, 3, h, h})})[0].dims == Dims{n, 3, 1, 1});
  CHECK_FALSE(infer(op::GlobalMaxPool{}, {info(DType::float32, Dims())})[0].dims.ranked());
  Tensor<float, Shape<1, 1, 2>> x{{{1, 2}}};
  const auto y = op::GlobalMaxPool{}(x);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 1>>>);
  CHECK(y.item() == 2);
}
}  // namespace tenon
